package topology

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// links holds the repartition topics of a subtopology to their other ends.
//
// Source: RepartitionTopics (4.4.0): a repartition source that no subtopology writes is
// STREAMS_INVALID_TOPOLOGY, measured on 4.1.2 to 4.4.0. One that is written and never read
// is accepted, gets tasks, and is not created: measured on 4.4.0.
func (v *validator) links(path string, s *Subtopology) {
	for i, n := range s.RepartitionSinkTopics {
		at := fmt.Sprintf("%s.repartition_sink_topics[%d]", path, i)
		read, ok := v.reads[n]
		switch {
		case n == "": // is a fault of its own
		case !ok:
			v.add(at, "%q is in no subtopology's repartition_source_topics", n)
		case strings.Contains(read, ".source_topics["):
			v.add(at, "%q is read as a source topic, and not as a repartition topic: see %s", n, read)
		}
	}
	for i, r := range s.RepartitionSourceTopics {
		if _, ok := v.writes[r.Name]; !ok && r.Name != "" {
			v.add(fmt.Sprintf("%s.repartition_source_topics[%d].name", path, i), "%q is in no subtopology's repartition_sink_topics", r.Name)
		}
	}
}

// loops finds repartition topics whose number of partitions cannot be worked out. It
// is the largest of the topics that their writers read, as far as those are known.
//
// Source: RepartitionTopics (4.4.0), "There may be loops in the topology that cannot be
// resolved": STREAMS_INVALID_TOPOLOGY, measured on 4.4.0.
func (v *validator) loops(t Topology) {
	known := countable(t)
	for i, s := range t.Subtopologies {
		for k, r := range s.RepartitionSourceTopics {
			if _, written := v.writes[r.Name]; written && !known[r.Name] && r.Partitions == 0 {
				v.add(fmt.Sprintf("subtopologies[%d].repartition_source_topics[%d].partitions", i, k),
					"cannot be worked out: %q is written from a loop that no source topic leads into; set a number", r.Name)
			}
		}
	}
}

// countable are the topics with a number of partitions: source topics, fixed ones, and
// what is written by a subtopology that reads one of them.
func countable(t Topology) map[string]bool {
	known := map[string]bool{}
	readers := map[string][]*Subtopology{}
	var fresh []string // known, and not yet followed
	learn := func(name string) {
		if !known[name] {
			known[name] = true
			fresh = append(fresh, name)
		}
	}
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		for _, n := range s.SourceTopics {
			learn(n)
		}
		for _, r := range s.RepartitionSourceTopics {
			if r.Partitions > 0 {
				learn(r.Name)
			}
		}
		for _, n := range s.reads() {
			readers[n] = append(readers[n], s)
		}
	}
	done := map[*Subtopology]bool{}
	for len(fresh) > 0 {
		name := fresh[0]
		fresh = fresh[1:]
		for _, s := range readers[name] {
			if !done[s] {
				done[s] = true
				for _, n := range s.RepartitionSinkTopics {
					learn(n)
				}
			}
		}
	}
	return known
}

// collisions finds internal topics that cannot be created next to a source topic, as
// Kafka takes "." and "_" for the same character in topic names.
//
// Source: org.apache.kafka.common.internals.Topic, unifyCollisionChars (4.4.0). Measured on
// 4.4.0: "collides with existing topic", and the group stays at MISSING_INTERNAL_TOPICS.
// Two internal topics that are created together are let through, so they are here.
func (v *validator) collisions(t Topology) {
	sources := map[string]string{} // unified name -> name
	for _, s := range t.Subtopologies {
		for _, n := range s.SourceTopics {
			sources[unified(n)] = n
		}
	}
	check := func(path string, infos []TopicInfo) {
		for k, info := range infos {
			if other, ok := sources[unified(info.Name)]; ok && other != info.Name {
				v.add(fmt.Sprintf("%s[%d].name", path, k), "%q cannot be created next to %q: Kafka takes . and _ for one character", info.Name, other)
			}
		}
	}
	for i, s := range t.Subtopologies {
		check(fmt.Sprintf("subtopologies[%d].repartition_source_topics", i), s.RepartitionSourceTopics)
		check(fmt.Sprintf("subtopologies[%d].state_changelog_topics", i), s.StateChangelogTopics)
	}
}

func unified(name string) string { return strings.ReplaceAll(name, ".", "_") }

func sortedGroup(g CopartitionGroup) CopartitionGroup {
	return CopartitionGroup{slices.Sorted(slices.Values(g.SourceTopics)), slices.Sorted(slices.Values(g.RepartitionSourceTopics))}
}

// groupText is a copartition group for people, and distinct for distinct groups of legal names.
func groupText(g CopartitionGroup) string {
	text := "[" + strings.Join(g.SourceTopics, " ")
	if len(g.RepartitionSourceTopics) > 0 {
		text += " | " + strings.Join(g.RepartitionSourceTopics, " ")
	}
	return text + "]"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
