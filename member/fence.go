package member

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

const (
	// joinRefusals is how many times a join may be answered "fenced" or "no such
	// member" before that is fatal: no broker does so for ever, but a wrong one could.
	joinRefusals = 10
	// heldPace is the least time between two joins for an instance ID that
	// another member holds: a refused join can disturb its owner (measured on 4.4.0).
	heldPace = 5 * time.Second
	// ownReleases is how often in one try we take "the instance ID is held" for
	// ourselves, when each release succeeded and each join after it was refused.
	ownReleases = 3
)

// startJoin begins to get in, or back in.
func (m *machine) startJoin(now time.Time) {
	m.to(now, StateJoining, nil)
	m.join.since, m.join.rounds, m.join.releases = now, 0, 0
	m.join.heldSince, m.join.heldUntil = time.Time{}, time.Time{}
	m.refuse = refusal{}
	m.trust.polled(now, m.cfg.Timing.MaxPollInterval)
	m.delta.Reset()
	m.early.Stop()
	m.ask(ReasonJoin)
}

// fenced takes FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, and GROUP_ID_NOT_FOUND at a
// real epoch. Rule 11: stop, OnLost once, rejoin only after it returned, with the
// same ID; at once the first time, then paced (KIP-848, "Fenced members").
func (m *machine) fenced(now time.Time, f flight, o heartbeat.Outcome, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	why := m.refusedError(f, resp)
	if o == heartbeat.OutcomeGone {
		m.joins.gone()
	}
	if f.phase == heartbeat.PhaseJoin {
		m.joinFenced(now, o, why)
		return
	}
	if m.state == StatePrepareLeaving {
		m.fencedWhileLeaving(now, o)
		return
	}
	// A static member that is still there under another epoch would lock itself out
	// with a join; -2 makes room (rule 12, measured on 4.0 to 4.4).
	m.join.release = o == heartbeat.OutcomeFenced && m.id.InstanceID != ""
	m.join.mine = m.join.mine || m.join.release
	m.loseAll(now, why)
}

// loseAll stops owning everything: the snapshot shows it before OnLost starts
// (KAFKA-20321), and the join follows when OnLost has returned.
func (m *machine) loseAll(now time.Time, why error) {
	m.epoch = 0
	m.voidBeats()
	m.join.rejoin = true
	m.trust.gone()
	m.early.Stop()
	m.sched.Unask()
	m.cancelCallback(ErrLost)
	m.own.lose()
	m.to(now, StateFenced, why)
}

// voidBeats: the answer to a heartbeat of a membership that is over must not bring
// it back.
func (m *machine) voidBeats() {
	for i := range m.flights {
		if f := &m.flights[i]; f.phase == heartbeat.PhaseBeat && !f.look {
			f.void = true
		}
	}
}

// joinFenced: the coordinator has us under an epoch that it does not let us leave
// behind. 4.0 and 4.1 refuse epoch 0 from a member whose epoch has moved until its
// session ends (KAFKA-19233); a leave does not look at the epoch, so leave and join.
func (m *machine) joinFenced(now time.Time, o heartbeat.Outcome, why error) {
	m.join.fences++
	m.delta.Reset()
	if m.join.fences > joinRefusals {
		m.fail(now, why, true)
		return
	}
	// Rule 12: a -2 is for an instance ID that may be our own.
	if o == heartbeat.OutcomeFenced && (m.id.InstanceID == "" || m.join.mine) {
		m.join.release = true
		if m.join.fences == 1 {
			m.sched.Calm()
			m.ask(ReasonJoin)
			return
		}
	}
	m.retry(now)
}

// released takes the answer to a leave that was to make room for our join.
func (m *machine) released(now time.Time, o heartbeat.Outcome, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	switch o {
	case heartbeat.OutcomeOK, heartbeat.OutcomeGone:
		// OK: it was ourselves. Gone: nobody is there. Either way the join is next.
		m.join.release = false
		if o == heartbeat.OutcomeOK {
			m.joins.left(m.id.InstanceID != "")
		} else {
			m.joins.gone()
		}
		m.sched.Calm()
		m.ask(ReasonJoin)
	case heartbeat.OutcomeDisplaced:
		// FENCED_INSTANCE_ID on our -2: another member holds the name (rule 12).
		m.join.release, m.join.mine = false, false
		m.rival(now, resp)
	case heartbeat.OutcomeFatal:
		m.fail(now, m.refusedError(flight{phase: heartbeat.PhaseLeave}, resp), false)
	case heartbeat.OutcomeServerError:
		m.serverError(now, flight{phase: heartbeat.PhaseLeave}, resp)
	default:
		if o.Unknown() {
			m.joins.leftMaybe()
		}
		m.retry(now)
	}
}

// held takes UNRELEASED_INSTANCE_ID on a join. It says so about ourselves too:
// rule 12 tells the two apart by a -2, which harms nobody else.
func (m *machine) held(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	m.delta.Reset()
	if m.join.mine && m.join.releases < ownReleases {
		m.join.releases++
		m.join.release = true
		m.sched.Calm()
		m.ask(ReasonJoin)
		return
	}
	m.rival(now, resp)
}

// rival: another live member holds our instance ID.
func (m *machine) rival(now time.Time, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	err := m.errorf("join", resp.ErrorCode, text(resp.ErrorMessage), ErrInstanceHeld, kerr.ErrorForCode(resp.ErrorCode))
	err.Owner = ownerIn(err.Message)
	err.Advice = "another process runs with this group.instance.id: give each its own, or stop the other"
	m.waitForName(now, "waiting for the instance ID", err, false)
}

// full takes GROUP_MAX_SIZE_REACHED on a join. Before 4.4 a full group counts the
// place that a static member has kept, and does not give it to its own restart until
// the session of the old incarnation ends (measured on 4.0 to 4.3).
func (m *machine) full(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) bool {
	if f.phase != heartbeat.PhaseJoin || resp.ErrorCode != kerr.GroupMaxSizeReached.Code || m.id.InstanceID == "" {
		return false
	}
	m.delta.Reset()
	m.waitForName(now, "the group is full; waiting for the place of the instance ID", m.refusedError(f, resp), true)
	return true
}

// waitForName tries again, paced, or fails: the start policy decides. mayLeave is fail's:
// who holds the name would refuse a leave, a full group does not, and an earlier join of
// unknown fate owes one.
func (m *machine) waitForName(now time.Time, what string, err *Error, mayLeave bool) {
	wait := m.cfg.InstanceWait
	if wait < 0 || !m.join.heldSince.IsZero() && now.Sub(m.join.heldSince) >= wait {
		m.fail(now, err, mayLeave)
		return
	}
	if m.join.heldSince.IsZero() {
		m.join.heldSince = now
		m.notice(now, NoticeWaiting, what+" for up to "+wait.String(), err)
	}
	m.join.heldUntil = earliest(now.Add(heldPace), m.join.heldSince.Add(wait))
	m.ask(ReasonJoin)
}

// displaced takes FENCED_INSTANCE_ID. On a heartbeat of a joined member it is the
// end: another member has the name. No rejoin, or the two would throw each other
// out for ever, and no leave, as it would be refused (rule 12, K345-10).
func (m *machine) displaced(now time.Time, f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	if f.phase == heartbeat.PhaseJoin {
		m.rival(now, resp)
		return
	}
	err := m.errorf("heartbeat", resp.ErrorCode, text(resp.ErrorMessage), ErrDisplaced, kerr.ErrorForCode(resp.ErrorCode))
	err.Owner = ownerIn(err.Message)
	err.Advice = "two processes run with this group.instance.id, or an operator moved it: give each its own"
	m.fail(now, err, false)
}

// looked takes the answer to sendLook.
func (m *machine) looked(now time.Time, in heartbeat.Input) {
	m.ask(ReasonRetry)
	resp, _ := in.Resp.(*kmsg.OffsetFetchResponse)
	if in.Err != nil || resp == nil {
		return // nothing learnt: the ledger stays on the safe side
	}
	m.joins.answered(in.Seq, in.Conn)
	if m.lv.sending {
		return // a leave of ours may be why we are not there, or be behind the look
	}
	code := resp.ErrorCode
	for _, g := range resp.Groups {
		if g.ErrorCode != 0 {
			code = g.ErrorCode
		}
	}
	switch code {
	case kerr.StaleMemberEpoch.Code:
		m.joins.looked(true)
	case 0, kerr.UnknownMemberID.Code, kerr.GroupIDNotFound.Code:
		m.joins.looked(false)
	}
}

// unsupported: this broker or this client does not have what the request needs.
func (m *machine) unsupported(now time.Time, f flight, err error) {
	e := m.errorf(f.phase.String(), kerr.UnsupportedVersion.Code, "", ErrUnsupported, err)
	if m.changeRefused(now, f, e) {
		return
	}
	m.fail(now, e, true)
}
