package member_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
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

type stuckHandler struct {
	slog.Handler
	over <-chan struct{}
}

func (stuckHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h stuckHandler) Handle(context.Context, slog.Record) error {
	<-h.over
	return nil
}

// A log handler that blocks (stderr is a pipe that nobody reads) is waited for as a hook is.
func TestBlockedLogger(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		over := make(chan struct{})
		defer close(over)
		m := r.join(func(c *member.ConsumerConfig) { c.Logger = slog.New(stuckHandler{over: over}) })
		r.equal("time to close", m.leaves(), member.RelayTimeout)
	})
}

// A hook that panics, or ends its goroutine, costs nothing but its own news.
func TestBadHooks(t *testing.T) {
	for name, bad := range map[string]func(){"panic": func() { panic("bad") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				var n atomic.Int32
				m := r.join(func(c *member.ConsumerConfig) {
					c.Hooks = member.JoinHooks(c.Hooks, member.Hooks{Heartbeat: func(member.HeartbeatInfo) { bad() }, State: func(member.StateInfo) { n.Add(1) }})
				})
				r.sleep(time.Minute)
				m.leaves()
				r.that(n.Load() >= 5, "the state changes after it, got %d", n.Load())
			})
		})
	}
}

// A Transport that panics, or ends its goroutine, makes attempts of unknown outcome.
func TestBadTransport(t *testing.T) {
	for name, bad := range map[string]func(){"panic": func() { panic("bad") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				inner := kgotransport.New(r.cl)
				var n atomic.Int32
				tr := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
					if n.Add(1)%3 == 1 {
						bad()
					}
					return inner.Do(ctx, group, req)
				})
				m := r.start(func(c *member.ConsumerConfig) { c.Transport = tr })
				r.settled(m)
				r.sleep(time.Minute)
				r.that(r.alone(m), "one member")
			})
		})
	}
}

// SetTopics beside a Run whose context has ended already returns.
func TestSubscribeBesideASkippedRun(t *testing.T) {
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ended, end := context.WithCancel(context.Background())
	end()
	for i := range 2000 {
		m, err := member.NewConsumer(cl, member.ConsumerConfig{Group: "g", Topics: []string{"orders"}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() { got <- m.SetTopics(context.Background(), "other") }()
		if i%2 == 0 {
			runtime.Gosched()
		}
		if err := m.Run(ended); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err == nil {
			t.Fatal("SetTopics of a member that never ran has no error")
		}
	}
}

// A look-up goes over the member's own Transport, and not after its Run has returned.
func TestLookupsKeepToTheirTransport(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 3, "more": 3}}, func(r *rig) {
		inner := kgotransport.New(r.cl)
		var over, late cell[bool]
		slow := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
			late.set(late.get() || over.get())
			if _, ok := req.(*kmsg.MetadataRequest); ok {
				time.Sleep(2 * time.Second)
			}
			return inner.Do(ctx, group, req)
		})
		a := r.make(topics("orders"), group("ga"), func(c *member.ConsumerConfig) { c.Transport = slow }).run()
		r.sleep(time.Second)
		b := r.start(topics("more"), group("gb"))
		took := r.until("b", time.Minute, func() bool { return b.Snapshot().Assignment.Len() == 3 })
		r.that(took < time.Second, "b does not wait for the Transport of a, took %v", took)
		a.leaves()
		over.set(true)
		r.sleep(time.Minute)
		r.equal("requests over the Transport of a member that has left", late.get(), false)
	})
}

// Metadata that gives two topic IDs one name.
func TestTwoTopicIDsWithOneName(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 2, "other": 2}}, func(r *rig) {
		inner := kgotransport.New(r.cl)
		tr := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
			resp, err := inner.Do(ctx, group, req)
			if m, ok := resp.(*kmsg.MetadataResponse); ok {
				for i := range m.Topics {
					m.Topics[i].Topic = kmsg.StringPtr("orders")
				}
			}
			return resp, err
		})
		m := r.start(topics("orders", "other"), func(c *member.ConsumerConfig) { c.Transport = tr })
		r.sleep(20 * time.Second)
		r.equal("partitions", m.Snapshot().Assignment.String(), "orders[0-1]")
	})
}

// A new topic ID and the question about one that is gone, while no look-up is answered: the
// member waits, it does not spin. (Real time, as virtual time would stand still.)
func TestNoSpinWhileLookupsHang(t *testing.T) {
	c, cl := bare(t, brokers.Config{Topics: map[string]int32{"orders": 3, "gone": 2}})
	var deaf, asked, add cell[bool]
	inner := kgotransport.New(cl)
	tr := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
		if _, ok := req.(*kmsg.MetadataRequest); ok && deaf.get() {
			asked.set(true)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		resp, err := inner.Do(ctx, group, req)
		if hb, ok := resp.(*kmsg.ConsumerGroupHeartbeatResponse); ok && add.get() {
			hb.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{{TopicID: [16]byte{9}, Partitions: []int32{0}}}}
		}
		return resp, err
	})
	m, err := member.NewConsumer(cl, member.ConsumerConfig{Group: "g", Topics: []string{"orders", "gone"}, Transport: tr, Logger: slog.New(slog.DiscardHandler), Timing: member.Timing{EarlyBeats: -1}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	wait := func(what string, f func() bool) {
		t.Helper()
		for range 1000 {
			if f() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal(what)
	}
	wait("in", func() bool { return m.Snapshot().State == member.StateStable && m.Snapshot().Assignment.Len() == 5 })
	deaf.set(true)
	if err := c.DeleteTopic("gone"); err != nil {
		t.Fatal(err)
	}
	wait("question", func() bool { m.Wake(); time.Sleep(100 * time.Millisecond); return asked.get() })
	add.set(true)
	m.Wake()
	time.Sleep(1200 * time.Millisecond) // the question's second is over
	before := cpu()
	time.Sleep(500 * time.Millisecond)
	if used := cpu() - before; used > 300*time.Millisecond {
		t.Errorf("the process used %v of CPU in 500 ms, with one member that waits", used)
	}
	add.set(false)
	deaf.set(false)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A callback that ignores the end of its context is told while it runs, once.
func TestSlowCallbackIsTold(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.start(onAssigned(first(sleeps(3*time.Minute))), timing(func(t *member.Timing) { t.RebalanceTimeout = 30 * time.Second }))
		r.sleep(27 * time.Second)
		r.equal("notices", m.noticed(member.NoticeSlow), 0)
		r.sleep(2 * time.Second)
		r.equal("notices", m.noticed(member.NoticeSlow), 1)
		r.sleep(3 * time.Minute)
		r.equal("notices", m.noticed(member.NoticeSlow), 1)
		r.settled(m)
	})
}

// A STALE member joins again with the subscription that it was given meanwhile.
func TestSubscribeWhileStale(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 3, "other": 2}}, func(r *rig) {
		m := r.join(topics("orders"), polls(10*time.Second))
		m.in(member.StateStale)
		done := make(chan error, 1)
		go func() { done <- m.SetTopics(context.Background(), "other") }()
		r.sleep(time.Minute)
		r.equal("answered early", len(done), 0)
		m.Alive()
		r.settled(m)
		r.equal("SetTopics", <-done, error(nil))
		r.equal("owned", m.Snapshot().Assignment.String(), "other[0-1]")

		m.in(member.StateStale)
		go func() { done <- m.SetTopics(context.Background(), "orders") }()
		r.sleep(time.Second)
		m.leaves()
		r.equal("SetTopics of a member that leaves", <-done, member.ErrNotJoined)
	})
}

// Leave checks its argument, and before Run it gives the names free.
func TestLeaveBeforeRun(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		cfg := member.ConsumerConfig{Group: "g", Topics: []string{"orders"}, InstanceID: "x"}
		a, err := member.NewConsumer(r.cl, cfg)
		r.equal("error", err, error(nil))
		_, err = member.NewConsumer(r.cl, cfg)
		wantFaults(r, err, "InstanceID")
		wantFaults(r, a.Leave(r.Context(), 99), "op")
		r.equal("Leave", a.Leave(r.Context(), member.LeaveDefault), error(nil))
		b, err := member.NewConsumer(r.cl, cfg)
		r.equal("error", err, error(nil))
		r.equal("Run of the first", a.Run(r.Context()), error(nil))
		_, err = member.NewConsumer(r.cl, cfg)
		wantFaults(r, err, "InstanceID") // b has it
		r.equal("Leave", b.Leave(r.Context(), member.LeaveDefault), error(nil))
	})
}

// A code that nobody knows is named in the text.
func TestUnknownCodeIsNamed(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(-1, joins, code(4711))
		e := r.start().failed(time.Minute, kerr.UnknownServerError)
		r.that(e.Code == 4711 && strings.Contains(e.Error(), "4711"), "the code, got %v", e)
	})
}

// A Snapshot prints as more than its Identity.
func TestSnapshotPrints(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		r.equal("text", fmt.Sprint(m.Snapshot()), "g/"+m.id+" STABLE, member epoch 2, owns orders[0-11]")
	})
}
