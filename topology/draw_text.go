package topology

import (
	"fmt"
	"strings"
)

var dotShapes = [numShapes]string{
	shapeTopic:    `shape=ellipse`,
	shapeInternal: `shape=ellipse, style=dashed`,
	shapeStore:    `shape=cylinder`,
	shapeBox:      `shape=box`,
	shapeSource:   `shape=house`,
	shapeSink:     `shape=invhouse`,
}

func (p *picture) dot(name string) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "digraph %s {\n  rankdir=LR;\n", name)
	line := func(indent string, i int, v vertex) {
		fmt.Fprintf(&sb, "%sn%d [label=%s, %s];\n", indent, i, dotText(v.label), dotShapes[v.shape])
	}
	for c, label := range p.clusters {
		fmt.Fprintf(&sb, "  subgraph cluster_%d {\n    label=%s;\n", c, dotText(label))
		p.in(c, func(i int, v vertex) { line("    ", i, v) })
		sb.WriteString("  }\n")
	}
	p.in(-1, func(i int, v vertex) { line("  ", i, v) })
	for _, e := range p.edges {
		style := ""
		if e.side {
			style = " [style=dotted, dir=none]"
		}
		fmt.Fprintf(&sb, "  n%d -> n%d%s;\n", e.from, e.to, style)
	}
	sb.WriteString("}\n")
	return sb.String()
}

// in calls f for the vertices of a cluster.
func (p *picture) in(cluster int, f func(int, vertex)) {
	for i, v := range p.vertices {
		if v.cluster == cluster {
			f(i, v)
		}
	}
}

// dotText is a quoted string of DOT: all but quote, backslash and newline stand for themselves.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", `\n`).Replace(s) + `"`
}

// mermaidShapes are what stands around a label.
var mermaidShapes = [numShapes][2]string{
	shapeTopic:    {"([", "])"},
	shapeInternal: {"[[", "]]"},
	shapeStore:    {"[(", ")]"},
	shapeBox:      {"[", "]"},
	shapeSource:   {"[/", "/]"},
	shapeSink:     {`[\`, `\]`},
}

func (p *picture) mermaid() string {
	var sb strings.Builder
	sb.WriteString("flowchart LR\n")
	line := func(indent string, i int, v vertex) {
		around := mermaidShapes[v.shape]
		fmt.Fprintf(&sb, "%sn%d%s%s%s\n", indent, i, around[0], mermaidText(v.label), around[1])
	}
	for c, label := range p.clusters {
		fmt.Fprintf(&sb, "  subgraph c%d [%s]\n", c, mermaidText(label))
		p.in(c, func(i int, v vertex) { line("    ", i, v) })
		sb.WriteString("  end\n")
	}
	p.in(-1, func(i int, v vertex) { line("  ", i, v) })
	for _, e := range p.edges {
		arrow := "-->"
		if e.side {
			arrow = "-.-"
		}
		fmt.Fprintf(&sb, "  n%d %s n%d\n", e.from, arrow, e.to)
	}
	return sb.String()
}

// mermaidText is a quoted label of Mermaid, with what has a meaning in it as entities.
func mermaidText(s string) string {
	return `"` + strings.NewReplacer("#", "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "`", "#96;",
		"\r", "", "\n", "<br/>").Replace(s) + `"`
}
