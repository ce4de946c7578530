package member_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// hole makes the host of the member's coordinator answer no SYN.
func (r *rig) hole(m *mem) {
	hole, dial := r.c.Addrs()[m.sent(steady)[0].broker], r.net.dial
	r.net.set(func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == hole {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return dial(ctx, network, address)
	})
}

// failover gives the groups of the coordinator to another broker, of which look-ups tell only after
// d: until then they name the old one, or none. over ends that.
func (r *rig) failover(d time.Duration, none bool) (over func()) {
	old := r.c.Kfake().CoordinatorFor("g")
	if _, err := r.c.MoveCoordinator("g"); err != nil {
		r.Fatal(err)
	}
	start := time.Now()
	set := func(find func(*kmsg.FindCoordinatorRequest) kmsg.Response) {
		r.wire.mu.Lock()
		defer r.wire.mu.Unlock()
		r.wire.find = find
	}
	set(func(q *kmsg.FindCoordinatorRequest) kmsg.Response {
		if time.Since(start) >= d {
			return nil
		}
		resp := q.ResponseKind().(*kmsg.FindCoordinatorResponse)
		c := kmsg.NewFindCoordinatorResponseCoordinator()
		c.Key, c.NodeID = "g", old
		if none {
			c.NodeID, c.ErrorCode = -1, kerr.CoordinatorNotAvailable.Code
		}
		resp.Coordinators = append(resp.Coordinators, c)
		return resp
	})
	return func() { set(nil) }
}

// The coordinator's host is gone, so that dials get no answer, and some time later another broker
// has its groups. A close, and a member that goes on, follow soon.
func TestCoordinatorsHostIsGone(t *testing.T) {
	for _, d := range []time.Duration{0, 300 * time.Millisecond, time.Second, 3 * time.Second, 9 * time.Second} {
		for _, none := range []bool{false, true} {
			gone := func(t *testing.T, then func(r *rig, m *mem)) {
				spec(t, brokers.Config{Brokers: 3}, func(r *rig) {
					m := r.join()
					r.sleep(time.Minute)
					r.hole(m)
					defer r.failover(d, none)()
					r.net.cut(false)
					then(r, m)
				})
			}
			t.Run(fmt.Sprint(d, ", none until then ", none), func(t *testing.T) {
				gone(t, func(r *rig, m *mem) {
					took := m.leaves()
					r.that(took < d+time.Second, "a close soon after the failover, took %v", took)
				})
				gone(t, func(r *rig, m *mem) {
					m.Wake()
					before := len(m.sent(steady))
					took := r.until("a heartbeat", 2*time.Minute, func() bool { return len(m.sent(steady)) > before })
					r.that(took < d+1500*time.Millisecond, "a heartbeat soon after the failover, took %v", took)
				})
			})
		}
	}
}

// Rule 22: the members of one client share the look-ups for that, a few a second however many they are.
func TestCoordinatorsHostIsGoneForMany(t *testing.T) {
	spec(t, brokers.Config{Brokers: 3, Topics: map[string]int32{"orders": 60}}, func(r *rig) {
		var ms []*mem
		for range 60 {
			ms = append(ms, r.start(quiet))
		}
		r.settled(ms...)
		for _, m := range ms { // their heartbeats at any phase
			m.Wake()
			r.sleep(47 * time.Millisecond)
		}
		r.sleep(30 * time.Second)
		r.hole(ms[0])
		over := r.failover(10*time.Second, false)
		defer over()
		before := r.lookups()
		r.net.cut(false)
		r.sleep(10 * time.Second)
		n := r.lookups() - before
		r.that(n >= 5 && n <= 40, "look-ups that are shared, got %d in 10 s", n)
		r.sleep(20 * time.Second)
		for _, m := range ms {
			r.equal("state", m.Snapshot().State, member.StateStable)
		}
	})
}
