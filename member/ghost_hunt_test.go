package member_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// Rule 2: one member; joins and leaves hang (no answer within the attempt) and arrive up to 19 s after they were sent, or not at
// all. 20 s after Run returned nobody may be in the group.
func TestGhostHunt(t *testing.T) { seeds(t, 200, ghostRun) }

func ghostRun(t *testing.T, seed uint64) {
	vs := coordinator.Versions()
	c, err := brokers.New(brokers.Config{Version: vs[int(seed)%len(vs)], Topics: map[string]int32{"t0": 3}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ch := &chaos{r: rand.New(rand.NewPCG(seed, 7))}
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...), kgo.Dialer(c.DialContext))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	t0 := time.Now()
	var mu sync.Mutex
	var log []string
	say := func(f string, a ...any) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, fmt.Sprintf("%v ", time.Since(t0))+fmt.Sprintf(f, a...))
	}
	inner := kgotransport.New(cl)
	defer inner.Acquire()()
	var late sync.WaitGroup
	tr := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
		q, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest)
		if !ok {
			return inner.Do(ctx, group, req)
		}
		x := ch.n(10)
		if q.MemberEpoch > 0 {
			if x == 0 {
				resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
				resp.ErrorCode = []int16{110, 25, 16, 14}[ch.n(4)]
				say("beat %d: code %d", q.MemberEpoch, resp.ErrorCode)
				if resp.ErrorCode == 25 { // true, or it would be a lie
					c.Expire("g", q.MemberID)
				}
				return resp, nil
			}
			return inner.Do(ctx, group, req)
		}
		switch {
		case x < 4: // hangs, and arrives late or not at all
			cp := *q
			d := time.Duration(ch.n(19000)) * time.Millisecond
			if ch.n(3) > 0 {
				say("epoch %d hangs, arrives in %v", q.MemberEpoch, d)
				late.Go(func() {
					time.Sleep(d)
					resp, err := inner.Do(context.Background(), group, &cp)
					if err == nil {
						say("late epoch %d arrived: %d", cp.MemberEpoch, resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
					}
				})
			} else {
				say("epoch %d hangs, never arrives", q.MemberEpoch)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		case x == 4:
			resp, err := inner.Do(ctx, group, req)
			if err == nil {
				say("epoch %d answered %d after, lost", q.MemberEpoch, resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		case x == 5:
			say("epoch %d refused 16", q.MemberEpoch)
			resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
			resp.ErrorCode = 16
			return resp, nil
		}
		resp, err := inner.Do(ctx, group, req)
		if err == nil {
			say("epoch %d answered %d", q.MemberEpoch, resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode)
		}
		return resp, err
	})
	cfg := member.ConsumerConfig{Group: "g", Topics: []string{"t0"}, Logger: slog.New(slog.DiscardHandler), Transport: tr}
	cfg.Timing.SessionTimeout = 9 * time.Second
	m, err := member.NewConsumer(cl, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(200+ch.n(40000))*time.Millisecond)
	defer cancel()
	err = m.Run(ctx)
	took := time.Since(t0)
	say("Run returned %v", err)
	late.Wait()
	if dl, _ := ctx.Deadline(); took-dl.Sub(t0) > 22*time.Second {
		t.Errorf("close took %v", took-dl.Sub(t0))
	}
	for _, g := range c.Group("g").Members {
		if err == nil {
			t.Errorf("a ghost: %v", g.ID)
		}
	}
	if t.Failed() {
		for _, l := range log {
			t.Log(l)
		}
	}
}
