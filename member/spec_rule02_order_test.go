package member_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Rule 2: a rejoin of a member that the coordinator still knows is held up on its connection. A
// leave beside it overtakes it, and is answered after it; the leave behind it is cut off. That
// accepted leave was before the join, and is not the last word.
func TestRule02_LeaveBeforeTheJoinAnswersAfterIt(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
		x := r.on(1, joins, delayed(290*time.Millisecond))
		m.Wake()
		r.until("rejoin", time.Minute, func() bool { return r.hits(x) == 1 })
		r.on(1, leaves, held(120*time.Millisecond)) // beside it
		r.on(1, leaves, dropped)                    // behind it
		m.leaves()
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}

// Rule 2: a join that went missing may arrive up to LeaveTimeout after it was written.
func TestRule02_JoinArrivesAtTheEnd(t *testing.T) {
	for d := 18 * time.Second; d <= 20*time.Second; d += 100 * time.Millisecond {
		t.Run(d.String(), func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				var late cell[func() response]
				r.on(1, joins, keep(&late))
				m := r.start()
				r.until("cut", time.Minute, func() bool { return late.get() != nil })
				written := m.sent(joins)[0].at
				m.cancel()
				time.Sleep(written + d - r.now() - time.Millisecond)
				r.deliver(late.get())
				r.equal("Run", m.ended(time.Minute), error(nil))
				r.equal("members", len(r.c.Group("g").Members), 0)
			})
		})
	}
}

// Rule 2: the leaves of a member that went STALE were applied and never answered, so nobody knew it
// when its rejoin was sent: that it is not there says nothing for the rejoin.
func TestRule02_RejoinAfterUnansweredLeaves(t *testing.T) {
	for _, limit := range []time.Duration{4 * time.Second, 20 * time.Second} {
		t.Run(limit.String(), func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join(polls(10*time.Second), timing(func(t *member.Timing) { t.LeaveTimeout = limit }))
				r.on(-1, leaves, mute)
				m.in(member.StateStale)
				r.sleep(100 * time.Millisecond)
				r.calm()
				var late cell[func() response]
				r.on(1, joins, keep(&late))
				m.Alive()
				r.until("join", time.Minute, func() bool { return late.get() != nil })
				r.on(1, leaves, dropped)
				m.cancel()
				r.sleep(1500 * time.Millisecond)
				r.deliver(late.get())
				r.equal("Run", m.ended(time.Minute), error(nil))
				r.equal("members", len(r.c.Group("g").Members), 0)
			})
		})
	}
}

// Rule 2: a join is in the hands of a slow coordinator when the member closes. The close is quick,
// and the connection stays open until the leave behind the join is answered. (Kafka handles that
// one though its client has closed the connection, see TestKafkaLeaveBehindTheJoin; what is
// between may not.)
func TestRule02_SlowJoin(t *testing.T) {
	for _, ms := range []time.Duration{300, 500, 650, 800, 1000, 2000, 5000, 9000} {
		for _, rejoin := range []bool{false, true} {
			t.Run(fmt.Sprint(ms*time.Millisecond, ", rejoin ", rejoin), func(t *testing.T) {
				spec(t, brokers.Config{}, func(r *rig) {
					var opts []option
					if rejoin {
						opts = append(opts, quiet)
					}
					m := r.make(opts...)
					if rejoin {
						m.run()
						r.settled(m)
						r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
					}
					x := r.on(1, joins, delayed(ms*time.Millisecond))
					if rejoin {
						m.Wake()
					} else {
						m.run()
					}
					r.until("join", time.Minute, func() bool { return r.hits(x) == 1 })
					took := m.leaves()
					r.that(took < time.Second, "a quick close, took %v", took)
					r.sleep(10 * time.Second)
					r.equal("members", len(r.c.Group("g").Members), 0)
				})
			})
		}
	}
}

// Rule 2: the leave behind such a join is lost with their connection, and the join is not.
func TestRule02_LeaveBehindTheJoinIsLost(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		x := r.on(1, joins, delayed(3*time.Second)) // received, not handled yet
		m := r.start()
		r.until("the join", time.Minute, func() bool { return r.hits(x) == 1 })
		m.cancel()
		r.sleep(300 * time.Millisecond) // the leave behind it is known to be written, another one is out beside it
		r.net.cut(false)
		r.equal("Run", m.ended(time.Minute), error(nil))
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}

// Rule 2: a close just when the answer to the join is lost is quick, be the answer swallowed or the
// connection cut, and whether or not the broker has the leave that was written behind the join.
func TestRule02_CloseAsTheAnswerIsLost(t *testing.T) {
	for name, f := range map[string]fault{
		"swallowed": func(_ *wire, _ request, apply func() response) (response, error) { apply(); return nil, nil },
		"cut":       lost,
		"cut later": func(w *wire, q request, apply func() response) (response, error) {
			defer time.Sleep(50 * time.Millisecond)
			return lost(w, q, apply)
		},
	} {
		t.Run(name, func(t *testing.T) {
			specAll(t, brokers.Config{}, func(r *rig) {
				x := r.on(1, joins, f)
				m := r.start()
				for r.hits(x) == 0 {
					time.Sleep(time.Microsecond)
				}
				took := m.leaves()
				r.that(took < time.Second, "a quick close, took %v", took)
				r.equal("members", len(r.c.Group("g").Members), 0)
			})
		})
	}
}

// Rule 2: a leave was accepted, or found nobody, and the later ones get no answer at all, while a
// join is missing: Run says that it does not know.
func TestRule02_ThenSilence(t *testing.T) {
	t.Run("accepted", func(t *testing.T) {
		spec(t, brokers.Config{}, func(r *rig) {
			r.ghosts = true
			var late cell[func() response]
			r.on(1, joins, keep(&late))
			m := r.start(timing(func(t *member.Timing) { t.LeaveTimeout = 4 * time.Second }))
			r.settled(m)
			r.on(1, leaves, func(_ *wire, _ request, apply func() response) (response, error) { return apply(), nil })
			r.on(-1, leaves, ignored)
			m.cancel()
			r.sleep(time.Second)
			r.deliver(late.get())
			m.failed(10*time.Second, member.ErrLeave)
		})
	})
	t.Run("nobody", func(t *testing.T) {
		spec(t, brokers.Config{}, func(r *rig) {
			r.ghosts = true
			var late cell[func() response]
			r.on(1, joins, keep(&late))
			r.on(-1, joins, ignored)
			m := r.start()
			r.until("cut", time.Minute, func() bool { return late.get() != nil })
			m.cancel()
			r.sleep(12 * time.Second)
			r.on(-1, leaves, ignored)
			r.sleep(2 * time.Second)
			r.deliver(late.get())
			m.failed(30*time.Second, member.ErrLeave)
		})
	})
}

// Rule 3: LeaveGroup gives the place of a static member up that is only away: STALE, or between the -2
// that made room for a rejoin and the rejoin.
func TestRule03_LeaveGroupOfWhoIsAway(t *testing.T) {
	for _, how := range []string{"context", "Leave"} {
		t.Run("STALE, by "+how, func(t *testing.T) {
			specAll(t, brokers.Config{}, func(r *rig) {
				op := member.LeaveGroup
				if how == "Leave" {
					op = member.LeaveDefault
				}
				m := r.join(withName("x"), polls(10*time.Second), leaving(op))
				m.in(member.StateStale)
				r.sleep(time.Second)
				if how == "Leave" {
					r.equal("Leave", m.Leave(context.Background(), member.LeaveGroup), error(nil))
				} else {
					m.leaves()
				}
				r.equal("members", len(r.c.Group("g").Members), 0)
			})
		})
	}
	t.Run("released", func(t *testing.T) {
		specAll(t, brokers.Config{}, func(r *rig) {
			m := r.join(withName("x"), leaving(member.LeaveGroup))
			r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
			m.Wake()
			r.until("the release", time.Minute, func() bool { return len(m.sent(leaves)) == 1 })
			m.leaves()
			r.equal("members", len(r.c.Group("g").Members), 0)
		})
	})
}

// Rule 2: a static member whose join is missing waits for its name, which another member has. Its leave is
// refused, so there is no other (rule 3); that nobody of it is left, Run does not say.
func TestRule02_MissingJoinOfARival(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		var late cell[func() response]
		other, _ := r.elsewhere()
		r.on(1, joins, keep(&late))
		m := r.start(withName("x"))
		r.until("join", time.Minute, func() bool { return late.get() != nil })
		b := r.startOn(other, withName("x"))
		r.settled(b)
		r.sleep(200 * time.Millisecond)
		m.cancel()
		m.failed(time.Second, member.ErrLeave, kerr.FencedInstanceID)
		r.equal("leaves", len(m.sent(leaves)), 2) // the one that asked whose the name is (rule 12), and the last
	})
}
