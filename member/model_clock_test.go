package member

import (
	"cmp"
	"container/heap"
	"testing"
	"time"
	"unsafe"
)

// A model run has no clock: it is a discrete-event simulation, and what happens
// in it depends on its plan only.

// simEpoch is the wall clock's reading when a run begins.
const simEpoch = 1_800_000_000

// simTime makes a time of a wall clock and a monotonic clock that need not agree, as
// after a suspend, or a step of NTP. No public function makes one.
func simTime(wall, mono time.Duration) time.Time {
	const from1885 = 2_682_288_000 // Unix time 0, in the seconds of a time with a monotonic reading
	ns := time.Duration(simEpoch*time.Second) + wall
	var t time.Time
	raw := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t))
	raw.wall = 1<<63 | uint64(ns/time.Second+from1885)<<30 | uint64(ns%time.Second)
	raw.ext = int64(mono + time.Hour)
	return t
}

func TestSimTime(t *testing.T) {
	a, b := simTime(0, 0), simTime(90*time.Second+5, 30*time.Second+5)
	if got := a.Round(0).Unix(); got != simEpoch {
		t.Fatalf("the wall clock starts at %d, want %d", got, simEpoch)
	}
	if got := b.Sub(a); got != 30*time.Second+5 {
		t.Errorf("the monotonic clock went %v, want 30s", got)
	}
	if got := b.Round(0).Sub(a.Round(0)); got != 90*time.Second+5 {
		t.Errorf("the wall clock went %v, want 90s", got)
	}
}

// simEvent is something that happens at a time; of those at one time the one that
// was planned first comes first.
type simEvent struct {
	at  time.Duration
	seq uint64
	fn  func()
}

type simQueue []simEvent

func (q simQueue) Len() int { return len(q) }
func (q simQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].seq, q[j].seq)) < 0
}
func (q simQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *simQueue) Push(e any)   { *q = append(*q, e.(simEvent)) }
func (q *simQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	old[len(old)-1] = simEvent{}
	*q = old[:len(old)-1]
	return e
}

// at plans fn for a time, or for now if that is past.
func (w *simWorld) at(t time.Duration, fn func()) {
	w.seq++
	heap.Push(&w.queue, simEvent{max(t, w.now), w.seq, fn})
}

func (w *simWorld) after(d time.Duration, fn func()) { w.at(w.now+d, fn) }

// roll is a number in [0, n) that depends on the seed and the keys only: to take an
// event out of a plan leaves all other latencies as they are.
func (w *simWorld) roll(n int64, keys ...uint64) int64 {
	x := w.plan.seed*0x9e3779b97f4a7c15 + 1
	for _, k := range keys {
		x ^= k + 0x9e3779b97f4a7c15 + x<<6 + x>>2
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return int64(x>>1) % n
}
