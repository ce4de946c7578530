package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 5: static membership.

func TestFacts5Keepalives(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.ok(r.beat("A", e), e, none)
		r.ok(r.beat("A", e, instance("i1")), e, none)
		r.ok(r.beat("A", e, whole, owns()), e, 6)
		if got := r.member("A").InstanceID; got != "i1" {
			r.Fatalf("the instance ID became %q", got)
		}
		r.refused(r.beat("A", e, instance("i9")), kerr.UnknownMemberID)
		r.refused(r.beat("B", e, instance("i1")), kerr.FencedInstanceID)
		r.ok(r.beat("A", e), e, none)
	})
}

func TestFacts5Rival(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.refused(r.join("X", instance("i1")), kerr.UnreleasedInstanceID)
		r.refused(r.beat("X", e, instance("i1")), kerr.FencedInstanceID)
		r.refused(r.beat("X", -1, instance("i1")), kerr.FencedInstanceID)
		r.refused(r.beat("X", -2, instance("i1")), kerr.FencedInstanceID)
		r.ok(r.beat("A", e), e, none)
	})
}

func TestFacts5LeaveForGood(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.ok(r.beat("A", -1, instance("i1")), -1, none)
		r.ok(r.beat("B", e), e+1, 12)
		r.refused(r.beat("A", e, instance("i1")), kerr.UnknownMemberID)
	})
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.ok(r.beat("A", -1), -1, none) // the instance ID may be missing
		r.ok(r.beat("B", e), e+1, 12)
	})
}

func TestFacts5LeaveAndReturn(t *testing.T) {
	for _, id := range []string{"A2", "A"} {
		each(t, func(r *rig) {
			e := r.pair(instance("i1"))
			r.ok(r.beat("A", -2, instance("i1")), -2, none)
			r.ok(r.beat("A", -2, instance("i1")), -2, none)
			r.ok(r.beat("B", e), e, none)
			r.refused(r.beat("A", e), kerr.FencedMemberEpoch)
			held := r.assigned("A")
			back := r.join(id, instance("i1"))
			r.ok(back, e, 6)
			if got := r.assigned(id); len(got) != 1 || len(got[0].Partitions) != 6 || got[0].Partitions[0] != held[0].Partitions[0] {
				r.Fatalf("got %v, had %v", got, held)
			}
			if g := r.group(); g.Epoch != e || g.State != "Stable" || len(g.Members) != 2 {
				r.Fatalf("got %s at %d with %d members", g.State, g.Epoch, len(g.Members))
			}
			r.refused(r.join("rival", instance("i1")), kerr.UnreleasedInstanceID)
		})
	}
}

func TestFacts5ReplacedID(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.beat("A", -2, instance("i1"))
		r.ok(r.join("A2", instance("i1")), e, 6)
		r.refused(r.beat("A", e, instance("i1")), kerr.FencedInstanceID)
		r.refused(r.beat("A", -1, instance("i1")), kerr.FencedInstanceID)
		r.refused(r.beat("A", -2, instance("i1")), kerr.FencedInstanceID)
		r.refused(r.beat("A", e), kerr.UnknownMemberID)
		r.refused(r.join("A", instance("i1")), kerr.UnreleasedInstanceID)
		// The old ID's session timer is gone with it.
		r.wait(5 * time.Second)
		r.ok(r.beat("A2", e), e, none)
		r.wait(3 * time.Second)
		if got := r.member("A2").InstanceID; got != "i1" {
			r.Fatalf("got %q", got)
		}
	})
}

func TestFacts5ReturnWithOtherTopics(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.beat("A", -2, instance("i1"))
		resp := r.join("A2", instance("i1"), topics("t12", "u12"))
		if resp.ErrorCode != 0 || r.epoch() != e+1 {
			r.Fatalf("got %s, epoch %d", name(resp.ErrorCode), r.epoch())
		}
	})
}

func TestFacts5ReturnWithoutInstanceID(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.beat("A", -2, instance("i1"))
		r.ok(r.join("A2"), e+1, 0)
		told := r.beat("B", e)
		r.ok(told, e, 4)
		r.ok(r.beat("B", e, owns(list(told)...)), e+1, none)
		r.ok(r.beat("A2", e+1), e+1, 2) // the six stay with the one who is away
		r.wait(3 * time.Second)
		r.ok(r.beat("A2", e+1), e+1, none)
		r.ok(r.beat("B", e+1), e+1, none)
		r.wait(3 * time.Second)
		r.ok(r.beat("A2", e+1), e+2, 6)
		if _, ok := r.group().Member("A"); ok {
			r.Fatalf("the member that is away outlived its session")
		}
	})
}

func TestFacts5LeaveForGoodWhileAway(t *testing.T) {
	each(t, func(r *rig) {
		r.pair(instance("i1"))
		r.beat("A", -2, instance("i1"))
		r.ok(r.beat("A", -1, instance("i1")), -1, none)
		if _, ok := r.group().Member("A"); ok {
			r.Fatalf("still there")
		}
	})
}

func TestFacts5AwayIsAnAck(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A", instance("i1")), e, 12)
		r.rest()
		r.ok(r.join("D"), e+1, 0)
		r.ok(r.beat("A", e), e, 6)
		r.ok(r.beat("A", -2, instance("i1")), -2, none)
		r.ok(r.beat("D", e+1), e+1, 6)
		r.ok(r.join("A", instance("i1")), e+1, 6)
	})
}

func TestFacts5JoinWhileAway(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair(instance("i1"))
		r.beat("A", -2, instance("i1"))
		r.ok(r.join("E"), e+1, 0)
		told := r.beat("B", e)
		r.ok(told, e, 4)
		r.ok(r.beat("B", e, owns(list(told)...)), e+1, none)
		r.ok(r.beat("E", e+1), e+1, 2)
		r.ok(r.beat("E", e+1), e+1, none)
		r.ok(r.join("A2", instance("i1")), e+1, 4) // at once, already trimmed
		r.ok(r.beat("E", e+1), e+1, 4)
	})
}

func TestFacts5Crash(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A", instance("i1")), r.first(), 12)
		for range 119 {
			r.wait(50 * time.Millisecond)
			r.refused(r.join("A2", instance("i1")), kerr.UnreleasedInstanceID)
		}
		r.wait(50 * time.Millisecond)
		if resp := r.join("A2", instance("i1")); resp.ErrorCode != 0 {
			r.Fatalf("got %s after a session", name(resp.ErrorCode))
		}
		r.refused(r.beat("A", r.first(), instance("i1")), kerr.FencedInstanceID)
	})
}

func TestFacts5AwaySession(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A", instance("i1")), r.first(), 12)
		r.wait(3 * time.Second)
		r.beat("A", -2, instance("i1"))
		r.wait(time.Second)
		r.beat("A", -2, instance("i1"))
		if at, ok := r.c.NextDeadline(); !ok || at.Sub(r.now) != 2*time.Second {
			r.Fatalf("the session ends in %v", at.Sub(r.now))
		}
		r.wait(2 * time.Second)
		r.refused(r.beat("A", -2, instance("i1")), kerr.UnknownMemberID)
	})
}

func TestFacts5BecomesStatic(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A"), r.first(), 12)
		r.ok(r.join("A", instance("i1")), r.first(), 12)
		r.refused(r.join("B", instance("i1")), kerr.UnreleasedInstanceID)
		r.ok(r.join("A"), r.first(), 12) // keeps i1
		r.ok(r.join("A", instance("i2")), r.first(), 12)
		r.refused(r.join("B", instance("i2")), kerr.UnreleasedInstanceID)
		r.rest()
		resp := r.join("B", instance("i1"))
		if r.v >= V44 {
			r.ok(resp, r.first()+1, 0)
			return
		}
		// The given up instance ID stays with A, and goes down with it.
		r.refused(resp, kerr.UnreleasedInstanceID)
		r.ok(r.beat("A", -1), -1, none)
		for _, epoch := range []int32{1, -1, -2} {
			r.refused(r.beat("A", epoch, instance("i1")), kerr.UnknownMemberID)
		}
		r.refused(r.join("B", instance("i1")), kerr.UnknownMemberID)
		if code := r.c.RemoveInstance(r.now, "g", "i1"); code != kerr.UnknownMemberID.Code {
			r.Fatalf("got %s", name(code))
		}
	})
}

// A member that takes a new instance ID before it has reached its target loses
// all it has: the broker looks for the target under the new instance ID.
func TestFacts5NewInstanceIDLosesTheTarget(t *testing.T) {
	each(t, func(r *rig) { // away
		e := r.pair(instance("i1"))
		r.ok(r.beat("A", -2, instance("i1")), -2, none)
		r.ok(r.join("A", instance("i2")), e, 0)
		r.ok(r.beat("A", e, whole, owns()), e, 0)
		if m := r.member("A"); m.State != StateStable || len(m.Target[0].Partitions) != 6 {
			r.Fatalf("got %+v", m)
		}
	})
	each(t, func(r *rig) { // behind
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.rest()
		r.ok(r.join("B"), e+1, 0)
		r.ok(r.join("A", instance("i1")), e+1, 0)
		r.ok(r.beat("B", e+1), e+1, 6)
		r.ok(r.beat("A", e+1), e+1, none)
	})
	each(t, func(r *rig) { // settled: nothing to look for
		e := r.pair()
		r.ok(r.join("A", instance("i1")), e, 6)
	})
}
