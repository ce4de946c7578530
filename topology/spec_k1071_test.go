package topology_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// K1071-1: a topology has an ID, and epoch and topology go into the join. The ID does not:
// brokers up to 4.4 have no field for it.
func TestK1071_01_IDAndEpochAndTopology(t *testing.T) {
	topo := golden(t, "everything")
	var back kmsg.StreamsGroupHeartbeatRequest
	if err := back.ReadFrom(encoded(topo.Wire(7), 0)); err != nil {
		t.Fatal(err)
	}
	equal(t, "epoch on the wire", back.Topology.Epoch, 7)
	equal(t, "subtopologies on the wire", len(back.Topology.Subtopologies), 2)
	equal(t, "ID on the wire", strings.Contains(string(encoded(topo.Wire(7), 0)), string(topo.ID())), false)
	equal(t, "ID has a version", strings.HasPrefix(string(topo.ID()), "t1-"), true)
}

// K1071-2: the ID hashes what goes on the wire, all of it, and nothing else.
func TestK1071_02_IDIsAHashOfTheWire(t *testing.T) {
	topo := golden(t, "everything")
	for i, field := range []func(*topology.Topology){
		func(t *topology.Topology) { t.Subtopologies[0].ID = "11" },
		func(t *topology.Topology) { t.Subtopologies[0].SourceTopics[0] = "x" },
		func(t *topology.Topology) { t.Subtopologies[0].RepartitionSinkTopics[0] = "x" },
		func(t *topology.Topology) { t.Subtopologies[0].RepartitionSourceTopics[0].Name = "x" },
		func(t *topology.Topology) { t.Subtopologies[0].RepartitionSourceTopics[0].Partitions = 13 },
		func(t *topology.Topology) { t.Subtopologies[0].RepartitionSourceTopics[0].ReplicationFactor = 0 },
		func(t *topology.Topology) { t.Subtopologies[0].RepartitionSourceTopics[0].Configs["a"] = "" },
		func(t *topology.Topology) {
			t.Subtopologies[0].RepartitionSourceTopics[0].Configs["retention.ms"] = "1"
		},
		func(t *topology.Topology) { t.Subtopologies[0].StateChangelogTopics[1].Name = "x" },
		func(t *topology.Topology) { t.Subtopologies[0].CopartitionGroups[1].SourceTopics[0] = "prices" },
		func(t *topology.Topology) { t.Subtopologies[1].ID = "3" },
		func(t *topology.Topology) { t.Order = topology.AsGiven },
	} {
		changed := golden(t, "everything")
		field(&changed)
		if changed.ID() == topo.ID() {
			t.Errorf("change %d does not change the ID", i)
		}
		if sameWire(changed, topo) {
			t.Errorf("change %d does not change the wire", i)
		}
	}
	back, epoch, err := topology.FromWire(topo.Wire(9))
	equal(t, "error", err, nil)
	equal(t, "epoch", epoch, 9)
	back.Order = topology.Canonical
	equal(t, "with another epoch", back.ID(), topo.ID())
}

// K1071-3: one encoding, sorted; or a given order, as Java's hash set has it.
func TestK1071_03_CanonicalOrAsGiven(t *testing.T) {
	sorted := golden(t, "everything").Wire(0)
	equal(t, "subtopologies", sorted.Subtopologies[0].SubtopologyID+" "+sorted.Subtopologies[1].SubtopologyID, "10 2")
	s := sorted.Subtopologies[0]
	equal(t, "source topics", strings.Join(s.SourceTopics, " "), "customers orders prices")
	equal(t, "sink topics", slices.IsSorted(s.RepartitionSinkTopics), true)
	equal(t, "changelogs", s.StateChangelogTopics[0].Topic, "app-a-changelog")
	equal(t, "configs", s.RepartitionSourceTopics[0].Configs[0].Key, "cleanup.policy")
	equal(t, "first copartition group", fmt.Sprint(s.CopartitionGroups[0].SourceTopics), "[0 1]")
	given := golden(t, "everything-as-given").Wire(0).Subtopologies[0]
	equal(t, "source topics as given", strings.Join(given.SourceTopics, " "), "orders customers prices")
	equal(t, "copartition group as given", fmt.Sprint(given.CopartitionGroups[1].SourceTopics), "[1 0]")
}

// K1071-4: the epoch is a setting.
func TestK1071_04_EpochIsASetting(t *testing.T) {
	for _, e := range []topology.Epoch{0, 1, 7, math.MaxInt32} {
		equal(t, "epoch", golden(t, "smallest").Wire(e).Epoch, int32(e))
	}
}

// K1071-5: 0 by default, as Java; never negative.
func TestK1071_05_DefaultEpoch(t *testing.T) {
	var e topology.Epoch
	equal(t, "zero value", e, 0)
	e, err := topology.EpochFromEnv("ROLLCALL_TEST_NO_SUCH_VARIABLE")
	equal(t, "unset", e, 0)
	equal(t, "unset", err, nil)
	equal(t, "first epoch", topology.Next(golden(t, "smallest"), topology.Deployed{}).Epoch, 0)
	equal(t, "negative", faultsOf(t, topology.Guard{}.Check(golden(t, "smallest"), -1, topology.Deployed{})), "epoch: -1: want 0 or more")
	_, err = topology.ParseEpoch("-1")
	equal(t, "negative text", err != nil, true)
}

// K1071-7: a new topology goes with the next epoch, where the broker takes it; up to 4.4 none does.
func TestK1071_07_UpdateWithTheNextEpoch(t *testing.T) {
	before, after := two(t)
	d := deployed(4, before)
	p := topology.Next(after, updatable(d))
	equal(t, "later broker: in place", p.InPlace, true)
	equal(t, "later broker: guard", topology.Guard{AllowUpdate: true}.Check(after, p.Epoch, updatable(d)), nil)
	p = topology.Next(after, d)
	equal(t, "up to 4.4: in place", p.InPlace, false)
	equal(t, "up to 4.4: guard", guardError(t, topology.Guard{AllowUpdate: true}.Check(after, p.Epoch, d)).Err, topology.ErrUpdate)
}

// K1071-8: exactly the next epoch, or any greater: the user's choice.
func TestK1071_08_EpochRule(t *testing.T) {
	before, after := two(t)
	d := updatable(deployed(4, before))
	exact, skip := topology.Guard{AllowUpdate: true}, topology.Guard{AllowSkip: true}
	equal(t, "exact, next", exact.Check(after, 5, d), nil)
	equal(t, "exact, skip", guardError(t, exact.Check(after, 6, d)).Err, topology.ErrUpdate)
	equal(t, "any, next", skip.Check(after, 5, d), nil)
	equal(t, "any, skip", skip.Check(after, 60, d), nil)
}

// K1071-9: nothing here raises an epoch: what is sent is what was set, whatever was found.
func TestK1071_09_NeverRaisedByItself(t *testing.T) {
	before, after := two(t)
	e := topology.Epoch(3)
	f, err := topology.Guard{Mode: topology.Warn, AllowUpdate: true}.Ask(t.Context(), after, e, func(context.Context) (topology.Deployed, error) {
		return updatable(deployed(8, before)), nil
	})
	equal(t, "error", err, nil)
	equal(t, "notice", guardError(t, f.Notice).OwnEpoch, 3)
	topology.Next(after, f.Deployed)
	equal(t, "epoch", e, 3)
	equal(t, "epoch on the wire", after.Wire(e).Epoch, 3)
}

// K1071-10, S-32, S-33: an old program does not come back by accident, on a first start or a
// restart in the middle of a rollout: the look-up is the same.
func TestK1071_10_NoAccidentalRollback(t *testing.T) {
	before, after := two(t)
	group := deployed(5, after)
	for _, own := range []topology.Topology{before, after} { // whatever the old image has in it
		ge := guardError(t, topology.Guard{}.Check(own, 4, group))
		equal(t, "why", ge.Err, topology.ErrRollback)
		equal(t, "epochs", fmt.Sprint(ge.OwnEpoch, " ", ge.GroupEpoch), "4 5")
		equal(t, "later broker", guardError(t, topology.Guard{AllowUpdate: true, AllowSkip: true}.Check(own, 4, updatable(group))).Err, topology.ErrRollback)
		equal(t, "allowed", topology.Guard{AllowRollback: true}.Check(own, 4, group), nil)
	}
	equal(t, "the nineteen others", topology.Guard{}.Check(after, 5, group), nil)
}

// K1071-11, S-35: old content under a new epoch is an update like any other.
func TestK1071_11_WantedRollback(t *testing.T) {
	before, after := two(t)
	group := updatable(deployed(5, after))
	equal(t, "next epoch for the old content", topology.Next(before, group).Epoch, 6)
	equal(t, "guard", topology.Guard{AllowUpdate: true}.Check(before, 6, group), nil)
}

// K1071-15, S-37: one epoch, two contents: an error of its own, with both epochs and what differs.
func TestK1071_15_SameEpochOtherContent(t *testing.T) {
	before, after := two(t)
	ge := guardError(t, topology.Guard{AllowUpdate: true, AllowSkip: true, AllowRollback: true}.Check(after, 5, updatable(deployed(5, before))))
	equal(t, "why", ge.Err, topology.ErrMismatch)
	equal(t, "own ID", ge.OwnID, after.ID())
	equal(t, "group ID", ge.GroupID, before.ID())
	equal(t, "epochs", fmt.Sprint(ge.OwnEpoch, " ", ge.GroupEpoch), "5 5")
	equal(t, "changes", texts(ge.Changes), `subtopology "0", source_topics[more]: added`)
	const invalidRequest, invalidEpoch = 42, 131 // up to 4.4, and from 4.5 on
	for _, code := range []int16{invalidRequest, invalidEpoch} {
		ge := guardError(t, topology.Explain(after, 5, deployed(5, before), code, "Topology updates are not supported yet."))
		equal(t, "as the broker says", ge.Err, topology.ErrMismatch)
	}
}
