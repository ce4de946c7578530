package topology_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/topology"
)

func TestNext(t *testing.T) {
	before, after := two(t)
	clash := clone(before)
	clash.Subtopologies[0].ID, clash.Subtopologies[1].ID = "1", "0"
	type plan struct {
		epoch          topology.Epoch
		bump, first    bool
		inPlace, asked bool // asked: an operator has something to do
		verdict        topology.Verdict
	}
	for _, c := range []struct {
		name string
		own  topology.Topology
		d    topology.Deployed
		want plan
	}{
		{"no group", before, topology.Deployed{}, plan{0, false, true, true, false, topology.NoGroup}},
		{"same", before, deployed(4, before), plan{4, false, false, true, false, topology.Same}},
		{"changed", after, deployed(4, before), plan{5, true, false, false, true, topology.Different}},
		{"changed, later broker", after, updatable(deployed(4, before)), plan{5, true, false, true, false, topology.Different}},
		{"clash, later broker", clash, updatable(deployed(4, before)), plan{5, true, false, false, true, topology.Different}},
		{"last epoch", after, updatable(deployed(math.MaxInt32, before)), plan{0, true, false, false, true, topology.Different}},
		{"not shown", before, topology.Deployed{Exists: true, Epoch: 4}, plan{4, false, false, false, true, topology.CannotTell}},
		{"nothing shown", before, topology.Deployed{Exists: true, Epoch: -1}, plan{-1, false, false, false, true, topology.CannotTell}},
	} {
		p := topology.Next(c.own, c.d)
		equal(t, c.name, plan{p.Epoch, p.Bump, p.First, p.InPlace, p.Way != "", p.Verdict}, c.want)
		equal(t, c.name+": ID", p.ID, c.own.ID())
	}
}

// The JSON of a plan is for scripts: its names are a contract.
func TestPlanAsJSON(t *testing.T) {
	before, after := two(t)
	text, err := json.Marshal(topology.Next(after, updatable(deployed(4, before))))
	equal(t, "error", err, nil)
	equal(t, "JSON", string(text), `{"epoch":5,"bump":true,"first":false,"in_place":true,"id":"`+string(after.ID())+`",`+
		`"verdict":"different","changes":[{"subtopology":"0","field":"source_topics[more]","what":"added"}],`+
		`"hidden":["the order of lists","copartition groups of subtopology \"0\""],"group_id":"`+string(before.ID())+`"}`)
}

// A broker's refusal becomes the guard's error, whichever of its two answers it gives.
func TestExplain(t *testing.T) {
	before, after := two(t)
	const text = "Topology updates are not supported yet."
	for _, c := range []struct {
		name    string
		own     topology.Topology
		e       topology.Epoch
		d       topology.Deployed
		code    int16
		message string
		want    error
	}{
		{"4.4, same epoch", after, 5, deployed(5, before), kerr.InvalidRequest.Code, text, topology.ErrMismatch},
		{"4.5, same epoch", after, 5, deployed(5, before), kerr.StreamsInvalidTopologyEpoch.Code, "", topology.ErrMismatch},
		{"4.4, higher", after, 6, deployed(5, before), kerr.InvalidRequest.Code, text, topology.ErrUpdate},
		{"4.5, lower", after, 4, deployed(5, before), kerr.StreamsInvalidTopologyEpoch.Code, "", topology.ErrRollback},
		{"fenced", after, 5, deployed(5, before), kerr.StreamsTopologyFenced.Code, "", topology.ErrRollback},
		{"group not known", after, 5, topology.Deployed{}, kerr.InvalidRequest.Code, text, topology.ErrMismatch},
		{"hidden", before, 5, deployed(5, before), kerr.InvalidRequest.Code, text, topology.ErrMismatch},
		{"another invalid request", after, 5, deployed(5, before), kerr.InvalidRequest.Code, "ActiveTasks must be empty when (re-)joining.", nil},
		{"another code", after, 5, deployed(5, before), kerr.StreamsInvalidTopology.Code, text, nil},
		{"no error", after, 5, deployed(5, before), 0, "", nil},
	} {
		err := topology.Explain(c.own, c.e, c.d, c.code, c.message)
		if c.want == nil {
			equal(t, c.name, err, nil)
			continue
		}
		ge := guardError(t, err)
		equal(t, c.name, ge.Err, c.want)
		if ge.Way == "" || ge.OwnID != c.own.ID() || ge.OwnEpoch != c.e {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	hidden := guardError(t, topology.Explain(before, 5, deployed(5, before), kerr.InvalidRequest.Code, text))
	equal(t, "what is hidden is said", hidden.Way[:len("what differs is hidden (the order of lists)")], "what differs is hidden (the order of lists)")
	unknown := guardError(t, topology.Explain(before, 5, topology.Deployed{}, kerr.InvalidRequest.Code, text))
	equal(t, "group epoch", unknown.GroupEpoch, topology.EpochUnknown)
}
