package member_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Rule 15: an interval that makes no sense is not adopted; the last good one stays.
func TestRule15_Intervals(t *testing.T) {
	for _, ms := range []int32{0, -1, math.MinInt32, math.MaxInt32, 3_600_000} {
		t.Run(fmt.Sprint(ms), func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join(quiet)
				r.sleep(interval)
				r.on(-1, steady, mangled(func(resp response) { resp.HeartbeatIntervalMillis = ms }))
				start := r.now()
				r.sleep(10 * time.Minute)
				for _, gap := range gaps(during(m.sent(steady), start, r.now())) {
					r.equal("gap", gap, interval)
				}
				r.that(m.noticed(member.NoticeBadAnswer) > 0, "a notice")
			})
		})
	}
}

// Rule 15: no code, whatever it is answered to, makes a hot loop, and no member is stuck
// in one: it has ended, or goes on once the broker is well. (The rig checks the pace: 50 ms
// between two requests, 20 in 10 s without an accepted answer.)
func TestRule15_EveryCode(t *testing.T) {
	for _, at := range []string{"join", "heartbeat", "leave"} {
		t.Run(at, func(t *testing.T) {
			for c := int16(-2); c <= 140; c++ {
				if c == 0 {
					continue
				}
				spec(t, brokers.Config{}, func(r *rig) {
					r.ghosts = true
					m := r.make(timing(func(t *member.Timing) { t.LeaveTimeout = 5 * time.Second }))
					what := map[string]match{"join": joins, "heartbeat": steady, "leave": leaves}[at]
					if at != "join" {
						m.run()
						r.settled(m)
					}
					r.on(-1, what, code(c))
					if at == "join" {
						m.run()
					}
					r.sleep(30 * time.Second)
					if at == "leave" {
						m.cancel()
						m.ended(6 * time.Second)
						r.that(len(m.sent(leaves)) <= 25, "few leaves, got %d", len(m.sent(leaves)))
						return
					}
					n := len(m.sent(every))
					r.that(n >= 1 && n <= 80, "1 to 80 requests in 30 s with code %d, got %d", c, n)
					r.calm()
					select {
					case <-m.done:
						r.that(m.err != nil, "an error after code %d", c)
					default:
						r.settled(m)
					}
				})
			}
		})
	}
}

// Rule 15: a coordinator that says nothing: one request in flight, for at most a third of the
// session.
func TestRule15_Hang(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.on(-1, every, ignored)
		r.sleep(3 * time.Minute)
		n := 0
		for _, b := range m.told().beats {
			if b.Err != nil {
				n++
				r.that(b.RTT >= specSession/9 && b.RTT <= specSession/3, "an attempt of at most 15 s, got %v", b.RTT)
			}
		}
		r.that(n >= 8 && n <= 20, "8 to 20 attempts in 3 min, got %d", n)
		r.calm()
		r.settled(m)
	})
}

// Rule 15: a missing coordinator, a missing network, a resolver that hangs: paced.
func TestRule15_NoCoordinator(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(r *rig) (tries func() int)
	}{
		"not available": {func(r *rig) func() int {
			r.wire.find = noCoordinator
			return r.lookups
		}},
		"no network": {func(r *rig) func() int {
			r.net.cut(true)
			return func() int { return r.net.dials }
		}},
		"no answer": {func(r *rig) func() int {
			hung := r.client(kgo.Dialer(func(ctx context.Context, _, _ string) (net.Conn, error) {
				r.net.mu.Lock()
				r.net.dials++
				r.net.mu.Unlock()
				<-ctx.Done()
				return nil, ctx.Err()
			}))
			r.cl = hung
			return func() int { return r.net.dials }
		}},
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				tries := c.breaks(r)
				m := r.start()
				r.sleep(100 * time.Second)
				n := tries()
				r.that(n >= 3 && n <= 200, "3 to 200 tries in 100 s, got %d", n)
				r.equal("notices", m.noticed(member.NoticeUnreachable), 1)
				r.equal("state", m.Snapshot().State, member.StateJoining)
				r.that(m.leaves() <= 300*time.Millisecond, "a quick close")
			})
		})
	}
}

func noCoordinator(q *kmsg.FindCoordinatorRequest) kmsg.Response {
	resp := q.ResponseKind().(*kmsg.FindCoordinatorResponse)
	c := kmsg.NewFindCoordinatorResponseCoordinator()
	c.Key, c.ErrorCode = "g", kerr.CoordinatorNotAvailable.Code
	resp.Coordinators = append(resp.Coordinators, c)
	return resp
}

// Rule 15: throttle time is obeyed, but never so long that it costs the session.
func TestRule15_Throttle(t *testing.T) {
	for _, c := range []struct{ throttle, gap time.Duration }{
		{2 * time.Second, interval}, {12 * time.Second, 12 * time.Second}, {time.Hour, 0},
	} {
		t.Run(c.throttle.String(), func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join(quiet)
				r.on(1, steady, mangled(func(resp response) { resp.ThrottleMillis = int32(c.throttle.Milliseconds()) }))
				r.sleep(interval) // it has the throttle
				m.Wake()          // which holds for a wake-up too
				r.sleep(2 * specSession)
				sent := m.sent(steady)
				got := gaps(sent)[1]
				if c.throttle < interval {
					r.equal("gap after it", got, c.throttle) // the wake-up, held back
					return
				}
				if c.throttle == time.Hour {
					r.that(got >= specSession/3 && got <= specSession-3*time.Second, "15 to 42 s, got %v", got)
				} else {
					r.equal("gap after it", got, c.gap)
				}
				r.equal("and then", gaps(sent)[2], interval)
				r.equal("trust that ran out", len(m.told().trust), 0)
			})
		})
	}
}

// Rule 15: whoever asks for a heartbeat, and however often, gets one in 50 ms at most.
func TestRule15_Floor(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		start, n := r.now(), len(m.sent(every))
		for range 10_000 {
			m.Wake()
			r.sleep(time.Millisecond)
		}
		got := len(m.sent(every)) - n
		r.that(got >= 190 && got <= 201, "20 a second for 10 s, got %d in %v", got, r.now()-start)
	})
}

// Rule 15: nothing is adopted from the answers that carry an error or confirm a leave.
func TestRule15_AdoptsNothingFromErrors(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		before := m.Snapshot()
		r.on(1, steady, func(w *wire, q request, apply func() response) (response, error) {
			resp, err := code(kerr.CoordinatorLoadInProgress.Code)(w, q, apply)
			resp.MemberEpoch, resp.HeartbeatIntervalMillis = -1, 1
			resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
			return resp, err
		})
		r.sleep(5 * interval)
		after := m.Snapshot()
		r.equal("epoch", after.MemberEpoch, before.MemberEpoch)
		r.equal("assignment", after.Assignment, before.Assignment)
		g := gaps(m.sent(steady))
		r.equal("interval", g[len(g)-1], interval)
		m.called("assigned orders[0-11]")
	})
}

// Rule 15: looks and releases count like heartbeats.
func TestRule15_EveryRequestCounts(t *testing.T) {
	for name, f := range map[string]fault{"joins are lost on the way": dropped, "joins are fenced": code(kerr.FencedMemberEpoch.Code)} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(-1, joins, f)
				r.on(-1, leaves, code(kerr.NotCoordinator.Code))
				var at cell[[]time.Duration]
				inner := kgotransport.New(r.cl)
				r.make(func(c *member.ConsumerConfig) {
					c.Transport = heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
						at.set(append(at.get(), r.now()))
						return inner.Do(ctx, group, req)
					})
				}).run()
				r.sleep(30 * time.Second)
				all := at.get()
				r.that(len(all) > 20, "requests, got %d", len(all))
				for i, t := range all[1:] {
					r.that(t-all[i] >= 50*time.Millisecond, "50 ms between requests, got %v", t-all[i])
					r.that(i < 19 || t-all[i-19] >= 10*time.Second, "20 requests in 10 s, got 21 in %v", t-all[max(0, i-19)])
				}
				r.calm()
			})
		})
	}
}
