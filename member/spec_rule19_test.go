package member_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// watch is a callback that runs until its context ends, and says when and why.
func (r *rig) watch(at *time.Duration, why *error) callback {
	return func(ctx context.Context, _ member.Partitions) error {
		<-ctx.Done()
		*at, *why = r.now(), context.Cause(ctx)
		return nil
	}
}

// Rule 19: a callback has until the send time of the request that brought it, and the rebalance
// timeout less a margin (5 s, or a tenth).
func TestRule19_Deadline(t *testing.T) {
	for _, c := range []struct{ timeout, held, left time.Duration }{
		{time.Minute, 0, 55 * time.Second}, {time.Minute, 3 * time.Second, 52 * time.Second},
		{20 * time.Second, 0, 18 * time.Second}, {0, 0, 295 * time.Second},
	} {
		t.Run(c.timeout.String()+", answered after "+c.held.String(), func(t *testing.T) {
			spec(t, brokers.Config{AssignmentInterval: -1}, func(r *rig) {
				a := r.join(quiet, timing(func(t *member.Timing) { t.RebalanceTimeout = c.timeout }))
				r.on(-1, from(a, steady), held(c.held))
				b := r.start(quiet)
				r.settled(a, b)
				r.equal("left in OnRevoked", a.told().calls[1].left, c.left)
			})
		})
	}
}

// Rule 19: the context ends then, with ErrRevoking, and heartbeats go on meanwhile.
func TestRule19_RebalanceTimeout(t *testing.T) {
	spec(t, brokers.Config{AssignmentInterval: -1}, func(r *rig) {
		var at time.Duration
		var why error
		a := r.join(quiet, onRevoked(r.watch(&at, &why)), timing(func(t *member.Timing) { t.RebalanceTimeout = 30 * time.Second }))
		b := r.start(quiet)
		r.settled(a, b)
		r.equal("cause", why, member.ErrRevoking)
		r.equal("end of the context", at-a.told().calls[1].at, 27*time.Second)
		n := len(during(a.sent(steady), a.told().calls[1].at, at))
		r.that(n >= 5, "heartbeats in OnRevoked, got %d", n)
	})
}

// Rule 19: the context has the values of Run's, and not its end.
func TestRule19_NotRunsCancellation(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "value"))
		var at time.Duration
		var why error
		var value any
		m := r.make(onAssigned(func(ctx context.Context, p member.Partitions) error {
			value = ctx.Value(key{})
			return r.watch(&at, &why)(ctx, p)
		}))
		m.runIn(ctx)
		r.sleep(3 * time.Second)
		cancel()
		r.equal("Run", m.ended(time.Minute), error(nil))
		r.equal("value", value, any("value"))
		r.equal("cause", why, member.ErrShutdown)
		r.equal("end of the context", at, 3*time.Second+20*time.Second) // 5 s are for the leave
	})
}

// Rule 19: partitions that are lost end the context of the callback, with ErrLost.
func TestRule19_LostDuringACallback(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var at time.Duration
		var why error
		m := r.start(onAssigned(func(ctx context.Context, p member.Partitions) error {
			if why != nil {
				return nil
			}
			return r.watch(&at, &why)(ctx, p)
		}))
		r.on(1, steady, code(kerr.UnknownMemberID.Code))
		r.sleep(2 * interval)
		r.settled(m)
		r.equal("cause", why, member.ErrLost)
		r.equal("end of the context", at, m.sent(steady)[0].at)
		m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
	})
}

// Rule 19: an error, a panic or Goexit in any callback ends the member: OnLost for all that
// it holds, a leave, and a CallbackError, with the stack of a panic.
func TestRule19_FailingCallbacks(t *testing.T) {
	bad := errors.New("bad")
	for how, fn := range map[string]callback{
		"error":  fails(bad),
		"panic":  func(context.Context, member.Partitions) error { panic(bad.Error()) },
		"Goexit": func(context.Context, member.Partitions) error { runtime.Goexit(); return nil },
	} {
		for _, c := range []struct {
			name, history string
			opt           option
		}{
			{"OnAssigned", "assigned orders[0-11]; lost orders[0-11]", onAssigned(fn)},
			{"OnRevoked", "assigned orders[0-11]; revoked orders[6-11]; lost orders[0-11]", onRevoked(fn)},
			{"OnLost", "assigned orders[0-11]; lost orders[0-11]", onLost(fn)},
		} {
			t.Run(how+" in "+c.name, func(t *testing.T) {
				spec(t, brokers.Config{}, func(r *rig) {
					m := r.start(c.opt)
					r.sleep(time.Second)
					switch c.name {
					case "OnRevoked":
						r.start()
					case "OnLost":
						r.c.Expire("g", m.id)
					}
					err := m.ended(time.Minute)
					e, ok := errors.AsType[*member.CallbackError](err)
					r.that(ok && e.Callback == c.name, "a CallbackError of %s, got %v", c.name, err)
					r.equal("is the callback's error", errors.Is(err, bad), how == "error")
					r.equal("has a stack", strings.Contains(string(e.Stack), "spec_rule19_test.go"), how == "panic")
					r.that(strings.HasPrefix(m.history(), c.history), "%q, got %q", c.history, m.history())
					r.equal("state", m.Snapshot().State, member.StateFatal)
					_, in := r.c.Group("g").Member(m.id)
					r.equal("still in the group", in, false)
					r.that(c.name == "OnLost" || len(m.sent(leaves)) == 1, "a leave")
				})
			})
		}
	}
}

// Rule 19: a callback that ignores the end of its context does not stop the leave.
func TestRule19_DeafCallback(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []option
		before time.Duration
	}{
		"OnRevoked at the close": {[]option{onRevoked(sleeps(10 * time.Minute))}, time.Second},
		"OnAssigned":             {[]option{onAssigned(sleeps(10 * time.Minute))}, 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.start(c.opts...)
				r.sleep(c.before)
				start := r.now()
				m.cancel()
				err := m.ended(time.Minute)
				_, ok := errors.AsType[*member.CallbackError](err)
				r.that(ok, "a CallbackError, got %v", err)
				r.that(r.now()-start <= member.DefaultShutdownTimeout, "within the shutdown timeout, took %v", r.now()-start)
				r.equal("leaves", len(m.sent(leaves)), 1)
				r.equal("members", len(r.c.Group("g").Members), 0)
				r.sleep(10 * time.Minute) // the callback ends
			})
		})
	}
}
