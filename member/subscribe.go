package member

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// changing is a change of the subscription that the coordinator has not accepted
// yet, and those that wait behind it.
type changing struct {
	active   bool
	id       uint64
	seq      uint64 // requests after this one carry it
	oldNames []string
	oldRegex *string
	queue    []inChange
	unsure   bool // it may have been accepted, in an answer that did not come
	inherits bool // the coordinator may hold a regex of ours that a join does not take away
}

// inChange asks for a new subscription; changeResult answers it, once.
type (
	inChange struct {
		id    uint64
		names []string
		regex string
	}
	changeResult struct {
		id  uint64
		err error
	}
)

// subscribe changes the subscription, at once: in the next heartbeat, or in the
// join if there is none yet. A member that is joined does not join again for it.
func (m *machine) subscribe(now time.Time, v inChange) {
	// One that is STALE, or on its way there, joins again with it.
	ends := m.lv.asked && (!m.lv.stale || m.lv.ends)
	if ends || m.state == StateUnsubscribed || m.state == StateFatal {
		m.emit(outChange, changeResult{v.id, ErrNotJoined})
		return
	}
	if m.change.active {
		m.change.queue = append(m.change.queue, v)
		return
	}
	names, regex := slices.Compact(slices.Sorted(slices.Values(v.names))), optional(v.regex)
	sameNames, sameRegex := slices.Equal(names, m.vals.Names), text(regex) == text(m.vals.Regex)
	if sameNames && sameRegex {
		m.emit(outChange, changeResult{v.id, nil})
		return
	}
	m.change = changing{active: true, id: v.id, seq: m.seq, oldNames: m.vals.Names, oldRegex: m.vals.Regex, queue: m.change.queue, inherits: m.change.inherits}
	if !sameNames {
		m.vals.Names = nonNil(names)
		m.delta.Changed(heartbeat.FieldNames)
	}
	if !sameRegex {
		if regex == nil {
			regex, m.change.inherits = new(string), true // an empty one takes the old one away
		}
		m.vals.Regex = regex
		m.delta.Changed(heartbeat.FieldRegex)
	}
	m.refuse = refusal{}
	if m.beating() && len(m.flights) == 0 {
		m.ask(ReasonChange)
		return
	}
	m.sched.Ask()
}

// changeAccepted: an accepted answer to f; was the change in it?
func (m *machine) changeAccepted(f flight) {
	unsent := m.delta.Unsent()
	if f.phase == heartbeat.PhaseBeat && text(m.vals.Regex) == "" && !unsent.Has(heartbeat.FieldRegex) && m.doubts.until.IsZero() {
		m.vals.Regex, m.change.inherits = nil, false
	}
	if !m.change.active || f.seq <= m.change.seq || unsent.Has(heartbeat.FieldNames) || unsent.Has(heartbeat.FieldRegex) {
		return
	}
	m.endChange(nil)
}

// disinherit: a join without a regex leaves the one that the coordinator holds, be it of
// the static member whose place we took, or ours from before. The first heartbeat
// after it takes that away, with an empty one (version 1).
func (m *machine) disinherit(version int16) {
	if m.vals.Regex == nil && version >= 1 && (m.id.InstanceID != "" || m.change.inherits) {
		m.vals.Regex = new(string)
		m.delta.Changed(heartbeat.FieldRegex)
	}
}

// changeRefused: was it the change that f was refused for? Then the last accepted
// subscription is restored, which the coordinator still holds, and the caller has
// the error (rule 5).
func (m *machine) changeRefused(now time.Time, f flight, err error) bool {
	if !m.change.active || f.seq <= m.change.seq || m.lv.asked {
		return false
	}
	m.vals.Names, m.vals.Regex = m.change.oldNames, m.change.oldRegex
	switch {
	case f.phase != heartbeat.PhaseBeat:
	case m.change.unsure:
		if m.vals.Regex == nil {
			m.vals.Regex = new(string)
		}
	default:
		m.delta.Known(heartbeat.FieldNames)
		m.delta.Known(heartbeat.FieldRegex)
	}
	m.endChange(err)
	m.ask(ReasonRetry)
	return true
}

func (m *machine) endChange(err error) {
	m.emit(outChange, changeResult{m.change.id, err})
	queue := m.change.queue
	m.change = changing{inherits: m.change.inherits}
	for len(queue) > 0 && !m.change.active { // one that changes nothing is over at once
		next := queue[0]
		queue = queue[1:]
		m.subscribe(m.trust.last, next)
	}
	m.change.queue = queue
}

// failChanges ends all that wait.
func (m *machine) failChanges(err error) {
	c := m.change
	m.change = changing{}
	if c.active {
		m.emit(outChange, changeResult{c.id, err})
	}
	for _, v := range c.queue {
		m.emit(outChange, changeResult{v.id, err})
	}
}

// refusedChange: UNSUPPORTED_ASSIGNOR or INVALID_REGULAR_EXPRESSION while joined. The
// member stays as it was. If nothing was changed, the broker's configuration was:
// go on with bare heartbeats.
func (m *machine) refusedChange(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	m.delta.Refused(f.seq)
	if !m.changeRefused(now, f, m.refusedError(f, resp)) {
		m.refused(now, f, resp)
	}
}

// refusedJoin is refusedChange for a join: the join goes on with the subscription
// from before the change.
func (m *machine) refusedJoin(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) bool {
	err := m.refusedError(f, resp)
	if !errors.Is(err, kerr.InvalidRegularExpression) && !errors.Is(err, kerr.UnsupportedAssignor) {
		return false
	}
	return m.changeRefused(now, f, err)
}
