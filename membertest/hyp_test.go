package membertest

import (
	"log/slog"
	"runtime"
)

import (
	"context"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"testing"
	"testing/synctest"
	"time"
)

func hyp(t *testing.T, f func(w *town)) {
	synctest.Test(t, func(t *testing.T) {
		w := newTown(t, 1, 1, brokers.Config{Topics: map[string]int32{"orders": 12}})
		f(w)
		w.runs.Wait()
		w.check.Finish()
		for _, l := range wlog {
			t.Log(l)
		}
	})
}
func static(c *member.ConsumerConfig) { c.InstanceID = "i" }
func TestHyp1(t *testing.T) {
	hyp(t, func(w *town) {
		w.faults[0].Inject(Fault{Match: Call.IsJoin, Do: Answer(110)})
		r := w.start(0, static)
		time.Sleep(time.Minute)
		r.stop()
		w.Log(<-r.done, r.Snapshot().State)
	})
}
func TestHyp2(t *testing.T) {
	hyp(t, func(w *town) {
		// lost join, then 111 (rival), -2 -> 82, stop while waiting
		w.faults[0].Inject(Fault{Match: Call.IsJoin, Do: DropRequest()})
		w.faults[0].Inject(Fault{Match: Call.IsJoin, Times: -1, Do: Answer(111)})
		w.faults[0].Inject(Fault{Match: Call.IsLeave, Times: -1, Do: Answer(82)})
		r := w.start(0, static)
		time.Sleep(3 * time.Second)
		r.stop()
		w.Log(<-r.done, r.Snapshot().State)
	})
}
func TestHyp3(t *testing.T) {
	for range 200 {
		hyp(t, func(w *town) {
			w.start(0, func(c *member.ConsumerConfig) {}).stop()
		})
	}
}
func TestHyp4(t *testing.T) {
	hyp(t, func(w *town) {
		r := w.start(0, func(c *member.ConsumerConfig) { c.Timing.EarlyBeats = 20; c.Topics = []string{"none"} })
		time.Sleep(time.Minute)
		r.stop()
		w.Log(<-r.done, r.Snapshot().State)
	})
}
func TestHyp5(t *testing.T) {
	hyp(t, func(w *town) { // redundant ack at refresh
		r := w.start(0, nil)
		time.Sleep(time.Second)
		q := w.start(0, nil)
		time.Sleep(10 * time.Second)
		q.stop()
		time.Sleep(5 * time.Minute)
		r.stop()
	})
}

var _ = context.Background

type ended struct {
	context.Context
	n int
}

func (e *ended) Err() error {
	if e.n++; e.n == 1 {
		return nil
	}
	return context.Canceled
}
func (e *ended) Done() <-chan struct{} { ch := make(chan struct{}); close(ch); return ch }
func TestHyp6(t *testing.T) {
	for range 20 {
		hyp(t, func(w *town) {
			m, err := member.NewConsumer(w.clients[0], member.ConsumerConfig{Group: "g", Topics: []string{"orders"}, Transport: w.check.Transport(w.faults[0]), Hooks: w.check.Hooks()})
			if err != nil {
				t.Fatal(err)
			}
			w.Log(m.Run(&ended{Context: context.Background()}))
		})
	}
}
func TestHyp7(t *testing.T) {
	for i := range 300 {
		hyp(t, func(w *town) {
			m, err := member.NewConsumer(w.clients[0], member.ConsumerConfig{Group: "g", Topics: []string{"orders"}, Transport: w.check.Transport(w.faults[0]), Hooks: w.check.Hooks(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				w.clients[0].Close()
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			w.runs.Go(func() {
				if err := m.Run(ctx); err != nil && i < 2 {
					w.Log(err)
				}
			})
			if i%2 == 1 {
				for range i * 3 {
					runtime.Gosched()
				}
				m.Leave(ctx, member.LeaveGroup)
			}
		})
	}
}
