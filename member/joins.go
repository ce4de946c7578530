package member

import (
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// joinLedger knows what a member's joins may have left behind at the
// coordinator. It decides whether a leave is owed, and when a leave is known to
// be the last word (rule 2).
//
// A join whose answer did not come is pending: it may have been applied, and if
// it was not, it may still arrive, even after a leave that was sent later on
// another connection. Then it makes a ghost. No client can prove that a join
// will never arrive; what it can prove is that it has arrived:
//   - Kafka handles the requests of one connection in order, so an answer to a
//     later request on the join's own connection settles it;
//   - if the coordinator knows the member, and one join is all that can have made
//     it known, then that join has arrived. A look at the group tells, before the next
//     join goes out.
type joinLedger struct {
	pending []pendingJoin
	unsure  bool // a join was answered, and may have made it so: nobody knows
	known   bool // a settled join (or an accepted heartbeat) made the coordinator know us
	owed    bool // a join may have been applied since the last leave that was final
	away    bool // by a -2, and nothing is known of since
	// parted: a leave was accepted, or may have been, since the coordinator was last seen to
	// know us. That nobody is there is what it did then, and says nothing of joins.
	parted bool
}

type pendingJoin struct {
	seq  uint64
	conn uint64 // 0: not told
	// by: it was written by then, if it was. An attempt can have waited long for its
	// coordinator before.
	by time.Time
	// likely: sent while the coordinator knew us already, so that its arrival
	// cannot be proven, but nothing speaks against it.
	likely bool
	// covered: a leave was written behind it on its own connection.
	covered bool
}

// lost says that join seq, written on conn by then, has an unknown fate. waits: its
// connection is not known to be dead, nor is its answer there in time, which speaks for a
// join that waits somewhere.
func (l *joinLedger) lost(seq, conn uint64, by time.Time, waits bool) {
	l.owed = true
	l.pending = append(l.pending, pendingJoin{seq: seq, conn: conn, by: by, likely: l.known && !l.parted && !waits})
}

// owes reports whether a leave with epoch is owed: a -1 also by a member that is away.
func (l *joinLedger) owes(epoch int32) bool {
	return l.owed || l.away && epoch == heartbeat.EpochLeave
}

// uncertain says that a join was answered, but so that it may have been applied.
func (l *joinLedger) uncertain() { l.owed, l.unsure = true, true }

// accepted says that a join or a heartbeat was accepted: the coordinator knows us.
func (l *joinLedger) accepted() {
	l.known, l.unsure, l.owed, l.away, l.parted = true, false, true, false, false
}

// gone says that the coordinator does not know us (UNKNOWN_MEMBER_ID and the like).
func (l *joinLedger) gone() {
	if l.parted {
		return
	}
	l.known, l.unsure = false, false
	for i := range l.pending {
		l.pending[i].likely = false // it was not there when we looked
	}
	l.owed = len(l.pending) > 0
}

// lookHelps reports whether a look can settle anything: later on it cannot tell which join
// it was that made us known.
func (l *joinLedger) lookHelps() bool { return !l.known && !l.unsure && len(l.pending) == 1 }

// looked takes the result of a look at the group: does the coordinator know us?
func (l *joinLedger) looked(member bool) {
	switch {
	case !member:
		l.gone()
	case len(l.pending) == 0:
		l.known, l.unsure, l.parted = true, false, false
	case l.unsure: // that one made it known, maybe, and not the one that is pending
	case !l.known && len(l.pending) == 1:
		l.pending, l.known, l.parted = nil, true, false
	}
}

// answered says that request seq on conn was answered: the joins before it on
// that connection have been handled, and may have made the coordinator know us.
func (l *joinLedger) answered(seq, conn uint64) {
	if conn == 0 {
		return
	}
	before := len(l.pending)
	l.pending = drop(l.pending, func(p pendingJoin) bool { return p.conn == conn && p.seq < seq })
	l.unsure = l.unsure || !l.known && len(l.pending) < before
}

// settled says that join seq has arrived after all; its answer says what came of it.
func (l *joinLedger) settled(seq uint64) {
	l.pending = drop(l.pending, func(p pendingJoin) bool { return p.seq == seq })
}

// withdrawn says that join seq was never written.
func (l *joinLedger) withdrawn(seq uint64) {
	l.pending = drop(l.pending, func(p pendingJoin) bool { return p.seq == seq })
	l.owed = l.known || l.unsure || len(l.pending) > 0
}

// covered says that a leave with number seq was written on conn: a join before it
// there cannot arrive without it.
func (l *joinLedger) covered(seq, conn uint64) {
	for i, p := range l.pending {
		if conn != 0 && p.conn == conn && p.seq < seq {
			l.pending[i].covered = true
		}
	}
}

// anyCovered reports whether a leave is behind a join of unknown fate on its connection.
func (l *joinLedger) anyCovered() bool {
	return slices.ContainsFunc(l.pending, func(p pendingJoin) bool { return p.covered })
}

// uncovered says that leave seq, written on conn, got no answer: it may have been lost with its
// connection, and not the join before it.
func (l *joinLedger) uncovered(seq, conn uint64) {
	for i, p := range l.pending {
		if p.conn == conn && p.seq < seq {
			l.pending[i].covered, l.pending[i].likely = false, false
		}
	}
}

// expire forgets joins that were written before t: that old, they are taken for lost.
func (l *joinLedger) expire(t time.Time) {
	l.pending = drop(l.pending, func(p pendingJoin) bool { return p.by.Before(t) })
}

// leftMaybe says that a leave of ours may have been accepted, now or later.
func (l *joinLedger) leftMaybe() { l.parted = true }

// left takes an accepted leave. away: it was a -2, after which the coordinator still
// has the member and accepts another.
func (l *joinLedger) left(away bool) {
	if !l.known && !l.unsure && !l.away && len(l.pending) == 1 {
		l.pending = nil // it must have arrived, or there would have been nobody to leave
	}
	l.known, l.unsure, l.away, l.parted = false, false, away, true
	l.owed = len(l.pending) > 0
}

// suspicion is how long a leave that was answered has to be repeated.
type suspicion uint8

const (
	noJoin    suspicion = iota // no join can arrive any more
	likelyNot                  // nothing speaks for one: a short while
	suspects                   // one may: until LeaveTimeout
)

func (l *joinLedger) suspicion() suspicion {
	s := noJoin
	for _, p := range l.pending {
		if !p.likely && !p.covered {
			return suspects
		}
		s = likelyNot
	}
	return s
}

func drop[T any](s []T, out func(T) bool) []T {
	var kept []T
	for _, v := range s {
		if !out(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
