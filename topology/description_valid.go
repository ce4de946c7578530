package topology

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate is nil, or an [InvalidError] with every fault: what a broker refuses (an
// unknown type, a global store that is not a source and a processor), and what is no
// topology: blank or doubled names, successors that are not there, nodes that nothing
// leads to, loops. Paths count from 0 in the description's own lists.
func (d Description) Validate() error {
	v := validator{ids: map[string]string{}}
	if len(d.Subtopologies) == 0 && len(d.GlobalStores) == 0 {
		v.add("subtopologies", "there are none, and no global stores")
	}
	for _, id := range d.ids() {
		path := joinPath("subtopologies", id)
		if isBlank(id) || !utf8.ValidString(id) {
			v.add(path, "the ID is blank or not UTF-8")
		}
		v.nodes(path, d.Subtopologies[id])
	}
	for i, g := range d.GlobalStores {
		at := fmt.Sprintf("global_stores[%d]", i)
		// Source: KIP-1331, measured on 4.4.0: INVALID_REQUEST.
		if g.Source.Type != SourceNode {
			v.add(at+".source.type", "%q: want %q", g.Source.Type, SourceNode)
		}
		if g.Processor.Type != ProcessorNode {
			v.add(at+".processor.type", "%q: want %q", g.Processor.Type, ProcessorNode)
		}
		names := map[string]int{g.Source.Name: 0, g.Processor.Name: 1}
		v.node(at+".source", g.Source, names)
		v.node(at+".processor", g.Processor, names)
		if !slices.Contains(g.Source.Successors, g.Processor.Name) {
			v.add(at+".source.successors", "the processor %q is not among them", g.Processor.Name)
		}
	}
	return v.err("topology description")
}

func isBlank(s string) bool { return strings.TrimFunc(s, unicode.IsSpace) == "" }

func (v *validator) nodes(path string, nodes []Node) {
	if len(nodes) == 0 {
		v.add(path, "has no nodes")
	}
	at := make(map[string]int, len(nodes))
	fed := map[string]bool{}
	for i, n := range nodes {
		if _, ok := at[n.Name]; !ok {
			at[n.Name] = i
		}
		for _, s := range n.Successors {
			fed[s] = true
		}
	}
	for i, n := range nodes {
		here := fmt.Sprintf("%s[%d]", path, i)
		v.node(here, n, at)
		if n.Type != SourceNode && !fed[n.Name] {
			v.add(here, "%q is no source, and nothing leads to it", n.Name)
		}
		for k, s := range n.Successors {
			if to, ok := at[s]; ok && nodes[to].Type == SourceNode {
				v.add(fmt.Sprintf("%s.successors[%d]", here, k), "%q is a source, which nothing leads to", s)
			}
		}
	}
	v.cycle(path, nodes, at)
}

func (v *validator) node(path string, n Node, at map[string]int) {
	switch {
	case isBlank(n.Name):
		v.add(path+".name", "blank: want a text that is unique in the description")
	case !utf8.ValidString(n.Name):
		v.add(path+".name", "%q is not UTF-8", n.Name)
	default:
		v.once(v.ids, path+".name", n.Name, "used")
	}
	// Source: KIP-1331, measured on 4.4.0: an unknown type is INVALID_REQUEST.
	if _, ok := wireTypes[n.Type]; !ok {
		v.add(path+".type", "%q: want %q, %q or %q", n.Type, SourceNode, ProcessorNode, SinkNode)
	}
	own := map[string]string{}
	for i, t := range n.Topics {
		v.topicName(fmt.Sprintf("%s.topics[%d]", path, i), t)
		v.once(own, fmt.Sprintf("%s.topics[%d]", path, i), t, "listed")
	}
	if n.Type == SinkNode && len(n.Topics) > 1 {
		v.add(path+".topics", "a sink has one topic, or none if it picks them per record")
	}
	if n.Type == ProcessorNode && len(n.Topics) > 0 {
		v.add(path+".topics", "a processor has none")
	}
	v.stores(path, n)
	v.successors(path, n, at)
}

func (v *validator) stores(path string, n Node) {
	own := map[string]string{}
	for i, s := range n.Stores {
		here := fmt.Sprintf("%s.stores[%d]", path, i)
		if isBlank(s) || !utf8.ValidString(s) {
			v.add(here, "%q is blank or not UTF-8", s)
		}
		v.once(own, here, s, "listed")
	}
	if n.Type != ProcessorNode && len(n.Stores) > 0 {
		v.add(path+".stores", "a %s has none", n.Type)
	}
}

func (v *validator) successors(path string, n Node, at map[string]int) {
	own := map[string]string{}
	for i, s := range n.Successors {
		here := fmt.Sprintf("%s.successors[%d]", path, i)
		if _, ok := at[s]; !ok {
			v.add(here, "%q is no node of this subtopology", s)
			continue
		}
		v.once(own, here, s, "listed")
	}
	if n.Type == SinkNode && len(n.Successors) > 0 {
		v.add(path+".successors", "a sink has none")
	}
}

// cycle finds nodes that lead back to themselves: records would never come out.
func (v *validator) cycle(path string, nodes []Node, at map[string]int) {
	next, prev := make([][]int, len(nodes)), make([][]int, len(nodes))
	for i, n := range nodes {
		for _, s := range n.Successors {
			if to, ok := at[s]; ok {
				next[i], prev[to] = append(next[i], to), append(prev[to], i)
			}
		}
	}
	fed, feeds := endless(next), endless(prev)
	for i := range nodes {
		if fed[i] && feeds[i] {
			v.add(fmt.Sprintf("%s[%d]", path, i), "%q leads back to itself", nodes[i].Name)
		}
	}
}

// endless are the nodes in a loop or behind one, by the edges in next.
func endless(next [][]int) []bool {
	waits := make([]int, len(next)) // how many nodes that may be in a loop lead here
	for _, to := range next {
		for _, n := range to {
			waits[n]++
		}
	}
	var ready []int
	for n, w := range waits {
		if w == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		for _, to := range next[n] {
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	out := make([]bool, len(next))
	for n, w := range waits {
		out[n] = w > 0
	}
	return out
}
