package topology_test

import (
	"testing"

	"github.com/rollcall-go/rollcall/topology"
)

func TestDiffOfOrders(t *testing.T) {
	a := topology.Topology{Order: topology.AsGiven, Subtopologies: []topology.Subtopology{
		{ID: "0", SourceTopics: []string{"a", "b"}, CopartitionGroups: []topology.CopartitionGroup{{SourceTopics: []string{"a", "b"}}}},
		{ID: "1", SourceTopics: []string{"c"}}}}
	b := clone(a)
	b.Subtopologies[0].SourceTopics = []string{"b", "a"}
	b.Subtopologies[0].CopartitionGroups[0].SourceTopics = []string{"b", "a"}
	b.Subtopologies[0], b.Subtopologies[1] = b.Subtopologies[1], b.Subtopologies[0]
	equal(t, "as given", texts(topology.Diff(a, b)), lines(
		`subtopology "0", source_topics: order is b a, was a b`,
		`subtopology "0", copartition_groups[a b]: removed`,
		`subtopology "0", copartition_groups[b a]: added`,
		`subtopologies: order is 1 0, was 0 1`))
	a.Order, b.Order = topology.Canonical, topology.Canonical
	equal(t, "canonical", texts(topology.Diff(a, b)), "")
}

// What cannot run side by side is said first, once a subtopology.
func TestClashes(t *testing.T) {
	before := topology.Topology{Subtopologies: []topology.Subtopology{
		{ID: "0", SourceTopics: []string{"a"}, RepartitionSinkTopics: []string{"r"}},
		{ID: "1", RepartitionSourceTopics: []topology.TopicInfo{{Name: "r", Partitions: 4}}, StateChangelogTopics: []topology.TopicInfo{{Name: "c"}}},
		{ID: "2", SourceTopics: []string{"x", "y"}},
	}}
	for _, c := range []struct {
		name   string
		change func(t *topology.Topology)
		want   string
	}{
		{"renumbered", func(t *topology.Topology) { t.Subtopologies[1].ID, t.Subtopologies[2].ID = "3", "1" }, lines(
			`subtopology "1", id: renumbered: reads what subtopology "2" read (clash)`,
			`subtopology "3", id: renumbered: reads what subtopology "1" read (clash)`)},
		{"topic moved", func(t *topology.Topology) {
			t.Subtopologies[2].SourceTopics = []string{"x"}
			t.Subtopologies[0].SourceTopics = []string{"a", "y"}
		}, `subtopology "0", source_topics[y]: moved from subtopology "2": read by old and new members at once (clash)`},
		{"changelog moved", func(t *topology.Topology) {
			t.Subtopologies[0].StateChangelogTopics = t.Subtopologies[1].StateChangelogTopics
			t.Subtopologies[1].StateChangelogTopics = nil
		}, `subtopology "0", state_changelog_topics[c]: moved from subtopology "1": written by old and new members at once (clash)`},
		{"new meaning", func(t *topology.Topology) { t.Subtopologies[2].SourceTopics = []string{"z"} },
			`subtopology "2", id: has a new meaning: reads nothing of what it read before (clash)`},
		{"partitions", func(t *topology.Topology) { t.Subtopologies[1].RepartitionSourceTopics[0].Partitions = 8 },
			`subtopology "1", repartition_source_topics[r].partitions: 8, was 4 (clash)`},
		{"no number any more", func(t *topology.Topology) { t.Subtopologies[1].RepartitionSourceTopics[0].Partitions = 0 }, ""},
		{"added and removed", func(t *topology.Topology) {
			t.Subtopologies[2] = topology.Subtopology{ID: "3", SourceTopics: []string{"z"}}
		}, ""},
	} {
		now := clone(before)
		c.change(&now)
		if err := now.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		all := topology.Diff(before, now)
		var clashes []topology.Change
		for _, ch := range all {
			if ch.Clash {
				clashes = append(clashes, ch)
			}
		}
		equal(t, c.name, texts(clashes), c.want)
		if len(all) == 0 || len(clashes) > 0 && !all[0].Clash {
			t.Errorf("%s: clashes do not come first:\n%s", c.name, texts(all))
		}
	}
}
