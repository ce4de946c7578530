package kgotransport

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// take returns the client for a call to node, made now if need be. give ends the
// use of it.
func (t *Transport) take(node int32, avoid uint64) (*client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holders == 0 && t.isUserClosed() {
		return nil, kgo.ErrClientClosed
	}
	slot := t.slot(node, avoid)
	if t.clients[slot] == nil {
		c, err := newClient(&t.settings)
		if err != nil {
			return nil, err
		}
		t.clients[slot] = c
	}
	c := t.clients[slot]
	c.refs++
	return c, nil
}

// slot chooses between the two clients: the active one, unless its connection to
// node is to be avoided or hangs. t.mu is held.
func (t *Transport) slot(node int32, avoid uint64) int {
	slot := t.active[node]
	avoided, hung := t.clients[slot].usable(node, avoid)
	otherAvoided, otherHung := t.clients[1-slot].usable(node, avoid)
	if avoided || hung && !otherAvoided && !otherHung {
		return 1 - slot
	}
	return slot
}

// hung is called when a call got no answer until its deadline. Later calls to
// that node go through the other client, except if they already do: when many
// calls time out together, only the first one switches.
func (t *Transport) hung(r *call) {
	if r.side {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	num, open := r.c.current(r.node)
	if r.wrote.Load() && (!open || num != r.conn.Load()) {
		return // that connection is gone, and the next one is not to blame
	}
	r.c.setHung(r.node, num, true)
	if slot := t.active[r.node]; t.clients[slot] == r.c {
		t.active[r.node] = 1 - slot
	}
}

func (t *Transport) give(c *client) {
	t.mu.Lock()
	c.refs--
	last := c.retired && c.refs == 0
	t.mu.Unlock()
	if last {
		c.kc.Close()
	}
}

// retireIfUnheld takes our clients out of use if no member runs, and returns
// those to close now. Calls still under way close theirs at their end. t.mu is
// held.
func (t *Transport) retireIfUnheld() (idle []*client) {
	if t.holders > 0 {
		return nil
	}
	for i, c := range t.clients {
		if c == nil {
			continue
		}
		c.retired = true
		if c.refs == 0 {
			idle = append(idle, c)
		}
		t.clients[i] = nil
	}
	clear(t.active)
	clear(t.coords)
	clear(t.looked)
	for _, l := range t.lookups {
		if l.waiting == 0 {
			l.cancel()
		}
	}
	return idle
}

func closeAll(idle []*client) {
	for _, c := range idle {
		c.kc.Close()
	}
}

// userClientClosed runs once, when the user's client was closed.
func (t *Transport) userClientClosed() {
	t.mu.Lock()
	idle := t.retireIfUnheld()
	t.mu.Unlock()
	closeAll(idle)
}

func (t *Transport) isUserClosed() bool {
	select {
	case <-t.closed:
		return true
	default:
		return false
	}
}

// rotation chooses the broker for requests that any broker answers: the one that
// answered last, or else the next one after the one that failed last.
type rotation struct {
	good   *int32
	failed *int32
}

// toAny makes one attempt at any broker.
func (t *Transport) toAny(ctx context.Context, req kmsg.Request, passed func()) (kmsg.Response, error) {
	return t.toNode(ctx, t.pickAny(), req, passed)
}

// toNode is toAny at the broker that was picked.
func (t *Transport) toNode(ctx context.Context, node int32, req kmsg.Request, passed func()) (kmsg.Response, error) {
	resp, err := t.send(ctx, node, req, passed, nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		t.any.good = &node
		if m, ok := resp.(*kmsg.MetadataResponse); ok && len(m.Brokers) > 0 {
			clear(t.nodes)
			for _, b := range m.Brokers {
				t.nodes[b.NodeID] = struct{}{}
			}
		}
	case errors.Is(ctx.Err(), context.Canceled):
	case t.any.good == nil || *t.any.good == node:
		t.any.good, t.any.failed = nil, &node
		delete(t.nodes, node)
	}
	return resp, err
}

func (t *Transport) pickAny() int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.any.good != nil {
		return *t.any.good
	}
	return t.after(t.any.failed)
}

// pickOther is another broker than node, if one is known.
func (t *Transport) pickOther(node int32) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.after(&node)
}

// after is the next of all known brokers after failed, in a ring. t.mu is held.
func (t *Transport) after(failed *int32) int32 {
	all := make([]int32, 0, len(t.nodes)+t.seeds)
	for i := range t.seeds {
		// unknownSeedID in kgo's broker.go: seeds are numbered from MinInt32 on.
		all = append(all, int32(math.MinInt32+i))
	}
	for node := range t.nodes {
		all = append(all, node)
	}
	slices.Sort(all)
	for _, node := range all {
		if failed == nil || node > *failed {
			return node
		}
	}
	return all[0]
}
