package member

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// host does what consumer.go does for a machine.
func (n *simNode) host(o output) {
	switch o.kind {
	case outEvent:
		n.event(o.v)
	case outPublish:
		n.snap = *o.v.(*Snapshot)
	case outTrust:
		n.snap.LastHeartbeat, n.snap.TrustedUntil = o.last, o.until
	case outCallback:
		n.call(o.v.(callbackCall))
	case outDeadline:
		n.deadline(o.v.(callbackDeadline))
	case outLookup:
		n.lookup(o.v.([]topicID))
	case outTopicIDs:
		n.lookupIDs(o.v.([]string))
	case outAlive:
		n.tell(inAlive{n.lastAlive()})
	case outSibling:
		n.w.tell(n, o.v.(siblingNews))
	case outChange:
		n.changed(o.v.(changeResult))
	}
}

func (n *simNode) event(v any) {
	switch v := v.(type) {
	case StateInfo:
		n.w.logf("m%d %v -> %v (epoch %d) %v", n.i, v.From, v.To, v.MemberEpoch, v.Err)
		n.stateChanged(v)
	case OwnershipInfo:
		n.w.logf("m%d %v %v, owns %v", n.i, v.What, v.Delta, v.Owned)
	case TrustInfo:
		n.w.logf("m%d trust: until %v", n.i, v.Until)
	case NoticeInfo:
		n.w.logf("m%d notice: %s %v", n.i, v.Text, v.Err)
		if strings.Contains(v.Text, "illegal") {
			n.w.fail(n, "%s", v.Text)
		}
	}
}

func (n *simNode) stateChanged(v StateInfo) {
	switch v.To {
	case StateStale:
		n.aliveAgain()
	case StateFatal:
		if n.asked == 0 {
			n.ends()
		}
	}
	n.own.stateChanged(n, v)
}

// lookup asks for the names of topics.
func (n *simNode) lookup(ids []topicID) {
	n.w.after(time.Duration(n.w.roll(100, uint64(n.i), uint64(n.w.now), 7))*time.Millisecond, func() {
		found := map[topicID]string{}
		for _, id := range ids {
			name := n.w.topics[id]
			if now, _, ok := n.w.c.Topic(name); ok && now == id && n.w.now >= n.blind {
				found[id] = name
			}
		}
		n.tell(inNames{ids, found})
	})
}

// lookupIDs asks for the IDs that topics have now. Some questions are never answered.
func (n *simNode) lookupIDs(names []string) {
	roll := n.w.roll(110, uint64(n.i), uint64(n.w.now), 11)
	if roll >= 100 {
		return
	}
	n.w.after(time.Duration(roll)*time.Millisecond, func() {
		found := map[string]topicID{}
		for _, name := range names {
			if id, _, ok := n.w.c.Topic(name); ok && n.w.now >= n.blind {
				found[name] = id
			}
		}
		n.own.remade(n, found)
		n.tell(inTopicIDs{names, found})
	})
}

// lastAlive: the application calls Alive all the time, but when it is idle.
func (n *simNode) lastAlive() time.Time {
	if n.w.now < n.idle {
		return n.local().Add(-time.Minute)
	}
	return n.local()
}

// aliveAgain calls Alive once the application is not idle any more.
func (n *simNode) aliveAgain() {
	n.w.at(max(n.idle, n.w.now+500*time.Millisecond), func() {
		if n.snap.State == StateStale {
			n.tell(inAlive{n.lastAlive()})
			n.aliveAgain()
		}
	})
}

func (n *simNode) changed(r changeResult) {
	s, ok := n.changes[r.id]
	if !ok {
		n.w.fail(n, "change %d has a second result", r.id)
		return
	}
	n.w.logf("m%d change %d: %v", n.i, r.id, r.err)
	delete(n.changes, r.id)
	if r.err == nil {
		n.sub = s
	}
}

// finish is the end of Run.
func (n *simNode) finish(err error) {
	n.w.logf("m%d done: %v", n.i, err)
	n.done, n.err = true, err
	n.w.procs[n.i%len(n.w.procs)].waves.Remove(uint64(n.i))
	n.checkEnd()
	n.drop()
	n.checkGhost(false)
}

// checkEnd looks whether a member ended in a way that what was done to it explains.
func (n *simNode) checkEnd() {
	if len(n.changes) > 0 {
		n.w.fail(n, "done, with %d changes unanswered", len(n.changes))
	}
	err, why := n.err, ""
	var cb *CallbackError
	switch {
	case err == nil:
		if n.asked == 0 {
			why = "nobody asked it to"
		}
	case errors.As(err, &cb):
		if !n.odd && n.own.cb == nil {
			why = "no callback failed"
		}
	case errors.Is(err, ErrLeave):
		if n.hits == 0 && n.w.moved == 0 {
			why = "nothing kept it from leaving"
		}
	case errors.Is(err, ErrDisplaced):
		// It was away for long enough to be evicted.
		if n.hits == 0 || !n.hasSuccessor() {
			why = "it has no rival"
		}
	case errors.Is(err, ErrInstanceHeld):
		if !n.spec.successor {
			why = "it has no rival"
		}
	case errors.Is(err, kerr.UnknownServerError), errors.Is(err, kerr.TopicAuthorizationFailed), errors.Is(err, kerr.ThrottlingQuotaExceeded),
		errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.FencedMemberEpoch):
		if n.hard < 2 {
			why = "it was refused less than twice"
		}
	default:
		why = "nothing that was done to it explains that"
	}
	n.w.cover.ended(err)
	if why != "" {
		n.w.fail(n, "ended with %v: %s", err, why)
	}
}

func (n *simNode) hasSuccessor() bool {
	return slices.ContainsFunc(n.w.plan.members, func(m simMember) bool { return m.successor && m.instance == n.spec.instance })
}

// checkGhost: whom a coordinator has let go must not be in the group. (A static
// member that is away is.)
func (n *simNode) checkGhost(again bool) {
	m, here := n.w.group().Member(n.m.id.MemberID)
	claims := n.err == nil || n.m.lv.acked
	if n.m.lv.last != nil && n.m.joins.suspicion() != noJoin {
		claims = false // it suspected a ghost, and nobody let it do anything about it
	}
	switch {
	case !here || !claims || n.m.lv.noLeave || m.Epoch == heartbeat.EpochLeaveStatic:
	case n.wire.leaveOp == RemainInGroup && n.spec.instance == "":
	case n.own.liedTo:
		// It was told that it is not a member. Whom the coordinator does not know need not leave.
	case !again && n.w.late >= n.w.now:
		// A leave may be on its way, behind a join on its connection.
		n.w.at(n.w.late+time.Second, func() { n.checkGhost(true) })
	case again && n.refusedLeave:
	default:
		n.w.fail(n, "has left, and the coordinator still has it, in epoch %d", m.Epoch)
	}
}
