package topology

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Validate is nil, or an [InvalidError] with every fault: what brokers refuse, what they
// answer with a bare UNKNOWN_SERVER_ERROR, and what they accept although the group
// then never gets tasks, or gets stuck with a topology of no use. Order does not matter
// to it, and paths count from 0 in the topology's own lists.
func (t Topology) Validate() error {
	v := validator{reads: map[string]string{}, writes: map[string]string{}, changelogs: map[string]string{}, ids: map[string]string{}}
	if t.Order != Canonical && t.Order != AsGiven {
		v.add("order", "%q: want %q or %q", t.Order, Canonical.String(), AsGiven)
	}
	// Source: measured on 4.1.2 to 4.4.0: a join with no subtopology is accepted, has no
	// tasks, and the group takes no other topology until it is deleted.
	if len(t.Subtopologies) == 0 {
		v.add("subtopologies", "there are none: brokers accept that, assign nothing, and keep it until the group is deleted")
	}
	for i := range t.Subtopologies {
		v.subtopology(fmt.Sprintf("subtopologies[%d]", i), &t.Subtopologies[i])
	}
	for i := range t.Subtopologies {
		v.links(fmt.Sprintf("subtopologies[%d]", i), &t.Subtopologies[i])
	}
	v.loops(t)
	v.collisions(t)
	return v.err("topology")
}

// validator gathers faults, and where it has met each name.
type validator struct {
	faults
	reads, writes, changelogs, ids map[string]string // name -> path of its first use
}

func (v *validator) subtopology(path string, s *Subtopology) {
	v.id(path+".id", s.ID)
	// Source: GroupCoordinatorService (4.4.0): STREAMS_INVALID_TOPOLOGY, measured.
	if len(s.SourceTopics) == 0 && len(s.RepartitionSourceTopics) == 0 {
		v.add(path, "reads nothing: source_topics and repartition_source_topics are empty")
	}
	for i, n := range s.SourceTopics {
		at := fmt.Sprintf("%s.source_topics[%d]", path, i)
		v.topicName(at, n)
		v.once(v.reads, at, n, "read")
	}
	own := map[string]string{}
	for i, n := range s.RepartitionSinkTopics {
		at := fmt.Sprintf("%s.repartition_sink_topics[%d]", path, i)
		v.topicName(at, n)
		v.once(own, at, n, "listed")
		v.writes[n] = at // several subtopologies may write one topic
	}
	for i, r := range s.RepartitionSourceTopics {
		at := fmt.Sprintf("%s.repartition_source_topics[%d]", path, i)
		v.info(at, r)
		v.once(v.reads, at+".name", r.Name, "read")
		if r.Partitions < 0 {
			// Source: measured on 4.4.0: a bare UNKNOWN_SERVER_ERROR (ConfiguredInternalTopic
			// throws below 1, and only 0 is worked out).
			v.add(at+".partitions", "%d: want 0 (the broker works it out) or more", r.Partitions)
		}
	}
	for i, c := range s.StateChangelogTopics {
		at := fmt.Sprintf("%s.state_changelog_topics[%d]", path, i)
		v.info(at, c)
		v.once(v.changelogs, at+".name", c.Name, "a changelog")
		if c.Partitions != 0 {
			// Source: GroupCoordinatorService (4.4.0) "must have an undefined partition
			// count": STREAMS_INVALID_TOPOLOGY, measured on 4.1.2 to 4.4.0.
			v.add(at+".partitions", "%d: want 0: a changelog has as many as its subtopology has tasks", c.Partitions)
		}
	}
	v.copartition(path, s)
}

func (v *validator) id(path, id string) {
	switch {
	case strings.TrimFunc(id, unicode.IsSpace) == "":
		v.add(path, "blank: want a text that is unique in the topology")
	case !utf8.ValidString(id):
		v.add(path, "%q is not UTF-8", id)
	default:
		// Source: StreamsTopology.fromHeartbeatRequest (4.4.0): a map with the same key
		// twice throws, which is answered with a bare UNKNOWN_SERVER_ERROR; measured.
		v.once(v.ids, path, id, "used")
	}
}

// once finds names that are used a second time.
//
// Source of the rule for topics that are read: measured on 4.1.2 to 4.4.0: one topic in
// two subtopologies is accepted, and then read twice in one group, with one committed
// offset for both. Java refuses to build such a topology. For changelogs: measured on
// 4.4.0: twice in one subtopology is a bare UNKNOWN_SERVER_ERROR, in two it is accepted,
// and the two write over each other.
func (v *validator) once(seen map[string]string, path, name, what string) {
	first, ok := seen[name]
	switch {
	case name == "": // is a fault of its own
	case ok:
		v.add(path, "%q is %s twice: see %s", name, what, first)
	default:
		seen[name] = path
	}
}

func (v *validator) info(path string, info TopicInfo) {
	v.topicName(path+".name", info.Name)
	// Source: KIP-1071, TopicInfo: 0 is the default; CreateTopics: -1 is. Measured on 4.4.0:
	// anything below is accepted, and the group stays at MISSING_INTERNAL_TOPICS.
	if info.ReplicationFactor < -1 {
		v.add(path+".replication_factor", "%d: want 0 or -1 (the broker's default), or more", info.ReplicationFactor)
	}
	for _, k := range sortedKeys(info.Configs) {
		at := joinPath(path+".configs", k)
		switch {
		case strings.TrimFunc(k, unicode.IsSpace) == "":
			v.add(at, "blank: want the name of a topic config")
		case !utf8.ValidString(k) || !utf8.ValidString(info.Configs[k]):
			v.add(at, "is not UTF-8")
		}
	}
}

// internalTopics are Kafka's own.
//
// Source: org.apache.kafka.common.internals.Topic (4.4.0). The first three are refused
// with STREAMS_INVALID_TOPOLOGY; the last is MISSING_SOURCE_TOPICS for good (measured).
var internalTopics = map[string]bool{
	"__consumer_offsets": true, "__transaction_state": true, "__share_group_state": true, "__cluster_metadata": true,
}

// topicName holds a name to Kafka's rule.
//
// Source: org.apache.kafka.common.internals.Topic (4.4.0); KafkaApis answers
// STREAMS_INVALID_TOPOLOGY.
func (v *validator) topicName(path, name string) {
	switch {
	case name == "":
		v.add(path, "blank: want the name of a topic")
	case internalTopics[name]:
		v.add(path, "%q is an internal topic of Kafka", name)
	case !legalTopic(name):
		v.add(path, "%q is no legal topic name: want 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..", name)
	}
}

func legalTopic(name string) bool {
	const maxLen = 249
	if name == "" || name == "." || name == ".." || len(name) > maxLen {
		return false
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// copartition holds the groups of a subtopology to what their indexes can say.
//
// Source: InternalTopicManager (4.4.0) looks indexes up unchecked: one that leads nowhere
// is answered with a bare UNKNOWN_SERVER_ERROR; measured.
func (v *validator) copartition(path string, s *Subtopology) {
	sources, repartitions := places(s.SourceTopics), places(infoNames(s.RepartitionSourceTopics))
	seen := map[string]string{}
	for i, g := range s.CopartitionGroups {
		at := fmt.Sprintf("%s.copartition_groups[%d]", path, i)
		own := map[string]string{}
		v.members(at+".source_topics", g.SourceTopics, sources, "source_topics", own)
		v.members(at+".repartition_source_topics", g.RepartitionSourceTopics, repartitions, "repartition_source_topics", own)
		if len(g.SourceTopics)+len(g.RepartitionSourceTopics) < 2 {
			v.add(at, "names fewer than two topics")
		}
		key := groupText(sortedGroup(g))
		if first, ok := seen[key]; ok {
			v.add(at, "is there twice: see %s", first)
		} else {
			seen[key] = at
		}
		v.counts(at, s, g, repartitions)
	}
}

func (v *validator) members(path string, names []string, places map[string]int, list string, own map[string]string) {
	for k, n := range names {
		at := fmt.Sprintf("%s[%d]", path, k)
		i, ok := places[n]
		switch {
		case !ok:
			v.add(at, "%q is not in the subtopology's %s", n, list)
		case i > math.MaxInt16:
			v.add(at, "%q is number %d in %s: the wire has room for %d", n, i, list, math.MaxInt16)
		default:
			v.once(own, at, n, "listed")
		}
	}
}

// counts finds fixed partition counts that cannot be one number.
//
// Source: CopartitionedTopicsEnforcer (4.4.0), measured: INCORRECTLY_PARTITIONED_TOPICS, for good.
func (v *validator) counts(path string, s *Subtopology, g CopartitionGroup, places map[string]int) {
	fixed, of := int32(0), ""
	for _, n := range g.RepartitionSourceTopics {
		i, ok := places[n]
		if !ok || s.RepartitionSourceTopics[i].Partitions <= 0 {
			continue
		}
		p := s.RepartitionSourceTopics[i].Partitions
		if fixed != 0 && p != fixed {
			v.add(path, "%q has %d partitions and %q has %d: they must be equal", of, fixed, n, p)
			return
		}
		fixed, of = p, n
	}
}
