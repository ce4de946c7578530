package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a JSON value with its place. encoding/json would stop at the first unknown
// field, match names in any case and drop a field that is there twice; this does none of it.
type node struct {
	path   string
	kind   json.Delim // '{' or '[', or 0 for a scalar
	scalar json.Token // string, json.Number, bool or nil
	fields []field
	items  []*node
}

type field struct {
	name  string
	value *node
}

// reader turns nodes into values and gathers faults. null is taken for a field that is
// left out.
type reader struct {
	faults
	malformed []string // paths of values that could not be read
}

// parse reads one JSON value, or says where its syntax is wrong.
func parse(data []byte) (*node, error) {
	var any json.RawMessage
	if err := json.Unmarshal(data, &any); err != nil { // the syntax, and a bound on the depth
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, &InvalidError{"JSON", []Fault{{"", "is not UTF-8"}}}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return parseNode(d, "")
}

func parseNode(d *json.Decoder, path string) (*node, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	n := &node{path: path}
	delim, ok := tok.(json.Delim)
	if !ok {
		n.scalar = tok
		return n, nil
	}
	n.kind = delim
	for d.More() {
		if delim == '[' {
			item, err := parseNode(d, fmt.Sprintf("%s[%d]", path, len(n.items)))
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
			continue
		}
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		value, err := parseNode(d, joinPath(path, name))
		if err != nil {
			return nil, err
		}
		n.fields = append(n.fields, field{name, value})
	}
	_, err = d.Token() // the closing one
	return n, err
}

// joinPath adds a field's name: plain if it is a word, else quoted in brackets.
func joinPath(path, name string) string {
	word := name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	switch {
	case !word:
		return fmt.Sprintf("%s[%q]", path, name)
	case path == "":
		return name
	}
	return path + "." + name
}

func (n *node) null() bool { return n.kind == 0 && n.scalar == nil }

func (r *reader) wrong(n *node, want string) {
	r.add(n.path, "want %s", want)
	r.malformed = append(r.malformed, n.path)
}

// readers are the known fields of an object, in the order of the documentation.
type readers []fieldReader

type fieldReader struct {
	name string
	read func(*node)
}

// object reads an object. Unknown fields, and fields that are there twice, are faults.
func (r *reader) object(n *node, known readers) {
	if n.kind != '{' {
		r.wrong(n, "an object")
		return
	}
	seen := map[string]bool{}
	for _, f := range n.fields {
		k := slices.IndexFunc(known, func(k fieldReader) bool { return k.name == f.name })
		switch {
		case k < 0:
			var names []string
			for _, k := range known {
				names = append(names, k.name)
			}
			r.add(f.value.path, "unknown field; known are %s", strings.Join(names, ", "))
		case seen[f.name]:
			r.add(f.value.path, "is there twice")
		case !f.value.null():
			known[k].read(f.value)
		}
		seen[f.name] = true
	}
}

// each reads a list.
func (r *reader) each(n *node, read func(*node)) {
	if n.kind != '[' {
		r.wrong(n, "a list")
		return
	}
	for _, item := range n.items {
		read(item)
	}
}

func (r *reader) text(to *string) func(*node) {
	return func(n *node) {
		s, ok := n.scalar.(string)
		if !ok {
			r.wrong(n, "a text")
			return
		}
		*to = s
	}
}

func (r *reader) texts(to *[]string) func(*node) {
	return func(n *node) {
		r.each(n, func(item *node) {
			var s string
			r.text(&s)(item)
			*to = append(*to, s)
		})
	}
}

// textMap reads an object whose fields are data.
func (r *reader) textMap(to *map[string]string) func(*node) {
	return func(n *node) {
		if n.kind != '{' {
			r.wrong(n, "an object")
			return
		}
		m := make(map[string]string, len(n.fields))
		for _, f := range n.fields {
			if _, ok := m[f.name]; ok {
				r.add(f.value.path, "is there twice")
			}
			var s string
			r.text(&s)(f.value)
			m[f.name] = s
		}
		*to = m
	}
}

// whole reads a whole number, written without a fraction or an exponent.
func whole[I int16 | int32](r *reader, to *I, low, high int64) func(*node) {
	return func(n *node) {
		num, ok := n.scalar.(json.Number)
		i, err := strconv.ParseInt(num.String(), 10, 64)
		if !ok || err != nil || i < low || i > high {
			r.wrong(n, fmt.Sprintf("a whole number from %d to %d", low, high))
			return
		}
		*to = I(i)
	}
}

func (r *reader) int16(to *int16) func(*node) { return whole(r, to, math.MinInt16, math.MaxInt16) }
func (r *reader) int32(to *int32) func(*node) { return whole(r, to, math.MinInt32, math.MaxInt32) }

// judge adds what is wrong with the value that was read, but nothing about values that
// have, or are in, one that could not be read: that would be a consequence.
func (r *reader) judge(err error) {
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok {
		return
	}
	for _, f := range invalid.Faults {
		if !slices.ContainsFunc(r.malformed, func(p string) bool { return holds(f.Path, p) || holds(p, f.Path) }) {
			r.faults = append(r.faults, f)
		}
	}
}

// holds reports whether the value at path is the one at inner, or has it inside.
func holds(path, inner string) bool {
	rest, ok := strings.CutPrefix(inner, path)
	return ok && (path == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}
