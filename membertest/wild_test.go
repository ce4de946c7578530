package membertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

var wilds = flag.Int("wilds", 20, "how many seeds TestSmallGroupsGoWild runs")
var wildFrom = flag.Int("wild", 0, "the first seed of TestSmallGroupsGoWild")

// TestSmallGroupsGoWild runs a few members for ten minutes in which, beside the faults of
// TestOneHourOfTrouble, callbacks fail, subscriptions change, topics come, go and
// come back, operators remove members, and members leave in every way there is.
func TestSmallGroupsGoWild(t *testing.T) {
	for seed := uint64(*wildFrom); seed < uint64(*wildFrom+*wilds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { goWild(t, seed) })
		})
	}
}

type wild struct {
	*town
	slots  []*resident
	topics map[string]bool
	hits   int
}

func goWild(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	v := coordinator.Versions()[r.IntN(5)]
	session := []time.Duration{6 * time.Second, 20 * time.Second, 45 * time.Second}[r.IntN(3)]
	w := &wild{town: newTown(t, 1+r.IntN(3), seed, brokers.Config{
		Version: v, SessionTimeout: session, HeartbeatInterval: session / 9,
		Topics: map[string]int32{"orders": 12, "mail": 3},
	}), topics: map[string]bool{"orders": true, "mail": true}}
	w.slots = make([]*resident, 1+r.IntN(6))
	for i := range w.slots {
		w.slots[i] = w.settle(i, session)
	}
	for range 60 {
		w.act(session)
		time.Sleep(time.Duration(r.IntN(15000)) * time.Millisecond)
	}
	for _, ft := range w.faults {
		for _, f := range ft.faults {
			w.hits += f.Hits()
		}
		ft.mu.Lock()
		ft.faults = nil
		ft.mu.Unlock()
	}
	for _, name := range []string{"orders", "mail"} {
		if !w.topics[name] {
			_ = w.cluster.CreateTopic(name, 12)
		}
	}
	for i, m := range w.slots {
		select {
		case err := <-m.done:
			w.why(i, err)
			w.slots[i] = w.settle(i, session)
		default:
		}
	}
	time.Sleep(7 * time.Minute)
	w.atRest()
	for i, m := range w.slots {
		m.stop()
		w.why(i, <-m.done)
	}
	w.runs.Wait()
	time.Sleep(time.Minute + time.Second) // sessions end
	for _, ft := range w.faults {
		ft.Close()
	}
	w.check.Finish()
	for _, m := range w.cluster.Group("g").Members {
		t.Errorf("a ghost: %+v", m)
	}
}

func (w *wild) why(i int, err error) {
	if err == nil || strings.Contains(err.Error(), "leave was not acknowledged") {
		return
	}
	if _, ok := errors.AsType[*member.CallbackError](err); ok {
		return
	}
	w.Logf("%s member %d: %v", time.Now().Format(clock), i, err)
}

// settle starts the next member of a slot.
func (w *wild) settle(i int, session time.Duration) *resident {
	r := w.rand
	failing := r.IntN(6) == 0
	own := rand.New(rand.NewPCG(r.Uint64(), 4))
	callback := func(ctx context.Context, _ member.Partitions) error {
		switch n := own.IntN(20); {
		case n < 10:
		case n == 19 && failing:
			return errors.New("callback failed")
		case n == 18 && failing:
			panic("callback")
		case n == 17:
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(own.IntN(40)) * time.Second):
			}
		default:
			time.Sleep(time.Duration(own.IntN(2000)) * time.Millisecond)
		}
		return nil
	}
	remains := false
	m := w.start(i%len(w.faults), func(c *member.ConsumerConfig) {
		c.OnAssigned, c.OnRevoked, c.OnLost = callback, callback, callback
		c.Timing.SessionTimeout = session
		c.Timing.RebalanceTimeout = 30 * time.Second
		c.SelfFence = r.IntN(3) == 0
		c.Leave = []member.LeaveOperation{member.LeaveDefault, member.LeaveDefault, member.LeaveGroup, member.RemainInGroup}[r.IntN(4)]
		if r.IntN(3) == 0 {
			c.InstanceID = fmt.Sprint("instance-", i)
		}
		remains = c.Leave == member.RemainInGroup && c.InstanceID == ""
		if r.IntN(8) == 0 {
			c.Timing.MaxPollInterval = 20 * time.Second
		}
		if r.IntN(3) == 0 {
			c.Topics, c.Regex = nil, "o.*"
		}
		if r.IntN(3) == 0 {
			c.Rack = "r1"
		}
	})
	if remains {
		w.check.Stays(m.Snapshot().Identity)
	}
	return m
}

func (w *wild) act(session time.Duration) {
	r := w.rand
	i := r.IntN(len(w.slots))
	m := w.slots[i]
	ctx, cancel := context.WithTimeout(w.Context(), time.Duration(r.IntN(30))*time.Second)
	_ = cancel
	switch r.IntN(20) {
	case 0, 1:
		m.stop()
		w.why(i, <-m.done)
		w.slots[i] = w.settle(i, session)
	case 2:
		m.stop()
		time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
		w.why(i, <-m.done)
		w.slots[i] = w.settle(i, session)
	case 3:
		_ = m.Leave(ctx, member.LeaveGroup)
		w.why(i, <-m.done)
		w.slots[i] = w.settle(i, session)
	case 4:
		_ = m.Subscribe(ctx, []member.Subscription{{Topics: []string{"orders"}}, {Topics: []string{"mail", "orders"}}, {Regex: "m.*"}, {Regex: "(("}, {Topics: []string{"mail"}, Regex: "o.*"}}[r.IntN(5)])
	case 5:
		m.Wake()
	case 6:
		m.Alive()
	case 7:
		name := []string{"orders", "mail"}[r.IntN(2)]
		if w.topics[name] {
			_ = w.cluster.DeleteTopic(name)
		}
		if w.topics[name] = r.IntN(3) > 0; w.topics[name] {
			_ = w.cluster.CreateTopic(name, int32(1+r.IntN(12)))
		}
	case 8:
		w.cluster.Expire("g", m.Snapshot().MemberID)
	case 9:
		select {
		case err := <-m.done:
			w.why(i, err)
			w.slots[i] = w.settle(i, session)
		default:
		}
	default:
		f := w.trouble()
		_ = f
	}
	if r.IntN(4) == 0 {
		ft := w.faults[r.IntN(len(w.faults))]
		ft.mu.Lock()
		ft.faults = nil
		ft.mu.Unlock()
	}
	_ = kmsg.NewPtrMetadataRequest
}

func (w *wild) atRest() {
	for _, m := range w.slots {
		s := m.Snapshot()
		if s.State != member.StateStable && s.State != member.StateFatal && s.State != member.StateStale {
			w.Errorf("%v is %v", s.Identity, s.State)
			w.Log(w.rec.story(s.MemberID))
		}
	}
}
