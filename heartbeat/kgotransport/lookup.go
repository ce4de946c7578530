package kgotransport

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lookupTimeout bounds one look-up of a coordinator.
const lookupTimeout = 10 * time.Second

var errNoCoordinator = errors.New("the broker's answer does not name the group")

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
	l := t.lookups[group]
	if l == nil {
		l = t.startLookup(group)
	}
	l.waiting++
	t.mu.Unlock()

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
		if err == nil {
			t.coords[group] = node
			t.nodes[node] = struct{}{}
		}
		l.node, l.err = node, err
		close(l.done)
	}()
	return l
}

// findCoordinator asks any broker once.
func (t *Transport) findCoordinator(ctx context.Context, group string) (int32, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType = 0 // FindCoordinatorRequest.json: 0 is a group
	req.CoordinatorKey = group
	req.CoordinatorKeys = []string{group}
	kresp, err := t.toAny(ctx, req, nil)
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

// forget drops the coordinator of group, if it still is node.
func (t *Transport) forget(group string, node int32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now, ok := t.coords[group]; ok && now == node {
		delete(t.coords, group)
	}
}
