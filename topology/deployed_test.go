package topology_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

type describedGroup = kmsg.StreamsGroupDescribeResponseGroup

// described is t as brokers describe it: sorted, without copartition groups, and with
// resolved numbers of partitions if partitions is not 0.
func described(e topology.Epoch, t topology.Topology, partitions int32) describedGroup {
	g := kmsg.NewStreamsGroupDescribeResponseGroup()
	g.Group, g.State = "g", "Stable"
	w := t.Canonical().Wire(e)
	shown := kmsg.NewStreamsGroupDescribeResponseGroupTopology()
	shown.Epoch, shown.Subtopologies = w.Epoch, []kmsg.StreamsGroupDescribeResponseGroupTopologySubtopology{}
	for _, s := range w.Subtopologies {
		sub := kmsg.NewStreamsGroupDescribeResponseGroupTopologySubtopology()
		sub.SubtopologyID, sub.SourceTopics, sub.RepartitionSinkTopics = s.SubtopologyID, s.SourceTopics, s.RepartitionSinkTopics
		sub.RepartitionSourceTopics, sub.StateChangelogTopics = resolved(s.RepartitionSourceTopics, partitions), resolved(s.StateChangelogTopics, partitions)
		shown.Subtopologies = append(shown.Subtopologies, sub)
	}
	g.Topology = &shown
	return g
}

func resolved(infos []kmsg.TopicInfo, partitions int32) []kmsg.TopicInfo {
	for i := range infos {
		if infos[i].NumPartitions == 0 {
			infos[i].NumPartitions = partitions
		}
	}
	return infos
}

func fromDescribe(t *testing.T, g describedGroup) topology.Deployed {
	t.Helper()
	d, err := topology.FromDescribe(g)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whatever topology a group has, it is recognised from its description, resolved or not.
func TestAnyTopologyIsRecognised(t *testing.T) {
	for seed := range uint64(300) {
		g := newGen(seed)
		own := g.topology()
		for _, partitions := range []int32{0, 4} {
			c := topology.Compare(own, fromDescribe(t, described(3, g.shuffled(own), partitions)))
			if c.Verdict != topology.Same || c.GroupID != own.ID() || len(c.Changes) > 0 {
				t.Fatalf("seed %d: %v\n%s", seed, c.Verdict, texts(c.Changes))
			}
		}
	}
}

// The verdict is Different if and only if something differs that brokers show, and then
// there is a change that says so.
func TestWhatIsShownDecides(t *testing.T) {
	different := 0
	for seed := range uint64(2000) {
		g := newGen(seed)
		own := g.topology()
		other := g.mutated(own)
		if other.Validate() != nil {
			continue
		}
		want := topology.Same
		if !sameShown(own, other) {
			want = topology.Different
			different++
		}
		c := topology.Compare(own, fromDescribe(t, described(0, other, 0)))
		if c.Verdict != want || (c.Verdict == topology.Different) != (len(c.Changes) > 0) || (c.GroupID == own.ID()) != (want == topology.Same) {
			t.Fatalf("seed %d: %v, want %v\n%s", seed, c.Verdict, want, texts(c.Changes))
		}
	}
	if different < 400 {
		t.Errorf("%d different pairs: too few", different)
	}
}

// sameShown compares what two topologies show, the plain way: a number of partitions
// that the own one leaves to the broker matches any.
func sameShown(own, other topology.Topology) bool {
	show := func(t topology.Topology) topology.Topology {
		t = t.Canonical()
		for i := range t.Subtopologies {
			t.Subtopologies[i].CopartitionGroups = nil
		}
		return t
	}
	own, other = show(own), show(other)
	free := map[string]bool{}
	for _, s := range own.Subtopologies {
		for _, r := range s.RepartitionSourceTopics {
			free[s.ID+" "+r.Name] = r.Partitions == 0
		}
	}
	for _, s := range other.Subtopologies {
		for i := range s.RepartitionSourceTopics {
			if r := &s.RepartitionSourceTopics[i]; free[s.ID+" "+r.Name] {
				r.Partitions = 0
			}
		}
	}
	return sameWire(own, other)
}

func TestDescribeErrors(t *testing.T) {
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		name    string
		code    int16
		message *string
		want    error
	}{
		{"no group", kerr.GroupIDNotFound.Code, text("Group g not found."), nil},
		{"no group, no text", kerr.GroupIDNotFound.Code, nil, nil},
		{"other type", kerr.GroupIDNotFound.Code, text("Group g is not a streams group."), topology.ErrOtherType},
		{"no rights", kerr.GroupAuthorizationFailed.Code, nil, kerr.GroupAuthorizationFailed},
	} {
		d, err := topology.FromDescribe(describedGroup{ErrorCode: c.code, ErrorMessage: c.message})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		equal(t, c.name, d, topology.Deployed{})
	}
}

// What brokers send has to do no harm, whatever it is.
func TestOddDescriptions(t *testing.T) {
	own := golden(t, "java-count")
	g := described(-7, own, 4)
	d := fromDescribe(t, g)
	equal(t, "negative epoch", d.Epoch, topology.EpochUnknown)
	equal(t, "guard", (topology.Guard{}).Check(own, 5, d), nil)
	equal(t, "next", topology.Next(own, d).Verdict, topology.CannotTell)

	g = described(0, own, 4)
	g.Topology.Subtopologies = append(g.Topology.Subtopologies, g.Topology.Subtopologies...)
	topology.Compare(own, fromDescribe(t, g))

	g.Topology.Subtopologies = g.Topology.Subtopologies[:0]
	c := topology.Compare(own, fromDescribe(t, g))
	equal(t, "a group that is stuck with nothing", c.Verdict, topology.Different)
	equal(t, "changes", texts(c.Changes), lines(`subtopology "0": added`, `subtopology "1": added`))
}
