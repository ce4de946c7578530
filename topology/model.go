package topology

import (
	"maps"
	"slices"
	"strings"
)

// Topology is what a member of a streams group joins with: what is read, written
// and kept, and in which parts. Copy it with [Topology.Canonical] or by value, but
// do not change its slices and maps after a member has it.
//
// The zero value has no subtopologies, which [Topology.Validate] refuses.
type Topology struct {
	// Subtopologies are the parts that become tasks: one task per partition. At least
	// one; each with an ID of its own.
	Subtopologies []Subtopology
	// Order is whether lists go on the wire sorted. Default: [Canonical].
	Order Order
}

// Order says what the order of a topology's lists means on the wire. It matters, as
// brokers compare lists in order: ["a","b"] and ["b","a"] are two topologies to them.
type Order string

const (
	// Canonical: every list goes on the wire sorted, so that it does not matter how a
	// topology was put together. The default.
	Canonical Order = ""
	// AsGiven: every list goes on the wire as it is; only configs, which are a map
	// here, are sorted by key (as Java's are). To share a group with a Java application
	// the bytes have to be Java's, and Java does not sort copartition groups.
	AsGiven Order = "as-given"
)

// String is "canonical" or "as-given", as in JSON.
func (o Order) String() string {
	if o == Canonical {
		return "canonical"
	}
	return string(o)
}

// Subtopology is a connected part of a topology. Its tasks are named by ID and
// partition; it has as many as the topic that it reads with the most partitions.
//
// Source: KIP-1071, StreamsGroupHeartbeatRequest, Subtopology.
type Subtopology struct {
	// ID is unique in the topology and not blank. Java's are decimal numbers, from "0" on.
	ID string `json:"id"`
	// SourceTopics are read and exist already: a broker does not create them. Not the
	// repartition topics. A topic is read by one subtopology only.
	SourceTopics []string `json:"source_topics,omitempty"`
	// RepartitionSinkTopics are written, and read back by a subtopology that has them
	// in its RepartitionSourceTopics. Not the topics for others to read.
	RepartitionSinkTopics []string `json:"repartition_sink_topics,omitempty"`
	// RepartitionSourceTopics are read, written by some subtopology, and created by the broker.
	RepartitionSourceTopics []TopicInfo `json:"repartition_source_topics,omitempty"`
	// StateChangelogTopics back up the state stores and are created by the broker. A
	// source topic may be one as well: then it is not created.
	StateChangelogTopics []TopicInfo `json:"state_changelog_topics,omitempty"`
	// CopartitionGroups are sets of topics that this subtopology reads and that must
	// have the same number of partitions.
	CopartitionGroups []CopartitionGroup `json:"copartition_groups,omitempty"`
}

// TopicInfo is an internal topic, which the broker creates.
//
// Source: KIP-1071, StreamsGroupHeartbeatRequest, TopicInfo.
type TopicInfo struct {
	// Name of the topic, with the application's prefix. Java: application.id + "-" +
	// store + "-changelog" or "-repartition".
	Name string `json:"name"`
	// Partitions is the fixed number of partitions. 0, the default: the broker works it
	// out. It must be 0 for a changelog, which has as many as its subtopology has tasks.
	Partitions int32 `json:"partitions,omitempty"`
	// ReplicationFactor of the topic. 0 and -1 are both the broker's default, and yet two
	// different topologies to it. Default 0; Java sends -1.
	ReplicationFactor int16 `json:"replication_factor,omitempty"`
	// Configs are topic configs, such as "cleanup.policy": "compact". They are used when
	// the topic is created, and never again. Default: none.
	Configs map[string]string `json:"configs,omitempty"`
}

// CopartitionGroup names topics that must have the same number of partitions, two at
// least. The broker refuses tasks to the group while the counts of SourceTopics
// differ, and creates repartition topics to fit.
type CopartitionGroup struct {
	// SourceTopics are names from the subtopology's SourceTopics.
	SourceTopics []string `json:"source_topics,omitempty"`
	// RepartitionSourceTopics are names from the subtopology's RepartitionSourceTopics.
	RepartitionSourceTopics []string `json:"repartition_source_topics,omitempty"`
}

// Canonical is a deep copy with every list sorted and Order [Canonical]: names,
// subtopologies by ID, topics by name, copartition groups by their names. Nothing is
// removed, so that faults stay visible.
func (t Topology) Canonical() Topology {
	c := t.clone()
	c.Order = Canonical
	for i := range c.Subtopologies {
		c.Subtopologies[i].sort()
	}
	slices.SortStableFunc(c.Subtopologies, func(a, b Subtopology) int { return strings.Compare(a.ID, b.ID) })
	return c
}

// arranged is a deep copy whose lists are in the order of the wire.
func (t Topology) arranged() Topology {
	if t.Order == AsGiven {
		return t.clone()
	}
	return t.Canonical()
}

func (t Topology) clone() Topology {
	t.Subtopologies = slices.Clone(t.Subtopologies)
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		s.SourceTopics = slices.Clone(s.SourceTopics)
		s.RepartitionSinkTopics = slices.Clone(s.RepartitionSinkTopics)
		s.RepartitionSourceTopics = cloneInfos(s.RepartitionSourceTopics)
		s.StateChangelogTopics = cloneInfos(s.StateChangelogTopics)
		s.CopartitionGroups = slices.Clone(s.CopartitionGroups)
		for k := range s.CopartitionGroups {
			g := &s.CopartitionGroups[k]
			g.SourceTopics = slices.Clone(g.SourceTopics)
			g.RepartitionSourceTopics = slices.Clone(g.RepartitionSourceTopics)
		}
	}
	return t
}

func cloneInfos(infos []TopicInfo) []TopicInfo {
	infos = slices.Clone(infos)
	for i := range infos {
		infos[i].Configs = maps.Clone(infos[i].Configs)
	}
	return infos
}

// sort puts the lists of a subtopology that is ours in canonical order.
//
// Source of the order: what Java sends, which sorts all but copartition groups
// (StreamsGroupHeartbeatRequestManager, Kafka 4.4).
func (s *Subtopology) sort() {
	byName := func(a, b TopicInfo) int { return strings.Compare(a.Name, b.Name) }
	slices.Sort(s.SourceTopics)
	slices.Sort(s.RepartitionSinkTopics)
	slices.SortStableFunc(s.RepartitionSourceTopics, byName)
	slices.SortStableFunc(s.StateChangelogTopics, byName)
	for _, g := range s.CopartitionGroups {
		slices.Sort(g.SourceTopics)
		slices.Sort(g.RepartitionSourceTopics)
	}
	slices.SortStableFunc(s.CopartitionGroups, func(a, b CopartitionGroup) int {
		if c := slices.Compare(a.SourceTopics, b.SourceTopics); c != 0 {
			return c
		}
		return slices.Compare(a.RepartitionSourceTopics, b.RepartitionSourceTopics)
	})
}

// reads are the names of all topics that the subtopology reads, in no promised order.
func (s *Subtopology) reads() []string {
	names := slices.Clone(s.SourceTopics)
	for _, r := range s.RepartitionSourceTopics {
		names = append(names, r.Name)
	}
	return names
}

func (t *Topology) find(id string) *Subtopology {
	for i := range t.Subtopologies {
		if t.Subtopologies[i].ID == id {
			return &t.Subtopologies[i]
		}
	}
	return nil
}
