package member

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// refreshEvery is how often a member that owns something sends a full heartbeat
// though nothing changed: brokers were seen that did not tell a bare heartbeat
// that an owned topic was deleted (rule 6).
const refreshEvery = 4 * time.Minute

// beating reports whether the member sends heartbeats: not once fenced, left or
// failed (KAFKA-16251).
func (m *machine) beating() bool {
	switch m.state {
	case StateJoining, StateReconciling, StateAcknowledging, StateStable:
		return true
	case StatePrepareLeaving:
		return m.epoch > 0 && !m.lv.out
	}
	return false
}

// attemptTimeout bounds one attempt. Two lost ones in a row must be survivable
// within a session (rule 22), so it is at most a third of it.
func (m *machine) attemptTimeout() time.Duration { return m.cfg.Timing.SessionTimeout / 3 }

// nextRequest is the request that is due, or the time to wait for.
func (m *machine) nextRequest(now time.Time) heartbeat.Action {
	if m.lv.sending {
		return m.nextLeave(now)
	}
	wait := m.wakeAt(now)
	if !m.beating() || len(m.flights) > 0 {
		return heartbeat.Action{Kind: heartbeat.ActWait, At: wait}
	}
	due := m.due()
	if now.Before(due) {
		return heartbeat.Action{Kind: heartbeat.ActWait, At: earliest(wait, due)}
	}
	if m.state != StateJoining {
		return m.sendBeat(now)
	}
	switch {
	case m.join.look:
		return m.sendLook(now)
	case m.join.release:
		return m.sendRelease(now)
	}
	return m.sendJoin(now)
}

func (m *machine) due() time.Time {
	switch {
	case m.state == StateJoining && m.join.look:
		return m.sched.Beside() // no repetition of what failed: the backoff is the next join's
	case m.state == StateJoining:
		if m.join.heldUntil.After(m.sched.Due(time.Time{})) {
			return m.join.heldUntil
		}
		return m.sched.Due(time.Time{})
	}
	due := m.sched.Due(m.early.Due())
	if m.refuse.active {
		due = earliest(due, m.sched.Allowed(m.refuse.retry))
	}
	return due
}

// wakeAt is the earliest time at which something other than a request is due.
func (m *machine) wakeAt(now time.Time) time.Time {
	t := earliest(earliest(m.trust.wakeAt(), m.lv.callbackBy), m.own.cb.slow)
	// Only what tick would act on: to wait for a time that is past is to spin.
	if !m.lv.asked {
		t = earliest(t, m.trust.pollBy)
	}
	if m.reconciling() {
		t = earliest(t, m.own.lookup.next)
		if m.own.remade.by.After(now) { // a round that waits for a name does not look at it
			t = earliest(t, m.own.remade.by)
		}
	}
	return t
}

func (m *machine) sendBeat(now time.Time) heartbeat.Action {
	early := !m.early.Due().IsZero() && !now.Before(m.early.Due()) && now.Before(m.sched.Due(time.Time{}))
	reason := m.why
	if early {
		reason = ReasonEarly
	}
	m.why = ReasonInterval
	set := m.fields(now)
	m.early.Sent(now, early)
	m.asked(now)
	return m.send(now, heartbeat.PhaseBeat, m.epoch, set, reason)
}

// fields are those that the next heartbeat carries.
func (m *machine) fields(now time.Time) heartbeat.Fields {
	set := m.delta.Unsent()
	// Rule 6: while nothing is owned, a lost assignment comes again only to a full
	// request (GroupMetadataManager, Kafka 4.x: isFullRequest).
	if len(m.own.owned) == 0 && m.state != StatePrepareLeaving {
		set = heartbeat.AllFields
	}
	if now.Sub(m.own.lastFull) >= refreshEvery || !m.doubts.until.IsZero() || m.refuse.active {
		set = heartbeat.AllFields
	}
	// Rule 8: a request that may name a previous epoch carries its owned list; a
	// null one is fenced. It may whenever the last outcome was not an answer, and
	// then everything is unsent, so the set has it already.
	if m.refuse.holds(now) {
		// Rule 5: refused fields stay away; the owned list was not what was refused.
		set &= heartbeat.Fields(0).With(heartbeat.FieldOwned)
	}
	return set
}

func (m *machine) sendJoin(now time.Time) heartbeat.Action {
	reason := ReasonJoin
	if m.sched.Failures() > 0 {
		reason = ReasonRetry
	}
	m.why = ReasonInterval
	// Rule 4: every road to epoch 0 is full, with an empty owned list.
	m.delta.Reset()
	m.vals.Owned = topicSet{}.wire()
	if text(m.vals.Regex) == "" {
		m.vals.Regex = nil // a join must not carry an empty one (KAFKA-15561); see disinherit
	}
	return m.send(now, heartbeat.PhaseJoin, heartbeat.EpochJoin, heartbeat.AllFields, reason)
}

// sendRelease leaves so that a join of ours can be accepted: see fence.go.
func (m *machine) sendRelease(now time.Time) heartbeat.Action {
	epoch := heartbeat.EpochLeave
	if m.id.InstanceID != "" {
		epoch = heartbeat.EpochLeaveStatic
	}
	a := m.send(now, heartbeat.PhaseLeave, epoch, 0, ReasonJoin)
	m.flights[len(m.flights)-1].release = true
	m.sched.Sent(now) // rule 15: it is paced and counted like a join
	return a
}

// sendLook asks whether the coordinator knows us, after a join of unknown fate:
// see joinLedger. An OffsetFetch of no partitions is the smallest question: it
// changes nothing, feeds no session, and its answer tells a known member
// (STALE_MEMBER_EPOCH, as 0 is never a member's epoch) from an unknown one.
// Source: ConsumerGroup.validateOffsetFetch, Kafka 4.x.
func (m *machine) sendLook(now time.Time) heartbeat.Action {
	m.join.look = false
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberID, g.MemberEpoch = m.id.Group, &m.id.MemberID, 0
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	req.Groups = append(req.Groups, g)
	m.seq++
	m.flights = append(m.flights, flight{seq: m.seq, sent: now, look: true})
	m.sched.Sent(now)
	return heartbeat.Action{Kind: heartbeat.ActSend, Seq: m.seq, Req: req, Timeout: min(2*time.Second, m.attemptTimeout()), Avoid: m.hung}
}

func (m *machine) send(now time.Time, phase heartbeat.Phase, epoch int32, set heartbeat.Fields, reason Reason) heartbeat.Action {
	if m.req == nil || len(m.flights) > 0 {
		m.req = kmsg.NewPtrConsumerGroupHeartbeatRequest()
	}
	m.seq++
	if phase == heartbeat.PhaseBeat && set.Has(heartbeat.FieldOwned) {
		m.vals.Owned = m.own.held(m.lv.asked).wire()
	}
	m.vals.Build(m.req, epoch, set)
	full := heartbeat.IsFull(m.req)
	if phase != heartbeat.PhaseLeave {
		m.delta.Send(m.seq, set)
		m.sched.Sent(now)
	}
	if full {
		m.own.lastFull = now
	}
	m.flights = append(m.flights, flight{seq: m.seq, phase: phase, epoch: epoch, sent: now, full: full, reason: reason})
	return heartbeat.Action{Kind: heartbeat.ActSend, Seq: m.seq, Req: m.req, Timeout: m.attemptTimeout(), Avoid: m.hung}
}
