package member

import (
	"slices"
	"time"
)

// predecessors is the table of legal transitions: to -> from. It is Java's
// (MemberState.previousValidStates, Kafka 4.3), with these differences: FENCED
// may also leave and fail, as a callback can fail there; STALE may leave; and a
// member that never joined may go straight back to UNSUBSCRIBED.
var predecessors = [numStates][]State{
	StateUnsubscribed:   {StateLeaving, StatePrepareLeaving},
	StateJoining:        {StateUnsubscribed, StateFenced, StateStale},
	StateReconciling:    {StateJoining, StateStable, StateAcknowledging},
	StateAcknowledging:  {StateReconciling, StateStable},
	StateStable:         {StateJoining, StateReconciling, StateAcknowledging},
	StateFenced:         {StateJoining, StateReconciling, StateAcknowledging, StateStable},
	StatePrepareLeaving: {StateUnsubscribed, StateJoining, StateReconciling, StateAcknowledging, StateStable, StateFenced, StateStale},
	StateLeaving:        {StatePrepareLeaving},
	StateStale:          {StateLeaving},
	StateFatal:          {StateUnsubscribed, StateJoining, StateReconciling, StateAcknowledging, StateStable, StateFenced, StatePrepareLeaving, StateLeaving, StateStale},
}

// to is the only place where the state changes. An illegal transition is a bug of
// ours: it is told as a notice, which fails every test, and is carried out, as
// a member that stops dead would serve its user worse.
func (m *machine) to(now time.Time, s State, why error) {
	if s == m.state {
		return
	}
	from := m.state
	if !slices.Contains(predecessors[s], from) {
		m.notice(now, NoticeOther, "illegal transition "+from.String()+" -> "+s.String(), nil)
	}
	m.state = s
	m.publish(now)
	m.emit(outEvent, StateInfo{Event: m.event(now), From: from, To: s, Err: why})
}

// publish makes what is now so the Snapshot.
func (m *machine) publish(now time.Time) {
	s := &Snapshot{
		Identity: m.id, State: m.state, MemberEpoch: m.epoch,
		Assignment: m.partitions(m.own.shown()), Unresolved: m.own.unresolved,
		LastHeartbeat: m.trust.last, TrustedUntil: m.trust.until, Err: m.err,
	}
	m.emit(outPublish, s)
}

// partitions gives topic IDs their names.
func (m *machine) partitions(set topicSet) Partitions {
	p := make(Partitions, len(set))
	for _, t := range set {
		name := m.own.names[t.id]
		p[name] = append(p[name], t.parts...)
	}
	for name, ps := range p {
		slices.Sort(ps)
		p[name] = slices.Compact(ps) // two IDs with one name, by metadata that is wrong
	}
	return p
}
