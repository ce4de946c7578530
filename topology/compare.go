package topology

import (
	"fmt"
	"slices"
)

// Comparison is the outcome of [Compare].
type Comparison struct {
	Verdict Verdict `json:"verdict"`
	// Changes from the group's topology to the own one, as far as they can be seen; empty
	// unless Verdict is Different.
	Changes []Change `json:"changes,omitempty"`
	// Hidden is what a broker does not show and what may differ all the same: it is
	// taken to be as in the own topology. In words, for people. Only with Same and Different.
	Hidden []string `json:"hidden,omitempty"`
	// GroupID is the ID that the group's topology has if what is hidden is as in the own
	// one: equal to the own ID if and only if the Verdict is Same. "" where the topology is
	// not shown.
	GroupID ID `json:"group_id,omitempty"`
}

// Compare says how own stands to what the group has, epochs aside. own is one that
// Validate accepts.
//
// It can say Same where a broker would refuse, as brokers hide a part: the order of
// lists, copartition groups, and whether a repartition topic has its number of
// partitions by decree or by working it out. To be sure, [Diff] with the file that was
// deployed before.
func Compare(own Topology, d Deployed) Comparison {
	switch {
	case !d.Exists:
		return Comparison{Verdict: NoGroup}
	case d.Topology == nil:
		return Comparison{Verdict: CannotTell}
	}
	group, hidden := assume(own, *d.Topology)
	c := Comparison{Verdict: Same, Hidden: hidden, GroupID: group.ID()}
	if c.GroupID != own.ID() {
		c.Verdict, c.Changes = Different, Diff(group, own)
	}
	return c
}

// assume fills in what is hidden in shown from own, and lists what that was.
func assume(own, shown Topology) (group Topology, hidden []string) {
	own, shown = own.arranged(), shown.Canonical()
	group, hidden = Topology{Order: AsGiven}, []string{"the order of lists"}
	for _, o := range own.Subtopologies {
		s := shown.find(o.ID)
		if s == nil {
			continue
		}
		if len(o.SourceTopics)+len(o.RepartitionSourceTopics) > 1 {
			hidden = append(hidden, fmt.Sprintf("copartition groups of subtopology %q", o.ID))
		}
		g := *s
		g.SourceTopics = inOrderOf(o.SourceTopics, s.SourceTopics)
		g.RepartitionSinkTopics = inOrderOf(o.RepartitionSinkTopics, s.RepartitionSinkTopics)
		g.StateChangelogTopics = infosInOrderOf(o.StateChangelogTopics, s.StateChangelogTopics)
		g.RepartitionSourceTopics = infosInOrderOf(o.RepartitionSourceTopics, s.RepartitionSourceTopics)
		g.CopartitionGroups = o.CopartitionGroups
		hidden = append(hidden, assumeCounts(o, &g)...)
		group.Subtopologies = append(group.Subtopologies, g)
	}
	for _, s := range shown.Subtopologies {
		if own.find(s.ID) == nil {
			group.Subtopologies = append(group.Subtopologies, s)
		}
	}
	if own.Order == Canonical {
		group = group.Canonical()
	}
	return group, hidden
}

// assumeCounts takes back numbers of partitions that were worked out. A number N is
// shown for a topic that has none fixed, and for one that is fixed to N.
func assumeCounts(own Subtopology, group *Subtopology) (hidden []string) {
	places := places(infoNames(own.RepartitionSourceTopics))
	for i := range group.RepartitionSourceTopics {
		r := &group.RepartitionSourceTopics[i]
		k, ok := places[r.Name]
		if !ok {
			continue
		}
		if o := own.RepartitionSourceTopics[k].Partitions; r.Partitions > 0 && (o == 0 || o == r.Partitions) {
			hidden = append(hidden, fmt.Sprintf("whether %q is fixed to its %d partitions", r.Name, r.Partitions))
			r.Partitions = o
		}
	}
	return hidden
}

// inOrderOf is list in the order of like: members that like does not have come last.
func inOrderOf(like, list []string) []string {
	at := places(like)
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b string) int { return rank(at, a) - rank(at, b) })
	return out
}

func infosInOrderOf(like, list []TopicInfo) []TopicInfo {
	at := places(infoNames(like))
	out := cloneInfos(list)
	slices.SortStableFunc(out, func(a, b TopicInfo) int { return rank(at, a.Name) - rank(at, b.Name) })
	return out
}

func rank(at map[string]int, name string) int {
	if i, ok := at[name]; ok {
		return i
	}
	return len(at)
}
