package heartbeat

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Core is the pure half of a member. Step takes one input; Next is then called
// until it answers with [ActWait] or [ActDone]. Neither blocks, calls out, reads
// a clock or panics on anything that a broker sent.
type Core interface {
	Step(now time.Time, in Input)
	Next(now time.Time) Action
}

// InputKind says what an [Input] is.
type InputKind uint8

const (
	InHost    InputKind = iota // Host: from the member's own side, not from the wire
	InReply                    // Seq, Resp or Err, Conn, Wrote: the attempt has ended
	InWritten                  // Seq, Conn, Wrote: the attempt that [ActProbe] asked about is on the wire, its answer is not here
)

// Input is what happened.
type Input struct {
	Kind  InputKind
	Seq   uint64
	Resp  kmsg.Response
	Err   error
	Conn  uint64    // the connection, see [Trace]; 0: not told
	Wrote time.Time // when it was written there; zero: not told
	Host  any
}

// ActionKind says what an [Action] asks for.
type ActionKind uint8

const (
	ActWait  ActionKind = iota // nothing until At (zero: for ever) or the next input
	ActSend                    // one attempt of Req, numbered Seq, for at most Timeout
	ActProbe                   // is attempt Seq written? If so: InWritten. If not: give it up, InReply follows
	ActHost                    // Host: for the member's own side
	ActDone                    // the end, with Err
)

// Action is what to do.
type Action struct {
	Kind    ActionKind
	Seq     uint64
	Req     kmsg.Request
	AnyNode bool // ActSend: not to the coordinator, to any broker
	// Keep: ActProbe: if it is not written, let it go on and say nothing. ActDone: attempts that
	// are under way linger, see [Trace].
	Keep    bool
	Timeout time.Duration
	Avoid   uint64 // ActSend: see [Trace]
	At      time.Time
	Host    any
	Err     error
}

// Loop drives one [Core]: it is the only owner of timers, requests in flight and
// time. It is used once.
type Loop struct {
	core      Core
	transport Transport
	group     string
	host      func(now time.Time, what any)

	mu     sync.Mutex
	inbox  []Input
	closed bool
	ready  chan struct{} // holds one token when inbox is not empty

	flights map[uint64]*flight
	running sync.WaitGroup
}

type flight struct {
	trace  Trace
	cancel context.CancelFunc
}

// NewLoop makes the loop of core. host carries out what ActHost asks for, on the
// loop's goroutine: it must not block.
func NewLoop(core Core, t Transport, group string, host func(now time.Time, what any)) *Loop {
	return &Loop{core: core, transport: t, group: group, host: host, ready: make(chan struct{}, 1), flights: map[uint64]*flight{}}
}

// Post hands what to the core as [InHost]. It never blocks, from any goroutine.
// It reports false once the loop has ended: then nobody will see it.
func (l *Loop) Post(what any) bool { return l.post(Input{Kind: InHost, Host: what}) }

func (l *Loop) post(in Input) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.inbox = append(l.inbox, in)
	select {
	case l.ready <- struct{}{}:
	default:
	}
	return true
}

func (l *Loop) take() []Input {
	l.mu.Lock()
	defer l.mu.Unlock()
	in := l.inbox
	l.inbox = nil
	return in
}

// Run drives the core until it is done, and returns what it ended with. When ctx
// ends, the core gets stop, once, and decides what follows: requests and
// callbacks do not end with ctx. When Run returns, every attempt has been ended
// and waited for; what Post brings later is not seen.
func (l *Loop) Run(ctx context.Context, stop any) error {
	base := context.WithoutCancel(ctx)
	stopped := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, last := l.drain(base)
		if last != nil {
			l.end(last.Keep)
			return last.Err
		}
		var tick <-chan time.Time
		if !wait.IsZero() {
			timer.Reset(time.Until(wait))
			tick = timer.C
		}
		select {
		case <-stopped:
			stopped = nil
			l.core.Step(time.Now(), Input{Kind: InHost, Host: stop})
		case <-l.ready:
			now := time.Now()
			for _, in := range l.take() {
				l.step(now, in)
			}
		case <-tick:
		}
	}
}

func (l *Loop) step(now time.Time, in Input) {
	if in.Kind == InReply {
		delete(l.flights, in.Seq)
	}
	l.core.Step(now, in)
}

// drain does what is to be done; last is the ActDone.
func (l *Loop) drain(base context.Context) (wait time.Time, last *Action) {
	for {
		now := time.Now()
		switch a := l.core.Next(now); a.Kind {
		case ActWait:
			return a.At, nil
		case ActDone:
			return time.Time{}, &a
		case ActSend:
			l.send(base, a)
		case ActProbe:
			l.probe(now, a.Seq, a.Keep)
		case ActHost:
			l.host(now, a.Host)
		}
	}
}

func (l *Loop) send(base context.Context, a Action) {
	f := &flight{trace: Trace{Avoid: a.Avoid}}
	ctx, cancel := context.WithTimeout(WithTrace(base, &f.trace), a.Timeout)
	f.cancel = cancel
	l.flights[a.Seq] = f
	group := l.group
	if a.AnyNode {
		group = ""
	}
	l.running.Go(func() {
		defer cancel()
		Attempt(ctx, l.transport, group, a.Req, func(resp kmsg.Response, err error) {
			conn, at := f.trace.written()
			l.post(Input{Kind: InReply, Seq: a.Seq, Resp: resp, Err: err, Conn: conn, Wrote: at})
		})
	})
}

func (l *Loop) probe(now time.Time, seq uint64, keep bool) {
	f := l.flights[seq]
	if f == nil {
		return
	}
	if conn, at := f.trace.written(); conn != 0 {
		l.core.Step(now, Input{Kind: InWritten, Seq: seq, Conn: conn, Wrote: at})
		return
	}
	if !keep {
		f.cancel()
	}
}

func (l *Loop) end(keep bool) {
	l.mu.Lock()
	l.closed = true
	l.inbox = nil
	l.mu.Unlock()
	for _, f := range l.flights {
		f.trace.lingers.Store(keep)
		f.cancel()
	}
	l.running.Wait()
}
