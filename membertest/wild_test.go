package membertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

var (
	wilds    = flag.Int("wilds", 5, "how many seeds TestSmallGroupsGoWild runs")
	wildFrom = flag.Int("wild", 0, "the first seed of TestSmallGroupsGoWild")
)

// TestSmallGroupsGoWild runs a few members for some minutes in which, beside the
// faults of TestOneHourOfTrouble, callbacks are slow and fail, subscriptions
// change, topics come, go and come back, operators remove members, and members leave in
// every way there is.
func TestSmallGroupsGoWild(t *testing.T) {
	for seed := uint64(*wildFrom); seed < uint64(*wildFrom+*wilds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { goWild(t, seed) })
		})
	}
}

// wild is a town of one group. Its slots hold a member at all times.
type wild struct {
	*town
	session time.Duration
	slots   []*resident
	topics  map[string]bool
}

func goWild(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	session := []time.Duration{6 * time.Second, 20 * time.Second, 45 * time.Second}[r.IntN(3)]
	w := &wild{session: session, topics: map[string]bool{"orders": true, "mail": true}}
	w.town = newTown(t, 1+r.IntN(3), seed, brokers.Config{
		Version:        coordinator.Versions()[r.IntN(5)],
		SessionTimeout: session, HeartbeatInterval: session / 9,
		Topics: map[string]int32{"orders": 12, "mail": 3},
	})
	w.slots = make([]*resident, 1+r.IntN(6))
	for i := range w.slots {
		w.move(i)
	}
	for range 60 {
		time.Sleep(time.Millisecond + time.Duration(r.IntN(15000))*time.Millisecond)
		w.act()
	}
	w.calm()
	for _, name := range []string{"orders", "mail"} {
		if !w.topics[name] {
			_ = w.cluster.CreateTopic(name, 12)
		}
	}
	time.Sleep(7 * time.Minute) // longer than full heartbeats are apart
	w.atRest()
	for _, m := range w.slots {
		w.out(m)
	}
	w.runs.Wait()
	time.Sleep(time.Minute) // sessions end, and with them those who stay on purpose
	w.check.Finish()
	for _, m := range w.cluster.Group("g").Members {
		t.Errorf("a ghost: %+v", m)
	}
}

// calm ends all faults.
func (w *wild) calm() {
	for _, ft := range w.faults {
		ft.mu.Lock()
		ft.faults = nil
		ft.mu.Unlock()
	}
}

// out stops a member.
func (w *wild) out(m *resident) {
	m.stop()
	err := <-m.done
	_, failed := errors.AsType[*member.CallbackError](err)
	if err != nil && !failed && !errors.Is(err, member.ErrLeave) {
		w.Logf("%s %v", time.Now().Format(clock), err)
	}
}

// move starts the next member of a slot.
func (w *wild) move(i int) {
	if w.slots[i] != nil {
		w.out(w.slots[i])
	}
	r, remains := w.rand, false
	call := w.callback(r.IntN(6) == 0)
	m := w.start(i%len(w.faults), func(c *member.ConsumerConfig) {
		c.OnAssigned, c.OnRevoked, c.OnLost = call, call, call
		c.Timing.SessionTimeout, c.Timing.RebalanceTimeout = w.session, 30*time.Second
		c.SelfFence = r.IntN(3) == 0
		c.Leave = []member.LeaveOperation{member.LeaveDefault, member.LeaveDefault, member.LeaveGroup, member.RemainInGroup}[r.IntN(4)]
		if r.IntN(3) == 0 {
			c.InstanceID = fmt.Sprint("instance-", i)
		}
		if r.IntN(8) == 0 {
			c.Timing.MaxPollInterval = 20 * time.Second
		}
		if r.IntN(3) == 0 {
			c.Topics, c.Regex = nil, "o.*"
		}
		if r.IntN(3) == 0 {
			c.Rack = "r1"
		}
		remains = c.Leave == member.RemainInGroup && c.InstanceID == ""
	})
	if remains {
		w.check.Stays(m.Snapshot().Identity)
	}
	w.slots[i] = m
}

// callback is quick, or slow, or as slow as it may be, and fails if failing.
func (w *wild) callback(failing bool) func(context.Context, member.Partitions) error {
	r := rand.New(rand.NewPCG(w.rand.Uint64(), 4))
	return func(ctx context.Context, _ member.Partitions) error {
		switch n := r.IntN(20); {
		case n < 10:
		case n == 19 && failing:
			return errors.New("callback failed")
		case n == 18 && failing:
			panic("callback")
		case n == 17:
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(r.IntN(40)) * time.Second):
			}
		default:
			time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
		}
		return nil
	}
}

// act lets something happen.
func (w *wild) act() {
	r := w.rand
	i := r.IntN(len(w.slots))
	m := w.slots[i]
	ctx, cancel := context.WithTimeout(w.Context(), time.Duration(r.IntN(30))*time.Second)
	defer cancel()
	switch r.IntN(20) {
	case 0, 1, 2:
		w.move(i)
	case 3:
		_ = m.Leave(ctx, member.LeaveGroup)
		w.move(i)
	case 4:
		_ = m.Subscribe(ctx, []member.Subscription{
			{Topics: []string{"orders"}}, {Topics: []string{"mail", "orders"}}, {Regex: "m.*"}, {Regex: "(("}, {Topics: []string{"mail"}, Regex: "o.*"},
		}[r.IntN(5)])
	case 5:
		m.Wake()
	case 6:
		m.Alive()
	case 7:
		w.topic([]string{"orders", "mail"}[r.IntN(2)])
	case 8:
		w.cluster.Expire("g", m.Snapshot().MemberID)
	default:
		w.trouble()
	}
	if r.IntN(4) == 0 {
		w.calm()
	}
}

// topic deletes a topic, makes it, or makes it again.
func (w *wild) topic(name string) {
	if w.topics[name] {
		_ = w.cluster.DeleteTopic(name)
	}
	if w.topics[name] = w.rand.IntN(3) > 0; w.topics[name] {
		_ = w.cluster.CreateTopic(name, int32(1+w.rand.IntN(12)))
	}
}

// atRest fails unless every member, at some moment, has nothing more to do. One may
// have ended: its callback failed.
func (w *wild) atRest() {
	for _, m := range w.slots {
		var s member.Snapshot
		for range 100 {
			switch s = m.Snapshot(); s.State {
			case member.StateStable, member.StateFatal, member.StateStale, member.StateUnsubscribed:
				s.MemberID = ""
			}
			if s.MemberID == "" {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if s.MemberID != "" {
			w.Errorf("%v is %v", s.Identity, s.State)
		}
	}
}
