package topology_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// FuzzJSON: what is read is valid, is written so that it is read as the same, and goes
// over the wire unharmed. Nothing panics.
func FuzzJSON(f *testing.F) {
	for _, name := range []string{"everything", "everything-as-given", "java-count", "java-table", "java-join-as-given", "smallest"} {
		f.Add(readFile(f, "golden/"+name+".json"))
	}
	f.Add(readFile(f, "ten-faults.json"))
	f.Add([]byte(`{"subtopologies":[{"id":"0","source_topics":["a","b"],"copartition_groups":[{"source_topics":[1,"a",-1,1e3]}],"x":[null]}],"order":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var a topology.Topology
		if err := json.Unmarshal(text, &a); err != nil {
			if len(a.Subtopologies) > 0 || err.Error() == "" {
				t.Fatal("half read")
			}
			return
		}
		if err := a.Validate(); err != nil {
			t.Fatalf("read, and invalid: %v", err)
		}
		again, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		b := load(t, again)
		if a.ID() != b.ID() || !sameWire(a, b) || len(topology.Diff(a, b)) > 0 {
			t.Fatalf("%s\nis read as another topology:\n%s", again, texts(topology.Diff(a, b)))
		}
		c, _, err := topology.FromWire(a.Wire(1))
		if err != nil || !sameWire(a, c) || len(topology.Diff(a, c)) > 0 {
			t.Fatalf("over the wire: %v", err)
		}
		if v := topology.Compare(a, deployed(0, a)).Verdict; v != topology.Same {
			t.Fatal("described:", v)
		}
		_, _ = a.DOT(), a.Mermaid()
	})
}

// FuzzWire: any request that kmsg can decode is either refused, or written as the same
// bytes again; and what is made of it does not panic, valid or not.
func FuzzWire(f *testing.F) {
	for _, name := range []string{"everything-as-given", "java-count", "java-table"} {
		f.Add(encoded(golden(f, name).Wire(3), 0))
	}
	odd := golden(f, "everything").Wire(math.MaxInt32)
	odd.Subtopologies[0].CopartitionGroups[0].SourceTopics = []int16{-1, 99}
	odd.Subtopologies[1].SourceTopicRegex = []string{"["}
	f.Add(encoded(odd, 0))
	own := golden(f, "everything")
	f.Fuzz(func(t *testing.T, data []byte) {
		var req kmsg.StreamsGroupHeartbeatRequest
		if req.ReadFrom(data) != nil || req.Topology == nil {
			return
		}
		topo, e, err := topology.FromWire(req.Topology)
		if err != nil {
			_ = faultsOf(t, err)
			return
		}
		if !slices.Equal(encoded(topo.Wire(e), 0), encoded(req.Topology, 0)) {
			t.Fatal("not the same bytes")
		}
		err = topo.Validate()
		if err == nil && len(topology.Diff(topo, topo)) > 0 {
			t.Fatal("differs from itself")
		}
		_, _, _ = topology.Diff(own, topo), topology.Diff(topo, own), topo.DOT()
		if err == nil && topo.Canonical().ID() != topology.Next(topo.Canonical(), deployed(0, topo)).GroupID {
			t.Fatal("not recognised")
		}
	})
}

// FuzzDescribe: any answer of a broker can be read, compared and planned with.
func FuzzDescribe(f *testing.F) {
	own := golden(f, "java-count")
	for _, name := range []string{"count", "table"} {
		resp := kmsgCase[kmsg.StreamsGroupDescribeResponse](f, "describe-"+name+".json")
		resp.SetVersion(1)
		f.Add(resp.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var resp kmsg.StreamsGroupDescribeResponse
		resp.SetVersion(1)
		if resp.ReadFrom(data) != nil {
			return
		}
		for _, g := range resp.Groups {
			_, _, _ = topology.DescriptionFromDescribe(g)
			d, err := topology.FromDescribe(g)
			if err != nil && d.Exists {
				t.Fatal("an error, and a group")
			}
			for _, d.Updatable = range []bool{false, true} {
				p := topology.Next(own, d)
				if p.Epoch < topology.EpochUnknown || p.Bump && p.InPlace && p.Epoch != d.Epoch+1 {
					t.Fatalf("%+v", p)
				}
				if err := (topology.Guard{}).Check(own, 0, d); err != nil {
					_ = err.Error()
				}
			}
		}
	})
}

// FuzzDescription: what is read is valid, and goes through JSON and over the wire unharmed.
func FuzzDescription(f *testing.F) {
	f.Add(readFile(f, "description.json"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d topology.Description
		if json.Unmarshal(text, &d) != nil {
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatalf("read, and invalid: %v", err)
		}
		back, err := topology.DescriptionFromWire(d.Wire())
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var b topology.Description
		if err := json.Unmarshal(again, &b); err != nil {
			t.Fatal(err)
		}
		want := d.Request("g", "m", 0).AppendTo(nil)
		if !bytes.Equal(back.Request("g", "m", 0).AppendTo(nil), want) || !bytes.Equal(b.Request("g", "m", 0).AppendTo(nil), want) {
			t.Fatal("another description")
		}
		if d.DOT() != b.DOT() || d.Mermaid() != b.Mermaid() {
			t.Fatal("another drawing")
		}
	})
}
