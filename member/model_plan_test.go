package member

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// simKind is what is done to a run from outside: first the faults, each of which
// hits one request of one member, then everything else.
type simKind uint8

const (
	simDropRequest  simKind = iota // nothing on this connection is answered any more
	simDropAnswer                  // applied, and the answer does not come
	simDelayRequest                // it arrives d later, and what follows it on its connection, too
	simDelayAnswer                 // applied, answered d later
	simDuplicate                   // delivered twice
	simCode                        // answered with code n, not applied
	simCodeApplied                 // answered with code n (14, 15, 16), applied
	simCutBefore                   // the connection is cut, the request does not arrive
	simCutAfter                    // applied, then the connection is cut
	simCutLate                     // the connection is cut, the request arrives d later
	simNotSent                     // a dial that fails after d

	simMove      // the coordinator moves: code n for everybody, for d
	simCall      // the next callback is odd: n
	simBlind     // name look-ups find nothing for d
	simSuspend   // the process stops for d, and its monotonic clock with it
	simClock     // the wall clock steps by d
	simIdle      // Alive is not called for d
	simWake      // Wake
	simExpire    // an operator, or a lossy fail-over, removes the member
	simStart     // the member starts
	simLeave     // it leaves
	simKill      // it dies
	simSubscribe // it subscribes to topic set n
	simCreate    // topic n
	simGrow      // topic n
	simDelete    // topic n
	simRecreate  // topic n
	simKinds
)

const simFaults = simMove // the kinds before it are faults of one request

var simKindNames = [simKinds]string{
	"drop request", "drop answer", "delay request", "delay answer", "duplicate", "code", "code, applied",
	"cut before", "cut after", "cut, late", "not sent",
	"move", "odd callback", "blind", "suspend", "clock", "idle", "wake", "expire", "start", "leave", "kill", "subscribe",
	"create", "grow", "delete", "recreate",
}

func (k simKind) String() string { return simKindNames[k] }

// What an odd callback does.
const (
	simSlow  = iota // takes d
	simError        // takes d, then returns an error
	simHang         // never returns
	simObey         // returns when its context ends
	simCalls
)

// simOp is one thing that happens from outside.
type simOp struct {
	at   time.Duration
	kind simKind
	who  int
	n    int
	d    time.Duration
	in   State // a fault waits for a request that is sent in this state; simAnyState: for any
}

const simAnyState = numStates

func (o simOp) String() string {
	s := fmt.Sprintf("%v %v", o.at, o.kind)
	if o.kind < simCreate && o.kind != simMove {
		s += fmt.Sprintf(" m%d", o.who)
	}
	s += fmt.Sprintf(" n=%d d=%v", o.n, o.d)
	if o.kind < simFaults && o.in != simAnyState {
		s += " in " + o.in.String()
	}
	return s
}

// simMember is how a member is configured.
type simMember struct {
	instance  string
	topics    int // in simSubscriptions
	leave     LeaveOperation
	selfFence bool
	observe   bool
	poll      time.Duration
	early     int
	successor bool // of a member with the same instance ID
}

// simSubscriptions are the sets of topics that members choose from; the last is
// a regular expression.
var simSubscriptions = []Subscription{
	{Topics: []string{"t0"}},
	{Topics: []string{"t0", "t1"}},
	{Topics: []string{"t0", "t1", "t2"}},
	{Topics: []string{"t1", "u0"}},
	{Topics: []string{"t2", "u0"}},
	{Topics: []string{"u0"}, Regex: "t[01]"},
	{Regex: "t.*"},
}

var simTopicNames = []string{"t0", "t1", "t2", "u0", "t3"}

// simPlan is a whole run. The same plan gives the same run, whatever is taken out of it.
type simPlan struct {
	seed                         uint64
	version                      coordinator.Version
	session, interval, rebalance time.Duration
	grain                        time.Duration // inputs of a member come in batches of this
	partitions                   []int32       // of simTopicNames; 0: does not exist at first
	members                      []simMember
	ops                          []simOp
	quiet                        time.Duration // faults end
}

func newSimPlan(seed uint64) simPlan {
	g := &simGen{rand.New(rand.NewPCG(seed, 848)), simPlan{seed: seed}}
	p := &g.simPlan
	p.version = coordinator.Versions()[g.IntN(5)]
	p.session = pick(g.Rand, 10*time.Second, 20*time.Second, 45*time.Second)
	p.interval = pick(g.Rand, time.Second, 3*time.Second)
	if p.session > 15*time.Second && g.IntN(2) == 0 {
		p.interval = 5 * time.Second
	}
	p.rebalance = pick(g.Rand, 12*time.Second, 30*time.Second, 60*time.Second)
	p.grain = pick(g.Rand, time.Microsecond, time.Millisecond, 20*time.Millisecond, 100*time.Millisecond)
	p.quiet = time.Duration(40+g.IntN(30)) * time.Second
	for range simTopicNames {
		p.partitions = append(p.partitions, int32(2+g.IntN(7)))
	}
	p.partitions[len(p.partitions)-1] = 0
	g.joins()
	g.requestFaults()
	g.moves()
	g.troubles()
	g.topics()
	slices.SortStableFunc(p.ops, func(a, b simOp) int { return int(a.at - b.at) })
	return *p
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// simGen makes a plan.
type simGen struct {
	*rand.Rand
	simPlan
}

func (g *simGen) add(op simOp) { g.ops = append(g.ops, op) }

// when is a time at which faults are allowed.
func (g *simGen) when(from time.Duration) time.Duration {
	return from + time.Duration(g.Int64N(int64(g.quiet-from)))
}

func (g *simGen) ms(from, to int) time.Duration {
	return time.Duration(from+g.IntN(to-from)) * time.Millisecond
}

// member adds a member that starts at a time.
func (g *simGen) member(at time.Duration, m simMember) int {
	m.topics = g.IntN(len(simSubscriptions))
	m.leave = pick(g.Rand, LeaveDefault, LeaveDefault, LeaveGroup, RemainInGroup)
	m.selfFence, m.observe = g.IntN(4) == 0, g.IntN(2) == 0
	if g.IntN(4) == 0 {
		m.poll = 15 * time.Second
	}
	if g.IntN(6) == 0 {
		m.early = -1
	}
	g.members = append(g.members, m)
	who := len(g.members) - 1
	g.add(simOp{at: at, kind: simStart, who: who})
	if g.IntN(3) == 0 {
		g.fault(at, who, StateJoining)
	}
	return who
}

// joins: five to eight members at the start, some later, static ones that restart, and
// members that leave or die.
func (g *simGen) joins() {
	n := 5 + g.IntN(4)
	for i := range n {
		var m simMember
		if g.IntN(5) < 2 {
			m.instance = fmt.Sprintf("i%d", i)
		}
		g.member(g.ms(0, 3000), m)
	}
	for range g.IntN(3) {
		g.member(g.when(5*time.Second), simMember{})
	}
	for i := range n {
		at := g.when(3 * time.Second)
		switch g.IntN(8) {
		case 0, 1:
			g.leaves(at, i)
		case 2:
			g.add(simOp{at: at, kind: simKill, who: i})
		default:
			continue
		}
		if inst := g.members[i].instance; inst != "" && g.IntN(4) > 0 {
			g.member(at+g.ms(1, 4000), simMember{instance: inst, successor: true})
		}
	}
}

func (g *simGen) leaves(at time.Duration, who int) {
	g.add(simOp{at: at, kind: simLeave, who: who, n: int(g.members[who].leave)})
	if g.IntN(4) == 0 {
		g.add(simOp{at: at - g.ms(0, 3000), kind: simCall, who: who, n: g.IntN(simCalls), d: g.ms(0, 30_000)})
	}
	for range g.IntN(3) {
		g.fault(at-g.ms(0, 300), who, pick(g.Rand, simAnyState, simAnyState, StatePrepareLeaving, StateLeaving))
	}
}
