package member

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// keepalive is a stable member that owns partitions, and an answer without news.
type keepalive struct {
	t    testing.TB
	m    *machine
	now  time.Duration
	resp *kmsg.ConsumerGroupHeartbeatResponse
	bare int
}

func newKeepalive(t testing.TB, observe bool) *keepalive {
	kind := byte(0)
	if observe {
		kind = 128
	}
	h := newFuzzHost(t, kind)
	h.stable()
	h.pass(time.Second)
	if h.m.state != StateStable || h.m.own.owned.len() == 0 {
		t.Fatalf("%v, owns %v", h.m.state, h.m.own.owned)
	}
	return &keepalive{t: t, m: h.m, now: h.now, resp: fuzzResponse(0, 5, 3000, 0, "", nil)}
}

// cycle is one keepalive: it is due, it is built, it is accepted, the machine waits.
func (k *keepalive) cycle() {
	k.now += 3 * time.Second
	now := simTime(k.now, k.now)
	a := k.m.Next(now)
	for a.Kind == heartbeat.ActHost {
		a = k.m.Next(now)
	}
	q, ok := a.Req.(*kmsg.ConsumerGroupHeartbeatRequest)
	if a.Kind != heartbeat.ActSend || !ok {
		k.t.Fatalf("action %v, request %T", a.Kind, a.Req)
	}
	if q.MemberEpoch != 5 || q.RebalanceTimeoutMillis != -1 || q.SubscribedTopicNames != nil || q.SubscribedTopicRegex != nil || q.Topics != nil {
		return // the full one that is due every few minutes
	}
	k.bare++
	k.answer(a.Seq)
}

func (k *keepalive) answer(seq uint64) {
	k.now += 5 * time.Millisecond
	now := simTime(k.now, k.now)
	k.m.Step(now, heartbeat.Input{Kind: heartbeat.InReply, Seq: seq, Resp: k.resp, Conn: 1})
	for {
		switch a := k.m.Next(now); a.Kind {
		case heartbeat.ActHost:
		case heartbeat.ActWait:
			return
		default:
			k.t.Fatalf("action %v after an accepted keepalive", a.Kind)
		}
	}
}

// Rule 22: a keepalive costs nothing in the pure core.
func TestRule22KeepaliveAllocatesNothing(t *testing.T) {
	for _, observe := range []bool{false, true} {
		k := newKeepalive(t, observe)
		k.cycle()
		before := k.bare
		if n := testing.AllocsPerRun(50, k.cycle); n != 0 {
			t.Errorf("observed %v: %v allocations a keepalive, want 0", observe, n)
		}
		if got := k.bare - before; got != 51 {
			t.Errorf("observed %v: %d of 51 heartbeats were bare", observe, got)
		}
	}
}

func BenchmarkKeepalive(b *testing.B) {
	k := newKeepalive(b, false)
	b.ReportAllocs()
	for b.Loop() {
		k.m.own.lastFull = simTime(k.now, k.now) // no full one is due
		k.cycle()
	}
}
