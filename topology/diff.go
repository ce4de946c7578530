package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is one difference between two topologies.
type Change struct {
	// Subtopology is the ID of the subtopology that is changed, added or removed; "" for
	// the topology as a whole.
	Subtopology string `json:"subtopology,omitempty"`
	// Field is what is changed in it, in the words of the JSON form, with the topic or the
	// config in brackets: "state_changelog_topics[app-counts-changelog].configs[cleanup.policy]".
	// "" for the subtopology itself.
	Field string `json:"field,omitempty"`
	// What has changed: "compact, was delete", "added", "removed".
	What string `json:"what"`
	// Clash: old and new cannot run side by side, so no rolling update can bring it.
	Clash bool `json:"clash,omitempty"`
}

// String is the whole change in a line.
func (c Change) String() string {
	var where []string
	if c.Subtopology != "" {
		where = append(where, fmt.Sprintf("subtopology %q", c.Subtopology))
	}
	if c.Field != "" {
		where = append(where, c.Field)
	}
	text := strings.Join(where, ", ") + ": " + c.What
	if c.Clash {
		text += " (clash)"
	}
	return text
}

// Diff says field by field what to has changed since from, clashes first. For topologies
// that Validate accepts it is empty if and only if their IDs are equal, and it is the
// same each time.
//
// A clash is found as far as names tell: a topic or a changelog that has moved to
// another subtopology ID, so that an old and a new member would both work on it; an ID
// that has got a new meaning; a repartition topic whose fixed number of partitions has
// changed, which does not change the topic that is there.
func Diff(from, to Topology) []Change {
	d := differ{from: from.arranged(), to: to.arranged()}
	d.clashes()
	d.subtopologies()
	slices.SortStableFunc(d.out, func(a, b Change) int {
		switch {
		case a.Clash == b.Clash:
			return 0
		case a.Clash:
			return -1
		}
		return 1
	})
	return d.out
}

type differ struct {
	from, to Topology // arranged
	id       string   // of the subtopology in hand
	out      []Change
}

func (d *differ) add(field, format string, args ...any) {
	d.out = append(d.out, Change{Subtopology: d.id, Field: field, What: fmt.Sprintf(format, args...)})
}

func (d *differ) subtopologies() {
	for _, s := range d.from.Subtopologies {
		if d.id = s.ID; d.to.find(s.ID) == nil {
			d.add("", "removed")
		}
	}
	for _, s := range d.to.Subtopologies {
		d.id = s.ID
		if old := d.from.find(s.ID); old == nil {
			d.add("", "added")
		} else {
			d.subtopology(old, &s)
		}
	}
	d.id = ""
	d.order("subtopologies", subtopologyIDs(d.from), subtopologyIDs(d.to))
}

func subtopologyIDs(t Topology) []string {
	ids := make([]string, len(t.Subtopologies))
	for i := range t.Subtopologies {
		ids[i] = t.Subtopologies[i].ID
	}
	return ids
}

func (d *differ) subtopology(old, s *Subtopology) {
	d.names("source_topics", old.SourceTopics, s.SourceTopics)
	d.names("repartition_sink_topics", old.RepartitionSinkTopics, s.RepartitionSinkTopics)
	d.infos("repartition_source_topics", old.RepartitionSourceTopics, s.RepartitionSourceTopics)
	d.infos("state_changelog_topics", old.StateChangelogTopics, s.StateChangelogTopics)
	d.names("copartition_groups", groupTexts(old.CopartitionGroups), groupTexts(s.CopartitionGroups))
}

func groupTexts(gs []CopartitionGroup) []string {
	texts := make([]string, len(gs))
	for i, g := range gs {
		texts[i] = groupText(g)
	}
	return texts
}

// names compares two lists, whose members have no fields of their own.
func (d *differ) names(field string, old, now []string) {
	for _, n := range missing(old, now) {
		d.add(entry(field, n), "removed")
	}
	for _, n := range missing(now, old) {
		d.add(entry(field, n), "added")
	}
	d.order(field, old, now)
}

// entry names a member of a list. A copartition group has its brackets already.
func entry(field, name string) string {
	if strings.HasPrefix(name, "[") {
		return field + name
	}
	return field + "[" + name + "]"
}

// order compares the order of lists that have the same members.
func (d *differ) order(field string, old, now []string) {
	if !slices.Equal(old, now) && len(missing(old, now)) == 0 && len(missing(now, old)) == 0 {
		d.add(field, "order is %s, was %s", strings.Join(now, " "), strings.Join(old, " "))
	}
}

// missing are the members of a that b does not have.
func missing(a, b []string) (out []string) {
	has := make(map[string]bool, len(b))
	for _, n := range b {
		has[n] = true
	}
	for _, n := range a {
		if !has[n] {
			out = append(out, n)
		}
	}
	return out
}

func (d *differ) infos(field string, old, now []TopicInfo) {
	was, is := infoNames(old), infoNames(now)
	d.names(field, was, is)
	at := places(was)
	for _, info := range now {
		i, ok := at[info.Name]
		if !ok {
			continue
		}
		path := entry(field, info.Name)
		if o := old[i].Partitions; o != info.Partitions {
			d.add(path+".partitions", "%d, was %d", info.Partitions, o)
			d.out[len(d.out)-1].Clash = o > 0 && info.Partitions > 0
		}
		if o := old[i].ReplicationFactor; o != info.ReplicationFactor {
			d.add(path+".replication_factor", "%d, was %d", info.ReplicationFactor, o)
		}
		d.configs(path+".configs", old[i].Configs, info.Configs)
	}
}

func (d *differ) configs(field string, old, now map[string]string) {
	both := maps.Clone(old)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, now)
	for _, k := range sortedKeys(both) {
		o, was := old[k]
		n, is := now[k]
		switch {
		case !was:
			d.add(entry(field, k), "%s added", n)
		case !is:
			d.add(entry(field, k), "%s removed", o)
		case o != n:
			d.add(entry(field, k), "%s, was %s", n, o)
		}
	}
}
