package member_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

func polls(d time.Duration) option {
	return timing(func(t *member.Timing) { t.MaxPollInterval = d })
}

// A leave that fails does not keep a member from being STALE: OnLost runs, a notice tells, and
// Alive brings it back.
func TestStaleThoughTheLeaveFails(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault
		what  member.Notice
	}{
		"unreachable": {ignored, member.NoticeUnreachable},
		"refused":     {code(kerr.GroupAuthorizationFailed.Code), member.NoticeRefused},
	} {
		t.Run(name, func(t *testing.T) {
			specAll(t, brokers.Config{}, func(r *rig) {
				m := r.join(polls(10 * time.Second))
				before := m.noticed(c.what)
				r.on(-1, leaves, c.fault)
				m.in(member.StateStale)
				r.sleep(time.Second)
				m.called("assigned orders[0-11]; lost orders[0-11]")
				r.equal("owned", m.Snapshot().Assignment.Len(), 0)
				r.that(m.noticed(c.what) > before, "a notice")
				r.calm()
				m.Alive()
				r.settled(m)
			})
		})
	}
}

// STALE while no broker can be reached is not the end either.
func TestStaleWhileUnreachable(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(polls(10 * time.Second))
		r.net.cut(true)
		r.sleep(40 * time.Second)
		r.equal("state", m.Snapshot().State, member.StateStale)
		r.net.up()
		m.Alive()
		r.settled(m)
	})
}

// A member that is asked to leave meanwhile says in the end that it could not.
func TestStaleThenLeaveWhileUnreachable(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(polls(10*time.Second), timing(func(t *member.Timing) { t.LeaveTimeout = 4 * time.Second }))
		r.on(-1, leaves, ignored)
		m.in(member.StateLeaving)
		m.cancel()
		m.failed(30*time.Second, member.ErrLeave)
		m.called("assigned orders[0-11]; lost orders[0-11]")
	})
}

// Alive while the leave is under way counts: the member is back as soon as OnLost has returned.
func TestStaleAliveWhileLeaving(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(polls(10 * time.Second))
		x := r.on(1, leaves, held(150*time.Millisecond))
		r.until("the leave", time.Minute, func() bool { return r.hits(x) == 1 })
		r.equal("state", m.Snapshot().State, member.StateLeaving)
		m.Alive()
		r.that(r.settled(m) < time.Second, "back at once")
		m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
		for range 10 {
			r.sleep(5 * time.Second)
			m.Alive()
		}
		r.equal("joins", len(m.sent(joins)), 2)
	})
}

// The join waits for a leave that is still unanswered on another connection: behind the join it
// would give what is assigned then to others, while the member takes it for its own.
func TestStaleReturnWaitsForTheLeave(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(polls(10 * time.Second))
		r.on(1, leaves, held(5*time.Second))
		m.in(member.StateStale)
		m.Alive()
		took := r.until("back", time.Minute, func() bool { return m.Snapshot().State == member.StateStable })
		r.that(took > 4*time.Second && took < 6*time.Second, "right after that answer, took %v", took)
		for range 10 {
			r.sleep(5 * time.Second)
			m.Alive()
		}
		r.equal("joins", len(m.sent(joins)), 2)
	})
}

// A -2 of a member that is STALE by now is still unanswered when it closes with LeaveGroup. Its answer is
// not that to the -1, which the coordinator does not take at first.
func TestStaleLeaveGroupBesideAnOldLeave(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		m := r.join(withName("x"), polls(10*time.Second), leaving(member.LeaveGroup))
		x := r.on(1, leaves, held(2*time.Second))
		m.in(member.StateStale)
		r.equal("held", r.hits(x), 1)
		r.sleep(500 * time.Millisecond)
		from := r.now()
		r.on(-1, func(q request) bool { return q.MemberEpoch == -1 && r.now() < from+3*time.Second }, code(kerr.CoordinatorLoadInProgress.Code))
		m.leaves()
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}
