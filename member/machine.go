package member

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// machine is the pure half of a consumer member: heartbeat.Core. Everything that
// decides is in it and in the files beside it (transitions, send, answer, fence,
// reconcile, leave, subscribe, trust); everything that does is in consumer.go,
// callbacks.go and the loop.
type machine struct {
	cfg   ConsumerConfig // resolved
	id    Identity
	aux   machineAux
	state State
	epoch int32 // of the last accepted heartbeat; 0 when not in the group
	err   error // what ends the member

	// What goes on the wire, and what the coordinator is known to hold of it.
	vals  heartbeat.ConsumerValues
	delta heartbeat.Delta
	sched heartbeat.Schedule
	early heartbeat.Early
	req   *kmsg.ConsumerGroupHeartbeatRequest // reused while no attempt can still read it

	seq     uint64
	flights []flight // not answered so far; more than one only while leaving
	joins   joinLedger
	why     Reason // of the next request that is asked for
	crowd   bool   // siblings decide about early heartbeats
	hung    uint64 // the connection that the last attempt timed out on

	join   joining
	refuse refusal
	own    ownership
	lv     leaving
	change changing
	trust  trusting
	doubts doubting

	out  []output
	head int
	cur  output
}

// machineAux is what the machine is given from outside its configuration.
type machineAux struct {
	rand        *rand.Rand
	isAuth      func(error) (auth, sure bool) // did an attempt fail by TLS or authentication?
	observeBeat bool                          // somebody wants HeartbeatInfo
}

// flight is a request whose answer is not here.
type flight struct {
	seq       uint64
	phase     heartbeat.Phase
	epoch     int32
	sent      time.Time
	full      bool
	told      time.Time // since when the coordinator may wait for what the answer asks for
	look      bool      // not a heartbeat: a look at the group after a lost join
	release   bool      // a leave that makes room for a join of our own
	abandoned bool      // given up; a join's fate is in the ledger
	void      bool      // a heartbeat of a membership that is over: its answer changes nothing
	last      bool      // the heartbeat just before a -2
	probed    time.Time
	conn      uint64
	by        time.Time // of an attempt that has ended: it was written by then, if it was
	reason    Reason
}

// writtenBy is when the attempt of in was written, or at the latest.
func writtenBy(now time.Time, in heartbeat.Input) time.Time {
	if in.Wrote.IsZero() {
		return now
	}
	return in.Wrote
}

// joining is what happens before a join is accepted.
type joining struct {
	since     time.Time // start of this try to get in
	look      bool      // a join was lost: look at the group before the next
	release   bool      // leave first: we are still there under another epoch, or hold the instance ID
	fences    int       // joins fenced since the last accepted heartbeat
	refusals  int       // joins answered UNKNOWN_MEMBER_ID and the like
	mine      bool      // an earlier join of this member may hold the instance ID
	releases  int       // times that we released it in this try
	heldSince time.Time // since when a rival holds it
	heldUntil time.Time // not to be asked before
	servErrs  int       // UNKNOWN_SERVER_ERROR and unknown codes in a row
	rounds    int       // rounds of callbacks since the join; 0: OnAssigned is still owed
	rejoin    bool      // has been a member before
}

// Outputs: what the machine asks its host (consumer.go) to do.
type outKind uint8

const (
	outHeartbeat outKind = iota // hb
	outEvent                    // v is a StateInfo, OwnershipInfo, TrustInfo or NoticeInfo
	outPublish                  // v is a *Snapshot
	outCallback                 // v is a callbackCall
	outDeadline                 // v is a callbackDeadline
	outLookup                   // v is []topicID, to be named
	outTopicIDs                 // v is []string, topics whose IDs of now are wanted
	outTrust                    // last, until: of the Snapshot
	outAlive                    // tell when Alive was last called
	outSibling                  // v is a siblingNews
	outChange                   // v is a changeResult
)

type output struct {
	kind outKind
	hb   HeartbeatInfo
	v    any

	last, until time.Time
}

// Inputs from the host, as heartbeat.Input.Host.
type (
	inStart    struct{}
	inCallback struct {
		id   uint64
		err  error
		took time.Duration
	}
	inNames struct {
		asked []topicID
		names map[topicID]string // what of it has a name
	}
	inTopicIDs struct {
		asked []string
		ids   map[string]topicID // what was found of it
	}
	inWake   struct{}
	inKick   struct{} // a sibling has news
	inCrowd  struct{ many bool }
	inLeave  struct{ op LeaveOperation }
	inAlive  struct{ at time.Time }
	inClosed struct{} // the kgo client was closed
)

func newMachine(cfg ConsumerConfig, id Identity, aux machineAux) *machine {
	m := &machine{cfg: cfg, id: id, aux: aux}
	m.vals = heartbeat.ConsumerValues{
		Group: id.Group, MemberID: id.MemberID, InstanceID: optional(id.InstanceID),
		RebalanceTimeoutMillis: int32(cfg.Timing.RebalanceTimeout.Milliseconds()),
		Names:                  nonNil(cfg.Topics), Regex: optional(cfg.Regex),
		Assignor: optional(cfg.Assignor), Rack: optional(cfg.Rack),
		Owned: topicSet{}.wire(),
	}
	m.sched = heartbeat.NewSchedule(cfg.Timing.SessionTimeout, aux.rand)
	m.early = heartbeat.NewEarly(cfg.Timing.EarlyBeats, aux.rand)
	m.own.names = map[topicID]string{}
	return m
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return slices.Clone(s)
}

// Step implements heartbeat.Core.
func (m *machine) Step(now time.Time, in heartbeat.Input) {
	switch in.Kind {
	case heartbeat.InReply:
		m.reply(now, in)
		return
	case heartbeat.InWritten:
		m.written(now, in)
		return
	}
	switch v := in.Host.(type) {
	case inStart:
		if !m.lv.asked { // a Leave beside Run's beginning may come first
			m.startJoin(now)
		}
	case inCallback:
		m.callbackDone(now, v)
	case inNames:
		m.named(now, v)
	case inTopicIDs:
		m.remadeAnswered(v)
	case inWake:
		if m.beating() {
			m.ask(ReasonWake)
		}
	case inKick:
		if m.beating() && m.state != StateJoining {
			m.early.Kick(now)
		}
	case inCrowd:
		if m.crowd = v.many; v.many {
			m.early.Stop()
		}
	case inLeave:
		m.leave(now, v.op)
	case inAlive:
		m.alive(now, v.at)
	case inClosed:
		m.fail(now, m.errorf("run", 0, "", ErrClientClosed), true)
	case inChange:
		m.subscribe(now, v)
	}
}

// Next implements heartbeat.Core.
func (m *machine) Next(now time.Time) heartbeat.Action {
	if m.head == len(m.out) {
		m.tick(now)
	}
	if m.head < len(m.out) {
		m.cur = m.out[m.head]
		m.out[m.head] = output{}
		if m.head++; m.head == len(m.out) {
			m.out, m.head = m.out[:0], 0
		}
		return heartbeat.Action{Kind: heartbeat.ActHost, Host: &m.cur}
	}
	if m.lv.done {
		return heartbeat.Action{Kind: heartbeat.ActDone, Err: m.err, Keep: m.lv.lingers}
	}
	return m.nextRequest(now)
}

// tick lets everything that waits for a time, or for a turn, go on.
func (m *machine) tick(now time.Time) {
	m.checkTrust(now)
	m.checkAlive(now)
	m.checkLeave(now)
	m.checkCallback(now)
	m.reconcile(now)
}

func (m *machine) emit(kind outKind, v any) { m.out = append(m.out, output{kind: kind, v: v}) }

func (m *machine) event(now time.Time) Event {
	return Event{Member: m.id, At: now, State: m.state, MemberEpoch: m.epoch}
}

func (m *machine) notice(now time.Time, what Notice, text string, err error) {
	m.emit(outEvent, NoticeInfo{Event: m.event(now), What: what, Text: text, Err: err})
}

// ask makes a request due now, for a reason.
func (m *machine) ask(r Reason) {
	m.why = r
	m.sched.Ask()
}

// earliest is the sooner of two times, of which zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
