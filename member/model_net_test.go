package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// simNet is a member's connections. One is in use; requests on it are handled in
// their order, each after the answer to the one before, as a broker does.
type simNet struct {
	conn    *simConn
	flights map[uint64]*simAttempt // by seq: those that the machine waits for
	wrote   time.Duration          // a request is written after the one before
	n       uint64
}

type simConn struct {
	id    uint64
	cut   bool
	hung  bool          // nothing is answered any more
	busy  time.Duration // the last request arrives then
	muted time.Duration // no request is handled before
	reads time.Duration // the last answer is read then
}

// simAttempt is one request on its way.
type simAttempt struct {
	n       *simNode
	seq     uint64
	req     kmsg.Request
	hb      *kmsg.ConsumerGroupHeartbeatRequest // a copy of req, if it is a heartbeat
	conn    *simConn
	number  uint64
	sent    time.Duration
	arrived time.Duration
	written bool
	ended   bool
	fault   simKind // simKinds: none
	n2      int16   // its code
	d       time.Duration
	state   State
	full    bool
	leaving bool
}

// send makes one attempt, and may put a fault in its way.
func (n *simNode) send(a heartbeat.Action) {
	n.net.n++
	t := &simAttempt{n: n, seq: a.Seq, req: a.Req, number: n.net.n, sent: n.w.now, fault: simKinds, state: n.m.state, leaving: n.m.lv.sending}
	if hb, ok := a.Req.(*kmsg.ConsumerGroupHeartbeatRequest); ok {
		hb2 := *hb
		t.hb, t.full = &hb2, heartbeat.IsFull(hb)
	}
	n.checkSend(t)
	n.net.flights[a.Seq] = t
	t.takeFault()
	dial := n.connect(a.Avoid)
	t.conn = n.net.conn
	n.w.after(a.Timeout, func() { t.fail(fmt.Errorf("attempt: %w", context.DeadlineExceeded)) })
	if t.fault == simNotSent {
		n.w.after(t.d, func() { t.fail(errors.New("dial failed")) })
		return
	}
	n.net.wrote = max(n.net.wrote, n.w.now+dial)
	n.w.at(n.net.wrote, t.write)
}

// connect makes sure that there is a connection, and not the one to avoid.
func (n *simNode) connect(avoid uint64) (dial time.Duration) {
	if c := n.net.conn; c != nil && !c.cut && c.id != avoid {
		return 0
	}
	n.w.conns++
	n.net.conn = &simConn{id: n.w.conns}
	return n.latency(3) / 4
}

// latency is 0 to 400 ms, and mostly short.
func (n *simNode) latency(key uint64) time.Duration {
	most := int64(400)
	if n.w.roll(4, uint64(n.i), n.net.n, key) > 0 {
		most = 30
	}
	return time.Duration(n.w.roll(most*1000, uint64(n.i), n.net.n, key, 9)) * time.Microsecond
}

// takeFault finds the first armed fault that this request is for.
func (t *simAttempt) takeFault() {
	n := t.n
	for i, op := range n.armed {
		if op.in == simAnyState || op.in == t.state || op.in == StateLeaving && t.leaving {
			n.armed = append(n.armed[:i], n.armed[i+1:]...)
			t.fault, t.n2, t.d = op.kind, int16(op.n), op.d
			n.hits++
			n.w.cover.hit(t.fault, t.state)
			n.w.logf("m%d seq %d meets %v n=%d d=%v", n.i, t.seq, t.fault, op.n, op.d)
			return
		}
	}
}

func (t *simAttempt) write() {
	if t.ended {
		return
	}
	if t.conn.cut {
		t.fail(io.ErrUnexpectedEOF) // it waited to be written
		return
	}
	t.written = true
	t.setVersion()
	t.logf("sends")
	there := t.n.latency(4)
	switch t.fault {
	case simDropRequest:
		t.conn.hung = true
	case simDelayRequest:
		there = t.d
		t.n.w.late = max(t.n.w.late, t.n.w.now+t.d)
	case simCutBefore:
		t.n.w.after(there, t.cut)
		return
	case simCutLate:
		t.n.w.late = max(t.n.w.late, t.n.w.now+t.d)
		t.n.w.after(there/2, t.cut)
		t.n.w.after(t.d, t.arriveLate)
		return
	}
	if t.conn.hung {
		return
	}
	t.conn.busy = max(t.conn.busy, t.n.w.now+there)
	t.n.w.at(t.conn.busy, t.arrive)
}

// setVersion is what a client does when it knows what the broker offers.
func (t *simAttempt) setVersion() {
	if t.hb != nil {
		t.req.SetVersion(1)
		t.hb.SetVersion(1)
	}
}

// arrive is the broker's turn. What is still on a connection that was cut is lost.
func (t *simAttempt) arrive() {
	if t.conn.cut || t.conn.hung {
		return
	}
	if t.conn.muted > t.n.w.now {
		t.n.w.at(t.conn.muted, t.arrive) // the answer to the one before comes first
		return
	}
	resp := t.handle()
	back := t.n.latency(5)
	switch t.fault {
	case simDuplicate:
		// The answer that has something to tell is the one that is read.
		first, _ := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
		again, _ := t.handle().(*kmsg.ConsumerGroupHeartbeatResponse)
		if again != nil && again.ErrorCode == 0 && first.Assignment == nil {
			resp = again
		}
		t.n.own.exemptAt(t.n.w.now)
	case simDropAnswer:
		t.conn.hung = true
		return
	case simDelayAnswer:
		back = t.d
		t.conn.muted = t.n.w.now + back
	case simCutAfter:
		t.n.w.after(back, t.cut)
		return
	}
	t.conn.reads = max(t.conn.reads, t.n.w.now+back)
	t.n.w.at(t.conn.reads, func() {
		if !t.conn.cut {
			t.end(heartbeat.Input{Resp: resp})
		}
	})
}

// arriveLate is a request that the broker had read when its connection was cut.
func (t *simAttempt) arriveLate() {
	t.handle()
}

// cut ends a connection: nothing that waits for an answer on it gets one.
func (t *simAttempt) cut() {
	if t.conn.cut {
		return
	}
	t.conn.cut = true
	for _, o := range t.n.net.ordered() {
		if o.conn == t.conn && o.written {
			o.fail(io.EOF)
		}
	}
}

// ordered is the attempts in flight, oldest first.
func (s *simNet) ordered() []*simAttempt {
	var out []*simAttempt
	for seq := uint64(0); len(out) < len(s.flights); seq++ {
		if t := s.flights[seq]; t != nil {
			out = append(out, t)
		}
	}
	return out
}

// fail is an attempt without an answer. Before it is written, it is surely not sent.
func (t *simAttempt) fail(err error) {
	if !t.written {
		err = heartbeat.NotSent(err)
	}
	t.end(heartbeat.Input{Err: err})
}

func (t *simAttempt) end(in heartbeat.Input) {
	if t.ended {
		return
	}
	t.ended = true
	delete(t.n.net.flights, t.seq)
	in.Kind, in.Seq = heartbeat.InReply, t.seq
	if t.written {
		in.Conn = t.conn.id
	}
	t.n.deliver(in, t)
}

// probe answers whether an attempt is written, and calls it back if it is not.
func (n *simNode) probe(seq uint64, keep bool) {
	t := n.net.flights[seq]
	switch {
	case t == nil:
	case t.written:
		n.core.Step(n.local(), heartbeat.Input{Kind: heartbeat.InWritten, Seq: seq, Conn: t.conn.id})
	case !keep:
		t.fail(context.Canceled)
	}
}
