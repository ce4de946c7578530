package member

import (
	"fmt"
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// group is what the coordinator knows.
func (w *simWorld) group() coordinator.Group {
	g, _ := w.c.Group(simGroup)
	return g
}

// handle is what the broker does with a request.
func (t *simAttempt) handle() kmsg.Response {
	w := t.n.w
	t.arrived = w.now
	code, applied := int16(0), true
	switch {
	case w.now < w.moved:
		code, applied = w.moveCode, false
	case t.fault == simCode:
		code, applied = t.n2, false
	case t.fault == simCodeApplied:
		code = t.n2
	}
	if t.hb == nil {
		return t.handleLook(code)
	}
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	if applied {
		resp = t.apply()
	}
	if code != 0 {
		t.n.lied(t, code)
		resp = kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = code
	}
	t.logf("is answered: code %d epoch %d assigned %v", resp.ErrorCode, resp.MemberEpoch, w.brief(resp))
	return resp
}

// apply lets the coordinator have the request. One whose sender has given it up
// and gone on can do harm that no client could know of.
func (t *simAttempt) apply() *kmsg.ConsumerGroupHeartbeatResponse {
	w := t.n.w
	resp := w.c.Heartbeat(w.time(), t.hb, coordinator.Client{ID: t.n.m.id.MemberID})
	if !t.ended {
		return resp
	}
	w.late = max(w.late, w.now)
	t.logf("arrives LATE")
	if !t.unchanged() {
		w.fail(t.n, "request %d was changed, and may still be read", t.seq)
	}
	if resp.ErrorCode != 0 {
		return resp
	}
	t.n.own.exemptAt(w.now)
	if t.hb.MemberEpoch == 0 && t.n.done && !t.n.dead {
		t.n.lateJoin(t)
	}
	return resp
}

// lateJoin: a join made a ghost. The leave has to outlast it (rule 2), unless the
// shutdown timeout did not let it.
func (n *simNode) lateJoin(t *simAttempt) {
	lv := &n.m.lv
	cutShort := lv.until.Sub(lv.sendFrom) < n.m.cfg.Timing.LeaveTimeout && n.w.now >= t.sent+lv.until.Sub(lv.sendFrom)
	switch {
	case n.w.now-t.sent > n.m.cfg.Timing.LeaveTimeout, cutShort, lv.noLeave, n.m.leaveEpoch() == 0:
	default:
		// A leave that is right behind it on its connection will do, once it arrives, unless it is refused.
		n.w.at(max(n.w.now, t.conn.busy)+time.Second, func() {
			// (A -2 keeps the place: it is away, and no ghost.)
			if m, here := n.w.group().Member(n.m.id.MemberID); here && m.Epoch != heartbeat.EpochLeaveStatic && !n.refusedLeave && !n.own.liedTo {
				n.w.fail(n, "a join that was sent %v ago makes a ghost", n.w.now-t.sent)
			}
		})
	}
}

func (t *simAttempt) handleLook(code int16) kmsg.Response {
	w := t.n.w
	resp := kmsg.NewPtrOffsetFetchResponse()
	g := kmsg.NewOffsetFetchResponseGroup()
	q := t.req.(*kmsg.OffsetFetchRequest).Groups[0]
	if g.Group, g.ErrorCode = q.Group, code; code == 0 {
		g.ErrorCode = w.c.OffsetFetchCheck(w.time(), q.Group, *q.MemberID, q.MemberEpoch)
	}
	t.logf("looks: code %d", g.ErrorCode)
	resp.Groups = append(resp.Groups, g)
	return resp
}

// lied notes what an injected code may explain later.
func (n *simNode) lied(t *simAttempt, code int16) {
	n.refusedLeave = n.refusedLeave || t.hb.MemberEpoch < 0
	switch code {
	case 25:
		n.own.liedTo = true
		n.hard++
	case -1, 999, 29, 89, 110:
		n.hard++
	}
}

func (t *simAttempt) logf(what string, args ...any) {
	if t.n.w.log == nil {
		return
	}
	s := "look"
	if q := t.hb; q != nil {
		s = fmt.Sprintf("epoch %d", q.MemberEpoch)
		if q.Topics != nil {
			s += fmt.Sprintf(" owned %v", t.n.w.names(ownedList(q)))
		}
		if t.full {
			s += fmt.Sprintf(" names %v regex %q", q.SubscribedTopicNames, text(q.SubscribedTopicRegex))
		}
	}
	t.n.w.logf("m%d seq %d conn %d [%s] %s", t.n.i, t.seq, t.conn.id, s, fmt.Sprintf(what, args...))
}

// names gives the topics of a set their names; a second incarnation has a number.
func (w *simWorld) names(set topicSet) Partitions {
	p := Partitions{}
	for _, t := range set {
		name := w.topics[t.id]
		if now, _, _ := w.c.Topic(name); now != t.id {
			name = fmt.Sprintf("%s#%d", name, t.id[15])
		}
		p[name] = t.parts
	}
	return p
}

func (w *simWorld) brief(resp *kmsg.ConsumerGroupHeartbeatResponse) any {
	if resp.Assignment == nil {
		return nil
	}
	return w.names(normalize(resp.Assignment.Topics))
}

// unchanged says whether a request is as it was when it was sent: a Transport may
// read it until it returns.
func (t *simAttempt) unchanged() bool {
	q, ok := t.req.(*kmsg.ConsumerGroupHeartbeatRequest)
	return !ok || reflect.DeepEqual(*q, *t.hb)
}
