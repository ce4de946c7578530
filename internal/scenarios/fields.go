package scenarios

import "github.com/twmb/franz-go/pkg/kmsg"

// none is the size of an assignment that an answer does not have; an empty one
// has size 0.
const none = -1

// field changes one field of a heartbeat. A heartbeat without fields is bare.
type field func(*kmsg.ConsumerGroupHeartbeatRequest)

// owned is an owned list, or an assignment as one.
type owned = []kmsg.ConsumerGroupHeartbeatRequestTopic

func topics(names ...string) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = names }
}

// noTopics is an empty subscription, which is not the same as none.
func noTopics(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = []string{} }

func timeout(ms int32) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.RebalanceTimeoutMillis = ms }
}

func instance(id string) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.InstanceID = &id }
}

func regex(s string) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicRegex = &s }
}

func assignor(s string) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.ServerAssignor = &s }
}

func rack(s string) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.RackID = &s }
}

func inGroup(s string) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Group = s }
}

// v0 asks for version 0 of the request.
func v0(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Version = 0 }

// owns sets the owned list. Without arguments it is empty, not null.
func owns(lists ...owned) field {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) {
		q.Topics = owned{}
		for _, l := range lists {
			q.Topics = append(q.Topics, l...)
		}
	}
}

// ownsNil takes the owned list out again.
func ownsNil(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Topics = nil }

// whole makes a full request out of one that has an owned list.
func whole(q *kmsg.ConsumerGroupHeartbeatRequest) {
	q.RebalanceTimeoutMillis = 10_000
	q.SubscribedTopicNames = []string{"t12"}
}

// part is some partitions of a topic, as an owned list.
func part(id [16]byte, partitions ...int32) owned {
	return owned{{TopicID: id, Partitions: partitions}}
}

// given is the assignment of an answer.
func given(a *kmsg.ConsumerGroupHeartbeatResponse) (out owned) {
	if a.Assignment == nil {
		return nil
	}
	for _, t := range a.Assignment.Topics {
		out = append(out, part(t.TopicID, t.Partitions...)...)
	}
	return out
}

// size counts the partitions of an answer's assignment.
func size(a *kmsg.ConsumerGroupHeartbeatResponse) int {
	if a.Assignment == nil {
		return none
	}
	return count(given(a))
}

func count(l owned) int {
	n := 0
	for _, t := range l {
		n += len(t.Partitions)
	}
	return n
}

// take returns the first n partitions of the first topic of a list.
func take(l owned, n int) owned { return part(l[0].TopicID, l[0].Partitions[:n]...) }
