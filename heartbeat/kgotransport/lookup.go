package kgotransport

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

const (
	// lookupTimeout bounds one look-up of a coordinator.
	lookupTimeout = 10 * time.Second
	// lookAgainAfter is when a look-up without an answer gets a second one beside it, and a
	// heartbeat that is not written a look whether its coordinator is another one by now: a
	// host that is gone answers no SYN, and a dial takes long to find out.
	lookAgainAfter = 500 * time.Millisecond
)

var (
	errNoCoordinator = errors.New("the broker's answer does not name the group")
	errMoved         = errors.New("the group has another coordinator")
)

// lookup is one FindCoordinator that any number of calls wait for.
type lookup struct {
	done   chan struct{}
	node   int32 // valid once done is closed
	err    error // so is this
	cancel context.CancelFunc

	waiting int // guarded by the mutex of the Transport
}

// coordinator is the node that coordinates group: the one known, or the result
// of a look-up. The look-up is shared and goes on after ctx ended.
func (t *Transport) coordinator(ctx context.Context, group string) (int32, error) {
	t.mu.Lock()
	if node, ok := t.coords[group]; ok {
		t.mu.Unlock()
		return node, nil
	}
	l := t.joinLookup(group)
	t.mu.Unlock()
	return t.await(ctx, l)
}

// joinLookup counts the caller in to the look-up of group, begun now if none is under way. t.mu
// is held.
func (t *Transport) joinLookup(group string) *lookup {
	l := t.lookups[group]
	if l == nil {
		l = t.startLookup(group)
	}
	l.waiting++
	return l
}

// await waits for a look-up in which the caller is counted.
func (t *Transport) await(ctx context.Context, l *lookup) (int32, error) {
	var ended error
	select {
	case <-l.done:
	case <-ctx.Done():
		ended = ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l.waiting--
	if ended != nil {
		if l.waiting == 0 && t.clients == ([2]*client{}) {
			l.cancel() // released meanwhile, and nobody else wants it
		}
		return 0, ended
	}
	return l.node, l.err
}

// startLookup must be called with t.mu held.
func (t *Transport) startLookup(group string) *lookup {
	ctx, cancel := context.WithTimeout(context.Background(), lookupTimeout)
	l := &lookup{done: make(chan struct{}), cancel: cancel}
	t.lookups[group] = l
	go func() {
		defer cancel()
		node, err := t.findCoordinator(ctx, group)
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.lookups, group)
		t.looked[group] = time.Now()
		if err == nil {
			t.coords[group] = node
			t.nodes[node] = struct{}{}
		}
		l.node, l.err = node, err
		close(l.done)
	}()
	return l
}

// findCoordinator asks any broker, and another one if that takes long.
func (t *Transport) findCoordinator(ctx context.Context, group string) (int32, error) {
	node := t.pickAny()
	var trace heartbeat.Trace
	return hedged(ctx, lookAgainAfter, 2, func(ctx context.Context, n int) (int32, error) {
		if n == 0 {
			return t.askCoordinator(heartbeat.WithTrace(ctx, &trace), node, group)
		}
		other := heartbeat.WithTrace(ctx, &heartbeat.Trace{Avoid: trace.Conn()})
		return t.askCoordinator(other, t.pickOther(node), group)
	}, nil)
}

func (t *Transport) askCoordinator(ctx context.Context, node int32, group string) (int32, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType = 0 // FindCoordinatorRequest.json: 0 is a group
	req.CoordinatorKey = group
	req.CoordinatorKeys = []string{group}
	kresp, err := t.toNode(ctx, node, req, nil)
	if err != nil {
		return 0, err
	}
	resp := kresp.(*kmsg.FindCoordinatorResponse)
	// FindCoordinatorResponse.json: one coordinator up to version 3, a list of
	// them from version 4 on.
	if resp.Version < 4 {
		return resp.NodeID, lookupError(group, resp.ErrorCode, resp.ErrorMessage)
	}
	for _, c := range resp.Coordinators {
		if c.Key == group {
			return c.NodeID, lookupError(group, c.ErrorCode, c.ErrorMessage)
		}
	}
	return 0, errNoCoordinator
}

// toCoordinator makes one attempt at node. While the heartbeat is not on its way it may turn
// out that the group has another coordinator: then the attempt ends, with errMoved if nothing
// was sent for sure.
func (t *Transport) toCoordinator(ctx context.Context, group string, node int32, req kmsg.Request, l *lane) (kmsg.Response, error) {
	if l == nil {
		return t.send(ctx, node, req, nil, nil)
	}
	sub, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch *time.Timer
	resp, err := t.send(sub, node, req, l.pass, func(r *call) {
		watch = time.AfterFunc(lookAgainAfter, func() {
			if t.waitUntilMoved(sub, group, r) {
				cancel(errMoved)
			}
		})
	})
	if watch != nil {
		watch.Stop()
	}
	if err != nil && errors.Is(context.Cause(sub), errMoved) && errors.Is(err, heartbeat.ErrNotSent) {
		return nil, errMoved
	}
	return resp, err
}

// waitUntilMoved looks every now and then whether group has another coordinator than the one
// that r goes to. It reports false once r is on its way, or ctx ended.
func (t *Transport) waitUntilMoved(ctx context.Context, group string, r *call) bool {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-again.C:
		}
		if r.onItsWay() {
			return false
		}
		if t.isMoved(ctx, group, r.node) {
			return !r.onItsWay()
		}
		again.Reset(lookAgainAfter)
	}
}

// isMoved looks the coordinator of group up anew, unless that was done just now, and reports
// whether it is not node.
func (t *Transport) isMoved(ctx context.Context, group string, node int32) bool {
	t.mu.Lock()
	if now, ok := t.coords[group]; ok && now != node {
		t.mu.Unlock()
		return true
	}
	if t.lookups[group] == nil && time.Since(t.looked[group]) < lookAgainAfter {
		t.mu.Unlock()
		return false
	}
	l := t.joinLookup(group)
	t.mu.Unlock()
	now, err := t.await(ctx, l)
	return err == nil && now != node
}

// forget drops the coordinator of group, if it still is node.
func (t *Transport) forget(group string, node int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now, ok := t.coords[group]; ok && now == node {
		delete(t.coords, group)
	}
}
