package kgotransport

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// memberKey names a member: two of its requests must not overtake each other.
type memberKey struct{ group, member string }

// lane is the place of one call in the line of its member. The next call waits
// until this one was written, or ended without.
type lane struct {
	t    *Transport
	key  memberKey
	done chan struct{}
	once sync.Once

	// Guarded by the mutex of the Transport. A call that gave up while it waited
	// leaves the call before it to those behind.
	before *lane
}

// memberOf is the member that sends req, if req is a heartbeat.
func memberOf(req kmsg.Request) (memberKey, bool) {
	switch r := req.(type) {
	case *kmsg.ConsumerGroupHeartbeatRequest:
		return memberKey{r.Group, r.MemberID}, true
	case *kmsg.StreamsGroupHeartbeatRequest:
		return memberKey{r.Group, r.MemberID}, true
	}
	return memberKey{}, false
}

// enter waits for the call before this one of the same member. A leave that
// overtook its join would leave a ghost behind.
func (t *Transport) enter(ctx context.Context, req kmsg.Request) (*lane, error) {
	key, ok := memberOf(req)
	if !ok {
		return nil, nil
	}
	l := &lane{t: t, key: key, done: make(chan struct{})}
	t.mu.Lock()
	before := t.lanes[key]
	t.lanes[key] = l
	t.mu.Unlock()
	for before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			l.giveUp(before)
			return nil, ctx.Err()
		}
		t.mu.Lock()
		before = before.before
		t.mu.Unlock()
	}
	return l, nil
}

// giveUp leaves the line while before is still to be waited for.
func (l *lane) giveUp(before *lane) {
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	l.before = before
	l.pass()
	if l.t.lanes[l.key] != l {
		return
	}
	select {
	case <-before.done:
		delete(l.t.lanes, l.key)
	default:
		l.t.lanes[l.key] = before
	}
}

// pass lets the next call of the member go.
func (l *lane) pass() {
	if l != nil {
		l.once.Do(func() { close(l.done) })
	}
}

// leave ends the call's place in the line.
func (l *lane) leave() {
	if l == nil {
		return
	}
	l.pass()
	l.t.mu.Lock()
	defer l.t.mu.Unlock()
	if l.t.lanes[l.key] == l {
		delete(l.t.lanes, l.key)
	}
}
