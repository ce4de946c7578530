package heartbeat

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// hall is n siblings at member epoch 1, each with two partitions, at rest.
func hall(n int, now time.Time) *Waves {
	w := NewWaves()
	for id := range n {
		w.Add(uint64(id))
	}
	for id := range n {
		w.Tell(now, uint64(id), News{Epoch: 1, Owned: 2, Interval: DefaultInterval})
	}
	waits(w, now, now.Add(time.Minute))
	return w
}

// waits lets time pass up to until and returns who was kicked, and when.
func waits(w *Waves, now, until time.Time) (kicks []uint64, at []time.Time) {
	for due := w.Due(); !due.IsZero() && !due.After(until); due = w.Due() {
		if due.After(now) {
			now = due
		}
		for _, id := range w.Fire(now) {
			kicks, at = append(kicks, id), append(at, now)
		}
	}
	return kicks, at
}

var t0 = time.Unix(1_000_000, 0)

func after(d time.Duration) time.Time { return t0.Add(d) }

func TestWaveTellsAllThatAreBehind(t *testing.T) {
	w := hall(4, t0)
	w.Tell(after(0), 2, News{Epoch: 2, Owned: 2})
	kicks, at := waits(w, t0, after(time.Hour))
	slices.Sort(kicks)
	if !slices.Equal(kicks, []uint64{0, 1, 3}) || at[0] != after(coalesce) {
		t.Errorf("kicked %v at %v", kicks, at)
	}
}

// Rule 21: at most one wave a second, whatever is told.
func TestRule21OneWaveASecond(t *testing.T) {
	w := hall(5, t0)
	n := map[uint64]int{}
	now, epoch := t0, int32(1)
	for ; now.Before(after(10 * time.Second)); now = now.Add(10 * time.Millisecond) {
		epoch++
		w.Tell(now, 0, News{Epoch: epoch, Owned: 2})
		for _, id := range w.Fire(now) {
			n[id]++
		}
	}
	for id := range uint64(5) {
		if id > 0 && (n[id] < 9 || n[id] > 11) || id == 0 && n[id] > 0 {
			t.Errorf("member %d was kicked %d times in 10 s", id, n[id])
		}
	}
}

func TestFreedPartitionsWakeWhoOwnsLess(t *testing.T) {
	w := hall(3, t0)
	w.Tell(t0, 1, News{Epoch: 1, Owned: 0})
	w.Tell(t0, 2, News{Epoch: 1, Owned: 1, Freed: true})
	if kicks, at := waits(w, t0, after(time.Minute)); !slices.Equal(kicks, []uint64{1}) || at[0] != after(coalesce) {
		t.Errorf("kicked %v at %v", kicks, at)
	}
}

// After a leave somebody asks at once and then for a second; after a join, somebody else
// than the one that joined and asks by itself.
func TestScouts(t *testing.T) {
	w := hall(3, t0)
	w.Tell(t0, 1, News{Change: true})
	w.Remove(1)
	_, at := waits(w, t0, after(time.Minute))
	if len(at) < scouts || at[len(at)-1].Before(after(time.Second)) {
		t.Errorf("after a leave: kicks at %v", at)
	}
	w = hall(3, t0)
	w.Add(9)
	w.Tell(t0, 9, News{Epoch: 1, Change: true})
	kicks, at := waits(w, t0, after(time.Minute))
	if len(kicks) != scouts-1 || slices.Contains(kicks, 9) || at[len(at)-1].Before(after(time.Second)) {
		t.Errorf("after a join: kicked %v at %v", kicks, at)
	}
	w = NewWaves()
	w.Add(9)
	w.Tell(t0, 9, News{Epoch: 1, Change: true})
	if kicks, _ := waits(w, t0, after(time.Minute)); len(kicks) > 0 {
		t.Errorf("alone: kicked %v", kicks)
	}
}

func TestCrowdWaitsForALull(t *testing.T) {
	w := hall(50, t0)
	now := t0
	for i := range 20 { // a join every 300 ms
		now = after(time.Duration(i) * 300 * time.Millisecond)
		w.Add(uint64(100 + i))
		w.Tell(now, uint64(100+i), News{Epoch: int32(2 + i), Change: true})
		if kicks, _ := waits(w, now, now.Add(299*time.Millisecond)); len(kicks) > 1 {
			t.Fatalf("%d kicked while the next join is on its way", len(kicks))
		}
	}
	kicks, _ := waits(w, now, now.Add(2*time.Second))
	if len(kicks) < 50 {
		t.Errorf("%d kicked after the last join", len(kicks))
	}
}

// Rule 21: in a crowd early heartbeats are at most twice the plain ones over any 10 s, for
// any news and any interval.
func TestRule21CrowdIsRationed(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := Crowd + r.IntN(100)
		interval := time.Duration(1+r.IntN(15)) * time.Second
		w := hall(n, t0)
		var at []time.Time
		epoch := int32(1)
		for now := t0; now.Before(after(time.Minute)); now = now.Add(time.Duration(r.IntN(100)) * time.Millisecond) {
			epoch += int32(r.IntN(2))
			w.Tell(now, uint64(r.IntN(n)), News{
				Epoch: epoch, Owned: r.IntN(4), Change: r.IntN(3) == 0, Freed: r.IntN(3) == 0, Interval: interval,
			})
			for range w.Fire(now) {
				at = append(at, now)
			}
		}
		limit := 2*n*10/int(interval/time.Second) + 1
		for i := range at {
			j := i
			for j < len(at) && at[j].Before(at[i].Add(10*time.Second)) {
				j++
			}
			if j-i > limit {
				t.Fatalf("seed %d: %d kicks in 10 s, want at most %d (%d members, interval %v)", seed, j-i, limit, n, interval)
			}
		}
		if len(at) == 0 {
			t.Errorf("seed %d: no kicks", seed)
		}
	}
}

// An answer to a heartbeat that was sent before something was freed says nothing of it: who it
// may be for is still asked.
func TestWavesOldAnswerDoesNotSettleAnOffer(t *testing.T) {
	for name, late := range map[string]bool{"sent before": true, "sent after": false} {
		w, now := NewWaves(), time.Unix(1000, 0)
		for id := uint64(1); id <= Crowd; id++ {
			w.Add(id)
			w.Tell(now, id, News{Epoch: 5, Owned: 2, Change: true})
		}
		now = now.Add(time.Minute)
		w.Fire(now) // all have heard
		now = now.Add(time.Minute)
		w.Tell(now, 2, News{Epoch: 5, Owned: 1})
		w.Tell(now, 1, News{Epoch: 5, Owned: 1, Freed: true})
		sent := now.Add(time.Millisecond)
		if late {
			sent = now.Add(-time.Millisecond)
		}
		w.Tell(now.Add(2*time.Millisecond), 2, News{Epoch: 5, Owned: 1, Sent: sent})
		got := w.Fire(now.Add(time.Second))
		if asked := len(got) == 1 && got[0] == 2; asked != late {
			t.Errorf("%s: asked %v", name, got)
		}
	}
}
