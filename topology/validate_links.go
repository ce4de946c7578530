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
// STREAMS_INVALID_TOPOLOGY, measured. One that is written but never read is accepted
// and then not created: whoever writes to it fails.
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
// resolved": STREAMS_INVALID_TOPOLOGY.
func (v *validator) loops(t Topology) {
	known := map[string]bool{}
	for _, s := range t.Subtopologies {
		for _, n := range s.SourceTopics {
			known[n] = true
		}
		for _, r := range s.RepartitionSourceTopics {
			if r.Partitions > 0 {
				known[r.Name] = true
			}
		}
	}
	for grew := true; grew; {
		grew = false
		for i := range t.Subtopologies {
			s := &t.Subtopologies[i]
			if !slices.ContainsFunc(s.reads(), func(n string) bool { return known[n] }) {
				continue
			}
			for _, n := range s.RepartitionSinkTopics {
				grew = grew || !known[n]
				known[n] = true
			}
		}
	}
	for i, s := range t.Subtopologies {
		for k, r := range s.RepartitionSourceTopics {
			if _, written := v.writes[r.Name]; written && !known[r.Name] && r.Partitions == 0 {
				v.add(fmt.Sprintf("subtopologies[%d].repartition_source_topics[%d].partitions", i, k),
					"cannot be worked out: %q is written from a loop that no source topic leads into; set a number", r.Name)
			}
		}
	}
}

// collisions finds internal topics that cannot be created, as Kafka takes "." and "_"
// for the same character in topic names.
//
// Source: org.apache.kafka.common.internals.Topic, hasCollision (4.4.0): CreateTopics answers
// INVALID_TOPIC_EXCEPTION, and the group stays at MISSING_INTERNAL_TOPICS.
func (v *validator) collisions(t Topology) {
	first := map[string]string{} // unified name -> name
	for _, s := range t.Subtopologies {
		for _, n := range s.SourceTopics {
			first[strings.ReplaceAll(n, ".", "_")] = n
		}
	}
	check := func(path string, infos []TopicInfo) {
		for k, info := range infos {
			u := strings.ReplaceAll(info.Name, ".", "_")
			if other, ok := first[u]; ok && other != info.Name {
				v.add(fmt.Sprintf("%s[%d].name", path, k), "%q cannot be created next to %q: Kafka takes . and _ for one character", info.Name, other)
				continue
			}
			first[u] = info.Name
		}
	}
	for i, s := range t.Subtopologies {
		check(fmt.Sprintf("subtopologies[%d].repartition_source_topics", i), s.RepartitionSourceTopics)
		check(fmt.Sprintf("subtopologies[%d].state_changelog_topics", i), s.StateChangelogTopics)
	}
}

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
