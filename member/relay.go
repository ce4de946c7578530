package member

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// relay hands events to hooks and logger, in order, none dropped, on a goroutine
// of its own: an observer that blocks must not hold a heartbeat up, nor lose the
// news that something was lost.
type relay struct {
	hooks Hooks
	log   *slog.Logger

	mu     sync.Mutex
	queue  []any
	wake   chan struct{}
	ending bool
	done   chan struct{}
}

func newRelay(h Hooks, log *slog.Logger) *relay {
	if log == nil {
		log = slog.Default()
	}
	return &relay{hooks: h, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func (r *relay) wantsHeartbeats() bool {
	return r.hooks.Heartbeat != nil || r.log.Enabled(context.Background(), slog.LevelDebug)
}

func (r *relay) start() { go r.run() }

func (r *relay) post(v any) {
	r.mu.Lock()
	r.queue = append(r.queue, v)
	r.mu.Unlock()
	r.nudge()
}

func (r *relay) nudge() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *relay) take() (v any, ok, ending bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		return nil, false, r.ending
	}
	v, r.queue = r.queue[0], r.queue[1:]
	return v, true, r.ending
}

func (r *relay) run() {
	over := false
	defer func() {
		if over {
			close(r.done)
			return
		}
		go r.run() // a hook has ended this goroutine (testing.T.FailNow does): the rest goes on
	}()
	for {
		v, ok, ending := r.take()
		switch {
		case ok:
			r.protect(v)
		case ending:
			over = true
			return
		default:
			<-r.wake
		}
	}
}

// protect: a hook, or a logger, that panics must not take the process down, with all the
// members in it.
func (r *relay) protect(v any) {
	defer func() {
		if p := recover(); p != nil {
			defer func() { _ = recover() }() // it may be the logger
			r.log.Error("rollcall: a hook panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	r.deliver(v)
}

// stop lets the relay deliver what it has, and waits for it, up to RelayTimeout.
func (r *relay) stop() {
	r.mu.Lock()
	r.ending = true
	r.mu.Unlock()
	r.nudge()
	t := time.NewTimer(RelayTimeout)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
		// Not on this goroutine: it may be the logger that blocks.
		go r.log.Warn("rollcall: a hook still runs after the member has left")
	}
}

func (r *relay) deliver(v any) {
	switch i := v.(type) {
	case StateInfo:
		level := slog.LevelInfo
		switch i.To {
		case StateFatal:
			level = slog.LevelError
		case StateFenced, StateStale: // all that was owned is lost
			level = slog.LevelWarn
		}
		r.say(level, "rollcall: state", i)
		call(r.hooks.State, i)
	case HeartbeatInfo:
		r.say(slog.LevelDebug, "rollcall: heartbeat", i)
		call(r.hooks.Heartbeat, i)
	case OwnershipInfo:
		r.say(slog.LevelInfo, "rollcall: ownership", i)
		call(r.hooks.Ownership, i)
	case TrustInfo:
		r.say(slog.LevelWarn, "rollcall: trust", i)
		call(r.hooks.Trust, i)
	case NoticeInfo:
		r.say(slog.LevelWarn, "rollcall: notice", i)
		call(r.hooks.Notice, i)
	}
}

func (r *relay) say(level slog.Level, msg string, v slog.LogValuer) {
	if ctx := context.Background(); r.log.Enabled(ctx, level) {
		r.log.LogAttrs(ctx, level, msg, slog.Any("member", v))
	}
}

func call[T any](hook func(T), v T) {
	if hook != nil {
		hook(v)
	}
}
