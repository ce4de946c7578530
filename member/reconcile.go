package member

import (
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// ownership is what is assigned, what is owned, and the round of callbacks
// between the two.
type ownership struct {
	target     topicSet  // what the coordinator wants us to own
	assigned   bool      // there is a target
	targetSent time.Time // since when the coordinator may wait for what is to be given up
	targetAt   time.Time // send time of the heartbeat whose answer brought it
	namedAt    time.Time // when a look-up last found something
	owned      topicSet  // callbacks for it have run, and none that gives it up
	adding     topicSet  // OnAssigned is running for it
	names      map[topicID]string
	unresolved int    // topics of target without a name
	ackEpoch   int32  // member epoch of the last acknowledgement
	ackDue     bool   // acknowledge, though nothing changes hands
	lookup     lookup // of names
	lastFull   time.Time
	losing     bool // OnLost for everything is owed
	revoked    bool // OnRevoked has returned, the round is to be acknowledged
	recreated  bool // OnLost has returned for topics that were made again, likewise
	owes       bool // the coordinator took something back, and has no owned list since
	acked      bool // the acknowledgement was accepted: the next round may begin
	remade     remade

	cb    callback
	cbSeq uint64
}

type lookup struct {
	running bool
	tried   map[topicID]bool // one look-up has answered for it
	next    time.Time
	n       int
}

// callback is the one that runs; id 0: none.
type callback struct {
	id    uint64
	what  Ownership
	parts topicSet
	slow  time.Time // told then that it still runs; zero: never, or told
}

type (
	callbackCall struct {
		id    uint64
		what  Ownership
		parts Partitions
		by    time.Time
		cause error // of its context, when by has come
	}
	callbackDeadline struct { // by zero: now
		id    uint64
		by    time.Time
		cause error
	}
)

// shown is the Assignment of the snapshot.
func (o *ownership) shown() topicSet {
	if o.losing {
		return nil
	}
	if len(o.adding) == 0 {
		return o.owned
	}
	return o.owned.plus(o.adding)
}

// held is the owned list of a heartbeat: what nobody else may get. A list without a
// partition is the word that we do not have it, whatever it was sent for: if one
// is on its way while OnAssigned begins, and the coordinator has come to want the
// partition back, it is another member's at once. So what was assigned is in the list
// before its callback runs; only the acknowledgement of a revocation has what is
// owned and nothing else (rules 17 and 18).
func (o *ownership) held(leaving bool) topicSet {
	if o.revoked || o.recreated || leaving {
		return o.shown()
	}
	return o.shown().plus(o.target)
}

// lose forgets the target; OnLost for what is owned is owed.
func (o *ownership) lose() {
	o.target, o.assigned, o.unresolved, o.losing = nil, false, 0, true
	o.ackDue, o.revoked, o.recreated, o.owes, o.acked = false, false, false, false, false
	o.lookup, o.remade = lookup{}, remade{}
}

// adopt takes the assignment of an accepted answer, if it has one.
func (m *machine) adopt(now time.Time, f flight, target topicSet, has, moved bool) {
	if f.phase == heartbeat.PhaseBeat {
		m.join.fences, m.trust.streak = 0, 0
	}
	joined := m.state == StateJoining
	changed := has && (!m.own.assigned || !target.equal(m.own.target))
	took := changed && len(m.own.target.minus(target)) > 0
	listed := !m.delta.Unsent().Has(heartbeat.FieldOwned)
	acked := m.state == StateAcknowledging && listed
	gave := m.own.revoked || m.own.recreated
	if m.own.owes = m.own.owes && !listed; acked || listed && m.state == StatePrepareLeaving {
		// What was given up is acknowledged: whatever else this answer asks for is new, and has
		// a timer of its own (rule 19).
		m.own.revoked, m.own.recreated = false, false
	}
	if has || joined {
		if joined || changed && !m.own.givingUp() {
			m.own.targetSent = f.told // neither a repetition nor an addition restarts the coordinator's timer
		}
		if joined || changed {
			m.own.targetAt = f.sent
		}
		m.own.target, m.own.assigned = target, true
	}
	if m.state == StatePrepareLeaving {
		m.adoptLeaving(now, f, took)
		return
	}
	if has || joined {
		// KAFKA-16312: the same partitions under another epoch are acknowledged too. Not
		// an empty set: the request that brought it carried the empty owned list.
		m.own.ackDue = m.own.ackDue || changed || (m.epoch != m.own.ackEpoch && len(target) > 0)
	}
	if moved || changed {
		m.early.Changed()
	}
	freed := acked && gave
	switch {
	case joined:
		m.joined(now)
	case acked:
		m.acknowledged(now, freed)
	}
	if took {
		m.taken()
	}
	m.trusted(now, f.sent)
	if joined || moved || changed || acked {
		m.sibling(joined, freed)
		m.publish(now)
	} else {
		m.publishTrust()
	}
}

// taken: the coordinator wants something back, and waits for an owned list without it.
// What OnAssigned was not called for needs no callback, so the next heartbeat may say
// so, though another callback runs.
func (m *machine) taken() {
	m.own.owes = true
	m.delta.Changed(heartbeat.FieldOwned)
	if m.own.cb.id != 0 {
		m.ask(ReasonAck)
	}
}

// adoptLeaving: the epoch is taken, and shown, as OnRevoked commits with it. What is
// assigned is not; but what is to be given up is to be given up in time.
func (m *machine) adoptLeaving(now time.Time, f flight, took bool) {
	if took {
		m.taken()
	}
	m.trusted(now, f.sent)
	m.publish(now)
	if took && m.own.cb.id != 0 {
		m.emit(outDeadline, callbackDeadline{id: m.own.cb.id, by: m.giveUpBy(), cause: ErrRevoking})
	}
}

// givingUp reports whether the coordinator waits for us to give something up.
func (o *ownership) givingUp() bool {
	if !o.assigned || o.losing {
		return false
	}
	shown := o.shown()
	return o.owes || o.revoked || o.recreated || !shown.equal(o.target) && len(shown.minus(o.target)) > 0
}

// giveUpBy is when it stops to wait, less a margin. Its timer began when it told us.
func (m *machine) giveUpBy() time.Time { return m.own.targetSent.Add(m.rebalancePatience()) }

func (m *machine) rebalancePatience() time.Duration {
	timeout := m.cfg.Timing.RebalanceTimeout
	return timeout - min(5*time.Second, timeout/10)
}

// joined: the join was accepted.
func (m *machine) joined(now time.Time) {
	m.join.fences, m.join.refusals, m.join.rounds = 0, 0, 0
	m.join.look, m.join.release, m.join.mine = false, false, true
	m.own.ackEpoch, m.own.ackDue = m.epoch, false // the join carried the empty owned list
	m.to(now, StateReconciling, nil)
	if len(m.own.target) == 0 && !m.crowd {
		// Others have to give something up first; nothing tells us when (rule 21).
		m.early.Run(now, m.cfg.Timing.EarlyBeats, m.sched.Interval())
	}
}

// acknowledged: the coordinator knows what is owned; freed: less than before.
func (m *machine) acknowledged(now time.Time, freed bool) {
	m.own.ackEpoch = m.epoch
	if freed && m.early.Due().IsZero() && !m.crowd {
		m.early.Run(now, 1, m.sched.Interval()) // what was given up often makes room for something else
	}
	m.own.acked = true
	m.pruneNames()
}

// reconcile takes the next step from what is owned to what is assigned. Rule 17:
// revoke, then acknowledge, then assign. Rule 18: a round that has begun is
// finished and acknowledged as it is; then the newest target is taken. So a round
// either gives up or takes, and the next one begins when its acknowledgement was
// answered. Source: AbstractMembershipManager.maybeReconcile, Kafka 4.3.
func (m *machine) reconcile(now time.Time) {
	if m.own.losing && m.own.cb.id == 0 {
		m.loseOwned(now)
		return
	}
	if !m.reconciling() {
		return
	}
	resolvable, wait := m.resolve(now)
	if wait {
		m.to(now, StateReconciling, nil)
		return
	}
	recreated, gone := m.going()
	if len(recreated)+len(gone) == 0 {
		m.own.remade = remade{}
	}
	switch added := resolvable.minus(m.own.owned); {
	case m.own.revoked:
		m.acknowledge(now)
	case m.askRemade(now, gone):
		m.to(now, StateReconciling, nil)
	case len(recreated) > 0:
		m.call(now, Lost, recreated)
	case len(gone) > 0:
		m.call(now, Revoked, gone)
	case m.own.recreated:
		m.acknowledge(now)
	case len(added) > 0 || m.join.rounds == 0:
		m.call(now, Assigned, added)
	case m.own.ackDue:
		m.acknowledge(now)
	case m.own.unresolved == 0:
		m.to(now, StateStable, nil)
	default:
		m.to(now, StateReconciling, nil)
	}
}

// reconciling reports whether the next step of a round may be taken now.
func (m *machine) reconciling() bool {
	if m.own.cb.id != 0 || m.own.losing || !m.own.assigned {
		return false
	}
	return m.state == StateReconciling || m.state == StateStable || m.state == StateAcknowledging && m.own.acked
}

// going is what is owned and not assigned any more. A topic whose name is assigned
// under another ID, or has another one by now, was deleted and made again: its old
// partitions are not revoked but lost, there is nothing left to commit to.
func (m *machine) going() (recreated, revoked topicSet) {
	out := m.own.owned.minus(m.own.target)
	again := map[string]bool{}
	for _, t := range m.own.target {
		if !m.own.owned.has(t.id) {
			again[m.own.names[t.id]] = true
		}
	}
	isAgain := func(id topicID, _ int32) bool {
		return !m.own.target.has(id) && (again[m.own.names[id]] || m.own.remade.again[id])
	}
	recreated = out.filter(isAgain)
	return recreated, out.minus(recreated)
}

// call runs a callback for parts.
func (m *machine) call(now time.Time, what Ownership, parts topicSet) {
	m.to(now, StateReconciling, nil)
	m.own.cbSeq++
	m.own.cb = callback{id: m.own.cbSeq, what: what, parts: parts}
	switch what {
	case Assigned:
		m.own.adding = parts
		m.publish(now)
	case Revoked:
		m.own.remade = remade{}
	}
	// Rule 19. There is no timer for what is assigned, unless something is to be given up; it may
	// have been told late, and wait long for its names.
	by := m.giveUpBy()
	if what == Assigned && !m.own.givingUp() {
		from := m.own.targetAt
		if m.own.namedAt.After(from) {
			from = m.own.namedAt
		}
		by = from.Add(m.rebalancePatience())
	}
	m.run(callbackCall{id: m.own.cbSeq, what: what, parts: m.partitions(parts), by: by, cause: ErrRevoking})
}

// acknowledge sends the owned list, at once (rule 17).
func (m *machine) acknowledge(now time.Time) {
	m.own.ackDue, m.own.acked = false, false
	m.delta.Changed(heartbeat.FieldOwned)
	m.to(now, StateAcknowledging, nil)
	m.ask(ReasonAck)
}
