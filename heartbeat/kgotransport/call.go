package kgotransport

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// call is one request on its way through kgo. It stands in for the request, to
// see when it is written.
//
// kgo calls AppendTo on the writer goroutine of the broker, just before it
// writes. Before that it claims the request, and a call whose context ends first
// takes the claim away: then the writer drops the request. So if Request returned
// and AppendTo was not called, it never will be. (respWaiter.wait and handleReq
// in kgo's broker.go.)
type call struct {
	kmsg.Request

	c      *client
	node   int32
	side   bool // not on the normal connection: conn stays 0
	trace  *heartbeat.Trace
	passed func() // tells the next call of this member that it may follow

	needsV1 bool // version 0 would drop a field: refuse it
	cancel  context.CancelFunc
	refused atomic.Bool

	wrote atomic.Bool
	conn  atomic.Uint64
}

// timeoutCall is a call whose request has a timeout, for which kgo waits longer.
type timeoutCall struct {
	*call
	timeout kmsg.TimeoutRequest
}

// Timeout implements kmsg.TimeoutRequest.
func (c *timeoutCall) Timeout() int32 { return c.timeout.Timeout() }

func newCall(ctx context.Context, c *client, node int32, req kmsg.Request, passed func()) *call {
	r := &call{Request: req, c: c, node: node, side: sideCall(req), passed: passed}
	r.trace = heartbeat.ContextTrace(ctx)
	if hb, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest); ok {
		// ConsumerGroupHeartbeatRequest.json: SubscribedTopicRegex, versions 1+.
		r.needsV1 = hb.SubscribedTopicRegex != nil && *hb.SubscribedTopicRegex != "" // an empty one takes nothing away there
	}
	return r
}

// do sends the call and waits for its answer.
func (r *call) do(ctx context.Context) (kmsg.Response, error) {
	if r.side {
		ctx = context.WithValue(ctx, sideKey{}, true)
	}
	if r.needsV1 {
		ctx, r.cancel = context.WithCancel(ctx)
		defer r.cancel()
	}
	var req kmsg.Request = r
	if opaque(r.Key()) {
		r.wrote.Store(true) // in doubt
		req = r.Request
	} else if t, ok := r.Request.(kmsg.TimeoutRequest); ok {
		req = &timeoutCall{r, t}
	}
	return r.c.kc.Broker(int(r.node)).Request(ctx, req)
}

// answer is how a call ended.
type answer struct {
	resp kmsg.Response
	err  error
}

// exchange sends the call and waits for its answer, or for the end of ctx. kgo closes a connection
// when the context of a request ends whose answer it waits for; a call that lingers is left to
// its own deadline then, or to the end of the application's client.
func (t *Transport) exchange(ctx context.Context, r *call) (kmsg.Response, error) {
	if r.trace == nil {
		defer t.give(r.c)
		return r.do(ctx)
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	answers := make(chan answer, 1)
	go func() {
		defer t.give(r.c)
		defer cancel()
		resp, err := r.do(own)
		answers <- answer{resp, err}
	}()
	select {
	case a := <-answers:
		return a.resp, a.err
	case <-ctx.Done():
	}
	if r.trace.Lingers() && r.wrote.Load() {
		by, _ := ctx.Deadline()
		go t.linger(own, by, cancel)
		return nil, ctx.Err()
	}
	cancel()
	a := <-answers
	if errors.Is(a.err, context.Canceled) {
		a.err = ctx.Err()
	}
	return a.resp, a.err
}

// linger ends a call when its time is over, or the application's client is closed.
func (t *Transport) linger(own context.Context, by time.Time, cancel func()) {
	over := time.NewTimer(time.Until(by))
	defer over.Stop()
	select {
	case <-t.closed:
	case <-over.C:
	case <-own.Done():
	}
	cancel()
}

// onItsWay says whether the request was written on a connection that is still open. (If the
// connection was dead before a byte was written, kgo dials anew: loadConnection in its broker.go.)
func (r *call) onItsWay() bool {
	if !r.wrote.Load() {
		return false
	}
	num, open := r.c.current(r.node)
	return r.side || open && num == r.conn.Load()
}

// SetVersion sets the version that kgo chose for this broker. kgo looks at the
// context once more between this and the write, so ending the context here keeps
// the request from being written. (handleReq in kgo's broker.go.)
func (r *call) SetVersion(v int16) {
	r.Request.SetVersion(v)
	if r.needsV1 && v < 1 {
		r.refused.Store(true)
		r.cancel()
	}
}

// AppendTo encodes the request. From here on it may reach the broker.
func (r *call) AppendTo(dst []byte) []byte {
	if r.refused.Load() {
		return dst // not reached; a request without a body is refused by any broker
	}
	if !r.side {
		num, _ := r.c.current(r.node)
		r.conn.Store(num)
		if r.trace != nil && num != 0 {
			r.trace.Wrote(num)
		}
	}
	r.wrote.Store(true)
	if r.passed != nil {
		r.passed()
	}
	return r.Request.AppendTo(dst)
}

// sideCall says whether kgo sends req on another connection than the normal one
// of its node. (loadConnection in kgo's broker.go.)
func sideCall(req kmsg.Request) bool {
	switch kmsg.Key(req.Key()) {
	case kmsg.ListOffsets:
		return false
	case kmsg.Produce, kmsg.Fetch, kmsg.ShareFetch, kmsg.ShareAcknowledge, kmsg.JoinGroup, kmsg.SyncGroup:
		return true
	}
	_, ok := req.(kmsg.TimeoutRequest)
	return ok
}

// opaque says whether kgo looks at the concrete type of requests of this key:
// those are sent as they are, and a failure is always "maybe applied".
func opaque(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.Produce, kmsg.Fetch, kmsg.ShareFetch, kmsg.JoinGroup, kmsg.SyncGroup:
		return true
	}
	return false
}
