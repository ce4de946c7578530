package coordinator

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// code wants an error code; nil is OK.
func (r *rig) code(got int16, want *kerr.Error) {
	r.Helper()
	var code int16
	if want != nil {
		code = want.Code
	}
	if got != code {
		r.Fatalf("got %s, want %s", name(got), name(code))
	}
}

// commit checks an offset commit to t12.
func (r *rig) commit(id string, epoch, partition int32) int16 {
	return r.c.OffsetCommitCheck(r.now, "g", id, epoch, t12, partition)
}

// Section 6: commits and fetches with a member epoch.

func TestFacts6Commits(t *testing.T) {
	each(t, func(r *rig) {
		r.code(r.commit("A", 1, 0), kerr.GroupIDNotFound)
		r.code(r.commit("", -1, 0), nil)
		e := r.pair()
		mine, other := r.assigned("A")[0].Partitions[0], r.assigned("B")[0].Partitions[0]
		r.code(r.commit("A", e, mine), nil)
		r.code(r.commit("A", e, other), nil)
		r.code(r.c.OffsetCommitCheck(r.now, "g", "A", e, u12, 0), nil)
		since := kerr.StaleMemberEpoch
		if r.v >= V43 {
			since = nil
		}
		r.code(r.commit("A", e-1, mine), since)
		r.code(r.commit("A", e-1, other), kerr.StaleMemberEpoch)
		for _, epoch := range []int32{0, e + 1, -1} {
			r.code(r.commit("A", epoch, mine), kerr.StaleMemberEpoch)
		}
		r.code(r.commit("B", e-1, other), kerr.StaleMemberEpoch) // not yet had then
		r.code(r.commit("X", e, mine), kerr.UnknownMemberID)
		r.code(r.commit("", -1, mine), kerr.UnknownMemberID)
		r.refused(r.beat("A", e+1), kerr.FencedMemberEpoch)
		r.code(r.commit("A", e, mine), nil)
		r.beat("A", -1)
		r.code(r.commit("A", e, mine), kerr.UnknownMemberID)
		r.beat("B", -1)
		r.code(r.commit("", -1, mine), nil) // an empty group
	})
}

func TestFacts6CommitsWhileRevoking(t *testing.T) {
	each(t, func(r *rig) {
		e, keep := r.told()
		given := r.member("A").PendingRevocation[0].Partitions[0]
		r.code(r.commit("A", e, given), nil)
		r.ok(r.beat("A", e, owns(keep...)), e+1, none)
		r.code(r.commit("A", e, given), kerr.StaleMemberEpoch)
		r.code(r.commit("A", e+1, given), nil)
	})
}

func TestFacts6CommitsWhileAway(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A", instance("i1")), e, 12)
		r.beat("A", -2, instance("i1"))
		r.code(r.commit("A", e, 0), kerr.StaleMemberEpoch)
		r.code(r.commit("A", -2, 0), nil)
		r.ok(r.join("A2", instance("i1")), e, 12)
		r.code(r.commit("A", e, 0), kerr.UnknownMemberID)
	})
}

func TestFacts6TxnCommits(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		r.code(r.c.TxnOffsetCommitCheck(r.now, "g", "", -1, t12, 0), nil)
		r.code(r.c.TxnOffsetCommitCheck(r.now, "g", "A", e, t12, 0), nil)
		r.code(r.c.TxnOffsetCommitCheck(r.now, "g", "A", e+1, t12, 0), kerr.IllegalGeneration)
		r.code(r.c.TxnOffsetCommitCheck(r.now, "g", "X", e, t12, 0), kerr.UnknownMemberID)
	})
}

func TestFacts6Fetches(t *testing.T) {
	each(t, func(r *rig) {
		r.code(r.c.OffsetFetchCheck(r.now, "g", "A", 5), nil)
		e := r.pair()
		r.code(r.c.OffsetFetchCheck(r.now, "g", "A", e), nil)
		r.code(r.c.OffsetFetchCheck(r.now, "g", "A", e-1), kerr.StaleMemberEpoch)
		r.code(r.c.OffsetFetchCheck(r.now, "g", "A", e+1), kerr.StaleMemberEpoch)
		r.code(r.c.OffsetFetchCheck(r.now, "g", "X", e), kerr.UnknownMemberID)
		r.code(r.c.OffsetFetchCheck(r.now, "g", "", 0), kerr.UnknownMemberID)
	})
}
