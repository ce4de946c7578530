package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 5L: the static member whose join was applied and its answer lost.

func TestFacts5LLockOut(t *testing.T) {
	static := instance("i1")
	for _, ver := range []int16{0, 1} {
		each(t, func(r *rig) {
			r.ok(r.join("A", static), r.first(), 12) // lost
			r.refused(r.join("A", static, version(ver)), kerr.UnreleasedInstanceID)
			r.refused(r.join("A2", static), kerr.UnreleasedInstanceID)
			r.refused(r.beat("A2", -2, static), kerr.FencedInstanceID)
			r.refused(r.beat("A", -2), kerr.InvalidRequest)
			r.ok(r.beat("A", -2, static), -2, none)
			r.ok(r.join("A", static), r.first(), 12)
		})
	}
}

func TestFacts5LEscapes(t *testing.T) {
	static := instance("i1")
	each(t, func(r *rig) { // -2, then a new ID
		r.ok(r.join("A", static), r.first(), 12)
		r.ok(r.beat("A", -2, static), -2, none)
		r.ok(r.join("A2", static), r.first(), 12)
	})
	each(t, func(r *rig) { // -1: two bumps
		r.ok(r.join("A", static), r.first(), 12)
		r.ok(r.beat("A", -1), -1, none)
		want := 12
		if r.v == V43 {
			want = 0
		}
		if resp := r.join("A", static); size(resp) != want || r.epoch() != r.first()+2 {
			r.Fatalf("got asg=%d at %d", size(resp), r.epoch())
		}
	})
	each(t, func(r *rig) { // without the instance ID, after a lost join
		r.ok(r.join("A", static), r.first(), 12)
		r.ok(r.join("A"), r.first(), 12)
		if got := r.member("A").InstanceID; got != "i1" {
			r.Fatalf("got %q", got)
		}
	})
	each(t, func(r *rig) { // the same for a settled member
		e := r.pair(static)
		r.refused(r.join("A", static), kerr.UnreleasedInstanceID)
		resp := r.join("A")
		if r.v < V42 {
			r.refused(resp, kerr.FencedMemberEpoch)
		} else {
			r.ok(resp, e, 6)
		}
		r.ok(r.beat("A", e, static, whole, owns()), e, 6)
	})
}

func TestFacts5LMoreEscapes(t *testing.T) {
	static := instance("i1")
	each(t, func(r *rig) { // LeaveGroup by instance
		r.ok(r.join("A", static), r.first(), 12)
		if code := r.c.RemoveInstance(r.now, "g", "i1"); code != 0 {
			r.Fatalf("got %s", name(code))
		}
		if resp := r.join("A", static); resp.ErrorCode != 0 {
			r.Fatalf("got %s", name(resp.ErrorCode))
		}
	})
	each(t, func(r *rig) { // a guessed epoch
		r.ok(r.join("A", static), r.first(), 12)
		resp := r.beat("A", 1, whole, owns())
		if r.v >= V43 {
			r.refused(resp, kerr.FencedMemberEpoch)
		} else {
			r.ok(resp, 1, 12)
		}
	})
	each(t, func(r *rig) { // waiting
		r.ok(r.join("A", static), r.first(), 12)
		r.wait(5999 * time.Millisecond)
		r.refused(r.join("A", static), kerr.UnreleasedInstanceID)
		r.wait(time.Millisecond)
		r.ok(r.join("A", static), r.first()+2, 12)
	})
	each(t, func(r *rig) { // leaving it out when another holds it
		r.ok(r.join("B", static), r.first(), 12)
		r.rest()
		r.ok(r.join("A"), r.first()+1, 0)
		r.refused(r.join("A", static), kerr.UnreleasedInstanceID)
	})
}
