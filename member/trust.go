package member

import (
	"errors"
	"time"
)

var errUntrusted = errors.New("no heartbeat was accepted in time: the session may be over")

// trusting is what the member knows of its session, which the coordinator keeps
// and never tells.
type trusting struct {
	last    time.Time // send time of the last accepted heartbeat
	until   time.Time // nobody else can own the assignment before; zero: not in the group
	ranOut  bool      // told that it ran out
	pollBy  time.Time // Alive has to be called before; zero: off
	streak  int       // fences since the last accepted heartbeat at a real epoch
	trouble trouble
}

// margin is what trust ends before the session does: the coordinator's clock
// starts when it handles the heartbeat, ours when it is sent, so ours is the
// earlier one; the margin is for stopping work.
func margin(session time.Duration) time.Duration { return min(3*time.Second, session/10) }

// trusted: a heartbeat that was sent at sent was accepted, and its answer is adopted.
// Rule 20: trust counts from the send time. A member that was told to give something
// up is evicted at the end of the rebalance timeout, however well it beats.
func (m *machine) trusted(now, sent time.Time) {
	if sent.Before(m.trust.last) {
		return
	}
	session := m.cfg.Timing.SessionTimeout
	m.trust.last, m.trust.until = sent, sent.Add(session-margin(session))
	if by := m.giveUpBy(); m.own.givingUp() && remaining(now, by) < remaining(now, m.trust.until) {
		m.trust.until = by
	}
	if m.trust.ranOut && trusted(now, m.trust.until) {
		m.trust.ranOut = false
		m.emit(outEvent, TrustInfo{Event: m.event(now), Until: m.trust.until, Last: m.trust.last})
	}
}

// asked: a heartbeat goes out. Its answer may be lost, and in it the word to give
// something up, after which the rebalance timeout runs. Where that is shorter than
// the session, so is trust, until the answer is here.
func (m *machine) asked(now time.Time) {
	by := now.Add(m.rebalancePatience())
	if t := &m.trust; !t.until.IsZero() && remaining(now, by) < remaining(now, t.until) {
		t.until = by
		m.publishTrust()
	}
}

// publishTrust makes the times of a heartbeat that changed nothing visible.
func (m *machine) publishTrust() {
	m.out = append(m.out, output{kind: outTrust, last: m.trust.last, until: m.trust.until})
}

// gone: not in the group any more.
func (t *trusting) gone() { t.until, t.ranOut = time.Time{}, false }

func (t *trusting) wakeAt() time.Time {
	if t.ranOut {
		return time.Time{}
	}
	return t.until
}

// checkTrust tells when trust runs out, by the wall clock too: a suspended
// machine stops the monotonic one. With SelfFence the work is fenced then.
func (m *machine) checkTrust(now time.Time) {
	t := &m.trust
	if t.until.IsZero() || t.ranOut || trusted(now, t.until) {
		return
	}
	t.ranOut = true
	m.emit(outEvent, TrustInfo{Event: m.event(now), Last: t.last})
	if m.cfg.SelfFence && m.state.InGroup() && m.state != StatePrepareLeaving {
		e := m.errorf("heartbeat", 0, "", errUntrusted)
		e.Advice = "SelfFence: what was owned is lost, and the member joins again"
		m.loseAll(now, e)
	}
}

// polled restarts the time for Alive.
func (t *trusting) polled(at time.Time, limit time.Duration) {
	t.pollBy = time.Time{}
	if limit > 0 {
		t.pollBy = at.Add(limit)
	}
}

// checkAlive asks the host when Alive was last called, once the time for it is
// over; the answer comes as inAlive.
func (m *machine) checkAlive(now time.Time) {
	if m.trust.pollBy.IsZero() || now.Before(m.trust.pollBy) || m.lv.asked {
		return
	}
	m.trust.pollBy = time.Time{}
	m.emit(outAlive, nil)
}

// alive takes the time of the last call of Alive. Too long ago: leave, become
// STALE, tell OnLost, as the Java client does when max.poll.interval.ms is over.
// A later call brings the member back.
func (m *machine) alive(now, at time.Time) {
	limit := m.cfg.Timing.MaxPollInterval
	switch {
	case limit <= 0 || m.lv.asked && !m.lv.stale:
	case m.lv.stale:
		m.lv.back = m.lv.back || now.Sub(at) < limit
		m.backFromStale(now)
	case now.Sub(at) >= limit:
		m.goStale(now)
	default:
		m.trust.polled(at, limit)
	}
}
