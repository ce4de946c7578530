package topology_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// load reads a topology in our JSON form.
func load(tb testing.TB, text []byte) topology.Topology {
	tb.Helper()
	var t topology.Topology
	if err := json.Unmarshal(text, &t); err != nil {
		tb.Fatal(err)
	}
	return t
}

func golden(tb testing.TB, name string) topology.Topology {
	tb.Helper()
	return load(tb, readFile(tb, "golden/"+name+".json"))
}

// case1 reads a file in kmsg's field names.
func kmsgCase[T any](tb testing.TB, name string, replace ...string) *T {
	tb.Helper()
	v := new(T)
	text := strings.NewReplacer(replace...).Replace(string(readFile(tb, name)))
	if err := json.Unmarshal([]byte(text), v); err != nil {
		tb.Fatal(err)
	}
	return v
}

type wireTopology = kmsg.StreamsGroupHeartbeatRequestTopology

// encoded is a whole join with the topology, as kmsg puts it on the wire.
func encoded(w *wireTopology, version int16) []byte {
	req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
	req.SetVersion(version)
	req.Group, req.MemberID, req.RebalanceTimeoutMillis = "g", "m", 300000
	req.Topology = w
	req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	return req.AppendTo(nil)
}

// sameWire reports whether two topologies are the same bytes on the wire.
func sameWire(a, b topology.Topology) bool {
	return slices.Equal(encoded(a.Wire(0), 1), encoded(b.Wire(0), 1))
}

func equal[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func texts[T interface{ String() string }](vs []T) string {
	var out []string
	for _, v := range vs {
		out = append(out, v.String())
	}
	return strings.Join(out, "\n")
}

// faultsOf are the faults of an InvalidError, one a line.
func faultsOf(tb testing.TB, err error) string {
	tb.Helper()
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*topology.InvalidError](err)
	if !ok {
		tb.Fatalf("no InvalidError: %v", err)
	}
	return texts(invalid.Faults)
}

func lines(s ...string) string { return strings.Join(s, "\n") }

// deployed is a group that runs t, as a broker that shows everything would tell.
func deployed(e topology.Epoch, t topology.Topology) topology.Deployed {
	shown := t.Canonical()
	for i := range shown.Subtopologies {
		shown.Subtopologies[i].CopartitionGroups = nil
	}
	return topology.Deployed{Exists: true, Epoch: e, Topology: &shown}
}

func updatable(d topology.Deployed) topology.Deployed {
	d.Updatable = true
	return d
}

func guardError(tb testing.TB, err error) *topology.GuardError {
	tb.Helper()
	ge, ok := errors.AsType[*topology.GuardError](err)
	if !ok {
		tb.Fatalf("no GuardError: %v", err)
	}
	return ge
}
