package member_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// Rule 2: one member; its joins and leaves hang (no answer within the attempt) and arrive up to 20 s
// after they were sent, or not at all. Once all have arrived nobody may be in the group, unless Run
// said that it does not know.
func TestGhostHunt(t *testing.T) { seeds(t, 200, ghostRun) }

// hunt is one run, and what happened in it.
type hunt struct {
	*chaos
	c     *brokers.Cluster
	inner *kgotransport.Transport
	late  sync.WaitGroup
	log   []string
}

func (h *hunt) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, fmt.Sprintf("%v ", time.Since(h.start))+fmt.Sprintf(format, args...))
}

func ghostRun(t *testing.T, seed uint64) {
	vs := coordinator.Versions()
	c, cl := bare(t, brokers.Config{Version: vs[int(seed)%len(vs)], Topics: map[string]int32{"t0": 3}})
	h := &hunt{chaos: &chaos{t: t, start: time.Now(), r: rand.New(rand.NewPCG(seed, 7))}, c: c, inner: kgotransport.New(cl)}
	defer h.inner.Acquire()()
	cfg := member.ConsumerConfig{Group: "g", Topics: []string{"t0"}, Logger: slog.New(slog.DiscardHandler), Transport: heartbeat.TransportFunc(h.do)}
	cfg.Timing.SessionTimeout = 9 * time.Second
	m, err := member.NewConsumer(cl, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ends := time.Duration(200+h.n(40000)) * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), ends)
	defer cancel()
	err = m.Run(ctx)
	h.say("Run returned %v", err)
	if took := time.Since(h.start) - ends; took > 22*time.Second {
		t.Errorf("close took %v", took)
	}
	h.late.Wait()
	for _, g := range c.Group("g").Members {
		if err == nil {
			t.Errorf("a ghost: %v", g.ID)
		}
	}
	if t.Failed() {
		for _, l := range h.log {
			t.Log(l)
		}
	}
}

func (h *hunt) do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	q, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest)
	if !ok {
		return h.inner.Do(ctx, group, req)
	}
	x := h.n(10)
	switch {
	case q.MemberEpoch > 0:
		return h.beat(ctx, group, q, x)
	case x < 4: // hangs, and arrives late or not at all
		h.later(group, *q)
		return hang(ctx)
	case x == 4:
		resp, _ := h.inner.Do(ctx, group, req)
		h.say("epoch %d, its answer is lost: %v", q.MemberEpoch, codeIn(resp))
		return hang(ctx)
	case x == 5:
		h.say("epoch %d refused 16", q.MemberEpoch)
		return coded(16), nil
	}
	resp, err := h.inner.Do(ctx, group, req)
	h.say("epoch %d answered %v", q.MemberEpoch, codeIn(resp))
	return resp, err
}

func (h *hunt) beat(ctx context.Context, group string, q *kmsg.ConsumerGroupHeartbeatRequest, x int) (kmsg.Response, error) {
	if x > 0 {
		return h.inner.Do(ctx, group, q)
	}
	c := []int16{110, 25, 16, 14}[h.n(4)]
	h.say("beat %d: code %d", q.MemberEpoch, c)
	if c == 25 { // true, or it would be a lie
		h.c.Expire("g", q.MemberID)
	}
	return coded(c), nil
}

func (h *hunt) later(group string, q kmsg.ConsumerGroupHeartbeatRequest) {
	d := time.Duration(h.n(19990)) * time.Millisecond
	if h.n(3) == 0 {
		h.say("epoch %d hangs, never arrives", q.MemberEpoch)
		return
	}
	h.say("epoch %d hangs, arrives in %v", q.MemberEpoch, d)
	h.late.Go(func() {
		time.Sleep(d)
		resp, _ := h.inner.Do(context.Background(), group, &q)
		h.say("late epoch %d arrived: %v", q.MemberEpoch, codeIn(resp))
	})
}

func coded(c int16) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.ErrorCode = c
	return resp
}

func codeIn(resp kmsg.Response) any {
	if hb, ok := resp.(*kmsg.ConsumerGroupHeartbeatResponse); ok {
		return hb.ErrorCode
	}
	return nil
}
