package member

import (
	"testing"
	"time"
)

// Rule 2: what a leave proves, case by case. Connections are numbers; joins are
// lost in the order in which they stand.
func TestRule2JoinLedger(t *testing.T) {
	t0 := time.Unix(1000, 0)
	type step func(l *joinLedger)
	lost := func(seq, conn uint64) step { return func(l *joinLedger) { l.lost(seq, conn, t0, false) } }
	var (
		knows   = func(l *joinLedger) { l.looked(true) }
		unknown = func(l *joinLedger) { l.looked(false) }
		joined  = func(l *joinLedger) { l.accepted() }
		leaveOK = func(l *joinLedger) { l.left(false) }
		away    = func(l *joinLedger) { l.left(true) }
		leaveNo = func(l *joinLedger) { l.gone() }
	)
	for name, c := range map[string]struct {
		steps []step
		want  suspicion
	}{
		"nothing was ever sent":                                         {nil, noJoin},
		"one lost, leave accepted: it was applied":                      {[]step{lost(1, 7), leaveOK}, noJoin},
		"one lost, leave finds nobody: it may come":                     {[]step{lost(1, 7), leaveNo}, suspects},
		"two lost, leave accepted: which one was it":                    {[]step{lost(1, 7), lost(2, 8), leaveOK}, suspects},
		"one lost and seen, leave accepted":                             {[]step{lost(1, 7), knows, leaveOK}, noJoin},
		"each seen after it, the last not":                              {[]step{lost(1, 7), knows, lost(2, 8), leaveOK}, likelyNot},
		"not seen, then joined, leave accepted":                         {[]step{lost(1, 7), unknown, joined, leaveOK}, suspects},
		"lost while joined (a rejoin)":                                  {[]step{joined, lost(2, 8), leaveOK}, likelyNot},
		"timed out while joined (a rejoin)":                             {[]step{joined, func(l *joinLedger) { l.lost(2, 8, t0, true) }, leaveOK}, suspects},
		"answered 16 and maybe applied, one lost, seen, leave accepted": {[]step{func(l *joinLedger) { l.uncertain() }, lost(1, 7), knows, leaveOK}, suspects},
		"the look settles nothing when two are open":                    {[]step{lost(1, 7), lost(2, 8), knows, leaveOK}, suspects},
		"leave behind it on its connection, answered":                   {[]step{lost(1, 7), func(l *joinLedger) { l.answered(2, 7) }, leaveNo}, noJoin},
		"answer to an earlier request on its connection":                {[]step{lost(5, 7), func(l *joinLedger) { l.answered(4, 7) }, leaveNo}, suspects},
		"leave behind it on its connection, not answered":               {[]step{lost(1, 7), func(l *joinLedger) { l.covered(2, 7) }, leaveNo}, likelyNot},
		"the Transport does not tell connections":                       {[]step{lost(1, 0), func(l *joinLedger) { l.answered(2, 0); l.covered(2, 0) }, leaveNo}, suspects},
		"too old to arrive":                                             {[]step{lost(1, 7), unknown, joined, func(l *joinLedger) { l.expire(t0.Add(1)) }, leaveOK}, noJoin},
		"evicted meanwhile: what was likely is not there":               {[]step{joined, lost(2, 8), unknown, leaveNo}, suspects},
		"one lost, accepted leave, then that leave is sent again":       {[]step{lost(1, 7), leaveOK, leaveNo}, noJoin},
		"not seen, then joined, two accepted -2":                        {[]step{lost(1, 7), joined, away, away}, suspects},
		"away, one lost, leave accepted: it was for who was away":       {[]step{joined, away, lost(1, 7), leaveOK}, suspects},
		"two lost, one accepted leave, then nobody: still possible":     {[]step{lost(1, 7), lost(2, 8), leaveOK, leaveNo}, suspects},
	} {
		var l joinLedger
		for _, s := range c.steps {
			s(&l)
		}
		if got := l.suspicion(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// K1082-7: no leave is owed before a join may have been written, and one is from
// then on, whatever came back.
func TestRule2WhenALeaveIsOwed(t *testing.T) {
	var l joinLedger
	if l.owed {
		t.Error("owed before any join")
	}
	l.uncertain()
	if !l.owed {
		t.Error("not owed after a join that was answered with an unknown outcome")
	}
	l.left(false)
	if l.owed {
		t.Error("owed after an accepted leave")
	}
	l.uncertain()
	l.lost(3, 1, time.Time{}, false)
	l.withdrawn(3)
	if !l.owed {
		t.Error("not owed after an answer of unknown outcome, as a later join was never written")
	}
	l.left(false)
	l.lost(1, 1, time.Time{}, false)
	l.gone()
	if !l.owed {
		t.Error("not owed while a join may still arrive")
	}
}
