package member

import (
	"bytes"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicID identifies one incarnation of a topic: a topic that is deleted and made
// again has another one.
type topicID = [16]byte

// topicParts are partitions of one topic: sorted, unique, none negative.
type topicParts struct {
	id    topicID
	parts []int32
}

// topicSet is a set of partitions by topic ID: sorted by ID, no empty topics.
// Values are never changed in place, so they can be shared. Go maps would give
// the wire another order in each request.
type topicSet []topicParts

// normalize makes a topicSet of what a broker sent, which may hold anything:
// topics twice, partitions twice, negative ones, topics without any.
func normalize(in []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic) topicSet {
	set := make(topicSet, 0, len(in))
	for _, t := range in {
		set = append(set, topicParts{t.TopicID, t.Partitions})
	}
	return set.clean()
}

func (s topicSet) clean() topicSet {
	all := slices.Clone(s)
	slices.SortStableFunc(all, func(a, b topicParts) int { return bytes.Compare(a.id[:], b.id[:]) })
	out := make(topicSet, 0, len(all))
	for i := 0; i < len(all); {
		var parts []int32
		id := all[i].id
		for ; i < len(all) && all[i].id == id; i++ {
			for _, p := range all[i].parts {
				if p >= 0 {
					parts = append(parts, p)
				}
			}
		}
		slices.Sort(parts)
		if parts = slices.Compact(parts); len(parts) > 0 {
			out = append(out, topicParts{id, parts})
		}
	}
	return out
}

func (s topicSet) find(id topicID) []int32 {
	i, ok := slices.BinarySearchFunc(s, id, func(t topicParts, id topicID) int { return bytes.Compare(t.id[:], id[:]) })
	if !ok {
		return nil
	}
	return s[i].parts
}

func (s topicSet) has(id topicID) bool { return s.find(id) != nil }

func (s topicSet) len() int {
	n := 0
	for _, t := range s {
		n += len(t.parts)
	}
	return n
}

func (s topicSet) equal(o topicSet) bool {
	return slices.EqualFunc(s, o, func(a, b topicParts) bool { return a.id == b.id && slices.Equal(a.parts, b.parts) })
}

// filter keeps the partitions for which keep is true. If there are none it allocates
// nothing: every heartbeat compares what is owned with what is assigned (rule 22).
func (s topicSet) filter(keep func(topicID, int32) bool) topicSet {
	var out topicSet
	for _, t := range s {
		var parts []int32
		for _, p := range t.parts {
			if keep(t.id, p) {
				parts = append(parts, p)
			}
		}
		if len(parts) > 0 {
			out = append(out, topicParts{t.id, parts})
		}
	}
	return out
}

// minus is what is in s and not in o.
func (s topicSet) minus(o topicSet) topicSet {
	return s.filter(func(id topicID, p int32) bool {
		_, in := slices.BinarySearch(o.find(id), p)
		return !in
	})
}

// plus is what is in s or in o.
func (s topicSet) plus(o topicSet) topicSet {
	return append(slices.Clone(s), o...).clean()
}

// wire is the owned list of a heartbeat; never nil.
func (s topicSet) wire() []kmsg.ConsumerGroupHeartbeatRequestTopic {
	out := make([]kmsg.ConsumerGroupHeartbeatRequestTopic, 0, len(s))
	for _, t := range s {
		wt := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		wt.TopicID, wt.Partitions = t.id, t.parts
		out = append(out, wt)
	}
	return out
}
