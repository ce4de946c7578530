package member

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// serverErrorRetries is how often UNKNOWN_SERVER_ERROR or a code that nobody
// knows is retried before it is fatal (rule 14). Java ends at the first.
const serverErrorRetries = 5

// refusal is a request that is refused for a reason that may pass: a right on a
// topic was taken away, a quota is used up.
type refusal struct {
	active bool
	since  time.Time
	retry  time.Time // when the full request is tried again
	n      int
}

func (r refusal) holds(now time.Time) bool { return r.active && now.Before(r.retry) }

// reply takes the end of an attempt. What does not belong to a request that is
// still waited for changes nothing.
func (m *machine) reply(now time.Time, in heartbeat.Input) {
	f, ok := m.land(in.Seq)
	if !ok {
		return
	}
	if in.Err == nil && !f.look && !f.abandoned {
		m.joins.answered(f.seq, in.Conn)
		m.doubts.answered(in.Conn)
	}
	f.conn, f.by = in.Conn, writtenBy(now, in)
	if f.look {
		m.looked(now, in)
		return
	}
	resp, _ := in.Resp.(*kmsg.ConsumerGroupHeartbeatResponse)
	if in.Err == nil && resp == nil {
		in.Err = fmt.Errorf("answer of type %T to a ConsumerGroupHeartbeat", in.Resp)
	}
	m.told(now, f, resp, in.Err)
	lost := in.Err != nil && !errors.Is(in.Err, heartbeat.ErrNotSent)
	if lost {
		m.req = nil // somebody may still read it
	}
	switch {
	case f.phase == heartbeat.PhaseLeave && !f.release:
		m.leaveAnswered(now, f, resp, in.Err)
	case f.void:
		if lost {
			m.doubt(f, true) // it may arrive in the next membership
		}
	case f.abandoned:
		m.lateJoin(now, f, resp, in.Err)
	case m.lv.sending:
		m.lastBeat(now, f, resp, in.Err)
	case in.Err != nil:
		m.unanswered(now, f, in.Err)
	default:
		m.answered(now, f, resp)
	}
}

// land takes the flight with number seq out of the air.
func (m *machine) land(seq uint64) (flight, bool) {
	for i, f := range m.flights {
		if f.seq == seq {
			m.flights = append(m.flights[:i], m.flights[i+1:]...)
			return f, true
		}
	}
	return flight{}, false
}

// told emits the HeartbeatInfo of an attempt that has ended.
func (m *machine) told(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse, err error) {
	if !m.aux.observeBeat {
		return
	}
	hb := HeartbeatInfo{
		Event: m.event(now), Reason: f.reason, Epoch: f.epoch, Full: f.full,
		RTT: now.Sub(f.sent), Interval: m.sched.Interval(), Err: err,
	}
	if resp != nil {
		hb.Code = resp.ErrorCode
		if resp.ErrorCode == 0 {
			hb.AnsweredEpoch = resp.MemberEpoch
			if d := millis(resp.HeartbeatIntervalMillis); resp.MemberEpoch > 0 && m.sched.Adopts(d) {
				hb.Interval = d
			}
		}
	}
	m.out = append(m.out, output{kind: outHeartbeat, hb: hb})
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// unanswered: no answer came. Unless the request was surely not sent, its
// outcome is unknown.
func (m *machine) unanswered(now time.Time, f flight, err error) {
	sent := !errors.Is(err, heartbeat.ErrNotSent)
	if sent {
		m.unknown(now, f, err)
		if f.conn != 0 && errors.Is(err, errTimeout) {
			m.hung = f.conn
		}
	} else {
		m.delta.Refused(f.seq)
	}
	if errors.Is(err, kerr.UnsupportedVersion) {
		m.unsupported(now, f, err)
		return
	}
	m.retry(now)
	m.unreachable(now, f, err)
}

// unknown: the request may have been applied, or may yet be. A join that was lost
// may have made a member (rule 2).
func (m *machine) unknown(now time.Time, f flight, err error) {
	m.doubt(f, true)
	if f.phase == heartbeat.PhaseJoin {
		m.joins.lost(f.seq, f.conn, f.by, errors.Is(err, errTimeout))
		m.join.mine = true
		m.join.look = m.joins.lookHelps() && m.id.InstanceID == "" // a static member's next join tells by itself
	}
	if f.release {
		m.joins.leftMaybe()
	}
}

func (m *machine) retry(now time.Time) {
	m.sched.Failed(now)
	m.why = ReasonRetry
}

// answered takes an answer with a Kafka error code in it, 0 included.
func (m *machine) answered(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	if f.conn == m.hung {
		m.hung = 0 // not by another connection's answer: what is on it is still unanswered
	}
	m.sched.Throttle(now, millis(resp.ThrottleMillis))
	o := heartbeat.Classify(f.phase, resp.ErrorCode)
	if o.Unknown() {
		m.unavailable(now, m.refusedError(f, resp))
	} else {
		m.reachable()
	}
	if f.release {
		m.released(now, o, resp)
		return
	}
	if o != heartbeat.OutcomeServerError {
		m.join.servErrs = 0
	}
	switch o {
	case heartbeat.OutcomeOK:
		m.accept(now, f, resp)
	case heartbeat.OutcomeRetry, heartbeat.OutcomeRediscover:
		m.doubt(f, false)
		if f.phase == heartbeat.PhaseJoin {
			// Answered, so it cannot arrive later; but it may have been applied.
			m.joins.uncertain()
			m.join.mine = true
		}
		m.retry(now)
	case heartbeat.OutcomeRefused:
		m.refused(now, f, resp)
	case heartbeat.OutcomeRefusedChange:
		m.refusedChange(now, f, resp)
	case heartbeat.OutcomeFenced, heartbeat.OutcomeGone:
		m.fenced(now, f, o, resp)
	case heartbeat.OutcomeHeld:
		m.held(now, f, resp)
	case heartbeat.OutcomeDisplaced:
		m.displaced(now, f, resp)
	case heartbeat.OutcomeServerError:
		m.serverError(now, f, resp)
	case heartbeat.OutcomeFatal:
		m.delta.Refused(f.seq)
		if !m.refusedJoin(now, f, resp) && !m.full(now, f, resp) {
			m.fail(now, m.refusedError(f, resp), true)
		}
	}
}

// accept validates an accepted answer as a whole, then applies all of it.
func (m *machine) accept(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	interval := millis(resp.HeartbeatIntervalMillis)
	if !m.beating() && m.state != StatePrepareLeaving {
		m.joins.accepted() // it failed meanwhile, and owes a leave
		return
	}
	if resp.MemberEpoch <= 0 {
		// A coordinator may answer a join with success and epoch 0 (KAFKA-21581), and a
		// hostile one anything. Epochs below 1 are requests, not memberships: adopt nothing
		// (rule 15), or the next heartbeat would be a leave.
		m.notice(now, NoticeBadAnswer, fmt.Sprintf("success with member epoch %d in answer to %v; ignored", resp.MemberEpoch, f.phase), nil)
		m.doubt(f, false)
		if f.phase == heartbeat.PhaseJoin {
			m.joins.uncertain()
			m.join.mine = true
		}
		m.retry(now)
		return
	}
	if id := resp.MemberID; id != nil && *id != "" && *id != m.id.MemberID {
		m.notice(now, NoticeForeignID, fmt.Sprintf("the answer names member ID %q; ours stays", *id), nil)
	}
	if !m.sched.Accepted(now, interval, millis(resp.ThrottleMillis)) {
		why := ""
		if interval > m.cfg.Timing.SessionTimeout {
			why = fmt.Sprintf(" (SessionTimeout is %v: does the group have that one?)", m.cfg.Timing.SessionTimeout)
		}
		m.notice(now, NoticeBadAnswer, fmt.Sprintf("heartbeat interval %v ignored; %v stays%s", interval, m.sched.Interval(), why), nil)
	}
	m.delta.Accepted(f.seq)
	m.joins.accepted()
	f.told = m.doubts.accepted(f, m.trust.last)
	if f.full {
		m.refuse = refusal{}
	}
	if f.phase == heartbeat.PhaseJoin {
		m.disinherit(resp.Version)
	}
	m.changeAccepted(f)
	moved := resp.MemberEpoch != m.epoch
	m.epoch = resp.MemberEpoch
	var target topicSet
	if resp.Assignment != nil {
		target = normalize(resp.Assignment.Topics)
	}
	m.adopt(now, f, target, resp.Assignment != nil, moved)
}

// refused: a known refusal that may pass. Rule 5: a full request is refused
// again while a bare one is accepted, and refused ones feed no session; so go on
// with bare ones and try the full one paced. Measured on 4.4.0: only full ones
// for 55 s, and the member is expelled.
func (m *machine) refused(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	m.delta.Refused(f.seq)
	if m.changeRefused(now, f, m.refusedError(f, resp)) {
		return
	}
	err := m.refusedError(f, resp)
	if !m.refuse.active {
		m.refuse.since = now
		m.notice(now, NoticeRefused, "a request was refused; going on without it", err)
	}
	m.refuse.active = true
	m.refuse.n++
	m.refuse.retry = now.Add(min(30*time.Second, m.sched.Interval()<<min(m.refuse.n-1, 3)))
	if f.phase == heartbeat.PhaseJoin {
		if now.Sub(m.refuse.since) > m.cfg.Timing.SessionTimeout {
			m.fail(now, err, true)
			return
		}
	}
	if f.phase == heartbeat.PhaseJoin || !f.full {
		m.retry(now)
		return
	}
	m.ask(ReasonRetry)
}

func (m *machine) serverError(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	m.delta.Refused(f.seq)
	if m.join.servErrs++; m.join.servErrs > serverErrorRetries {
		m.fail(now, m.refusedError(f, resp), true)
		return
	}
	m.notice(now, NoticeBadAnswer, fmt.Sprintf("retry %d of %d", m.join.servErrs, serverErrorRetries), m.refusedError(f, resp))
	m.retry(now)
}
