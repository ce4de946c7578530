package member

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// simWorld is one run: members, which are bare machines, against one coordinator.
type simWorld struct {
	plan  simPlan
	now   time.Duration
	queue simQueue
	seq   uint64
	c     *coordinator.Coordinator
	nodes []*simNode
	conns uint64
	procs [2]simProc
	cover *simCover

	topics   map[topicID]string // every incarnation of every topic
	topicN   uint64
	moved    time.Duration // until then the coordinator answers with moveCode
	moveCode int16
	late     time.Duration // the last late request arrives before

	owners    map[simSlot][]*simNode
	contested map[simSlot]bool

	calm    bool // faults have ended
	settled time.Duration
	stub    int // the member that does nothing; -1: none
	over    bool
	broken  string // the first violation
	log     *strings.Builder
}

// simProc is the members of one process: they wake each other.
type simProc struct {
	waves *heartbeat.Waves
	due   time.Time
}

const simGroup = "g"

func newSimWorld(p simPlan, cover *simCover) *simWorld {
	w := &simWorld{
		plan: p, cover: cover, stub: -1, topics: map[topicID]string{},
		owners: map[simSlot][]*simNode{}, contested: map[simSlot]bool{},
	}
	w.c = coordinator.New(coordinator.Config{Version: p.version, HeartbeatInterval: p.interval, SessionTimeout: p.session})
	for i := range w.procs {
		w.procs[i].waves = heartbeat.NewWaves()
	}
	for i, n := range p.partitions {
		if n > 0 {
			w.create(i, n)
		}
	}
	for i := range p.members {
		w.nodes = append(w.nodes, newSimNode(w, i))
	}
	for _, op := range p.ops {
		w.at(op.at, func() { w.do(op) })
	}
	w.at(p.quiet, w.calmDown)
	return w
}

// time is what the coordinator's clock shows.
func (w *simWorld) time() time.Time { return simTime(w.now, w.now) }

// run lets the run happen. What went wrong, if anything did, is in w.broken.
func (w *simWorld) run() *simWorld {
	for !w.over && w.broken == "" && len(w.queue) > 0 {
		e := heap.Pop(&w.queue).(simEvent)
		w.now = e.at
		e.fn()
		w.checkContested()
	}
	return w
}

// fail is a violation. The first one ends the run.
func (w *simWorld) fail(n *simNode, format string, args ...any) {
	if w.broken != "" {
		return
	}
	w.broken = fmt.Sprintf(format, args...)
	if n != nil {
		w.broken = fmt.Sprintf("m%d (%v): %s", n.i, n.m.state, w.broken)
	}
	w.logf("VIOLATION %s", w.broken)
}

func (w *simWorld) logf(format string, args ...any) {
	if w.log != nil {
		fmt.Fprintf(w.log, "%10.3fs  ", w.now.Seconds())
		fmt.Fprintf(w.log, format, args...)
		w.log.WriteByte('\n')
	}
}

// create makes a topic, or makes it again.
func (w *simWorld) create(i int, parts int32) {
	name := simTopicNames[i]
	w.topicN++
	var id topicID
	copy(id[:], name)
	binary.BigEndian.PutUint64(id[8:], w.topicN)
	w.topics[id] = name
	w.c.CreateTopic(w.time(), name, id, parts)
}

// do makes an op of the plan happen.
func (w *simWorld) do(op simOp) {
	w.logf("op %v", op)
	if op.kind == simMove || op.kind >= simCreate {
		for _, n := range w.nodes {
			if n.started && !n.dead && !n.done {
				w.cover.hit(op.kind, n.m.state)
			}
		}
	}
	switch op.kind {
	case simMove:
		w.moved, w.moveCode = w.now+op.d, int16(op.n)
	case simCreate, simRecreate:
		w.create(op.n, int32(op.d/time.Millisecond))
	case simGrow:
		_, n, _ := w.c.Topic(simTopicNames[op.n])
		w.c.AddPartitions(w.time(), simTopicNames[op.n], n+int32(op.d/time.Millisecond))
	case simDelete:
		w.c.DeleteTopic(w.time(), simTopicNames[op.n])
	default:
		w.nodes[op.who].do(op)
	}
}

// calmDown ends the faults, and begins to look for rest.
func (w *simWorld) calmDown() {
	w.logf("-- faults end")
	w.calm = true
	for _, n := range w.nodes {
		n.armed, n.calls, n.blind, n.idle = nil, nil, 0, 0
	}
	w.after(time.Second, w.lookForRest)
}

// lookForRest looks once a second whether the group has come to rest.
func (w *simWorld) lookForRest() {
	w.c.Advance(w.time())
	why := w.unrest()
	if why == "" && w.now >= w.restFrom() {
		if w.settled == 0 {
			w.settled = w.now - w.plan.quiet
		}
		// Rest has to last.
		if w.now-w.plan.quiet-w.settled >= 2*w.plan.interval+2*time.Second {
			w.over = true
			return
		}
	} else {
		w.settled = 0 // a regular expression may have been resolved late, for one
	}
	if w.now > w.restBy() {
		w.fail(nil, "no rest %v after the last fault: %s", w.now-w.plan.quiet, why)
	}
	w.after(time.Second, w.lookForRest)
}

// restFrom is when all that is left of the faults has happened.
func (w *simWorld) restFrom() time.Duration {
	return max(w.late, w.plan.quiet) + 2*w.plan.interval
}

// restBy is when there must be rest: sessions and rebalance timeouts of what the
// faults left behind are over.
func (w *simWorld) restBy() time.Duration {
	return max(w.late, w.plan.quiet) + 2*w.plan.session + w.plan.rebalance + 30*time.Second
}

// tell carries the news of a member to its process.
func (w *simWorld) tell(n *simNode, news siblingNews) {
	p := &w.procs[n.i%len(w.procs)]
	p.waves.Tell(w.time(), uint64(n.i), news)
	w.fire(p)
}

func (w *simWorld) fire(p *simProc) {
	for _, i := range p.waves.Fire(w.time()) {
		w.nodes[i].deliver(heartbeat.Input{Kind: heartbeat.InHost, Host: inKick{}}, nil)
	}
	due := p.waves.Due()
	if p.due = due; due.IsZero() {
		return
	}
	w.after(due.Sub(w.time()), func() {
		if p.due.Equal(due) {
			w.fire(p)
		}
	})
}
