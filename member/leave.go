package member

import (
	"errors"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// leaving is the way out of the group: PREPARE_LEAVING, where the last callbacks
// run and heartbeats go on, then LEAVING, where only the leave matters.
type leaving struct {
	asked      bool
	op         LeaveOperation
	start      time.Time
	giveUp     time.Time // the shutdown timeout is over
	callbackBy time.Time // a callback that has not returned by then is left behind

	sending  bool // LEAVING
	sendFrom time.Time
	until    time.Time // give up the leave
	due      time.Time // of the next leave
	hedgeAt  time.Time
	hedges   int
	fails    int
	avoid    uint64
	beatDone bool   // the heartbeat before a -2 was sent, or need not be
	acked    bool   // a coordinator has answered a leave
	accepted bool   // and accepted it
	answered uint64 // the last leave that was
	firstSeq uint64 // the first leave of this LEAVING; an earlier one may still be under way
	finalSeq uint64 // the leave at the very end of LeaveTimeout; 0: not so far
	// Leaves up to knownSeq were sent before a join on knownConn was answered.
	knownSeq, knownConn uint64
	last                error
	noLeave             bool // a leave would be refused
	refused             bool // the last one was

	out    bool // not in the group any more
	stale  bool // Alive was not called: back when it is
	back   bool
	ends   bool      // leave for good once stale
	endsAt time.Time // when that was asked for
	done   bool

	// lingers: a leave is behind a join that a slow broker has still to handle. Kafka handles both
	// though the connection is closed (measured on 4.0 to 4.4), but a proxy between may not,
	// so it stays open until they are answered.
	lingers bool
}

func (l *leaving) callbackLimit() time.Time {
	total := l.giveUp.Sub(l.start)
	return l.giveUp.Add(-min(5*time.Second, total/4))
}

func (m *machine) beginLeaving(now time.Time, op LeaveOperation) {
	if m.lv.ends {
		now = m.lv.endsAt
	}
	m.lv = leaving{asked: true, op: op, start: now, giveUp: now.Add(m.cfg.Timing.ShutdownTimeout), noLeave: m.lv.noLeave}
	m.early.Stop()
}

// leave is asked for by the user or by the end of Run's context.
func (m *machine) leave(now time.Time, op LeaveOperation) {
	switch {
	case m.lv.stale && m.state == StateStale:
	case m.lv.stale:
		if !m.lv.ends {
			m.lv.ends, m.lv.endsAt, m.lv.op = true, now, op
		}
		return
	case m.lv.asked:
		return
	}
	m.beginLeaving(now, op)
	if m.state != StateFatal {
		m.to(now, StatePrepareLeaving, nil)
	}
	if m.own.cb.id != 0 {
		limit := m.lv.callbackLimit()
		m.emit(outDeadline, callbackDeadline{id: m.own.cb.id, by: limit, cause: ErrShutdown})
		m.lv.callbackBy = m.patience(limit)
		return
	}
	if !m.own.losing {
		m.lastCallback(now)
	}
}

// patience is when a callback is given up whose context ends at limit.
func (m *machine) patience(limit time.Time) time.Time {
	return limit.Add(m.lv.giveUp.Sub(limit) / 4)
}

// lastCallback lets go of what is still owned: OnRevoked while the coordinator is
// sure to count us in (a commit works), else OnLost.
func (m *machine) lastCallback(now time.Time) {
	if len(m.own.owned) == 0 {
		m.startSendingLeave(now)
		return
	}
	what := Revoked
	if m.epoch <= 0 || !trusted(now, m.trust.until) {
		what = Lost
	}
	m.own.cbSeq++
	m.own.cb = callback{id: m.own.cbSeq, what: what, parts: m.own.owned}
	limit := m.lv.callbackLimit()
	m.lv.callbackBy = m.patience(limit)
	call := callbackCall{id: m.own.cbSeq, what: what, parts: m.partitions(m.own.owned), by: limit, cause: ErrShutdown}
	if by := m.giveUpBy(); m.own.givingUp() && by.Before(limit) {
		call.by, call.cause = by, ErrRevoking
	}
	m.run(call)
}

// fencedWhileLeaving: out already. The callback that runs is told; nothing rejoins.
func (m *machine) fencedWhileLeaving(now time.Time, o heartbeat.Outcome) {
	m.epoch, m.lv.out = 0, true
	m.trust.gone()
	m.cancelCallback(ErrLost)
	m.publish(now)
}

// fail ends the member with err: FATAL, OnLost for all that it holds, a leave if
// one is owed and mayLeave, done (rule 14, K1082-9).
func (m *machine) fail(now time.Time, err error, mayLeave bool) {
	if m.err != nil {
		return
	}
	m.err = err
	if !m.lv.asked || m.lv.stale {
		m.beginLeaving(now, m.cfg.Leave)
	}
	m.lv.noLeave = !mayLeave
	m.cancelCallback(ErrLost)
	m.voidBeats()
	if m.own.cb.id != 0 {
		m.lv.callbackBy = m.patience(m.lv.callbackLimit())
	}
	m.own.lose()
	m.trust.gone()
	m.to(now, StateFatal, err)
	m.failChanges(err)
}

// checkLeave gives up on a callback that ignores the end of its context: it does
// not stop the leave (rule 19).
func (m *machine) checkLeave(now time.Time) {
	if by := m.lv.callbackBy; !by.IsZero() && !now.Before(by) && m.own.cb.id != 0 {
		if m.err == nil {
			m.err = &CallbackError{Callback: callbackName(m.own.cb.what), Err: errors.New("did not return when its context had ended")}
		}
		m.lv.callbackBy = time.Time{}
		m.own.cb, m.own.owned, m.own.losing = callback{}, nil, false
		m.startSendingLeave(now)
	}
}

func callbackName(o Ownership) string {
	return [...]string{Assigned: "OnAssigned", Revoked: "OnRevoked", Lost: "OnLost"}[o]
}

// startSendingLeave enters LEAVING. From here on nothing but the leave is sent.
func (m *machine) startSendingLeave(now time.Time) {
	if m.lv.sending || m.lv.done {
		return
	}
	m.lv.sending, m.lv.sendFrom, m.lv.due, m.lv.avoid, m.lv.firstSeq = true, now, now, m.hung, m.seq+1
	m.lv.until = now.Add(m.cfg.Timing.LeaveTimeout)
	if !m.lv.giveUp.IsZero() && m.lv.giveUp.Before(m.lv.until) {
		m.lv.until = m.lv.giveUp
	}
	// From the leave on others may own what we still hold: a member that is STALE, or
	// whose callback was left behind.
	m.trust.gone()
	if m.state != StateFatal {
		m.to(now, StateLeaving, nil)
	}
	m.joins.expire(now.Add(-m.cfg.Timing.LeaveTimeout)) // as in leaveTaken
}

// left is the end of LEAVING.
func (m *machine) left(now time.Time) {
	var failed error
	if m.joins.suspicion() == suspects && m.newerUnanswered() {
		m.lv.acked = false // a join that is suspected may have arrived since the last answer
	}
	if epoch := m.leaveEpoch(); epoch != 0 && m.joins.owes(epoch) && !m.lv.acked {
		failed = m.leaveError()
	}
	if len(m.leaveFlights()) > 0 {
		m.joins.leftMaybe()
	}
	m.lv.lingers = m.joins.anyCovered() && len(m.leaveFlights()) > 0
	m.epoch, m.lv.sending, m.lv.out = 0, false, true
	m.trust.gone()
	m.sibling(true, true)
	if m.lv.stale {
		m.nowStale(now, failed)
		return
	}
	if m.err == nil {
		m.err = failed
	}
	if m.state != StateFatal {
		m.to(now, StateUnsubscribed, nil)
	}
	m.failChanges(ErrNotJoined)
	m.lv.done = true
}

func (m *machine) leaveError() *Error {
	errs := []error{ErrLeave}
	if m.lv.last != nil {
		errs = append(errs, m.lv.last)
	}
	e := m.errorf("leave", 0, "", errs...)
	e.Advice = "the coordinator keeps the member until its session ends"
	return e
}

// goStale: the application does not call Alive. Its partitions are of more use to
// others, so the leave comes first and OnLost after it, as in the Java client.
func (m *machine) goStale(now time.Time) {
	m.beginLeaving(now, LeaveDefault)
	m.lv.stale = true
	m.cancelCallback(ErrLost)
	m.to(now, StatePrepareLeaving, nil)
	m.startSendingLeave(now)
}

// nowStale: the leave was answered, or failed. Either way others get what was owned, if
// only at the end of the session, so OnLost runs; the next join mends what the leave did not.
func (m *machine) nowStale(now time.Time, failed error) {
	if failed != nil {
		what := NoticeUnreachable
		if m.lv.refused {
			what = NoticeRefused
		}
		m.notice(now, what, "the leave failed; what was owned is lost all the same", failed)
	}
	m.own.lose()
	m.to(now, StateStale, nil)
	if m.lv.ends {
		m.leave(now, m.lv.op)
		return
	}
	m.emit(outAlive, nil) // it may have been called since the leave began
}

// backFromStale joins again once Alive was called and OnLost has returned. The join waits for
// a leave that is not answered yet, as for any request: behind the join it would give what
// is assigned then to others, while we take it for ours.
func (m *machine) backFromStale(now time.Time) {
	if m.state != StateStale || !m.lv.back || m.own.losing || m.own.cb.id != 0 {
		return
	}
	m.lv = leaving{}
	m.startJoin(now)
}
