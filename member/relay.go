package member

import (
	"context"
	"log/slog"
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

func (r *relay) take() (batch []any, ending bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch, r.queue = r.queue, nil
	return batch, r.ending
}

func (r *relay) run() {
	defer close(r.done)
	for range r.wake {
		batch, ending := r.take()
		for _, v := range batch {
			r.deliver(v)
		}
		if ending {
			return
		}
	}
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
		r.log.Warn("rollcall: a hook still runs after the member has left")
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
