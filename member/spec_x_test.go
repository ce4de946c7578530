package member_test

import (
	"context"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// the interval is the coordinator's, from each answer, and is told; nonsense leaves
// the last good one in force.
func TestX4_IntervalFromEachAnswer(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.sleep(interval)
		for _, c := range []struct{ sent, inForce time.Duration }{
			{time.Second, time.Second}, {0, time.Second}, {-1 * time.Second, time.Second}, {3 * time.Second, 3 * time.Second}, {time.Hour, 3 * time.Second},
		} {
			r.calm()
			r.on(-1, steady, mangled(func(resp response) { resp.HeartbeatIntervalMillis = int32(c.sent.Milliseconds()) }))
			r.sleep(2 * interval) // adopted by now
			start := r.now()
			r.sleep(time.Minute)
			for _, gap := range gaps(during(m.sent(steady), start, r.now())) {
				r.equal("gap after an interval of "+c.sent.String(), gap, c.inForce)
			}
			beats := m.told().beats
			r.equal("interval that hooks are told", beats[len(beats)-1].Interval, c.inForce)
		}
	})
}

// hooks are told how long each answer took.
func TestX4_Lag(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.on(1, steady, held(700*time.Millisecond))
		r.sleep(2 * interval)
		var lags []time.Duration
		for _, b := range m.told().beats[2:] {
			lags = append(lags, b.RTT)
		}
		r.equal("round trips", lags[0], 700*time.Millisecond)
	})
}

// without a call of Alive for MaxPollInterval the member leaves, is STALE, and tells OnLost;
// the next call brings it back.
func TestX6_MaxPollInterval(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var lost time.Duration
		m := r.join(timing(func(t *member.Timing) { t.MaxPollInterval = 30 * time.Second }), onLost(func(context.Context, member.Partitions) error {
			lost = r.now()
			return nil
		}))
		for range 10 {
			r.sleep(29 * time.Second)
			m.Alive()
		}
		m.called("assigned orders[0-11]")
		last := r.now()
		r.sleep(30*time.Second - time.Millisecond)
		r.equal("state before it", m.Snapshot().State, member.StateStable)
		r.sleep(2 * time.Millisecond)
		r.equal("state after it", m.Snapshot().State, member.StateStale)
		leave := m.sent(leaves)[0]
		r.that(leave.at == last+30*time.Second && leave.req.MemberEpoch == -1 && lost >= leave.at, "a leave after 30 s, then OnLost; got %v, %v", leave, lost)
		r.equal("members", len(r.c.Group("g").Members), 0)
		r.sleep(time.Hour)
		r.equal("requests while stale", len(m.sent(joins)), 1)
		m.Alive()
		r.settled(m)
		m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
		m.Alive()
	})
}

// off by default: an application that never calls Alive stays in.
func TestX6_OffByDefault(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		r.sleep(2 * time.Hour)
		r.settled(m)
		m.called("assigned orders[0-11]")
	})
}

// a close while stale ends cleanly, with nothing more to leave.
func TestX6_CloseWhileStale(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(timing(func(t *member.Timing) { t.MaxPollInterval = 10 * time.Second }))
		m.in(member.StateStale)
		r.equal("time to close", m.leaves(), time.Duration(0))
		r.equal("leaves", len(m.sent(leaves)), 1)
		m.called("assigned orders[0-11]; lost orders[0-11]")
	})
}
