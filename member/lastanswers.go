package member

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// leaveAnswered takes the end of an attempt to leave, and decides whether it was
// the last word.
func (m *machine) leaveAnswered(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse, err error) {
	switch {
	case !m.lv.sending, f.seq < m.lv.firstSeq:
		return
	case err != nil:
		if !errors.Is(err, heartbeat.ErrNotSent) {
			m.joins.leftMaybe()
			// A broker that answers neither for so long is slow: it may have the join, and lose the leave
			// with the connection. One that is not slow has handled both.
			if now.Sub(f.sent) >= hedgeAfter {
				m.joins.uncovered(f.seq, f.conn)
			}
		}
		m.leaveFailed(now, err)
		return
	}
	m.lv.answered = max(m.lv.answered, f.seq)
	switch o := heartbeat.Classify(heartbeat.PhaseLeave, resp.ErrorCode); o {
	case heartbeat.OutcomeOK, heartbeat.OutcomeGone:
		m.leaveTaken(now, f, o == heartbeat.OutcomeOK)
	case heartbeat.OutcomeDisplaced:
		// No leave again (rule 3). But if a join of ours is missing, it may yet take the name once
		// that is free, and nobody will have said a last word.
		m.lv.acked, m.lv.last = m.joins.suspicion() != suspects, m.refusedError(f, resp)
		m.left(now)
	case heartbeat.OutcomeFatal:
		m.lv.last, m.lv.refused, m.lv.until = m.refusedError(f, resp), true, now
	default:
		if o.Unknown() {
			m.joins.leftMaybe()
		}
		m.leaveFailed(now, m.refusedError(f, resp))
	}
}

// leaveTaken: a leave was accepted, or there is nobody.
func (m *machine) leaveTaken(now time.Time, f flight, accepted bool) {
	m.lv.acked, m.lv.accepted = true, m.lv.accepted || accepted
	// After a leave of ours that was accepted, or may have been, or may be right now, "nobody" is
	// what that did, and says nothing of a join.
	overtook := m.overtook(f)
	if overtook && accepted || len(m.leaveFlights()) > 0 && !accepted {
		m.joins.leftMaybe()
	}
	switch {
	case overtook:
		m.leaveAgain(now)
		return
	case accepted:
		m.joins.left(f.epoch == heartbeat.EpochLeaveStatic)
	default: // K1082-8: who is not known need not leave, unless a join can still arrive.
		m.joins.gone()
	}
	m.lv.hedgeAt = time.Time{}
	// A join that was older than LeaveTimeout when this leave went out is taken for lost: the
	// stated bound of rule 2. (Not when its answer came: the join may have arrived between.)
	m.joins.expire(f.sent.Add(-m.cfg.Timing.LeaveTimeout))
	switch s := m.joins.suspicion(); {
	case f.seq == m.lv.finalSeq, s == noJoin, s == likelyNot && !now.Before(m.lv.sendFrom.Add(shortWatch)):
		m.left(now)
	case s == likelyNot:
		m.lv.due = now.Add(shortWatch / 4)
	default:
		m.leaveAgain(now)
	}
}

// overtook reports whether a leave may have been handled before a join that was accepted, though
// that answer was here first: then it is not the last word.
func (m *machine) overtook(f flight) bool {
	return f.seq <= m.lv.knownSeq && (f.conn == 0 || f.conn != m.lv.knownConn)
}

// leaveFailed: a leave got no answer, or one that does not count. What was known by an
// earlier one may not hold any more: a join that is suspected may have arrived since.
func (m *machine) leaveFailed(now time.Time, err error) {
	m.lv.last = err
	m.lv.acked = m.lv.accepted && m.joins.suspicion() != suspects
	m.leaveAgain(now)
}

func (m *machine) leaveAgain(now time.Time) {
	if m.lv.due.IsZero() || m.lv.due.Before(now) {
		m.lv.fails++
		m.lv.due = now.Add(leaveBackoff.Delay(m.lv.fails, m.aux.rand))
	}
}

// lateJoin takes the answer to a join or heartbeat that was given up for the leave. An
// accepted join does not bring the member back to life; it says that a leave that
// went another way may have overtaken it, so the leave goes on.
func (m *machine) lateJoin(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse, err error) {
	m.lateBeat(now, f, resp, err)
	switch {
	case f.last:
		// Unless the leave did not wait for it any longer: then it is not to go twice.
		if m.lv.due.After(now) && m.lv.fails == 0 {
			m.lv.due = now
		}
	case f.phase != heartbeat.PhaseJoin:
	case errors.Is(err, heartbeat.ErrNotSent):
		m.joins.withdrawn(f.seq)
	case err == nil:
		m.joins.settled(f.seq)
		m.joinHandled(resp.ErrorCode)
		m.lv.knownSeq, m.lv.knownConn = m.seq, f.conn
		if m.joins.owes(m.leaveEpoch()) && len(m.leaveFlights()) == 0 {
			m.leaveAgain(now)
		}
	}
}

// lateBeat: of a heartbeat that was given up for the leave, the answer says at which
// epoch the one before a -2 goes out, if it is needed at all.
func (m *machine) lateBeat(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse, err error) {
	if f.phase != heartbeat.PhaseBeat || m.epoch <= 0 || err != nil {
		return
	}
	switch o := heartbeat.Classify(f.phase, resp.ErrorCode); {
	case o == heartbeat.OutcomeOK && resp.MemberEpoch > 0:
		m.epoch, m.trust.last = resp.MemberEpoch, f.sent
	case o == heartbeat.OutcomeFenced, o == heartbeat.OutcomeGone:
		m.epoch = 0
	}
	m.publish(now)
}

func (m *machine) leaveFlights() []flight {
	return drop(m.flights, func(f flight) bool { return f.phase != heartbeat.PhaseLeave || f.release })
}

// lastBeat takes the end of a join that was called back before it was written, or
// that was answered at the last moment.
func (m *machine) lastBeat(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse, err error) {
	m.lateBeat(now, f, resp, err)
	switch {
	case f.phase != heartbeat.PhaseJoin:
	case errors.Is(err, heartbeat.ErrNotSent):
	case err != nil:
		// On no known connection: the leave may not follow it.
		m.joins.lost(f.seq, f.conn, f.by, f.conn == 0 || errors.Is(err, errTimeout))
	default:
		m.joinHandled(resp.ErrorCode)
	}
}

// joinHandled notes what the answer to a join says of the group, of a member that leaves it.
func (m *machine) joinHandled(code int16) {
	switch o := heartbeat.Classify(heartbeat.PhaseJoin, code); {
	case o == heartbeat.OutcomeOK:
		m.joins.accepted()
	case o.Unknown():
		m.joins.uncertain()
	}
}
