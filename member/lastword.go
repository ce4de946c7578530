package member

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/internal/backoff"
)

const (
	hedgeAfter = 200 * time.Millisecond // no answer to a leave: another on another connection; see hedgeIn
	shortWatch = 600 * time.Millisecond // leaves are repeated for this long where a late join is unlikely
	maxHedges  = 3                      // as fast as that; then each ten times as late
)

var leaveBackoff = backoff.Policy{Base: 100 * time.Millisecond, Max: time.Second, Jitter: 0.2}

// leaveEpoch is -1, -2 or, for none, 0. Rule 3; KIP-1092 for the options. (The
// Java consumer sends -1 for a dynamic member that remains, up to 4.4.)
func (m *machine) leaveEpoch() int32 {
	static := m.id.InstanceID != ""
	switch {
	case m.lv.noLeave || m.lv.op == RemainInGroup && !static:
		return 0
	case static && m.lv.op != LeaveGroup:
		return heartbeat.EpochLeaveStatic
	}
	return heartbeat.EpochLeave
}

// nextLeave is what is due in LEAVING.
func (m *machine) nextLeave(now time.Time) heartbeat.Action {
	if a, ok := m.settleFlights(now); ok {
		return a
	}
	epoch := m.leaveEpoch()
	if epoch == 0 || !m.joins.owes(epoch) || !now.Before(m.lv.until) && !m.finalLeave(now) {
		m.left(now)
		return m.Next(now)
	}
	if epoch == heartbeat.EpochLeaveStatic && !m.lv.beatDone {
		if a, ok := m.beatBeforeLeave(now); ok {
			return a
		}
	}
	if !m.lv.hedgeAt.IsZero() && !now.Before(m.lv.hedgeAt) {
		return m.hedge(now)
	}
	if m.lv.due.IsZero() || now.Before(m.lv.due) {
		return heartbeat.Action{Kind: heartbeat.ActWait, At: earliest(earliest(m.lv.due, m.lv.hedgeAt), m.lv.until)}
	}
	m.lv.due = time.Time{}
	m.lv.hedgeAt = now.Add(m.hedgeIn())
	a := m.send(now, heartbeat.PhaseLeave, epoch, 0, ReasonLeave)
	a.Avoid = m.lv.avoid
	a.Timeout = min(a.Timeout, max(heartbeat.Floor, m.lv.until.Sub(now)))
	return a
}

// finalLeave: what is suspected may have arrived up to the end of LeaveTimeout, so one more leave
// goes out then, if a coordinator answers them at all.
func (m *machine) finalLeave(now time.Time) bool {
	if m.lv.finalSeq != 0 || !m.lv.acked || m.newerUnanswered() || m.joins.suspicion() != suspects {
		return false
	}
	end := now.Add(time.Second)
	if !m.lv.giveUp.IsZero() && m.lv.giveUp.Before(end) {
		end = m.lv.giveUp
	}
	m.lv.until, m.lv.due, m.lv.hedgeAt, m.lv.finalSeq = end, now, time.Time{}, m.seq+1
	return now.Before(end)
}

// newerUnanswered reports whether a leave has no answer that was sent after the last one that has.
func (m *machine) newerUnanswered() bool {
	return slices.ContainsFunc(m.leaveFlights(), func(f flight) bool { return f.seq > m.lv.answered })
}

// settleFlights waits for nothing that is in flight. A heartbeat may stay there. A
// join that is not written yet is called back; one that is written is followed by
// the leave on its own connection, which keeps their order.
func (m *machine) settleFlights(now time.Time) (heartbeat.Action, bool) {
	for i := range m.flights {
		f := &m.flights[i]
		if f.abandoned || f.look || f.phase == heartbeat.PhaseLeave && !f.release {
			continue
		}
		if f.release {
			m.joins.leftMaybe()
		}
		if f.phase != heartbeat.PhaseJoin {
			f.abandoned = true
			continue
		}
		if f.conn == 0 && f.probed.IsZero() {
			f.probed = now
			return heartbeat.Action{Kind: heartbeat.ActProbe, Seq: f.seq}, true
		}
		if by := f.probed.Add(hedgeAfter); now.Before(by) {
			return heartbeat.Action{Kind: heartbeat.ActWait, At: by}, true
		}
		m.abandon(f, 0, now) // a Transport that does not return when its context ends
	}
	return heartbeat.Action{}, false
}

func (m *machine) abandon(f *flight, conn uint64, by time.Time) {
	f.abandoned, f.conn = true, conn
	m.joins.lost(f.seq, conn, by, conn == 0) // the leave follows it on its connection
}

// written: the attempt that ActProbe asked about is on the wire.
func (m *machine) written(now time.Time, in heartbeat.Input) {
	for i := range m.flights {
		f := &m.flights[i]
		switch {
		case f.seq != in.Seq:
		case f.phase == heartbeat.PhaseJoin && !f.abandoned:
			m.abandon(f, in.Conn, writtenBy(now, in))
		case f.phase == heartbeat.PhaseLeave:
			m.joins.covered(in.Seq, in.Conn)
			m.lv.avoid, m.lv.due = in.Conn, now
			m.lv.hedges++
		}
	}
}

// hedgeIn is hedgeAfter give or take a quarter. Members that close together would all open
// a connection at once, and a broker drops what does not fit into its backlog of 50
// (socket.listen.backlog.size): each waits a second for the next try of its kernel.
func (m *machine) hedgeIn() time.Duration {
	after := hedgeAfter
	if m.lv.hedges >= maxHedges {
		after *= 10
	}
	return after*3/4 + time.Duration(m.aux.rand.Int64N(int64(after/2)))
}

// hedge: the leave has no answer yet. If it is written, another one goes out on
// another connection: an answer that is held there must not hold the close.
func (m *machine) hedge(now time.Time) heartbeat.Action {
	m.lv.hedgeAt = now.Add(m.hedgeIn())
	for i := len(m.flights) - 1; i >= 0; i-- {
		if f := m.flights[i]; f.phase == heartbeat.PhaseLeave && !f.release {
			return heartbeat.Action{Kind: heartbeat.ActProbe, Seq: f.seq, Keep: true}
		}
	}
	m.lv.hedgeAt = time.Time{}
	return m.Next(now)
}

// beatBeforeLeave: -2 does not restart the session, so that a restart has only the
// rest of it. Where the last accepted heartbeat is older than a second, beat once
// more (rule 3). Its answer is not waited for beyond a second, nor looked at.
func (m *machine) beatBeforeLeave(now time.Time) (heartbeat.Action, bool) {
	m.lv.beatDone = true
	if m.epoch <= 0 || m.lv.out || m.state == StateFatal || now.Sub(m.trust.last) < time.Second {
		return heartbeat.Action{}, false
	}
	for i := range m.flights {
		if f := &m.flights[i]; f.phase == heartbeat.PhaseBeat && !f.void && now.Sub(f.sent) < time.Second {
			f.last, m.lv.due = true, f.sent.Add(time.Second) // that one will do
			return heartbeat.Action{}, false
		}
	}
	m.lv.due = now.Add(time.Second + heartbeat.Floor) // its end, one way or the other, comes first
	a := m.send(now, heartbeat.PhaseBeat, m.epoch, m.fields(now), ReasonLeave)
	a.Timeout = time.Second
	m.flights[len(m.flights)-1].abandoned = true
	m.flights[len(m.flights)-1].last = true
	return a, true
}
