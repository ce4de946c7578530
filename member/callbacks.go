package member

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

type callbackKey struct{}

// runner runs the callbacks, one at a time, on a goroutine of their own. Its
// methods are called on the loop.
type runner struct {
	owner *Consumer
	cfg   *ConsumerConfig
	base  context.Context
	id    uint64
	ctx   *callbackContext
	over  chan struct{} // closed when the last callback's goroutine ends
}

// callbackContext has the values of Run's context but not its end, and an end of
// its own that can be moved.
type callbackContext struct {
	context.Context
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	by     time.Time
	timer  *time.Timer
}

// Deadline implements context.Context.
func (c *callbackContext) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.by, true
}

func (c *callbackContext) endBy(by time.Time, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.by = by
	c.timer = time.AfterFunc(time.Until(by), func() { c.cancel(cause) })
}

// end releases what the context holds, once its callback has returned.
func (c *callbackContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer.Stop()
	c.cancel(context.Canceled)
}

func (r *runner) start(ctx context.Context) {
	r.base = context.WithValue(context.WithoutCancel(ctx), callbackKey{}, r.owner)
}

func (r *runner) call(call callbackCall) {
	fn, name := r.cfg.OnAssigned, callbackName(call.what)
	switch call.what {
	case Revoked:
		fn = r.cfg.OnRevoked
	case Lost:
		fn = r.cfg.OnLost
	}
	if fn == nil {
		r.owner.loop.Post(inCallback{id: call.id})
		return
	}
	ctx, cancel := context.WithCancelCause(r.base)
	cb := &callbackContext{Context: ctx, cancel: cancel}
	cb.endBy(call.by, call.cause)
	over := make(chan struct{})
	r.id, r.ctx, r.over = call.id, cb, over
	go func() {
		defer close(over)
		defer cb.end()
		began := time.Now()
		protect(name, func() error { return fn(cb, call.parts) }, func(err error) {
			r.owner.loop.Post(inCallback{id: call.id, err: err, took: time.Since(began)})
		})
	}()
}

// protect makes every way out of a callback an error, and tells ended of it: a
// returned one, a panic, and runtime.Goexit (testing.T.FailNow is one), after which
// nothing but deferred functions runs.
func protect(name string, fn func() error, ended func(error)) {
	var err error
	returned := false
	defer func() {
		if !returned {
			if p := recover(); p != nil {
				err = &CallbackError{Callback: name, Err: fmt.Errorf("panic: %v", p), Stack: debug.Stack()}
			} else {
				err = &CallbackError{Callback: name, Err: errors.New("the goroutine was ended (runtime.Goexit)")}
			}
		}
		ended(err)
	}()
	if e := fn(); e != nil {
		err = &CallbackError{Callback: name, Err: e}
	}
	returned = true
}

func (r *runner) deadline(d callbackDeadline) {
	if r.ctx == nil || d.id != r.id {
		return
	}
	if d.by.IsZero() {
		r.ctx.cancel(d.cause)
		return
	}
	if by, _ := r.ctx.Deadline(); d.by.Before(by) {
		r.ctx.endBy(d.by, d.cause)
	}
}

// stop ends the context of a callback that still runs: it has had its time. One
// that is just returning is waited for.
func (r *runner) stop() {
	if r.ctx == nil {
		return
	}
	r.ctx.cancel(ErrShutdown)
	t := time.NewTimer(50 * time.Millisecond)
	defer t.Stop()
	select {
	case <-r.over:
	case <-t.C:
	}
}
