package kgotransport

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Transport is the one [heartbeat.Transport] of a *kgo.Client: see [New]. All
// members of that client share it, its connections and what it knows of
// coordinators. It is safe for concurrent use.
type Transport struct {
	settings
	closed <-chan struct{} // the user's client was closed

	// mu is never held across a send or a wait.
	mu      sync.Mutex
	holders int
	clients [2]*client
	active  map[int32]int // which client serves a node; the first by default
	coords  map[string]int32
	lookups map[string]*lookup
	looked  map[string]time.Time // when the last look-up of a group ended
	lanes   map[memberKey]*lane
	nodes   map[int32]struct{} // brokers known by ID, for requests to any broker
	any     rotation
}

var _ heartbeat.Transport = (*Transport)(nil)

func newTransport(cl *kgo.Client) *Transport {
	return &Transport{
		settings: readSettings(cl),
		closed:   cl.Context().Done(),
		active:   make(map[int32]int),
		coords:   make(map[string]int32),
		lookups:  make(map[string]*lookup),
		looked:   make(map[string]time.Time),
		lanes:    make(map[memberKey]*lane),
		nodes:    make(map[int32]struct{}),
	}
}

// Do makes one attempt to send req to the coordinator of group, or to any broker
// if group is "". It returns soon after ctx ended.
//
// Errors that match heartbeat.ErrNotSent were made before any byte of req was
// written; all others may follow a request that the broker applied. Of the first
// kind are, among others, a [*LookupError], an [*UnsupportedError], and whatever
// [IsAuth] recognises while a connection is set up. (Produce, fetch and the classic
// JoinGroup and SyncGroup are sent in a way that cannot tell: always the second.)
//
// A heartbeat waits until an earlier one of the same member was written or ended.
// The version that was chosen can be read from req afterwards. Without
// [Transport.Acquire] Do works until the application's client is closed, and then
// fails with kgo.ErrClientClosed.
func (t *Transport) Do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, heartbeat.NotSent(err)
	}
	if err := t.excluded(req); err != nil {
		return nil, heartbeat.NotSent(err)
	}
	l, err := t.enter(ctx, req)
	if err != nil {
		return nil, heartbeat.NotSent(err)
	}
	defer l.leave()
	if group == "" {
		return t.toAny(ctx, req, l.pass)
	}
	for {
		node, err := t.coordinator(ctx, group)
		if err != nil {
			return nil, heartbeat.NotSent(fmt.Errorf("find the coordinator of group %q: %w", group, err))
		}
		resp, err := t.toCoordinator(ctx, group, node, req, l)
		switch {
		case errors.Is(err, errMoved):
			continue
		case err == nil && !moved(resp):
		case err != nil && errors.Is(ctx.Err(), context.Canceled):
		default:
			t.forget(group, node)
		}
		return resp, err
	}
}

// send makes one attempt at one node. begun, if not nil, gets the call before it starts.
func (t *Transport) send(ctx context.Context, node int32, req kmsg.Request, passed func(), begun func(*call)) (kmsg.Response, error) {
	var avoid uint64
	if trace := heartbeat.ContextTrace(ctx); trace != nil {
		avoid = trace.Avoid
	}
	c, err := t.take(node, avoid)
	if err != nil {
		return nil, heartbeat.NotSent(err)
	}
	r := newCall(ctx, c, node, req, passed)
	if begun != nil {
		begun(r)
	}
	resp, err := t.exchange(ctx, r)
	if err != nil {
		return nil, t.failed(ctx, r, err)
	}
	c.setHung(node, r.conn.Load(), false)
	return resp, nil
}

// failed draws the conclusions from a failed attempt and returns its error.
func (t *Transport) failed(ctx context.Context, r *call, err error) error {
	if r.refused.Load() {
		return heartbeat.NotSent(t.droppedField(r))
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.hung(r)
	}
	if r.wrote.Load() {
		return err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return heartbeat.NotSent(err)
	}
	if u := t.unsupported(ctx, r, err); u != nil {
		return heartbeat.NotSent(u)
	}
	if r.node >= 0 && !IsAuth(err) {
		r.c.kc.ForceMetadataRefresh() // its address may have changed
	}
	return heartbeat.NotSent(err)
}

// Acquire tells that a member runs. Until release, closing the application's
// client does not stop Do, so that the member can still leave. When the last
// member releases, the connections are closed; a later Do opens new ones. release
// may be called more than once.
func (t *Transport) Acquire() (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		t.holders--
		idle := t.retireIfUnheld()
		t.mu.Unlock()
		closeAll(idle)
	})
}

// UserClosed is closed when the application closed its client, or when the
// context that it gave to the client ended.
func (t *Transport) UserClosed() <-chan struct{} { return t.closed }

// Rack is kgo.Rack of the application's client, "" if not set.
func (t *Transport) Rack() string { return t.rack }

// SDKGroup is kgo.ConsumerGroup of the application's client, "" if not set. With
// a group of its own a client cannot take partitions from a member.
func (t *Transport) SDKGroup() string { return t.group }

// MaxHeartbeatVersion is the highest version of ConsumerGroupHeartbeat that
// kgo.MaxVersions allows: -1 if it excludes the request. ok is false if there is
// no limit. (kgo's default is a limit too: the newest version that it knows.)
func (t *Transport) MaxHeartbeatVersion() (version int16, ok bool) {
	return t.maxVersion(int16(kmsg.ConsumerGroupHeartbeat))
}
