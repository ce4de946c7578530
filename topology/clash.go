package topology

import (
	"slices"
	"strings"
)

// clashes adds what makes two topologies unable to run side by side, as members of both
// do during a rolling update: a broker gives tasks to old members too, by subtopology
// ID and partition, and does not ask what they mean by the ID.
//
// Source: measured on 4.1.2 to 4.4.0: a member with a lower topology epoch is given tasks
// of the group's topology. The rest is derived from it, best effort.
func (d *differ) clashes() {
	renumbered := d.renumbered()
	readBy := map[string]string{}
	changelogOf := map[string]string{}
	for _, s := range d.from.Subtopologies {
		for _, n := range s.reads() {
			readBy[n] = s.ID
		}
		for _, c := range s.StateChangelogTopics {
			changelogOf[c.Name] = s.ID
		}
	}
	for i := range d.to.Subtopologies {
		s := &d.to.Subtopologies[i]
		d.id = s.ID
		if renumbered[s.ID] {
			continue
		}
		d.moved("source_topics", s.SourceTopics, readBy, "read")
		d.moved("repartition_source_topics", infoNames(s.RepartitionSourceTopics), readBy, "read")
		d.moved("state_changelog_topics", infoNames(s.StateChangelogTopics), changelogOf, "written")
		d.meaning(s)
	}
	d.id = ""
}

func (d *differ) clash(field, format string, args ...any) {
	d.add(field, format, args...)
	d.out[len(d.out)-1].Clash = true
}

// renumbered finds subtopologies that read what another ID read before.
func (d *differ) renumbered() map[string]bool {
	was := map[string]string{} // what is read -> ID
	for i := range d.from.Subtopologies {
		was[readText(&d.from.Subtopologies[i])] = d.from.Subtopologies[i].ID
	}
	found := map[string]bool{}
	for i := range d.to.Subtopologies {
		s := &d.to.Subtopologies[i]
		old, ok := was[readText(s)]
		if d.id = s.ID; ok && old != s.ID {
			d.clash("id", "renumbered: reads what subtopology %q read", old)
			found[s.ID] = true
		}
	}
	return found
}

// readText is equal for subtopologies that read the same topics.
func readText(s *Subtopology) string {
	return strings.Join(slices.Sorted(slices.Values(s.reads())), " ")
}

func (d *differ) moved(field string, names []string, owner map[string]string, how string) {
	for _, n := range names {
		if old, ok := owner[n]; ok && old != d.id {
			d.clash(entry(field, n), "moved from subtopology %q: %s by old and new members at once", old, how)
		}
	}
}

// meaning finds an ID that reads nothing of what it read before.
func (d *differ) meaning(s *Subtopology) {
	old := d.from.find(s.ID)
	if old == nil || len(old.reads()) == 0 {
		return
	}
	reads := s.reads()
	if !slices.ContainsFunc(old.reads(), func(n string) bool { return slices.Contains(reads, n) }) {
		d.clash("id", "has a new meaning: reads nothing of what it read before")
	}
}
