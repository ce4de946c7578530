package member_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Case 67 (KAFKA-16985, KAFKA-17518): a Leave whose context is over leaves all the same.
func TestCase67_LeaveWithoutTime(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r.that(errors.Is(m.Leave(ctx, member.LeaveDefault), context.Canceled), "the context's error")
		r.equal("Run", m.ended(time.Second), error(nil))
		r.equal("leaves", len(m.sent(leaves)), 1)
	})
}

// Case 68 (kafka-go#164): the leave does not travel with the context that was cancelled.
func TestCase68_CancelledRun(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		m := r.make().runIn(ctx)
		r.equal("Run", m.ended(2*time.Minute), error(nil))
		ls := m.sent(leaves)
		r.that(len(ls) == 1 && ls[0].ok() && ls[0].at == time.Minute, "a leave when the context ends, got %v", ls)
	})
}

// Case 70 (franz-go 88cf835c): NOT_COORDINATOR and a cut connection do not end the leave.
func TestCase70_LeaveIsRepeated(t *testing.T) {
	for name, last := range map[string]fault{"accepted": nil, "gone": appliedBut(kerr.UnknownMemberID.Code)} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join()
				r.on(1, leaves, code(kerr.NotCoordinator.Code))
				r.on(1, leaves, dropped)
				if last != nil {
					r.on(1, leaves, last)
				}
				before := r.lookups()
				took := m.leaves()
				r.equal("leaves", len(m.sent(leaves)), 3)
				r.that(r.lookups()-before >= 2, "look-ups of the coordinator, got %d", r.lookups()-before)
				r.that(took <= time.Second, "soon, took %v", took)
			})
		})
	}
}

// Case 73 (KAFKA-18569, franz-go#556): a close with all brokers down is bounded, and says that the
// leave did not arrive.
func TestCase73_BrokersDown(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(timing(func(t *member.Timing) { t.ShutdownTimeout = 2 * time.Second }))
		r.net.cut(true)
		start := r.now()
		m.cancel()
		e := m.failed(time.Minute, member.ErrLeave, errDown)
		r.that(r.now()-start <= 2*time.Second, "within 2 s, took %v", r.now()-start)
		r.that(e.Advice != "", "advice")
		m.called("assigned orders[0-11]; revoked orders[0-11]")
	})
}

// Case 74 (franz-go#1349): nothing is sent once Run has returned.
func TestCase74_SilenceAfterRun(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(timing(func(t *member.Timing) { t.LeaveTimeout = 3 * time.Second }))
		r.on(-1, every, code(kerr.CoordinatorNotAvailable.Code))
		r.sleep(2 * interval)
		m.cancel()
		m.failed(time.Minute, member.ErrLeave)
		r.equal("connections of the member", r.net.conns(), 0)
		n, finds := len(m.sent(every)), r.lookups()
		r.sleep(10 * time.Minute)
		r.equal("requests after Run", len(m.sent(every)), n)
		r.equal("look-ups after Run", r.lookups(), finds)
	})
}

// Case 76 (sarama#1351): Leave from inside each callback and from eight goroutines at once: all
// return, and one leave goes out.
func TestCase76_LeaveFromEverywhere(t *testing.T) {
	for _, where := range []string{"assigned", "revoked", "lost", "outside"} {
		t.Run(where, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				var m *mem
				results := make(chan error, 8)
				leaveAll := func(ctx context.Context, _ member.Partitions) error {
					for range 8 {
						go func() { results <- m.Leave(context.Background(), member.LeaveDefault) }()
					}
					return m.Leave(ctx, member.LeaveGroup) // with the callback's context it does not wait
				}
				opts := map[string]option{"assigned": onAssigned(leaveAll), "revoked": onRevoked(leaveAll), "lost": onLost(leaveAll), "outside": quiet}
				m = r.make(opts[where])
				m.run()
				r.sleep(time.Second)
				switch where {
				case "revoked":
					r.process()
				case "lost":
					r.c.Expire("g", m.id)
				case "outside":
					leaveAll(m.told().calls[0].ctx, nil)
				}
				r.equal("Run", m.ended(time.Minute), error(nil))
				for range 8 {
					r.equal("Leave", <-results, error(nil))
				}
				r.equal("Leave after Run", m.Leave(context.Background(), member.LeaveGroup), error(nil))
				if where == "lost" {
					r.equal("leaves of a member that is out", len(m.sent(leaves)), 0)
				} else {
					r.equal("leaves", len(m.sent(leaves)), 1)
				}
			})
		})
	}
}

// Case 77 (franz-go#187, confluent-kafka-go#767): a hook that blocks stops neither heartbeats nor
// callbacks nor the leave; Run waits for it for RelayTimeout.
func TestCase77_BlockedHook(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		block := make(chan struct{})
		m := r.join(func(c *member.ConsumerConfig) {
			c.Hooks.State = func(member.StateInfo) { <-block }
		}, quiet)
		r.sleep(10 * time.Minute)
		for _, gap := range gaps(m.sent(every)) {
			r.that(gap <= interval, "heartbeats at the interval, got a gap of %v", gap)
		}
		b := r.process()
		r.settled(m, b)
		m.called("assigned orders[0-11]; revoked orders[6-11]")
		start := r.now()
		m.cancel()
		r.equal("Run", m.ended(time.Minute), error(nil))
		r.equal("time to close", r.now()-start, member.RelayTimeout)
		r.equal("leaves", len(m.sent(leaves)), 1)
		close(block)
		r.sleep(time.Second)
		r.that(len(m.told().states) >= 6, "no event lost, got %d states", len(m.told().states))
	})
}

// Case 79 (KAFKA-19300): a leave that is refused for good ends at once, with the reason.
func TestCase79_LeaveNotAllowed(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join()
		r.on(-1, leaves, code(kerr.GroupAuthorizationFailed.Code))
		start := r.now()
		err := m.Leave(context.Background(), member.LeaveDefault)
		r.that(errors.Is(err, member.ErrLeave) && errors.Is(err, kerr.GroupAuthorizationFailed), "the reason, got %v", err)
		r.equal("time", r.now()-start, time.Duration(0))
		r.equal("leaves", len(m.sent(leaves)), 1)
		r.that(errors.Is(m.ended(time.Second), err), "the same error from Run")
	})
}

// Case 80 (librdkafka#4634): a member that owns nothing leaves, too, and who starts next has
// everything within two intervals.
func TestCase80_LeaveWithNothing(t *testing.T) {
	specAll(t, brokers.Config{Topics: map[string]int32{"orders": 1}}, func(r *rig) {
		a := r.join()
		idle := r.process()
		r.settled(a, idle)
		idle.leaves()
		r.equal("leaves", len(idle.sent(leaves)), 1)
		a.leaves()
		next := r.process()
		took := r.settled(next)
		r.that(took <= 2*interval, "within 2 intervals, took %v", took)
		r.equal("partitions", next.Snapshot().Assignment.Len(), 1)
	})
}

// The ways to call things in an odd order: each has a defined result.
func TestLifecycleOrder(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.make()
		m.Wake()
		m.Alive()
		r.equal("SetTopics before Run", m.SetTopics(r.Context(), "orders"), error(member.ErrNotJoined))
		m.run()
		r.settled(m)
		r.that(errors.Is(m.Run(r.Context()), member.ErrRunning), "ErrRunning from a second Run")
		m.leaves()
		m.Wake()
		m.Alive()
		r.equal("Leave after Run", m.Leave(r.Context(), member.LeaveGroup), error(nil))
		r.equal("SetTopics after Run", m.SetTopics(r.Context(), "orders"), error(member.ErrNotJoined))
		r.that(errors.Is(m.Run(r.Context()), member.ErrRunning), "ErrRunning from a Run after Run")
		r.equal("state", m.Snapshot().State, member.StateUnsubscribed)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		over := r.make()
		r.equal("Run with a context that is over", over.Run(ctx), error(nil))
		r.equal("heartbeats of it", len(over.sent(every)), 0)
	})
}
