package heartbeat

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func values() ConsumerValues {
	s := func(s string) *string { return &s }
	return ConsumerValues{
		Group: "g", MemberID: "m", InstanceID: s("i"), RebalanceTimeoutMillis: 9000,
		Names: []string{"t"}, Regex: s("r"), Assignor: s("uniform"), Rack: s("k"),
		Owned: []kmsg.ConsumerGroupHeartbeatRequestTopic{{TopicID: [16]byte{1}, Partitions: []int32{0}}},
	}
}

// fieldsOf is which fields a request has.
func fieldsOf(q *kmsg.ConsumerGroupHeartbeatRequest) (s Fields) {
	for f, has := range [numFields]bool{
		FieldTimeout: q.RebalanceTimeoutMillis != -1, FieldNames: q.SubscribedTopicNames != nil, FieldRegex: q.SubscribedTopicRegex != nil,
		FieldAssignor: q.ServerAssignor != nil, FieldRack: q.RackID != nil, FieldOwned: q.Topics != nil,
	} {
		if has {
			s = s.With(Field(f))
		}
	}
	return s
}

// A heartbeat has the fields that it is told to have, and who it is from.
func TestBuildEverySetOfFields(t *testing.T) {
	v := values()
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	for set := range AllFields + 1 {
		v.Build(q, 7, set)
		if got := fieldsOf(q); got != set {
			t.Errorf("set %06b gave %06b", set, got)
		}
		if q.Group != "g" || q.MemberID != "m" || *q.InstanceID != "i" || q.MemberEpoch != 7 {
			t.Errorf("set %06b: %+v", set, q)
		}
		three := Fields(0).With(FieldTimeout).With(FieldOwned)
		want := set&three == three && (set.Has(FieldNames) || set.Has(FieldRegex))
		if got := IsFull(q); got != want {
			t.Errorf("set %06b: full %v", set, got)
		}
	}
}

// Rule 4: a join is full, whatever it is told, with an empty owned list that is not null.
func TestRule4BuildJoin(t *testing.T) {
	v := values()
	var q kmsg.ConsumerGroupHeartbeatRequest
	v.Build(&q, EpochJoin, 0)
	if got := fieldsOf(&q); got != AllFields || len(q.Topics) != 0 {
		t.Errorf("a join has fields %06b and %d topics", got, len(q.Topics))
	}
	v.Regex, v.Assignor, v.Rack, v.InstanceID = nil, nil, nil, nil
	v.Build(&q, EpochJoin, 0)
	if q.SubscribedTopicRegex != nil || q.ServerAssignor != nil || q.RackID != nil || q.InstanceID != nil {
		t.Errorf("what is not configured is sent: %+v", q)
	}
}

// A leave says who leaves, and nothing else; the instance ID is in it (K345-11).
func TestBuildLeave(t *testing.T) {
	v := values()
	for _, epoch := range []int32{EpochLeave, EpochLeaveStatic} {
		var q kmsg.ConsumerGroupHeartbeatRequest
		v.Build(&q, epoch, AllFields)
		if fieldsOf(&q) != 0 || q.MemberEpoch != epoch || q.MemberID != "m" || q.InstanceID == nil {
			t.Errorf("epoch %d: %+v", epoch, q)
		}
	}
}

// A request that is used again keeps nothing but its version.
func TestBuildLeavesNothingBehind(t *testing.T) {
	v := values()
	var again, fresh kmsg.ConsumerGroupHeartbeatRequest
	again.Version, fresh.Version = 1, 1
	v.Build(&again, 7, AllFields)
	v.Build(&again, 8, 0)
	v.Build(&fresh, 8, 0)
	if !reflect.DeepEqual(again, fresh) {
		t.Errorf("got %+v, want %+v", again, fresh)
	}
	v.Owned = nil
	if v.Build(&again, 8, Fields(0).With(FieldOwned)); again.Topics == nil || len(again.Topics) != 0 {
		t.Errorf("owning nothing is told as %v", again.Topics)
	}
}
