package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

const data = "../../topology/testdata/"

// ctl runs the program, and wants an exit code.
func ctl(t *testing.T, want int, args ...string) (out, log string) {
	t.Helper()
	var o, l strings.Builder
	if code := run(t.Context(), &program{strings.NewReader(""), &o, &l}, args); code != want {
		t.Fatalf("topologyctl %v: exit code %d, want %d\n%s%s", args, code, want, o.String(), l.String())
	}
	return o.String(), l.String()
}

func TestUsage(t *testing.T) {
	count := data + "golden/java-count.json"
	group := []string{"-brokers", "127.0.0.1:1", "-group", "g"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "describe"},
		{[]string{"launch"}, `no command "launch"`},
		{[]string{"describe"}, "-brokers, -group"},
		{append([]string{"describe"}, append(group, "-timeout", "-1s")...), "positive -timeout"},
		{append([]string{"describe"}, append(group, "file")...), "1 files given"},
		{[]string{"describe", "-colour"}, "-colour"},
		{[]string{"diff", count}, "-brokers, -group"},
		{[]string{"diff"}, "0 files given"},
		{[]string{"diff", "-group", "g", count, count}, "either two files"},
		{[]string{"diff", count, "no-such-file"}, "no-such-file"},
		{[]string{"diff", count, data + "ten-faults.json"}, "subtopologies["},
		{[]string{"next-epoch", count}, "-brokers, -group"},
		{append([]string{"check", "-epoch", "-3"}, append(group, count)...), "epoch"},
		{[]string{"graph", "-format", "png", count}, "dot or mermaid"},
		{[]string{"graph"}, "wanted one of"},
		{[]string{"graph", "-group", "g", count}, "wanted one of"},
		{[]string{"reset", "-group", "g"}, "-brokers"},
		{append([]string{"reset", "-save", count}, group...), "is of group"},
	} {
		if _, log := ctl(t, exitUsage, c.args...); !strings.Contains(log, c.says) {
			t.Errorf("%v: %s", c.args, log)
		}
	}
	for _, args := range [][]string{{"-h"}, {"help"}, {"reset", "-h"}} {
		if _, log := ctl(t, exitDone, args...); !strings.Contains(log, "usage") {
			t.Errorf("%v: %s", args, log)
		}
	}
	t.Setenv("TOPOLOGY_EPOCH", "v2")
	ctl(t, exitUsage, append([]string{"check"}, append(group, count)...)...)
}

func TestNoBrokerIsNoVerdict(t *testing.T) {
	count := data + "golden/java-count.json"
	for _, c := range []string{"describe", "next-epoch", "check", "diff", "graph", "reset"} {
		args := []string{c, "-brokers", "127.0.0.1:1", "-group", "g", "-timeout", "100ms"}
		switch c {
		case "next-epoch", "check", "diff":
			args = append(args, count)
		case "reset":
			args = append(args, "-save", filepath.Join(t.TempDir(), "offsets"))
		}
		if out, log := ctl(t, exitNotKnown, args...); out != "" || log == "" {
			t.Errorf("%s: %q, %q", c, out, log)
		}
	}
}

func TestDiffOfFiles(t *testing.T) {
	count, table := data+"golden/java-count.json", data+"golden/java-table.json"
	if out, _ := ctl(t, exitRefused, "diff", count, "-json", "-topology", table); !strings.Contains(out, `"verdict": "different"`) {
		t.Errorf("%s", out)
	}
	if out, _ := ctl(t, exitDone, "diff", count, count); !strings.HasPrefix(out, "same: t1-") {
		t.Errorf("%s", out)
	}
	out, _ := ctl(t, exitRefused, "diff", count, table)
	if !strings.HasPrefix(out, "different: t1-") || !strings.Contains(out, "removed") {
		t.Errorf("%s", out)
	}
	out, _ = ctl(t, exitRefused, "diff", "-json", count, table)
	var v struct {
		Verdict string
		Changes []topology.Change
		ID      topology.ID
		GroupID topology.ID `json:"group_id"`
	}
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Verdict != "different" || len(v.Changes) == 0 || v.ID == v.GroupID {
		t.Errorf("%v: %+v", err, v)
	}
	var o, l strings.Builder
	text, err := os.ReadFile(count)
	if err != nil {
		t.Fatal(err)
	}
	renumbered := filepath.Join(t.TempDir(), "renumbered.json")
	swapped := strings.NewReplacer(`"id": "0"`, `"id": "1"`, `"id": "1"`, `"id": "0"`).Replace(string(text))
	if err := os.WriteFile(renumbered, []byte(swapped), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _ := ctl(t, exitRefused, "diff", count, renumbered); strings.Count(out, "(clash)") < 2 {
		t.Errorf("S-55: %s", out)
	}
	if code := run(t.Context(), &program{strings.NewReader(string(text)), &o, &l}, []string{"diff", "-", count}); code != exitDone {
		t.Errorf("from standard input: %d %s", code, l.String())
	}
}

func TestGraphOfFiles(t *testing.T) {
	topo, err := load[topology.Topology](nil, data+"golden/java-count.json")
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := ctl(t, exitDone, "graph", data+"golden/java-count.json"); out != topo.Mermaid() || out == "" {
		t.Errorf("%s", out)
	}
	if out, _ := ctl(t, exitDone, "graph", "-format", "dot", data+"golden/java-count.json"); out != topo.DOT() {
		t.Errorf("%s", out)
	}
	if out, _ := ctl(t, exitDone, "graph", "-description", data+"description.json"); !strings.Contains(out, "subgraph") {
		t.Errorf("%s", out)
	}
}

// recorded is a describe as a real broker answered it.
func recorded(t *testing.T, name string) kmsg.StreamsGroupDescribeResponseGroup {
	t.Helper()
	text, err := os.ReadFile(data + name)
	if err != nil {
		t.Fatal(err)
	}
	var resp kmsg.StreamsGroupDescribeResponse
	if err := json.Unmarshal(text, &resp); err != nil {
		t.Fatal(err)
	}
	return resp.Groups[0]
}

func TestDescribeOfARecordedGroup(t *testing.T) {
	g := recorded(t, "describe-count.json")
	d, err := read(g)
	if err != nil {
		t.Fatal(err)
	}
	v := view("app1", g, d)
	var text strings.Builder
	v.text(&text)
	for _, want := range []string{
		"group app1: Stable, epoch 3, assignment epoch 3, topology epoch 0", "subtopology 0: reads in", "repartitions to app1-by-value-repartition",
		"subtopology 1: reads app1-by-value-repartition (4 partitions)", "state in app1-counts-changelog", "current active 0_0", "target  active 0_0",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	var out strings.Builder
	if err := (&program{out: &out}).print(v); err != nil {
		t.Fatal(err)
	}
	var back groupView
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	if back.Topology.ID() != d.Topology.ID() || len(back.Members) != len(g.Members) || len(back.Members[0].Current.Active) == 0 {
		t.Errorf("%+v", back)
	}
}
