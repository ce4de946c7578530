package member_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

type (
	request  = *kmsg.ConsumerGroupHeartbeatRequest
	response = *kmsg.ConsumerGroupHeartbeatResponse
)

// beat is one heartbeat that reached a broker.
type beat struct {
	at     time.Duration // since the rig began
	broker int32
	req    request
	resp   response // what was sent; nil: nothing
	told   time.Duration
}

func (b beat) id() string { return b.req.MemberID }
func (b beat) full() bool { return heartbeat.IsFull(b.req) }
func (b beat) ok() bool   { return b.resp != nil && b.resp.ErrorCode == 0 }

func (b beat) String() string {
	owned, answer := "-", "none"
	if b.req.Topics != nil {
		n := 0
		for _, t := range b.req.Topics {
			n += len(t.Partitions)
		}
		owned = fmt.Sprint(n)
	}
	if b.resp != nil {
		answer = fmt.Sprintf("code %d epoch %d", b.resp.ErrorCode, b.resp.MemberEpoch)
		if b.resp.Assignment != nil {
			answer += fmt.Sprintf(" topics %d", len(b.resp.Assignment.Topics))
		}
	}
	return fmt.Sprintf("%10v %s epoch %d full %t owned %s -> %s", b.at, b.id()[:min(4, len(b.id()))], b.req.MemberEpoch, b.full(), owned, answer)
}

// Matches pick heartbeats.
type match func(request) bool

func joins(q request) bool  { return q.MemberEpoch == 0 }
func steady(q request) bool { return q.MemberEpoch > 0 }
func leaves(q request) bool { return q.MemberEpoch < 0 }
func every(request) bool    { return true }
func acks(q request) bool   { return q.MemberEpoch > 0 && q.Topics != nil }

func from(m *mem, what match) match {
	return func(q request) bool { return q.MemberID == m.id && what(q) }
}

// rule is a fault for the next n heartbeats that match; n below 0: for all.
type rule struct {
	match match
	fault fault
	n     int
	hits  int
}

// wire stands between the members and the coordinator.
type wire struct {
	mu    sync.Mutex
	c     *brokers.Cluster
	t0    time.Time
	log   []beat
	rules []*rule
	finds int // FindCoordinator requests

	asleep atomic.Int32 // requests that are held up
	find   func(*kmsg.FindCoordinatorRequest) kmsg.Response
}

func (w *wire) watch(c *brokers.Cluster) {
	w.c, w.t0 = c, time.Now()
	c.Kfake().ControlKey(int16(kmsg.FindCoordinator), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.Kfake().KeepControl()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.finds++
		if w.find != nil {
			resp := w.find(req.(*kmsg.FindCoordinatorRequest))
			return resp, nil, resp != nil
		}
		return nil, nil, false
	})
}

// on makes the next n heartbeats that match meet a fault. Earlier rules go first.
func (r *rig) on(n int, m match, f fault) *rule {
	x := &rule{match: m, fault: f, n: n}
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	r.wire.rules = append(r.wire.rules, x)
	return x
}

// calm takes all faults away.
func (r *rig) calm() {
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	r.wire.rules = nil
}

// hits is how many heartbeats have met the fault.
func (r *rig) hits(x *rule) int {
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	return x.hits
}

func (w *wire) heartbeat(broker int32, q request, apply func() response) (response, error) {
	w.mu.Lock()
	at := len(w.log)
	w.log = append(w.log, beat{at: time.Since(w.t0), broker: broker, req: q})
	var f fault
	for _, x := range w.rules {
		if x.n != 0 && x.match(q) {
			x.n--
			x.hits++
			f = x.fault
			break
		}
	}
	w.mu.Unlock()
	var resp response
	var err error
	if f == nil {
		resp = apply()
	} else if resp, err = f(w, q, apply); err != nil {
		resp = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log[at].resp, w.log[at].told = resp, time.Since(w.t0)
	return resp, err
}

// sent is the heartbeats so far that match, all members' without one.
func (r *rig) sent(what match) []beat {
	synctest.Wait()
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	var out []beat
	for _, b := range r.wire.log {
		if what(b.req) {
			out = append(out, b)
		}
	}
	return out
}

// sent is the member's own heartbeats so far.
func (m *mem) sent(what match) []beat { return m.r.sent(from(m, what)) }

func (r *rig) lookups() int {
	synctest.Wait()
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	return r.wire.finds
}

// dump is the last heartbeats, for a failed test, once everything has come to rest.
func (r *rig) dump() string {
	synctest.Wait()
	return r.log()
}

func (r *rig) log() string {
	r.wire.mu.Lock()
	defer r.wire.mu.Unlock()
	all := r.wire.log
	var sb strings.Builder
	for _, b := range all[max(0, len(all)-40):] {
		fmt.Fprintln(&sb, b)
	}
	return sb.String()
}

// gaps are the times between heartbeats.
func gaps(beats []beat) []time.Duration {
	var out []time.Duration
	for i := 1; i < len(beats); i++ {
		out = append(out, beats[i].at-beats[i-1].at)
	}
	return out
}

// during keeps the heartbeats that were sent in [from, to).
func during(beats []beat, from, to time.Duration) []beat {
	return slices.DeleteFunc(slices.Clone(beats), func(b beat) bool { return b.at < from || b.at >= to })
}

// deliver lets a request that was kept back arrive at the coordinator, inside a broker.
func (r *rig) deliver(apply func() response) {
	r.Helper()
	r.wire.mu.Lock()
	r.wire.rules = append([]*rule{{match: func(q request) bool { return q.MemberID == "pigeon" }, n: 1, fault: func(_ *wire, _ request, own func() response) (response, error) {
		apply()
		return own(), nil
	}}}, r.wire.rules...)
	r.wire.mu.Unlock()
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.MemberEpoch = "g", "pigeon", -1
	if _, err := kgotransport.New(r.client()).Do(context.Background(), "g", q); err != nil {
		r.Fatal(err)
	}
}
