package member

import (
	"time"
)

// simSlot is one partition of one incarnation of a topic.
type simSlot struct {
	id topicID
	p  int32
}

// simOwner is what a member owns, as its application sees it: from the start of
// OnAssigned to the end of OnRevoked or OnLost.
type simOwner struct {
	owned   topicSet // OnAssigned has begun
	cb      *simCallback
	told    topicSet         // the newest assignment that an answer brought
	unacked topicSet         // OnRevoked has returned for it; no accepted answer since to a request that says so
	lost    int              // calls of OnLost since the last fence
	liedTo  bool             // was told that it is not a member, and was one
	gone    map[topicID]bool // was told that these were made again

	exempt   bool // a late request of its own may have cost it something
	exemptOn time.Duration
}

// exemptAt: from now on something was done to the member behind its back: until
// the next answer, its trust does not count.
func (o *simOwner) exemptAt(now time.Duration) { o.exempt, o.exemptOn = true, now }

func (o *simOwner) began(n *simNode, cb *simCallback) {
	o.cb = cb
	switch cb.what {
	case Assigned:
		o.owned = o.owned.plus(cb.parts)
		n.w.hold(n, cb.parts)
	case Lost:
		if n.m.state == StateFenced {
			o.lost++
		}
		n.checkLost(cb)
	case Revoked:
		for _, t := range cb.parts {
			if o.gone[t.id] && n.asked == 0 && n.m.state == StateReconciling {
				n.w.fail(n, "%s is revoked, and was made again", n.w.topics[t.id])
			}
		}
	}
}

// remade: the member hears which IDs topics have now.
func (o *simOwner) remade(n *simNode, found map[string]topicID) {
	for _, t := range o.owned {
		if id, ok := found[n.w.topics[t.id]]; ok && id != t.id {
			if o.gone == nil {
				o.gone = map[topicID]bool{}
			}
			o.gone[t.id] = true
		}
	}
}

// checkLost: who is in the group loses only topics that were made again.
func (n *simNode) checkLost(cb *simCallback) {
	if n.m.state != StateReconciling {
		return
	}
	n.w.cover.lostTopics()
	for _, t := range cb.parts {
		if now, _, ok := n.w.c.Topic(n.w.topics[t.id]); ok && now == t.id {
			n.w.fail(n, "%s is lost, and is still there", n.w.topics[t.id])
		}
	}
}

func (o *simOwner) ended(n *simNode, cb *simCallback, err error) {
	o.cb = nil
	if cb.what == Assigned || cb.what == Revoked && err != nil {
		return
	}
	o.owned = o.owned.minus(cb.parts)
	n.w.release(n, cb.parts)
	if cb.what == Revoked && n.m.state == StateReconciling && !n.m.own.losing {
		o.unacked = o.unacked.plus(cb.parts)
	}
}

// stateChanged: OnLost once per fence, and no join before all is given up (rule 11).
func (o *simOwner) stateChanged(n *simNode, v StateInfo) {
	switch {
	case v.To == StateFenced:
		o.lost, o.unacked, o.exempt = 0, nil, false
		if v.Err == nil && !n.spec.selfFence {
			n.w.fail(n, "fenced without a reason")
		}
	case v.To == StateJoining:
		o.told, o.unacked = nil, nil
		if o.owned.len() > 0 {
			n.w.fail(n, "joins while it owns %v", n.w.names(o.owned))
		}
		if o.lost > 1 {
			n.w.fail(n, "OnLost %d times for one fence", o.lost)
		}
	case v.From == StateJoining:
		o.lost = 0
	}
}

// drop: the process, or the member, has ended.
func (n *simNode) drop() {
	n.w.release(n, n.own.owned)
	n.own.owned, n.own.cb = nil, nil
}

func (w *simWorld) hold(n *simNode, parts topicSet) {
	for _, t := range parts {
		for _, p := range t.parts {
			k := simSlot{t.id, p}
			w.owners[k] = append(w.owners[k], n)
			if len(w.owners[k]) > 1 {
				w.contested[k] = true
			}
		}
	}
}

func (w *simWorld) release(n *simNode, parts topicSet) {
	for _, t := range parts {
		for _, p := range t.parts {
			k := simSlot{t.id, p}
			w.owners[k] = drop(w.owners[k], func(o *simNode) bool { return o == n })
			if len(w.owners[k]) < 2 {
				delete(w.contested, k)
			}
		}
	}
}

// checkContested: no partition is owned by two members that may both believe that
// nobody else owns it (rule 20).
func (w *simWorld) checkContested() {
	for k := range w.contested {
		var who []*simNode
		for _, n := range w.owners[k] {
			if !n.own.exempt && !n.lost() && n.snap.Trusted(n.local()) {
				who = append(who, n)
			}
		}
		if len(who) > 1 {
			w.fail(who[0], "partition %d of %s is owned by m%d as well, and both are trusted", k.p, w.topics[k.id], who[1].i)
			return
		}
	}
}

// lost: its wall clock was set back and its monotonic clock stood. Neither can tell
// what time has passed.
func (n *simNode) lost() bool { return n.skew < 0 && n.lag > 0 }
