package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 2: lost joins, and leaving.

func TestFacts2LostJoin(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12) // lost
		r.ok(r.join("A"), e, 12)
		r.wait(time.Second)
		r.ok(r.join("A"), e, 12)
		if g := r.group(); len(g.Members) != 1 || g.Epoch != e {
			r.Fatalf("got %d members, epoch %d", len(g.Members), g.Epoch)
		}
		r.rest()
		r.ok(r.join("B"), e+1, 0)
		second := r.join("A") // gives up by joining with nothing
		r.ok(second, e+1, 6)
		third := r.join("A") // the second answer was lost as well
		if r.v < V42 {
			r.refused(third, kerr.FencedMemberEpoch)
		} else {
			r.ok(third, e+1, 6)
		}
		r.ok(r.beat("B", e+1), e+1, 6)
	})
}

func TestFacts2LostJoinIntoFullGroup(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("B"), e, 12)
		r.rest()
		r.ok(r.join("A"), e+1, 0) // lost
		told := r.beat("B", e)
		r.ok(r.beat("B", e, owns(list(told)...)), e+1, none)
		r.ok(r.join("A"), e+1, 6)
	})
}

func TestFacts2Leave(t *testing.T) {
	each(t, func(r *rig) {
		r.refused(r.beat("A", -1), kerr.GroupIDNotFound)
		r.refused(r.beat("A", -2, instance("i1")), kerr.GroupIDNotFound)
		r.ok(r.join("A"), r.first(), 12)
		r.refused(r.beat("A", -2), kerr.InvalidRequest)
		r.refused(r.beat("B", -1), kerr.UnknownMemberID)
		r.ok(r.beat("A", -1), -1, none)
		if g := r.group(); g.State != "Empty" || g.Epoch != r.first()+1 {
			r.Fatalf("got %s at %d", g.State, g.Epoch)
		}
		r.refused(r.beat("A", -1), kerr.UnknownMemberID)
		r.refused(r.beat("A", r.first()), kerr.UnknownMemberID)
		r.rest()
		r.ok(r.join("A"), r.first()+2, 12) // epochs go on
	})
}

func TestFacts2LeaveMovesPartitions(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		r.ok(r.beat("B", -1), -1, none)
		r.ok(r.beat("A", e), e+1, 12)
	})
}

// A leave that overtakes its join makes a ghost until the session ends.
func TestFacts2LeaveBeforeJoin(t *testing.T) {
	each(t, func(r *rig) {
		r.refused(r.beat("A", -1), kerr.GroupIDNotFound)
		r.ok(r.join("A"), r.first(), 12)
		r.wait(6 * time.Second)
		r.c.Advance(r.now)
		if g := r.group(); len(g.Members) != 0 {
			r.Fatalf("the ghost lives")
		}
	})
}

// Section 3: keepalives and lost answers.

func TestFacts3Keepalives(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		mine, other := r.assigned("A"), r.assigned("B")
		r.ok(r.beat("A", e), e, none)
		r.ok(r.beat("A", e, owns(mine...)), e, none)
		r.ok(r.beat("A", e, owns(mine...), timeout(3000)), e, none)
		r.ok(r.beat("A", e, owns(mine...), topics("t12")), e, none)
		r.ok(r.beat("A", e, topics("t12"), timeout(3000)), e, none)
		r.ok(r.beat("A", e, whole, owns(mine...)), e, 6)
		r.ok(r.beat("A", e, whole, owns()), e, 6)
		r.ok(r.beat("A", e, owns(other...)), e, none)
		r.ok(r.beat("A", e, owns(TopicPartitions{ID: [16]byte{9}, Partitions: []int32{0}})), e, none)
		for range 100 {
			r.ok(r.beat("A", e, whole, owns(mine...)), e, 6)
		}
		if g := r.group(); g.Epoch != e || g.State != "Stable" {
			r.Fatalf("got %s at %d", g.State, g.Epoch)
		}
	})
}

func TestFacts3Epochs(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		mine := r.assigned("A")
		r.refused(r.beat("A", e+1), kerr.FencedMemberEpoch)
		r.refused(r.beat("A", e-1), kerr.FencedMemberEpoch)
		r.ok(r.beat("A", e-1, owns(mine...)), e, none)
		r.ok(r.beat("A", e-1, owns()), e, none)
		r.ok(r.beat("A", e-1, whole, owns(mine...)), e, 6)
		r.refused(r.beat("A", e-1, owns(all(t12))), kerr.FencedMemberEpoch)
		if e-2 > 0 {
			r.refused(r.beat("A", e-2, owns()), kerr.FencedMemberEpoch)
		}
		r.ok(r.beat("A", e), e, none) // fencing throws nobody out
	})
}

func TestFacts3RefusedDoNotFeedTheSession(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A"), r.first(), 12)
		for range 5 {
			r.wait(time.Second)
			r.refused(r.beat("A", 99), kerr.FencedMemberEpoch)
		}
		r.wait(time.Second)
		r.refused(r.beat("A", r.first()), kerr.UnknownMemberID)
	})
}

func TestFacts3LostAnswers(t *testing.T) {
	each(t, func(r *rig) {
		e, _ := r.told() // lost
		r.ok(r.beat("A", e), e, none)
		r.ok(r.beat("A", e, owns(all(t12))), e, none)
		r.ok(r.beat("A", e, topics("t12"), timeout(3000)), e, none)
		r.ok(r.beat("A", e, whole, owns(all(t12))), e, 6)
		r.wait(3 * time.Second)
		r.refused(r.beat("A", e), kerr.UnknownMemberID)
	})
}

func TestFacts3LostGrantAtTheSameEpoch(t *testing.T) {
	each(t, func(r *rig) {
		e, keep := r.told()
		r.ok(r.beat("A", e, owns(keep...)), e+1, none)
		r.ok(r.beat("B", e+1), e+1, 6) // lost
		for range 5 {
			r.ok(r.beat("B", e+1), e+1, none)
			r.ok(r.beat("B", e+1, owns()), e+1, none)
		}
		r.ok(r.beat("B", e+1, whole, owns()), e+1, 6)
	})
}

func TestFacts3LostGrantWithANewEpoch(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		mine := r.assigned("A")
		r.ok(r.beat("B", -1), -1, none)
		r.ok(r.beat("A", e), e+1, 12) // lost
		r.refused(r.beat("A", e), kerr.FencedMemberEpoch)
		r.ok(r.beat("A", e, owns(mine...)), e+1, none) // stranded
		r.ok(r.beat("A", e, owns()), e+1, none)
		r.ok(r.beat("A", e, whole, owns(mine...)), e+1, 12)
		rejoin := r.join("A")
		if r.v < V42 {
			r.refused(rejoin, kerr.FencedMemberEpoch)
			return
		}
		r.ok(rejoin, e+1, 12)
	})
}

// The answer to an acknowledgement also gives new partitions, and is lost.
func TestFacts3LostAnswerOfAnAck(t *testing.T) {
	each(t, func(r *rig) {
		e, keep := r.told()
		r.ok(r.beat("B", -1), -1, none)
		r.rest()
		r.ok(r.beat("A", e), e, none) // hears nothing of it until the ack
		r.ok(r.beat("A", e, owns(keep...)), e+2, 12)
		r.refused(r.beat("A", e), kerr.FencedMemberEpoch)
		r.ok(r.beat("A", e, owns(keep...)), e+2, none)
		r.ok(r.beat("A", e, whole, owns(keep...)), e+2, 12)
	})
}
