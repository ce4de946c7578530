package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Section 4: epoch 0 by a member the group knows, and the way back.

func TestFacts4EpochZero(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		before := r.assigned("B")
		for range 3 {
			resp := r.join("A")
			if r.v < V42 {
				r.refused(resp, kerr.FencedMemberEpoch)
			} else {
				r.ok(resp, e, 6)
			}
		}
		if g := r.group(); g.Epoch != e || len(before) != len(r.assigned("B")) {
			r.Fatalf("somebody was disturbed")
		}
		r.refused(r.join("A", ownsNil), kerr.InvalidRequest)
		r.refused(r.join("A", owns(all(t12))), kerr.InvalidRequest)
		resp := r.join("A", topics("t12", "u12"))
		if r.v < V42 {
			r.refused(resp, kerr.FencedMemberEpoch)
			return
		}
		if resp.ErrorCode != 0 || r.epoch() != e+1 {
			r.Fatalf("got %s, epoch %d", name(resp.ErrorCode), r.epoch())
		}
	})
}

func TestFacts4EpochZeroInsteadOfAck(t *testing.T) {
	each(t, func(r *rig) {
		e, _ := r.told()
		resp := r.join("A")
		if r.v < V42 {
			r.refused(resp, kerr.FencedMemberEpoch)
			r.ok(r.beat("B", e+1), e+1, none)
			return
		}
		r.ok(resp, e+1, 6)
		r.ok(r.beat("B", e+1), e+1, 6)
	})
}

func TestFacts4EpochZeroWhileWaiting(t *testing.T) {
	each(t, func(r *rig) {
		e, _ := r.told()
		r.ok(r.beat("B", e+1), e+1, none)
		resp := r.join("B")
		if r.v < V42 {
			r.refused(resp, kerr.FencedMemberEpoch)
			return
		}
		r.ok(resp, e+1, 0)
	})
}

func TestFacts4WayBack(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		// Full at the remembered, previous epoch, and at a described one.
		r.ok(r.beat("A", e-1, whole, owns()), e, 6)
		q := kmsg.NewPtrConsumerGroupDescribeRequest()
		q.Groups = []string{"g"}
		shown := r.c.Describe(r.now, q).Groups[0].Members[0]
		r.ok(r.beat(shown.MemberID, shown.MemberEpoch, whole, owns()), e, 6)
		// Leave and join with the same ID: costs a rebalance.
		r.ok(r.beat("A", -1), -1, none)
		if resp := r.join("A"); resp.ErrorCode != 0 {
			r.Fatalf("got %s", name(resp.ErrorCode))
		}
		if got := r.epoch(); got != e+2 {
			r.Fatalf("got epoch %d, want %d", got, e+2)
		}
	})
}

func TestFacts4NewIDLeavesAGhost(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.rest()
		r.ok(r.join("A2"), e+1, 0)
		r.wait(4 * time.Second)
		r.ok(r.beat("A2", e+1), e+1, none)
		r.wait(time.Second)
		r.ok(r.beat("A2", e+1), e+2, 12) // the old ID's session has ended
	})
}
