package member

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// fuzzHost is the least host that a machine needs, for inputs that make no sense. It
// wants of the machine what no broker and no caller may take from it.
type fuzzHost struct {
	t       testing.TB
	m       *machine
	now     time.Duration
	flights []fuzzFlight
	lookups [][]topicID
	wanted  [][]string
	cb      *callback
	snap    *Snapshot
	epoch   int32    // of the last accepted answer
	told    topicSet // all that an accepted answer assigned
	sent    int      // requests since time went on
	recent  []time.Duration
	done    bool
}

type fuzzFlight struct {
	seq   uint64
	epoch int32
	look  bool
}

func newFuzzHost(t testing.TB, kind byte) *fuzzHost {
	cfg := ConsumerConfig{Group: "g", Topics: []string{"t"}}
	if kind&1 != 0 {
		cfg.InstanceID = "i"
	}
	if kind&2 != 0 {
		cfg.Regex = "u.*"
	}
	cfg.SelfFence = kind&4 != 0
	if kind&8 != 0 {
		cfg.Timing.MaxPollInterval = 20 * time.Second
	}
	cfg.Leave = LeaveOperation(kind >> 4 % 3)
	id := Identity{Group: "g", MemberID: "m", InstanceID: cfg.InstanceID}
	aux := machineAux{rand: rand.New(rand.NewPCG(1, 2)), observeBeat: kind&128 != 0}
	h := &fuzzHost{t: t, m: newMachine(cfg.resolved(), id, aux), snap: &Snapshot{}}
	h.host(inStart{})
	return h
}

func (h *fuzzHost) time() time.Time { return simTime(h.now, h.now) }

func (h *fuzzHost) host(what any) { h.step(heartbeat.Input{Kind: heartbeat.InHost, Host: what}) }

func (h *fuzzHost) step(in heartbeat.Input) {
	if h.done {
		return
	}
	h.m.Step(h.time(), in)
	h.drain()
}

// pass lets time go by, from one deadline of the machine to the next.
func (h *fuzzHost) pass(d time.Duration) {
	for end := h.now + d; !h.done; {
		at := h.drain()
		next := at.Sub(h.time())
		if at.IsZero() || h.now+next > end {
			h.now = end
			h.sent = 0
			h.drain()
			return
		}
		h.now += next
		h.sent = 0
	}
}

// drain does what the machine asks for and returns what it waits for.
func (h *fuzzHost) drain() time.Time {
	for range 3000 {
		switch a := h.m.Next(h.time()); a.Kind {
		case heartbeat.ActWait:
			if !a.At.IsZero() && !a.At.After(h.time()) {
				h.t.Fatalf("%v: waits for a time that is past", h.m.state)
			}
			h.check()
			return a.At
		case heartbeat.ActDone:
			h.done = true
			return time.Time{}
		case heartbeat.ActSend:
			h.send(a)
		case heartbeat.ActProbe:
			h.m.Step(h.time(), heartbeat.Input{Kind: heartbeat.InWritten, Seq: a.Seq, Conn: 1 + a.Seq%3})
		case heartbeat.ActHost:
			h.out(*a.Host.(*output))
		}
	}
	h.t.Fatalf("%v: Next does not come to an end", h.m.state)
	return time.Time{}
}

func (h *fuzzHost) send(a heartbeat.Action) {
	if h.sent++; h.sent >= 20 {
		h.t.Fatalf("%v: %d requests at one time", h.m.state, h.sent)
	}
	f := fuzzFlight{seq: a.Seq}
	if q, ok := a.Req.(*kmsg.ConsumerGroupHeartbeatRequest); !ok {
		f.look = true
	} else {
		f.epoch = q.MemberEpoch
		switch {
		case q.MemberID != "m" || text(q.InstanceID) != h.m.id.InstanceID || q.Group != "g":
			h.t.Fatalf("says that it is %q (%q) in %q", q.MemberID, text(q.InstanceID), q.Group)
		case q.MemberEpoch < -2 || q.MemberEpoch > 0 && q.MemberEpoch != h.epoch:
			h.t.Fatalf("epoch %d, the last accepted answer said %d", q.MemberEpoch, h.epoch)
		case q.MemberEpoch == 0 && (!heartbeat.IsFull(q) || len(q.Topics) > 0):
			h.t.Fatalf("joins without all fields: %+v", q)
		}
	}
	if f.epoch >= 0 && !f.look {
		h.recent = append(h.recent, h.now)
		if k := len(h.recent) - 2; k >= 0 && h.now-h.recent[k] < heartbeat.Floor && !h.m.lv.sending {
			h.t.Fatalf("%v: %v between two requests", h.m.state, h.now-h.recent[k])
		}
	}
	h.flights = append(h.flights, f)
}

func (h *fuzzHost) out(o output) {
	switch o.kind {
	case outPublish:
		h.snap = o.v.(*Snapshot)
	case outCallback:
		h.call(o.v.(callbackCall))
	case outLookup:
		h.lookups = append(h.lookups, o.v.([]topicID))
	case outTopicIDs:
		h.wanted = append(h.wanted, o.v.([]string))
	case outAlive:
		h.m.Step(h.time(), heartbeat.Input{Host: inAlive{h.time().Add(-time.Minute)}})
	case outEvent:
		if n, ok := o.v.(NoticeInfo); ok && len(n.Text) > 7 && n.Text[:7] == "illegal" {
			h.t.Fatal(n.Text)
		}
	}
}

func (h *fuzzHost) call(c callbackCall) {
	if h.cb != nil && !h.m.lv.sending {
		h.t.Fatalf("%v is called while %v runs", c.what, h.cb.what)
	}
	cb := h.m.own.cb
	h.cb = &cb
	if extra := cb.parts.minus(h.told); extra.len() > 0 {
		h.t.Fatalf("%v of what was never assigned: %v", c.what, extra)
	}
}

// returns ends the callback that runs, if one does.
func (h *fuzzHost) returns(err error) {
	if cb := h.cb; cb != nil {
		h.cb = nil
		h.host(inCallback{id: cb.id, err: err})
	}
}

// answer ends attempt i of those in flight.
func (h *fuzzHost) answer(i int, resp kmsg.Response, err error, conn uint64) {
	if len(h.flights) == 0 || h.done {
		return
	}
	h.reply(h.flights[i%len(h.flights)].seq, resp, err, conn)
}

// reply ends attempt seq, be it in flight or not.
func (h *fuzzHost) reply(seq uint64, resp kmsg.Response, err error, conn uint64) {
	f := fuzzFlight{seq: seq, look: true}
	if i := slices.IndexFunc(h.flights, func(f fuzzFlight) bool { return f.seq == seq }); i >= 0 {
		f = h.flights[i]
		h.flights = slices.Delete(slices.Clone(h.flights), i, i+1)
	}
	if r, ok := resp.(*kmsg.ConsumerGroupHeartbeatResponse); ok && r != nil && err == nil && r.ErrorCode == 0 && f.epoch >= 0 && !f.look && r.MemberEpoch > 0 {
		h.epoch = r.MemberEpoch
		if r.Assignment != nil {
			h.told = h.told.plus(normalize(r.Assignment.Topics))
		}
	}
	h.step(heartbeat.Input{Kind: heartbeat.InReply, Seq: f.seq, Resp: resp, Err: err, Conn: conn})
}

// check looks at what others see.
func (h *fuzzHost) check() {
	s := h.snap
	for _, t := range h.m.own.owned.plus(h.m.own.adding) {
		for _, p := range t.parts {
			if p < 0 {
				h.t.Fatalf("owns partition %d", p)
			}
		}
	}
	switch s.State {
	case StateFenced, StateFatal, StateStale, StateJoining, StateUnsubscribed:
		if s.Assignment.Len() > 0 || !s.TrustedUntil.IsZero() {
			h.t.Fatalf("%v: shows %v, trusted until %v", s.State, s.Assignment, s.TrustedUntil)
		}
	}
	if s.State != StateFatal && s.State != StateLeaving && s.MemberEpoch < 0 {
		h.t.Fatalf("%v: epoch %d", s.State, s.MemberEpoch)
	}
}
