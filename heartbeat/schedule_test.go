package heartbeat

import (
	"math/rand/v2"
	"testing"
	"time"
)

// at wants the next request to be due at a time after t0.
func (s *Schedule) at(t *testing.T, why string, want time.Duration) {
	t.Helper()
	if got := s.Due(time.Time{}); !got.Equal(after(want)) {
		t.Errorf("%s: due at %v, want %v", why, got.Sub(t0), want)
	}
}

func sentAt(d time.Duration) *Schedule {
	s := NewSchedule(45*time.Second, nil)
	s.Sent(after(d))
	return &s
}

func TestScheduleInterval(t *testing.T) {
	s := sentAt(0)
	s.at(t, "no answer has named an interval", DefaultInterval)
	if !s.Accepted(t0, 3*time.Second, 0) {
		t.Error("3s was not adopted")
	}
	s.at(t, "the answer's interval", 3*time.Second)
	if got := s.Due(after(time.Second)); !got.Equal(after(time.Second)) {
		t.Errorf("an early heartbeat is due at %v", got.Sub(t0))
	}
	if got := s.Due(after(9 * time.Second)); !got.Equal(after(3 * time.Second)) {
		t.Errorf("a late early one moves the plain one to %v", got.Sub(t0))
	}
}

// Rule 15: zero, negative and huge intervals are not adopted; the last good one stays.
func TestRule15ScheduleIgnoresNonsense(t *testing.T) {
	s := sentAt(0)
	s.Accepted(t0, 3*time.Second, 0)
	for _, d := range []time.Duration{0, -time.Second, 46 * time.Second, 1<<63 - 1} {
		if s.Accepted(t0, d, 0) {
			t.Errorf("%v was adopted", d)
		}
		s.at(t, "the last good interval", 3*time.Second)
	}
	if !s.Accepted(t0, time.Millisecond, 0) {
		t.Error("1ms is an interval")
	}
	s.at(t, "but never below the floor", Floor)
}

func TestRule15ScheduleFloor(t *testing.T) {
	s := sentAt(0)
	s.Ask()
	s.at(t, "asked", Floor)
	s.Unask()
	s.at(t, "taken back", DefaultInterval)
	s.Ask()
	s.Sent(after(Floor))
	s.at(t, "a request answers the asking", Floor+DefaultInterval)
}

// Rule 15: 20 requests in 10 s without an accepted answer, whatever asks for more.
func TestRule15ScheduleBudget(t *testing.T) {
	s := NewSchedule(45*time.Second, nil)
	now := t0
	for i := range 3 * Budget {
		s.Ask()
		if due := s.Due(time.Time{}); due.After(now) {
			now = due
		}
		s.Sent(now)
		if want := after(time.Duration(i/Budget)*BudgetWindow + time.Duration(i%Budget)*Floor); !now.Equal(want) {
			t.Fatalf("request %d goes out at %v, want %v", i, now.Sub(t0), want.Sub(t0))
		}
	}
	s.Accepted(now, time.Second, 0)
	s.Ask()
	if got := s.Due(time.Time{}); !got.Equal(now.Add(Floor)) {
		t.Errorf("after an accepted answer the next is due in %v", got.Sub(now))
	}
}

func TestScheduleBackoff(t *testing.T) {
	s := sentAt(0)
	for i, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		if got := s.Failed(t0); got != want*time.Millisecond || s.Failures() != i+1 {
			t.Errorf("failure %d: %v, want %v", s.Failures(), got, want*time.Millisecond)
		}
	}
	s.at(t, "after six failures", time.Second)
	s.Calm()
	s.at(t, "a new beginning goes at once", Floor)
	s.Pace(t0, 0)
	s.at(t, "the first is not paced", Floor)
	s.Pace(t0, 2)
	s.at(t, "the third is", 200*time.Millisecond)

	s.rand = rand.New(rand.NewPCG(1, 1))
	for range 100 {
		if d := s.Failed(t0); d <= 0 || d > time.Second {
			t.Fatalf("backoff with jitter is %v", d)
		}
	}
}

// Rule 15: throttle time is obeyed, also by what starts afresh, but for no longer than
// a third of the session.
func TestRule15ScheduleThrottle(t *testing.T) {
	s := sentAt(0)
	s.Throttle(t0, 7*time.Second)
	s.at(t, "throttled past the interval", 7*time.Second)
	s.Ask()
	s.at(t, "asked while throttled", 7*time.Second)
	s.Calm()
	s.at(t, "calmed while throttled", 7*time.Second)
	s.Throttle(t0, time.Second)
	s.at(t, "a shorter throttle", 7*time.Second)
	s.Throttle(t0, time.Hour)
	s.at(t, "at most a third of the session", 15*time.Second)
	s.Throttle(t0, -time.Second)
	s.at(t, "a negative throttle", 15*time.Second)
}
