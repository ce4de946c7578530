package topology_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// K1071-17: the epoch is in the description; on 4.1 perhaps only in the members.
func TestK1071_17_EpochFromDescribe(t *testing.T) {
	own := golden(t, "java-count")
	equal(t, "4.2 and later", fromDescribe(t, described(7, own, 4)).Epoch, 7)

	g := described(7, own, 4)
	g.Topology, g.State = nil, "NotReady"
	g.Members = []kmsg.StreamsGroupDescribeResponseGroupMember{{TopologyEpoch: 6}, {TopologyEpoch: 7}}
	d := fromDescribe(t, g)
	equal(t, "4.1, not ready", d.Epoch, 7)
	equal(t, "4.1, topology", d.Topology, nil)
	equal(t, "older than a member's", guardError(t, topology.Guard{}.Check(own, 6, d)).Err, topology.ErrRollback)
	equal(t, "equal to a member's", topology.Guard{}.Check(own, 7, d), nil)

	g.Members, g.State = nil, "Empty"
	d = fromDescribe(t, g)
	equal(t, "4.1, empty", d.Epoch, topology.EpochUnknown)
	equal(t, "it exists", d.Exists, true)

	g = described(7, own, 4)
	g.Topology.Subtopologies = nil
	d = fromDescribe(t, g)
	equal(t, "null subtopologies: epoch", d.Epoch, 7)
	equal(t, "null subtopologies: topology", d.Topology, nil)
}

// K1071-18, S-28, S-29: CI asks for the next epoch, and reads the answer as JSON.
func TestK1071_18_NextEpochForCI(t *testing.T) {
	before, after := two(t)
	for _, c := range []struct {
		d    topology.Deployed
		want string
	}{
		{topology.Deployed{}, `"epoch":0,"bump":false,"first":true,"in_place":true,`},
		{deployed(4, before), `"epoch":5,"bump":true,"first":false,"in_place":false,`},
		{updatable(deployed(4, before)), `"epoch":5,"bump":true,"first":false,"in_place":true,`},
	} {
		text, err := json.Marshal(topology.Next(after, c.d))
		if err != nil || !strings.HasPrefix(string(text), "{"+c.want) {
			t.Errorf("%s\nwant %s (%v)", text, c.want, err)
		}
	}
}

// K1071-19: the epoch comes from an option, the environment or a flag.
func TestK1071_19_EpochFromAnywhere(t *testing.T) {
	t.Setenv("TOPOLOGY_EPOCH", " 5\n")
	e, err := topology.EpochFromEnv("TOPOLOGY_EPOCH")
	equal(t, "environment", e, 5)
	equal(t, "environment", err, nil)
	for _, bad := range []string{"", "x", "-1", "+1", "1.0", "2147483648", "0x1"} {
		t.Setenv("TOPOLOGY_EPOCH", bad)
		if e, err := topology.EpochFromEnv("TOPOLOGY_EPOCH"); err == nil || !strings.Contains(err.Error(), "TOPOLOGY_EPOCH") {
			t.Errorf("%q: %v, %v", bad, e, err)
		}
	}
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	fs.SetOutput(new(strings.Builder))
	fs.Var(&e, "topology-epoch", "")
	equal(t, "flag", fs.Parse([]string{"-topology-epoch", "6"}), nil)
	equal(t, "flag", e, 6)
	equal(t, "bad flag", fs.Parse([]string{"-topology-epoch", "six"}) != nil, true)
	equal(t, "bad flag leaves it", e, 6)
}

// K1071-20: no bump is due where nothing has changed.
func TestK1071_20_NoBumpIsDue(t *testing.T) {
	for _, name := range []string{"count", "table"} {
		own := golden(t, "java-"+name)
		d, err := topology.FromDescribe(describeCase(t, name))
		if err != nil {
			t.Fatal(err)
		}
		p := topology.Next(own, d)
		equal(t, name, fmt.Sprintf("%v bump=%v epoch=%v in place=%v way=%q", p.Verdict, p.Bump, p.Epoch, p.InPlace, p.Way), `same bump=false epoch=0 in place=true way=""`)
	}
}

// K1071-21, S-34: a rejoin has the body of the start, byte for byte: Wire shares nothing
// with the topology, and gives the same each time.
func TestK1071_21_RejoinRepeatsTheBody(t *testing.T) {
	topo := golden(t, "everything-as-given")
	first := topo.Wire(4)
	start := encoded(first, 1)
	equal(t, "again", slices.Equal(encoded(topo.Wire(4), 1), start), true)
	topo.Subtopologies[0].SourceTopics[0] = "changed"
	topo.Subtopologies[0].RepartitionSinkTopics[0] = "changed"
	topo.Subtopologies[0].RepartitionSourceTopics[0].Name = "changed"
	topo.Subtopologies[0].StateChangelogTopics[0].Configs["changed"] = "x"
	topo.Subtopologies[0].CopartitionGroups[0].SourceTopics[0] = "changed"
	equal(t, "after a change of the topology", slices.Equal(encoded(first, 1), start), true)
}

// K1071-22: updates are off unless asked for.
func TestK1071_22_UpdatesAreOffByDefault(t *testing.T) {
	before, after := two(t)
	equal(t, "zero guard", guardError(t, topology.Guard{}.Check(after, 6, updatable(deployed(5, before)))).Err, topology.ErrUpdate)
}

// K1071-24: the last one to join does not win, and an allowed update need not be switched
// off again: with the flag still set, neither an old program nor another content passes.
func TestK1071_24_LastJoinerDoesNotWin(t *testing.T) {
	before, after := two(t)
	left := topology.Guard{AllowUpdate: true} // as the rollout left it
	group := updatable(deployed(6, after))
	equal(t, "old program", guardError(t, left.Check(before, 5, group)).Err, topology.ErrRollback)
	equal(t, "other content", guardError(t, left.Check(before, 6, group)).Err, topology.ErrMismatch)
	equal(t, "new program", left.Check(after, 6, group), nil)
	// The same, had the old one joined first.
	equal(t, "new content, old epoch", guardError(t, left.Check(after, 5, updatable(deployed(5, before)))).Err, topology.ErrMismatch)
}

// K1071-25, S-30: where the broker refuses there is a way, and the error names it before
// anybody is harmed.
func TestK1071_25_TheWayIsNamed(t *testing.T) {
	before, after := two(t)
	for _, e := range []topology.Epoch{5, 6} {
		way := guardError(t, topology.Guard{AllowUpdate: true}.Check(after, e, deployed(5, before))).Way
		for _, step := range []string{"new group", "stop all members", "save the committed offsets", "delete the group", "restore them"} {
			if !strings.Contains(way, step) {
				t.Errorf("epoch %d: the way does not say %q: %s", e, step, way)
			}
		}
	}
	equal(t, "plan", topology.Next(after, deployed(5, before)).Way != "", true)
}

// K1071-26, S-55: two topologies that cannot run side by side are told apart from others.
func TestK1071_26_ClashesAreNamed(t *testing.T) {
	before, _ := two(t)
	renumbered := clone(before)
	renumbered.Subtopologies[0].ID, renumbered.Subtopologies[1].ID = "1", "0"
	clashes := ""
	for _, c := range topology.Diff(before, renumbered) {
		if c.Clash {
			clashes += c.String() + "\n"
		}
	}
	equal(t, "clashes", clashes, `subtopology "0", id: renumbered: reads what subtopology "1" read (clash)`+"\n"+
		`subtopology "1", id: renumbered: reads what subtopology "0" read (clash)`+"\n")
	equal(t, "in place", topology.Next(renumbered, updatable(deployed(1, before))).InPlace, false)
}

// K1071-29: each field of a subtopology is carried, and held to its rule.
func TestK1071_29_EveryFieldIsCarriedAndChecked(t *testing.T) {
	topo := golden(t, "everything-as-given")
	back, _, err := topology.FromWire(topo.Wire(0))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(topo)
	b, _ := json.Marshal(back)
	equal(t, "there and back", string(b), string(a))
	w := topo.Wire(0)
	w.Subtopologies[0].CopartitionGroups[1].SourceTopics[0] = 3
	_, _, err = topology.FromWire(w)
	equal(t, "index out of range", faultsOf(t, err),
		"subtopologies[0].copartition_groups[1].source_topics[0]: index 3 is out of range: the list has 3 topics")
}

// K1071-30: a description on top, which changes nothing about membership.
func TestK1071_30_DescriptionIsExtra(t *testing.T) {
	req := description(t).Request("g", "m", 4)
	equal(t, "key", req.Key(), 93)
	equal(t, "epoch", req.TopologyEpoch, 4)
	equal(t, "ID knows nothing of it", golden(t, "smallest").ID(), golden(t, "smallest").Canonical().ID())
	equal(t, "drawn", strings.HasPrefix(description(t).Mermaid(), "flowchart LR\n"), true)
}

// S-38: two processes that build the lists in another order send the same.
func TestS38_SameTopologyOtherOrder(t *testing.T) {
	a := golden(t, "everything")
	for seed := range uint64(20) {
		b := newGen(seed).shuffled(a)
		equal(t, "wire", sameWire(a, b), true)
		equal(t, "guard", topology.Guard{}.Check(b, 0, deployed(0, a)), nil)
	}
}
