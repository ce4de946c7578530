package member

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// simNode is one member: a machine, and what its host would do for it.
type simNode struct {
	w    *simWorld
	i    int
	spec simMember
	m    *machine
	core heartbeat.Core // the machine; the stub if it is one

	started, dead, done bool
	asked               time.Duration // when it was told to leave, or failed; 0: not
	err                 error         // what it ended with

	// The process: when it sleeps, what the clocks show, what waits for its turn.
	awake   time.Duration // sleeps until
	lag     time.Duration // how much the monotonic clock is behind
	skew    time.Duration // how much the wall clock is ahead
	inbox   []simInput
	planned bool
	wakeN   int

	snap    Snapshot
	changes map[uint64]Subscription
	changeN uint64
	sub     Subscription
	blind   time.Duration
	idle    time.Duration

	armed        []simOp // faults for requests
	calls        []simOp // odd callbacks
	odd          bool    // had one that ends the member
	hits         int     // faults so far, those that are not one of a request included
	hard         int     // of them, codes that are retried a few times only
	refusedLeave bool    // a leave met a code
	net          simNet
	own          simOwner
	wire         simWire
}

type simInput struct {
	heartbeat.Input
	at *simAttempt
}

func newSimNode(w *simWorld, i int) *simNode {
	spec := w.plan.members[i]
	n := &simNode{w: w, i: i, spec: spec, sub: simSubscriptions[spec.topics], changes: map[uint64]Subscription{}}
	cfg := ConsumerConfig{
		Group: simGroup, Topics: n.sub.Topics, Regex: n.sub.Regex, InstanceID: spec.instance,
		Leave: spec.leave, SelfFence: spec.selfFence,
		Timing: Timing{
			RebalanceTimeout: w.plan.rebalance, SessionTimeout: w.plan.session,
			MaxPollInterval: spec.poll, EarlyBeats: spec.early,
		},
	}.resolved()
	id := Identity{Group: simGroup, MemberID: fmt.Sprintf("member-%d", i), InstanceID: spec.instance}
	src := rand.New(rand.NewPCG(w.plan.seed, uint64(i)))
	n.m = newMachine(cfg, id, machineAux{rand: src, observeBeat: spec.observe})
	n.core = n.m
	n.snap = Snapshot{Identity: id}
	n.net.flights = map[uint64]*simAttempt{}
	return n
}

// local is what the member's clocks show.
func (n *simNode) local() time.Time { return simTime(n.w.now+n.skew, n.w.now-n.lag) }

// living says whether the member should take part in the group.
func (n *simNode) living() bool { return n.started && !n.dead && !n.done && n.asked == 0 }

func (n *simNode) do(op simOp) {
	if op.kind < simFaults {
		n.armed = append(n.armed, op)
		return
	}
	if op.kind == simStart {
		n.w.cover.hit(op.kind, n.m.state)
		n.start()
		return
	}
	if !n.started || n.dead || n.done {
		return
	}
	n.w.cover.hit(op.kind, n.m.state)
	n.hits++
	switch op.kind {
	case simCall:
		n.calls = append(n.calls, op)
	case simBlind:
		n.blind = n.w.now + op.d
	case simSuspend:
		n.sleep(min(op.d, n.w.plan.quiet-n.w.now))
	case simClock:
		n.skew += op.d
	case simIdle:
		n.idle = n.w.now + op.d
	case simWake:
		n.tell(inWake{})
	case simExpire:
		n.w.c.Expire(n.w.time(), simGroup, n.m.id.MemberID)
		n.own.exemptAt(n.w.now)
	case simLeave:
		n.leave(LeaveOperation(op.n))
	case simKill:
		n.kill()
	case simSubscribe:
		n.subscribe(simSubscriptions[op.n])
	}
}

func (n *simNode) tell(what any) {
	n.deliver(heartbeat.Input{Kind: heartbeat.InHost, Host: what}, nil)
}

func (n *simNode) start() {
	n.started = true
	if n.w.stub == n.i {
		n.core = simStub{}
	}
	if n.spec.early >= 0 {
		n.w.procs[n.i%len(n.w.procs)].waves.Add(uint64(n.i))
	}
	n.tell(inStart{})
}

// simStub is a member that does nothing.
type simStub struct{}

func (simStub) Step(time.Time, heartbeat.Input) {}

func (simStub) Next(time.Time) heartbeat.Action { return heartbeat.Action{Kind: heartbeat.ActWait} }

func (n *simNode) leave(op LeaveOperation) {
	if n.asked == 0 {
		n.ends()
	}
	n.wire.leaveOp = op
	n.tell(inLeave{op})
}

// ends: the member is to end from now on, and has its time for that.
func (n *simNode) ends() {
	n.asked = max(n.w.now, 1)
	by := n.m.cfg.Timing.ShutdownTimeout + time.Second
	n.w.after(by, func() { n.mustBeDone(by) })
}

func (n *simNode) mustBeDone(by time.Duration) {
	switch late := n.awake + by; {
	case n.done || n.dead:
	case n.w.now < late && n.awake > n.asked: // it slept meanwhile
		n.w.at(late, func() { n.mustBeDone(by) })
	default:
		n.w.fail(n, "not done %v after it was to end", n.w.now-n.asked)
	}
}

// kill: the process is gone, and with it all that it holds.
func (n *simNode) kill() {
	n.dead = true
	n.w.procs[n.i%len(n.w.procs)].waves.Remove(uint64(n.i))
	n.drop()
}

func (n *simNode) subscribe(s Subscription) {
	n.changeN++
	n.changes[n.changeN] = s
	n.tell(inChange{n.changeN, s.Topics, s.Regex})
}

// sleep suspends the process: nothing in it runs, and its monotonic clock stands.
func (n *simNode) sleep(d time.Duration) {
	if n.w.now < n.awake {
		return
	}
	n.awake = n.w.now + d
	n.w.at(n.awake, func() {
		n.lag += d
		n.plan(0)
	})
}

// deliver gives an input to the member, together with others of the same batch.
func (n *simNode) deliver(in heartbeat.Input, at *simAttempt) {
	n.inbox = append(n.inbox, simInput{in, at})
	n.plan((n.w.now/n.w.plan.grain+1)*n.w.plan.grain - n.w.now)
}

// plan plans a turn of the member's loop.
func (n *simNode) plan(d time.Duration) {
	if !n.planned {
		n.planned = true
		n.w.after(d, n.turn)
	}
}

// turn is one turn of the loop: all inputs, then what follows from them.
func (n *simNode) turn() {
	n.planned = false
	if n.dead || n.done || !n.started || n.w.now < n.awake {
		return
	}
	for len(n.inbox) > 0 {
		inbox := n.inbox
		n.inbox = nil
		for _, in := range inbox {
			n.see(in)
			n.core.Step(n.local(), in.Input)
		}
	}
	n.drain()
}

// drain does what the machine asks for, until it waits.
func (n *simNode) drain() {
	for range 500 {
		now := n.local()
		switch a := n.core.Next(now); a.Kind {
		case heartbeat.ActWait:
			n.wait(now, a.At)
			return
		case heartbeat.ActDone:
			n.finish(a.Err)
			return
		case heartbeat.ActSend:
			n.send(a)
		case heartbeat.ActProbe:
			n.probe(a.Seq, a.Keep)
		case heartbeat.ActHost:
			n.host(*a.Host.(*output))
		}
		if n.w.broken != "" {
			return
		}
	}
	n.w.fail(n, "Next does not come to an end")
}

// wait plans the turn that the machine waits for.
func (n *simNode) wait(now, at time.Time) {
	n.checkRest(now)
	n.wakeN++
	if at.IsZero() {
		return
	}
	d := at.Sub(now)
	if d <= 0 {
		n.w.fail(n, "waits for %v ago: a loop that spins", -d)
		return
	}
	wake := n.wakeN
	n.w.after(d, func() {
		if n.wakeN == wake {
			n.turn()
		}
	})
}
