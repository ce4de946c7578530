package member_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// keep cuts a request off and keeps it, to be delivered later.
func keep(late *cell[func() response]) fault {
	return func(_ *wire, _ request, apply func() response) (response, error) {
		late.set(apply)
		return nil, errCut
	}
}

// Rule 2: the first join is missing, the second was applied and has no answer when the member
// closes. The leave behind the second one settles that one only: the first may still come.
func TestRule02_LeaveBehindTheSecondJoin(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		var late cell[func() response]
		r.on(1, joins, keep(&late))
		x := r.on(1, joins, held(100*time.Millisecond))
		// The leave's answer is heard before that of the join in front of it.
		inner := kgotransport.New(r.cl)
		n := 0
		tr := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
			resp, err := inner.Do(ctx, group, req)
			if q, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest); ok && q.MemberEpoch == 0 {
				if n++; n == 2 {
					time.Sleep(time.Millisecond)
				}
			}
			return resp, err
		})
		m := r.start(func(c *member.ConsumerConfig) { c.Transport = tr })
		r.until("the second join", time.Minute, func() bool { return r.hits(x) == 1 })
		m.cancel()
		r.sleep(3 * time.Second)
		r.deliver(late.get())
		r.equal("Run", m.ended(time.Minute), error(nil))
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}

// Rule 2: a leave was accepted, a join that is missing arrives after it, and no later leave gets
// through: Run says that it does not know.
func TestRule02_AcceptedThenNoAnswer(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		var late cell[func() response]
		r.on(1, joins, keep(&late))
		m := r.start(timing(func(t *member.Timing) { t.LeaveTimeout = 4 * time.Second }))
		r.settled(m)
		r.on(1, leaves, func(_ *wire, _ request, apply func() response) (response, error) { return apply(), nil })
		r.on(-1, leaves, func(w *wire, q request, _ func() response) (response, error) {
			if f := late.get(); f != nil {
				late.set(nil)
				f()
			}
			return code(kerr.NotCoordinator.Code)(w, q, nil)
		})
		m.cancel()
		m.failed(10*time.Second, member.ErrLeave, kerr.NotCoordinator)
		r.equal("members", len(r.c.Group("g").Members), 1)
	})
}

// Rule 2: a rejoin hangs when the member closes, over a Transport that tells no connections: the
// leave need not follow it on its own, so it is repeated until the join cannot come any more.
func TestRule02_RejoinInFlightWithoutTrace(t *testing.T) {
	for name, wait := range map[string]time.Duration{"in flight": 10 * time.Second, "timed out": 15*time.Second + 20*time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				inner := kgotransport.New(r.cl)
				var hang cell[bool]
				tr := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
					if q, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest); ok && q.MemberEpoch == 0 && hang.get() {
						cp := *q
						hang.set(false)
						go func() {
							time.Sleep(16 * time.Second) // within LeaveTimeout
							_, _ = kgotransport.New(r.client()).Do(context.Background(), group, &cp)
						}()
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return inner.Do(heartbeat.WithTrace(ctx, nil), group, req)
				})
				m := r.join(func(c *member.ConsumerConfig) { c.Transport = tr })
				hang.set(true)
				r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
				m.Wake()
				r.sleep(wait)
				m.leaves()
				r.sleep(20 * time.Second)
				r.equal("members", len(r.c.Group("g").Members), 0)
			})
		})
	}
}

// Rule 2: LeaveTimeout counts from when the join was written, however long its coordinator was
// looked for before.
func TestRule02_JoinAgeCountsFromTheWrite(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var slow cell[bool]
		slow.set(true)
		r.c.Kfake().ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
			r.c.Kfake().KeepControl()
			if slow.get() {
				r.c.Kfake().SleepControl(func() { time.Sleep(9500 * time.Millisecond) })
				slow.set(false)
			}
			return nil, nil, false
		})
		var late cell[func() response]
		r.on(1, joins, keep(&late))
		m := r.start()
		r.settled(m)
		written := m.sent(joins)[0].at
		r.that(written > 9*time.Second, "a join that waits for its coordinator, written at %v", written)
		r.sleep(20*time.Second + 200*time.Millisecond - r.now())
		m.cancel()
		r.sleep(written + 19*time.Second - r.now())
		r.deliver(late.get())
		r.equal("Run", m.ended(time.Minute), error(nil))
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}

// Rule 2: a leave whose answer is "try again" may have been applied, so that nobody is there after it
// says nothing of joins that were seen to have arrived. Likewise where it was one that made
// room for a join.
func TestRule02_LeaveThatMayHaveBeenApplied(t *testing.T) {
	faults := map[string]fault{"lost": lost}
	for _, e := range []*kerr.Error{kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable, kerr.NotCoordinator} {
		faults[e.Message] = appliedBut(e.Code)
	}
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(-1, joins, lost)
				r.on(1, leaves, f)
				m := r.start()
				r.sleep(3 * time.Second)
				r.that(len(m.sent(joins)) > 2, "several joins")
				took := m.leaves()
				r.that(took < time.Second, "a quick close, took %v", took)
			})
		})
		t.Run(name+", a release", func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(3, joins, lost)
				r.on(1, joins, code(kerr.FencedMemberEpoch.Code))
				x := r.on(1, leaves, f)
				m := r.start()
				r.until("the release", time.Minute, func() bool { return r.hits(x) == 1 })
				took := m.leaves()
				r.that(took < time.Second, "a quick close, took %v", took)
			})
		})
	}
}

// Rule 2: a static member whose join went missing, and whose next one finds a full group, leaves
// before it gives up.
func TestRule02_FullGroupOwesALeave(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var late cell[func() response]
		r.on(1, joins, keep(&late))
		r.on(-1, joins, code(kerr.GroupMaxSizeReached.Code))
		m := r.start(withName("x"), leaving(member.LeaveGroup), func(c *member.ConsumerConfig) { c.InstanceWait = -1 })
		r.until("a leave", time.Minute, func() bool { return len(m.sent(leaves)) > 0 })
		r.deliver(late.get())
		err := m.ended(time.Minute)
		r.that(errors.Is(err, kerr.GroupMaxSizeReached), "the refusal, got %v", err)
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}
