package member_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// early counts the heartbeats that a member sent before its interval was over.
func (m *mem) early() int {
	n := 0
	for _, b := range m.told().beats {
		if b.Reason == member.ReasonEarly {
			n++
		}
	}
	return n
}

// Rule 21: off means off: 12 heartbeats a minute, to the millisecond, and nothing early, not
// for siblings either.
func TestRule21_Off(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		a := r.join(quiet)
		b := r.start(quiet)
		took := r.settled(a, b)
		r.that(took >= interval, "a rebalance that waits for intervals, took %v", took)
		r.sleep(interval)
		start := r.now()
		r.sleep(10 * time.Minute)
		for _, m := range []*mem{a, b} {
			beats := during(m.sent(every), start, r.now())
			r.equal("heartbeats in 10 minutes", len(beats), 120)
			for _, gap := range gaps(beats) {
				r.equal("gap", gap, interval)
			}
			r.equal("early heartbeats", m.early(), 0)
		}
	})
}

// Rule 21: siblings of one process hand over fast: within 200 ms up to 4.2, and within the
// coordinator's assignment interval of 1 s and 400 ms from 4.3 on.
func TestRule21_SiblingsAreFast(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		limit := 200 * time.Millisecond
		if r.v >= coordinator.V43 {
			limit = 1400 * time.Millisecond
		}
		a := r.join()
		b := r.start()
		took := r.settled(a, b)
		r.that(took <= limit, "%v for a join, took %v", limit, took)
		r.sleep(time.Minute)
		b.leaves()
		took = r.settled(a)
		r.that(took <= limit, "%v for a leave, took %v", limit, took)
		r.equal("a's partitions", a.Snapshot().Assignment.Len(), 12)
	})
}

// Rule 21: in another process a member that waits for partitions asks every half a second or
// so, for about one interval.
func TestRule21_OtherProcess(t *testing.T) {
	specAll(t, brokers.Config{AssignmentInterval: -1}, func(r *rig) {
		a := r.join(quiet)
		cl, _ := r.elsewhere()
		b := r.startOn(cl)
		r.settled(a, b)
		ack := a.sent(acks)[1].at // a has given up
		got := b.told().calls[1].at - ack
		r.that(got >= 0 && got <= 600*time.Millisecond, "b's partitions within 600 ms, took %v", got)
	})
}

// Rule 21: at most ten extra heartbeats for one change, however long it takes.
func TestRule21_TenExtra(t *testing.T) {
	for _, n := range []int{0, 3} { // 0: the default, ten
		spec(t, brokers.Config{AssignmentInterval: -1}, func(r *rig) {
			a := r.join(quiet, onRevoked(first(sleeps(4*time.Minute))))
			cl, _ := r.elsewhere()
			b := r.startOn(cl, timing(func(t *member.Timing) { t.EarlyBeats = n }))
			r.until("a revokes", 2*interval, func() bool { return len(a.told().calls) == 2 })
			r.sleep(3 * time.Minute)
			want := n
			if n == 0 {
				want = member.DefaultEarlyBeats
			}
			r.equal("early heartbeats", b.early(), want)
			rest := during(b.sent(every), r.now()-time.Minute, r.now())
			r.equal("heartbeats in the last minute", len(rest), 12)
			r.sleep(2 * time.Minute)
			r.settled(a, b)
		})
	}
}

// Rule 21: a wave starts at most once a second: news that come faster are absorbed.
func TestRule21_OneWaveASecond(t *testing.T) {
	spec(t, brokers.Config{Version: coordinator.V40, Topics: map[string]int32{"orders": 5}}, func(r *rig) {
		var here []*mem
		for range 5 {
			here = append(here, r.join()) // one partition each
		}
		r.settled(here...)
		r.sleep(time.Minute)
		r.that(here[0].Snapshot().Assignment.Len() == 1, "one partition each, got %v", here[0].Snapshot().Assignment)
		before := make([]int, 5)
		for i, m := range here {
			before[i] = m.early()
		}
		cl, _ := r.elsewhere()
		for range 50 { // in another process, 5 a second for 10 s; each moves the group epoch
			r.startOn(cl)
			r.sleep(200 * time.Millisecond)
		}
		total := 0
		for i, m := range here {
			n := m.early() - before[i]
			r.that(n <= 11, "at most one early heartbeat a second and member, got %d in 10 s", n)
			total += n
		}
		r.that(total >= 4, "a wave, got %d early heartbeats", total)
		r.settled(append(here, r.members[5:]...)...)
	})
}

// Rule 21: while a sibling is in a slow callback, early heartbeats do not multiply.
func TestRule21_SlowSibling(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		a := r.join(onRevoked(first(sleeps(time.Minute))))
		b := r.start()
		r.sleep(50 * time.Second)
		r.that(a.early() <= 2*member.DefaultEarlyBeats && b.early() <= 2*member.DefaultEarlyBeats, "few early heartbeats, got %d and %d", a.early(), b.early())
		r.settled(a, b)
	})
}
