package member_test

import (
	"context"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Rule 20: trust lasts from the send time of the last accepted heartbeat for the session timeout
// less a margin of 3 s or a tenth; then one event says that it ran out, and one that it is back.
func TestRule20_TrustEvents(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 42 * time.Second, 10 * time.Second: 9 * time.Second} {
		t.Run(timeout.String(), func(t *testing.T) {
			spec(t, brokers.Config{SessionTimeout: timeout}, func(r *rig) {
				m := r.join(timing(func(t *member.Timing) { t.SessionTimeout = timeout }))
				r.sleep(10 * time.Second)
				slow := r.on(1, steady, held(2*time.Second)) // counted from the send time, not from the answer
				r.until("a slow answer", 2*interval, func() bool { return r.hits(slow) == 1 })
				r.sleep(3 * time.Second)
				sent := m.sent(steady)
				last := sent[len(sent)-1].at
				r.equal("last heartbeat", m.Snapshot().LastHeartbeat.Sub(r.t0), last)
				r.net.cut(true)
				r.sleep(2 * time.Minute)
				trust := m.told().trust
				r.equal("events", len(trust), 1)
				r.that(trust[0].Until.IsZero(), "trust that ran out")
				r.equal("when", trust[0].At.Sub(r.t0), last+want)
				r.net.up()
				r.settled(m)
				trust = m.told().trust
				r.that(len(trust) <= 2, "at most one more, got %d", len(trust))
			})
		})
	}
}

// Rule 20: trust comes back if the broker kept the member all the same.
func TestRule20_TrustComesBack(t *testing.T) {
	spec(t, brokers.Config{SessionTimeout: time.Hour}, func(r *rig) { // longer than the member thinks
		m := r.join()
		r.net.cut(true)
		r.sleep(time.Minute)
		r.that(!m.Snapshot().Trusted(time.Now()), "no trust")
		r.net.up()
		r.settled(m)
		r.sleep(interval)
		trust := m.told().trust
		r.that(len(trust) == 2 && trust[0].Until.IsZero() && trust[1].Until.After(time.Now()), "ran out, came back, got %v", trust)
		r.that(m.Snapshot().Trusted(time.Now()), "trust")
		m.called("assigned orders[0-11]")
	})
}

// Rule 20: Snapshot.Trusted looks at the wall clock too, as the monotonic clock of a suspended
// machine stands still.
func TestRule20_Trusted(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.make()
		r.that(!m.Snapshot().Trusted(time.Now()), "no trust before the join")
		m.run()
		r.settled(m)
		s := m.Snapshot()
		r.equal("trusted until", s.TrustedUntil.Sub(s.LastHeartbeat), 42*time.Second)
		until, wall := s.TrustedUntil, s.TrustedUntil.Round(0)
		r.that(s.Trusted(until.Add(-1)) && s.Trusted(wall.Add(-1)), "trust until then")
		r.that(!s.Trusted(until) && !s.Trusted(wall), "none from then on")
		m.leaves()
		r.that(!m.Snapshot().Trusted(s.LastHeartbeat), "none after the leave")
	})
}

// Rule 20: with SelfFence the member takes itself out when trust ends; without, only the
// broker does.
func TestRule20_SelfFence(t *testing.T) {
	for _, on := range []bool{true, false} {
		t.Run(map[bool]string{true: "on", false: "off"}[on], func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				var lost time.Duration
				m := r.join(func(c *member.ConsumerConfig) { c.SelfFence = on }, onLost(func(context.Context, member.Partitions) error {
					lost = r.now()
					return nil
				}))
				r.sleep(interval)
				until := m.Snapshot().TrustedUntil.Sub(r.t0)
				r.net.cut(true)
				r.sleep(2 * time.Minute)
				if on {
					r.equal("OnLost", lost, until)
					r.equal("assignment", m.Snapshot().Assignment.Len(), 0)
				} else {
					r.equal("OnLost", lost, time.Duration(0))
					r.equal("assignment", m.Snapshot().Assignment.Len(), 12)
				}
				r.net.up()
				r.settled(m)
				m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
			})
		})
	}
}

// the session clock is the member's own: no answer is needed to know that it is over.
func TestX5_SessionClockWithoutAnswers(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(selfFence)
		r.on(-1, every, ignored)
		until := m.Snapshot().TrustedUntil
		r.sleep(time.Until(until) - time.Millisecond)
		r.that(m.Snapshot().Trusted(time.Now()), "trust until then")
		r.sleep(2 * time.Millisecond)
		m.called("assigned orders[0-11]; lost orders[0-11]")
		r.equal("state", m.Snapshot().State, member.StateJoining)
		r.calm()
		r.settled(m)
	})
}
