package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Transport carries every request that a member sends. Do makes ONE attempt,
// with no retry underneath, at the coordinator of group, or at any broker if
// group is "". It is safe for concurrent use, neither changes nor keeps req
// after it returned, and returns soon after ctx ends.
//
// The calls of one member come one at a time, except that a leave may follow a
// call that is still waiting for its answer: a Transport keeps their order on
// one connection.
//
// An error means "may have been applied by the broker", unless it is marked
// with [NotSent]: in doubt, do not mark. A Kafka error code inside a response is
// an answer, not an error.
//
// A wrapper (for faults, for metrics) needs Do and nothing else, as long as it
// passes ctx on: see [Trace]. The innermost Transport is kgotransport.New(cl).
type Transport interface {
	Do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error)
}

// TransportFunc is a function that is a [Transport].
type TransportFunc func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error)

// Do calls f.
func (f TransportFunc) Do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	return f(ctx, group, req)
}

// Attempt calls t.Do and then ended, once, whatever comes of it: every way out of Do that is not
// an answer is an error of unknown outcome, be it a panic, runtime.Goexit (which ends the
// caller's goroutine after ended), or neither a response nor an error. The member goes on, and
// the process with it.
func Attempt(ctx context.Context, t Transport, group string, req kmsg.Request, ended func(kmsg.Response, error)) {
	var resp kmsg.Response
	err := errors.New("transport ended its goroutine (runtime.Goexit)")
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, fmt.Errorf("transport panicked: %v", p)
		}
		ended(resp, err)
	}()
	resp, err = t.Do(ctx, group, req)
	if err == nil && resp == nil {
		err = errors.New("transport gave neither a response nor an error")
	}
}

// ErrNotSent is matched, by errors.Is, by every error that [NotSent] made.
var ErrNotSent = errors.New("not sent")

type notSentError struct{ err error }

func (e *notSentError) Error() string   { return e.err.Error() }
func (e *notSentError) Unwrap() []error { return []error{e.err, ErrNotSent} }

// NotSent marks err as one after which no byte of the request can reach a
// broker any more. A join that failed so leaves no member behind and owes no
// leave. NotSent(nil) is nil.
func NotSent(err error) error {
	if err == nil || errors.Is(err, ErrNotSent) {
		return err
	}
	return &notSentError{err}
}

// A Trace tells a member on which connection its request was written. Kafka
// handles the requests of one connection in their order, so a connection is what
// proves that a join cannot arrive any more once a later request on it was
// answered. The member puts a Trace into the context of each call; a Transport
// that knows its connections fills it in, and one that does not leaves it alone
// (then the member has to be more patient when it leaves).
type Trace struct {
	// Avoid asks for any connection but this one, as a request on it got no
	// answer in time. 0: no wish. Set before the call, then read-only.
	Avoid uint64

	wrote   atomic.Pointer[wrote]
	lingers atomic.Bool
}

type wrote struct {
	conn uint64
	at   time.Time
}

// Wrote says that the request is being written on connection conn. Connections
// are numbered from 1 and no number is ever used twice in a process. It may be
// called again when the request had to move to another connection before any
// byte of it was written.
func (t *Trace) Wrote(conn uint64) { t.wrote.Store(&wrote{conn, time.Now()}) }

// Conn is the connection that the request was written on; 0 if it was not
// written so far, or if the Transport does not say.
func (t *Trace) Conn() uint64 {
	conn, _ := t.written()
	return conn
}

// Lingers reports, once the context of a call has ended, whether the member has ended and wishes that
// the connection stays open until the request is answered, or would have been given up, though
// Do returns now: a join may be on it that a broker has not handled yet, and the leave behind it.
// A Transport that cannot do that may ignore it.
func (t *Trace) Lingers() bool { return t.lingers.Load() }

// written is the connection and the time of the last Wrote; zero without one.
func (t *Trace) written() (conn uint64, at time.Time) {
	if w := t.wrote.Load(); w != nil {
		return w.conn, w.at
	}
	return 0, time.Time{}
}

type traceKey struct{}

// WithTrace returns a context that carries t to the Transport.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// ContextTrace returns the Trace of ctx, or nil.
func ContextTrace(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}
