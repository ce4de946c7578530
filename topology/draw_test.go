package topology_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/topology"
)

var rewrite = flag.Bool("rewrite", false, "write the drawings anew: look at them then")

func TestDrawings(t *testing.T) {
	topo, desc := golden(t, "everything"), description(t)
	for name, got := range map[string]string{
		"topology.dot": topo.DOT(), "topology.mmd": topo.Mermaid(),
		"table.dot": golden(t, "java-table").DOT(), "table.mmd": golden(t, "java-table").Mermaid(),
		"description.dot": desc.DOT(), "description.mmd": desc.Mermaid(),
	} {
		file := filepath.Join("draw", name)
		if *rewrite {
			if err := os.WriteFile(filepath.Join("testdata", file), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, name, got, string(readFile(t, file)))
	}
}

// A drawing does not depend on how a topology was put together.
func TestDrawingIsStable(t *testing.T) {
	for seed := range uint64(100) {
		g := newGen(seed)
		a := g.topology()
		a.Order = topology.Canonical
		b := g.shuffled(a)
		equal(t, "DOT", b.DOT(), a.DOT())
		equal(t, "Mermaid", b.Mermaid(), a.Mermaid())
	}
}

// Names go into drawings as text, whatever is in them: nodes and stores have no rule.
func TestNamesAreQuoted(t *testing.T) {
	d := topology.Description{Subtopologies: map[string][]topology.Node{`a"]; x -> y; ["`: {
		{Name: "n\"\\\n<b>`#1`&", Type: topology.SourceNode}, {Name: "", Type: "odd"}}}}
	dot, mermaid := d.DOT(), d.Mermaid()
	for _, want := range []string{`label="subtopology a\"]; x -> y; [\"";`, `label="n\"\\\n<b>` + "`#1`&" + `"`} {
		if !strings.Contains(dot, want) {
			t.Errorf("DOT without %s:\n%s", want, dot)
		}
	}
	for _, want := range []string{`["subtopology a#quot;]; x -#gt; y; [#quot;"]`, `"n#quot;\<br/>#lt;b#gt;#96;#35;1#96;#amp;"`} {
		if !strings.Contains(mermaid, want) {
			t.Errorf("Mermaid without %s:\n%s", want, mermaid)
		}
	}
	equal(t, "quotes in DOT", strings.Count(strings.ReplaceAll(dot, `\"`, ""), `"`)%2, 0)
}
