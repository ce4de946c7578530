package topology

import (
	"fmt"
	"strings"
)

// DOT is the topology as a Graphviz digraph: subtopologies are boxes, topics are
// ellipses (those that the broker creates are dashed), changelogs are cylinders. The same
// topology is the same text.
func (t Topology) DOT() string { return t.picture().dot("topology") }

// Mermaid is the topology as a Mermaid flowchart, fit for a ```mermaid block.
func (t Topology) Mermaid() string { return t.picture().mermaid() }

// DOT is the description as a Graphviz digraph, one cluster a subtopology.
func (d Description) DOT() string { return d.picture().dot("description") }

// Mermaid is the description as a Mermaid flowchart, one subgraph a subtopology.
func (d Description) Mermaid() string { return d.picture().mermaid() }

// shape is what a vertex stands for.
type shape uint8

const (
	shapeTopic shape = iota
	shapeInternal
	shapeStore
	shapeBox
	shapeSource
	shapeSink
	numShapes
)

type vertex struct {
	label   string
	shape   shape
	cluster int // index into clusters, -1: none
}

type edge struct {
	from, to int
	side     bool // not the way of records: to a changelog or a store
}

// picture is a graph in the order in which it is drawn.
type picture struct {
	clusters []string // labels
	vertices []vertex
	edges    []edge
	at       map[string]int // key -> index of the vertex
}

// vertex is the vertex of a key, made if it is new.
func (p *picture) vertex(key, label string, s shape, cluster int) int {
	if i, ok := p.at[key]; ok {
		return i
	}
	if p.at == nil {
		p.at = map[string]int{}
	}
	p.at[key] = len(p.vertices)
	p.vertices = append(p.vertices, vertex{label, s, cluster})
	return len(p.vertices) - 1
}

func (p *picture) edge(from, to int, side bool) { p.edges = append(p.edges, edge{from, to, side}) }

func (t Topology) picture() *picture {
	p := &picture{}
	a := t.arranged()
	for _, s := range a.Subtopologies {
		for _, r := range s.RepartitionSourceTopics {
			p.vertex("topic "+r.Name, infoLabel(r), shapeInternal, -1)
		}
	}
	for i, s := range a.Subtopologies {
		label := "subtopology " + s.ID
		for _, g := range s.CopartitionGroups {
			label += "\ncopartitioned: " + strings.Join(append(append([]string{}, g.SourceTopics...), g.RepartitionSourceTopics...), ", ")
		}
		box := p.vertex(fmt.Sprint("subtopology ", i), label, shapeBox, -1)
		for _, n := range s.SourceTopics {
			p.edge(p.vertex("topic "+n, n, shapeTopic, -1), box, false)
		}
		for _, r := range s.RepartitionSourceTopics {
			p.edge(p.vertex("topic "+r.Name, infoLabel(r), shapeInternal, -1), box, false)
		}
		for _, n := range s.RepartitionSinkTopics {
			p.edge(box, p.vertex("topic "+n, n, shapeInternal, -1), false)
		}
		for _, c := range s.StateChangelogTopics {
			p.edge(box, p.vertex("topic "+c.Name, c.Name, shapeStore, -1), true)
		}
	}
	return p
}

func infoLabel(r TopicInfo) string {
	if r.Partitions > 0 {
		return fmt.Sprintf("%s\n%d partitions", r.Name, r.Partitions)
	}
	return r.Name
}

func (d Description) picture() *picture {
	p := &picture{}
	c := d.canonical()
	for _, id := range c.ids() {
		p.clusters = append(p.clusters, "subtopology "+id)
		p.nodes(c.Subtopologies[id])
	}
	for i, g := range c.GlobalStores {
		p.clusters = append(p.clusters, fmt.Sprintf("global store %d", i))
		p.nodes([]Node{g.Source, g.Processor})
	}
	return p
}

// nodes draws the nodes of the last cluster.
func (p *picture) nodes(nodes []Node) {
	cluster := len(p.clusters) - 1
	shapes := map[NodeType]shape{SourceNode: shapeSource, ProcessorNode: shapeBox, SinkNode: shapeSink}
	own := func(name string) string { return fmt.Sprint("node ", cluster, " ", name) }
	for _, n := range nodes {
		s, ok := shapes[n.Type]
		if !ok {
			s = shapeBox
		}
		p.vertex(own(n.Name), n.Name, s, cluster)
		for _, store := range n.Stores {
			p.vertex(fmt.Sprint("store ", cluster, " ", store), store, shapeStore, cluster)
		}
	}
	for _, n := range nodes {
		i := p.at[own(n.Name)]
		for _, t := range n.Topics {
			topic := p.vertex("topic "+t, t, shapeTopic, -1)
			if n.Type == SinkNode {
				p.edge(i, topic, false)
			} else {
				p.edge(topic, i, false)
			}
		}
		for _, store := range n.Stores {
			p.edge(i, p.at[fmt.Sprint("store ", cluster, " ", store)], true)
		}
		for _, s := range n.Successors {
			if to, ok := p.at[own(s)]; ok {
				p.edge(i, to, false)
			}
		}
	}
}
