package membertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// ErrFault is matched, by errors.Is, by every error that an [Action] of this
// package made up.
var ErrFault = errors.New("injected fault")

// FaultTransport stands in front of another Transport, a real cluster's too, and
// lets faults happen to chosen requests. Without a fault that matches, a request
// passes unchanged. Its methods are safe for concurrent use.
type FaultTransport struct {
	next heartbeat.Transport
	life context.Context // of deliveries that nobody waits for any more
	end  context.CancelFunc
	late sync.WaitGroup

	// mu is held neither across a send nor while a Match runs.
	mu     sync.Mutex
	closed bool
	faults []*Injected
}

// NewFaultTransport returns a FaultTransport in front of next. Call Close at the
// end of the test, before next is closed; tb.Cleanup will do. In a synctest bubble
// make it, and the channels of its faults, inside.
func NewFaultTransport(next heartbeat.Transport) *FaultTransport {
	t := &FaultTransport{next: next}
	t.life, t.end = context.WithCancel(context.Background())
	return t
}

// Fault says what is to happen to which requests.
type Fault struct {
	// Match says whether the fault is meant for a request. It may be called from
	// several goroutines at once, and for requests that an older fault then takes.
	// nil: every heartbeat, joins and leaves included.
	Match func(Call) bool
	// Times is how many requests the fault happens to. 0: one. Negative: all, until Remove.
	Times int
	// Do is what happens. nil: nothing, the request passes and is counted.
	Do Action
}

// Injected is a fault that is in force until it has happened Times times, or
// until Remove.
type Injected struct {
	t     *FaultTransport
	fault Fault

	// Both belong to t.mu.
	hits    int
	removed bool
}

// Inject puts a fault in force. Where several match a request, the oldest acts.
func (t *FaultTransport) Inject(f Fault) *Injected {
	if f.Match == nil {
		f.Match = Call.IsHeartbeat
	}
	if f.Times == 0 {
		f.Times = 1
	}
	if f.Do == nil {
		f.Do = pass
	}
	i := &Injected{t: t, fault: f}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, i)
	return i
}

// Hits is how many requests the fault has happened to so far.
func (i *Injected) Hits() int {
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	return i.hits
}

// Remove ends the fault. What it holds at this moment stays held.
func (i *Injected) Remove() {
	i.t.mu.Lock()
	defer i.t.mu.Unlock()
	i.removed = true
	i.t.faults = slices.DeleteFunc(i.t.faults, func(o *Injected) bool { return o == i })
}

// Do implements heartbeat.Transport.
func (t *FaultTransport) Do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	act := t.pick(CallOf(group, req))
	if act == nil {
		return t.next.Do(ctx, group, req)
	}
	return act(ctx, (*wire)(t), group, req)
}

// pick takes the oldest fault that matches a request, and counts it.
func (t *FaultTransport) pick(c Call) Action {
	t.mu.Lock()
	faults := slices.Clone(t.faults)
	t.mu.Unlock()
	for _, i := range faults {
		if i.fault.Match(c) && t.take(i) {
			return i.fault.Do
		}
	}
	return nil
}

// take counts a hit, unless the fault has ended meanwhile.
func (t *FaultTransport) take(i *Injected) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i.removed {
		return false
	}
	i.hits++
	if i.fault.Times > 0 && i.hits == i.fault.Times {
		i.removed = true
		t.faults = slices.DeleteFunc(t.faults, func(o *Injected) bool { return o == i })
	}
	return true
}

// Close drops the requests that are still held and that nobody waits for any
// more, and waits until no goroutine of t is left. Requests pass after it, too, but
// an action that would deliver late drops instead.
func (t *FaultTransport) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.end()
	t.late.Wait()
}

const (
	// heldAtMost is how long a request can be held, so that a forgotten channel and
	// a forgotten Close do not keep a goroutine for ever.
	heldAtMost = 10 * time.Minute
	// deliverWithin bounds the delivery of a request that nobody waits for.
	deliverWithin = 30 * time.Second
)

// wire is the FaultTransport as an Action sees it: what comes after it, and a
// place for deliveries that outlive their caller.
type wire FaultTransport

// Do passes a request on.
func (w *wire) Do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	return w.next.Do(ctx, group, req)
}

// detach runs f on a goroutine that Close ends and waits for.
func (w *wire) detach(f func(life context.Context)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("%w: dropped, as the FaultTransport is closed", ErrFault)
	}
	w.late.Go(func() {
		ctx, cancel := context.WithTimeout(w.life, heldAtMost)
		defer cancel()
		f(ctx)
	})
	return nil
}
