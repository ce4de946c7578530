package member

import (
	"time"
)

// simLate is the longest time that a request is held up on its way: the bound
// that rule 2 states.
const simLate = DefaultLeaveTimeout

// fault adds a fault for the next request of a member.
func (g *simGen) fault(at time.Duration, who int, in State) {
	op := simOp{at: at, kind: simKind(g.IntN(int(simFaults))), who: who, in: in}
	op.d = g.ms(50, 4000)
	if g.IntN(3) == 0 {
		op.d = g.ms(4000, int(simLate.Milliseconds())-500)
	}
	switch op.kind {
	case simCode:
		op.n = pick(g.Rand, 14, 15, 16, -1, 29, 110, 25, 999, 89)
	case simCodeApplied:
		op.n = pick(g.Rand, 14, 15, 16)
	case simNotSent:
		op.d = g.ms(0, 3000)
	}
	g.add(op)
}

func (g *simGen) requestFaults() {
	for range 8 + g.IntN(16) {
		in := simAnyState
		if g.IntN(2) == 0 {
			in = pick(g.Rand, StateJoining, StateReconciling, StateAcknowledging, StateStable)
		}
		g.fault(g.when(0), g.IntN(len(g.members)), in)
	}
}

func (g *simGen) moves() {
	for range 1 + g.IntN(2) {
		at, d := g.when(0), g.ms(100, 6000)
		if g.IntN(6) == 0 {
			d = g.ms(6000, int(g.session.Milliseconds())+8000)
		}
		g.add(simOp{at: at, kind: simMove, n: pick(g.Rand, 14, 15, 16, 16, 16), d: min(d, g.quiet-at)})
	}
}

// troubles are what happens to a member beside its requests.
func (g *simGen) troubles() {
	for range 4 + g.IntN(8) {
		op := simOp{at: g.when(0), who: g.IntN(len(g.members)), d: g.ms(100, 8000)}
		switch g.IntN(13) {
		case 0, 1:
			op.kind, op.d = simSubscribe, 0
			op.n = g.IntN(len(simSubscriptions))
			if g.IntN(3) == 0 { // some behind it, of which the first changes nothing
				g.add(op)
				g.add(simOp{at: op.at + g.ms(0, 20), kind: simSubscribe, who: op.who, n: g.IntN(len(simSubscriptions))})
			}
		case 2, 3, 4:
			op.kind, op.n = simCall, simSlow
			switch g.IntN(6) {
			case 0:
				op.n = simError
			case 1:
				op.n = simObey
			case 2:
				op.d = g.rebalance + g.ms(0, 20_000)
			}
		case 5, 6:
			op.kind = simBlind
		case 7, 8:
			op.kind = simSuspend
			if g.IntN(2) == 0 {
				op.d = g.ms(int(g.session.Milliseconds())/2, int(g.session.Milliseconds())*2)
			}
		case 9:
			op.kind, op.d = simClock, g.ms(-60_000, 60_000)
		case 10:
			op.kind, op.d = simIdle, g.ms(10_000, 40_000)
		case 11:
			op.kind = simWake
		case 12:
			op.kind = simExpire
		}
		g.add(op)
	}
}

func (g *simGen) topics() {
	for range 1 + g.IntN(4) {
		kind := pick(g.Rand, simCreate, simGrow, simGrow, simDelete, simRecreate)
		op := simOp{at: g.when(2 * time.Second), kind: kind, n: g.IntN(len(simTopicNames) - 1), d: g.ms(2, 9)}
		if kind == simCreate {
			op.n = len(simTopicNames) - 1
		}
		g.add(op)
		if kind == simDelete && g.IntN(2) == 0 {
			g.add(simOp{at: g.when(op.at), kind: simRecreate, n: op.n, d: op.d})
		}
	}
}
