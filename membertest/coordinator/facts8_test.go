package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Section 8: life of members, groups and topics.

func TestFacts8Session(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.wait(5999 * time.Millisecond)
		r.ok(r.beat("A", e), e, none)
		r.wait(6 * time.Second)
		r.refused(r.beat("A", e), kerr.UnknownMemberID)
		r.refused(r.beat("A", e, whole, owns()), kerr.UnknownMemberID)
		r.refused(r.beat("A", -1), kerr.UnknownMemberID)
		r.ok(r.join("A"), e+2, 12)
	})
}

func TestFacts8DeleteGroup(t *testing.T) {
	each(t, func(r *rig) {
		r.code(r.c.DeleteGroup(r.now, "g"), kerr.GroupIDNotFound)
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.code(r.c.DeleteGroup(r.now, "g"), kerr.NonEmptyGroup)
		r.beat("A", -1)
		r.code(r.c.DeleteGroup(r.now, "g"), nil)
		r.refused(r.beat("A", e), kerr.GroupIDNotFound)
		r.refused(r.beat("A", -1), kerr.GroupIDNotFound)
		r.refused(r.beat("A", -2, instance("i1")), kerr.GroupIDNotFound)
		r.ok(r.join("A"), e, 12) // epochs restart
	})
}

func TestFacts8MaxSize(t *testing.T) {
	each(t, func(r *rig) {
		for i := range 14 {
			id := string(rune('A' + i))
			r.join(id, instance("i"+id))
		}
		r.refused(r.join("X"), kerr.GroupMaxSizeReached)
		r.rest()
		if resp := r.beat("A", r.member("A").Epoch); resp.ErrorCode != 0 {
			r.Fatalf("a known member got %s", name(resp.ErrorCode))
		}
		r.beat("B", -2, instance("iB"))
		resp := r.join("B2", instance("iB"))
		if r.v < V44 {
			r.refused(resp, kerr.GroupMaxSizeReached)
			resp = r.join("B", instance("iB"))
		}
		if resp.ErrorCode != 0 {
			r.Fatalf("got %s", name(resp.ErrorCode))
		}
		r.beat("A", -1)
		if resp := r.join("X"); resp.ErrorCode != 0 {
			r.Fatalf("got %s", name(resp.ErrorCode))
		}
	})
}

func TestFacts8TopicMade(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A", topics("t12", "late")), e, 12)
		r.c.CreateTopic(r.now, "late", [16]byte{1}, 3)
		resp := r.beat("A", e)
		if r.v >= V43 {
			r.ok(resp, e, none)
			r.wait(time.Second)
			resp = r.beat("A", e)
		}
		r.ok(resp, e+1, 15)
		r.c.CreateTopic(r.now, "other", [16]byte{2}, 3) // not subscribed
		r.rest()
		r.ok(r.beat("A", e+1), e+1, none)
	})
}

func TestFacts8PartitionsAdded(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.rest()
		r.c.AddPartitions(r.now, "t12", 18)
		r.c.AddPartitions(r.now, "t12", 3)
		r.c.AddPartitions(r.now, "missing", 3)
		r.ok(r.beat("A", e), e+1, 18)
	})
}

func TestFacts8TopicDeleted(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		joined := r.join("A", topics("t12", "u12"))
		r.ok(joined, e, 24)
		r.rest()
		r.c.DeleteTopic(r.now, "u12")
		r.c.DeleteTopic(r.now, "u12")
		r.ok(r.beat("A", e), e, 12)
		r.ok(r.beat("A", e), e, none)
		r.ok(r.beat("A", e, owns(list(joined)...)), e, none) // no ack
		r.ok(r.beat("A", e, owns(all(t12))), e+1, none)
	})
}

func TestFacts8TopicMadeAgain(t *testing.T) {
	fresh := [16]byte{3}
	each(t, func(r *rig) { // without the broker seeing a gap
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.rest()
		r.c.CreateTopic(r.now, "t12", fresh, 12)
		r.ok(r.beat("A", e, owns(all(t12))), e, 0) // the old one must be given up
		resp := r.beat("A", e, owns())
		r.ok(resp, e+1, 12)
		if resp.Assignment.Topics[0].TopicID != fresh {
			r.Fatalf("got the old topic")
		}
		r.ok(r.beat("A", e+1, owns(all(t12))), e+1, none) // harmless
	})
	each(t, func(r *rig) { // an owned list without it: at once
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.rest()
		r.c.CreateTopic(r.now, "t12", fresh, 12)
		r.ok(r.beat("A", e, owns()), e+1, 12)
	})
	each(t, func(r *rig) { // with a gap
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.rest()
		r.c.DeleteTopic(r.now, "t12")
		r.ok(r.beat("A", e), e, 0)
		r.ok(r.beat("A", e, owns()), e+1, none)
		r.rest()
		r.c.CreateTopic(r.now, "t12", fresh, 12)
		r.ok(r.beat("A", e+1), e+2, 12)
	})
}

// Section 9, the part that consumer groups answer themselves.

func TestFacts9LeaveGroup(t *testing.T) {
	each(t, func(r *rig) {
		q := kmsg.NewPtrLeaveGroupRequest()
		q.Version, q.Group = 5, "g"
		if _, ok := r.c.LeaveClassic(r.now, q); ok {
			r.Fatalf("left a group that is not there")
		}
		e := r.first()
		r.join("A", instance("i1"))
		r.join("B", instance("i2"))
		r.join("C")
		before := r.epoch()
		for _, m := range []struct {
			id, instance string
			want         *kerr.Error
		}{
			{"", "i1", nil}, {"B", "i2", nil}, {"C", "", nil},
			{"", "i9", kerr.UnknownMemberID}, {"X", "", kerr.UnknownMemberID}, {"X", "i1", kerr.FencedInstanceID},
		} {
			row := kmsg.NewLeaveGroupRequestMember()
			row.MemberID, row.InstanceID = m.id, optional(m.instance)
			q.Members = append(q.Members, row)
		}
		resp, ok := r.c.LeaveClassic(r.now, q)
		if !ok || resp.ErrorCode != 0 || r.epoch() != before+1 || len(r.group().Members) != 0 {
			r.Fatalf("got %+v", resp)
		}
		for i, want := range []*kerr.Error{nil, nil, nil, kerr.UnknownMemberID, kerr.UnknownMemberID, kerr.FencedInstanceID} {
			r.code(resp.Members[i].ErrorCode, want)
		}
		r.refused(r.beat("A", e), kerr.UnknownMemberID)
	})
}

// A deletion that a heartbeat has seen must be acknowledged, even if the topic
// is made again before that.
func TestFacts8TopicMadeAgainBeforeTheAck(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.rest()
		r.c.DeleteTopic(r.now, "t12")
		r.ok(r.beat("A", e), e, 0)
		r.rest()
		r.c.CreateTopic(r.now, "t12", [16]byte{3}, 12)
		r.ok(r.beat("A", e), e, none)
		r.ok(r.beat("A", e, owns()), e+2, 12)
	})
}
