package member

import (
	"errors"
	"time"
)

// simCallback is a callback that runs.
type simCallback struct {
	callbackCall
	began time.Duration
	parts topicSet
	op    *simOp
}

// call runs a callback, for as long as the seed or an op of the plan says.
func (n *simNode) call(c callbackCall) {
	n.w.logf("m%d begins %v %v", n.i, c.what, c.parts)
	cb := &simCallback{callbackCall: c, began: n.w.now, parts: n.m.own.cb.parts}
	n.checkCall(cb)
	n.own.began(n, cb)
	d := time.Duration(n.w.roll(200, uint64(n.i), c.id, 1)) * time.Millisecond
	switch long := n.w.roll(10, uint64(n.i), c.id, 2); {
	case long == 0 && !n.w.calm:
		d *= 50
	case long < 4:
		d *= 8
	}
	var err error
	if len(n.calls) > 0 && n.started {
		op := n.calls[0]
		n.calls = n.calls[1:]
		cb.op = &op
		d = op.d
		switch op.n {
		case simError:
			err, n.odd = &CallbackError{Callback: callbackName(c.what), Err: errors.New("told to fail")}, true
		case simHang:
			n.odd = true
			return
		case simObey:
			n.obey(cb, c.by)
			return
		}
	}
	n.w.after(d, func() { n.returns(cb, err) })
}

// obey makes a callback return when its context ends.
func (n *simNode) obey(cb *simCallback, by time.Time) {
	n.w.after(by.Sub(n.local()), func() { n.returns(cb, nil) })
}

// deadline moves the end of the context of the callback that runs.
func (n *simNode) deadline(d callbackDeadline) {
	cb := n.own.cb
	if cb == nil || cb.id != d.id {
		return
	}
	if d.by.IsZero() {
		d.by = n.local()
	}
	if cb.by.After(d.by) {
		cb.by = d.by
	}
	if cb.op != nil && cb.op.n == simObey {
		n.obey(cb, cb.by)
	}
}

// returns is the return of a callback.
func (n *simNode) returns(cb *simCallback, err error) {
	if n.dead || n.done || n.own.cb != cb {
		return
	}
	if n.w.now < n.awake {
		n.w.at(n.awake, func() { n.returns(cb, err) })
		return
	}
	if n.local().After(cb.by) {
		n.odd = true // it may be left behind
	}
	n.own.ended(n, cb, err)
	n.tell(inCallback{id: cb.id, err: err, took: n.w.now - cb.began})
}

// checkCall looks at a callback that begins: rules 17 to 19.
func (n *simNode) checkCall(cb *simCallback) {
	o := &n.own
	switch {
	case o.cb != nil:
		n.w.fail(n, "%v is called while %v runs", cb.what, o.cb.what)
	case cb.what == Assigned && o.unacked.len() > 0:
		n.w.fail(n, "OnAssigned before the revocation was acknowledged")
	case cb.what == Assigned && cb.parts.minus(o.told).len() > 0:
		n.w.fail(n, "OnAssigned of what no answer assigned: %v", n.m.partitions(cb.parts.minus(o.told)))
	case cb.what == Assigned && cb.parts.minus(o.owned).len() != cb.parts.len():
		n.w.fail(n, "OnAssigned of what is owned already")
	case cb.what != Assigned && len(cb.parts.minus(o.owned)) > 0:
		n.w.fail(n, "%v of what is not owned", cb.what)
	case cb.what != Assigned && len(cb.parts) == 0:
		n.w.fail(n, "%v of nothing", cb.what)
	}
	for _, t := range cb.parts {
		if got := cb.callbackCall.parts[n.w.topics[t.id]]; len(got) < len(t.parts) {
			n.w.fail(n, "topic %s has partitions %v in the callback, want %v", n.w.topics[t.id], got, t.parts)
		}
	}
	if cb.what == Revoked && n.asked == 0 {
		n.checkDeadline(cb)
	}
}

// checkDeadline: the context of OnRevoked ends before the coordinator evicts.
func (n *simNode) checkDeadline(cb *simCallback) {
	m, ok := n.w.group().Member(n.m.id.MemberID)
	if !ok || m.RebalanceEnd.IsZero() || m.Epoch != n.m.epoch || n.lost() {
		return
	}
	if n.own.exemptOn > 0 && n.w.now-n.own.exemptOn < n.m.cfg.Timing.RebalanceTimeout {
		return // a late request of its own may have started the timer, and nobody told it
	}
	by := min(cb.by.Sub(n.local()), cb.by.Round(0).Sub(n.local().Round(0))) // by either clock
	if by > m.RebalanceEnd.Sub(n.w.time()) {
		n.w.fail(n, "OnRevoked may run for %v, and the coordinator evicts in %v", by, m.RebalanceEnd.Sub(n.w.time()))
	}
}
