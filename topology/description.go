package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Description is a topology for people: which node feeds which (KIP-1331). It is not
// part of a [Topology], changes no ID and no membership, and is sent only when the
// coordinator asks for it; brokers from 4.4 on may, if they have a plugin that keeps it.
//
// The zero value describes nothing, which [Description.Validate] refuses.
type Description struct {
	// Subtopologies: subtopology ID -> its nodes, in any order.
	Subtopologies map[string][]Node `json:"subtopologies"`
	// GlobalStores are read whole by each process. Their order is kept. Default: none.
	GlobalStores []GlobalStore `json:"global_stores,omitempty"`
}

// NodeType is what a [Node] does.
type NodeType string

// The types, as Java's TopologyDescription names them. On the wire they are 1, 2 and 3.
const (
	SourceNode    NodeType = "source"    // reads topics
	ProcessorNode NodeType = "processor" // works on records, maybe with stores
	SinkNode      NodeType = "sink"      // writes a topic
)

// Node is a processor node, as in Java's TopologyDescription.
type Node struct {
	// Name is unique in the description and not blank.
	Name string `json:"name"`
	// Type is one of three.
	Type NodeType `json:"type"`
	// Topics: a source's topics, none if it reads by a pattern; a sink's one topic, none if it
	// picks the topic per record. A processor has none.
	Topics []string `json:"topics,omitempty"`
	// Stores are the names of a processor's state stores. Others have none.
	Stores []string `json:"stores,omitempty"`
	// Successors are the names of the nodes, in the same subtopology, that get what
	// this one puts out. A sink has none.
	Successors []string `json:"successors,omitempty"`
}

// GlobalStore is a source and the processor that fills a store from it.
type GlobalStore struct {
	// Source has type [SourceNode].
	Source Node `json:"source"`
	// Processor has type [ProcessorNode].
	Processor Node `json:"processor"`
}

// canonical is a deep copy with nodes sorted by name and their lists sorted.
//
// Source: KIP-1331; the order that Java sends (StreamsGroupTopologyDescriptionRequestManager, 4.4).
func (d Description) canonical() Description {
	c := Description{Subtopologies: make(map[string][]Node, len(d.Subtopologies))}
	for id, nodes := range d.Subtopologies {
		sorted := make([]Node, len(nodes))
		for i, n := range nodes {
			sorted[i] = n.canonical()
		}
		slices.SortStableFunc(sorted, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
		c.Subtopologies[id] = sorted
	}
	for _, g := range d.GlobalStores {
		c.GlobalStores = append(c.GlobalStores, GlobalStore{g.Source.canonical(), g.Processor.canonical()})
	}
	return c
}

func (n Node) canonical() Node {
	n.Topics = slices.Sorted(slices.Values(n.Topics))
	n.Stores = slices.Sorted(slices.Values(n.Stores))
	n.Successors = slices.Sorted(slices.Values(n.Successors))
	return n
}

// ids are the IDs of the subtopologies, numbers first and by value: 0, 2, 10, a.
func (d Description) ids() []string {
	return slices.SortedFunc(maps.Keys(d.Subtopologies), func(a, b string) int {
		na, ea := strconv.ParseUint(a, 10, 63)
		nb, eb := strconv.ParseUint(b, 10, 63)
		switch {
		case ea == nil && eb == nil:
			return cmp.Or(cmp.Compare(na, nb), strings.Compare(a, b))
		case ea == nil:
			return -1
		case eb == nil:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// UnmarshalJSON reads the form that the field tags say, and validates: the error is an
// [InvalidError] with every fault, unknown fields too, or json's own where the syntax is
// wrong. After an error d is as it was.
func (d *Description) UnmarshalJSON(data []byte) error {
	root, err := parse(data)
	if err != nil {
		return err
	}
	var r reader
	got := r.description(root)
	r.judge(got.Validate())
	if err := r.err("topology description"); err != nil {
		return err
	}
	*d = got
	return nil
}

func (r *reader) description(n *node) Description {
	d := Description{Subtopologies: map[string][]Node{}}
	r.object(n, readers{
		{"subtopologies", func(n *node) {
			if n.kind != '{' {
				r.wrong(n, "an object")
				return
			}
			for _, f := range n.fields {
				if _, ok := d.Subtopologies[f.name]; ok {
					r.add(f.value.path, "is there twice")
				}
				nodes := []Node{}
				r.each(f.value, func(n *node) { nodes = append(nodes, r.node(n)) })
				d.Subtopologies[f.name] = nodes
			}
		}},
		{"global_stores", func(n *node) {
			r.each(n, func(n *node) {
				var g GlobalStore
				r.object(n, readers{
					{"source", func(n *node) { g.Source = r.node(n) }},
					{"processor", func(n *node) { g.Processor = r.node(n) }},
				})
				d.GlobalStores = append(d.GlobalStores, g)
			})
		}},
	})
	return d
}

func (r *reader) node(n *node) Node {
	var out Node
	r.object(n, readers{
		{"name", r.text(&out.Name)},
		{"type", func(n *node) {
			s, _ := n.scalar.(string)
			if _, ok := wireTypes[NodeType(s)]; !ok {
				r.wrong(n, fmt.Sprintf("%q, %q or %q", SourceNode, ProcessorNode, SinkNode))
			}
			out.Type = NodeType(s)
		}},
		{"topics", r.texts(&out.Topics)},
		{"stores", r.texts(&out.Stores)},
		{"successors", r.texts(&out.Successors)},
	})
	return out
}
