package heartbeat

import (
	"math/rand/v2"
	"time"

	"github.com/rollcall-go/rollcall/internal/backoff"
)

const (
	// DefaultInterval is used until a coordinator names its own
	// (group.consumer.heartbeat.interval.ms, Kafka 4.x).
	DefaultInterval = 5 * time.Second
	// Floor is the least time between two requests of a member, whatever a
	// broker, a caller or a bug asks for (rule 15).
	Floor = 50 * time.Millisecond
	// Budget requests may go out within BudgetWindow without a single accepted
	// answer (rule 15).
	Budget = 20
	// BudgetWindow is the time that Budget is for.
	BudgetWindow = 10 * time.Second
)

var retry = backoff.Policy{Base: 100 * time.Millisecond, Max: time.Second, Jitter: 0.2}

// Schedule says when the next request of one member is due. It holds deadlines,
// no timers. The zero value is not ready; see [NewSchedule].
type Schedule struct {
	interval   time.Duration
	maxWait    time.Duration // no answer may silence the member for longer than this
	lastSent   time.Time
	notBefore  time.Time // backoff
	throttled  time.Time // what the broker asked for, whatever else is forgiven
	asked      bool      // something has to be said at once
	failures   int
	recent     [Budget]time.Time // send times since the last accepted answer, a ring
	recentNext int
	rand       *rand.Rand
}

// NewSchedule returns the schedule of a member whose session lasts session; r
// spreads backoff and may be nil.
func NewSchedule(session time.Duration, r *rand.Rand) Schedule {
	return Schedule{interval: DefaultInterval, maxWait: session, rand: r}
}

// Interval is the heartbeat interval in force.
func (s *Schedule) Interval() time.Duration { return s.interval }

// Failures is the number of failed attempts since the last accepted one.
func (s *Schedule) Failures() int { return s.failures }

// Ask makes the next request due at once (a join, an acknowledgement, a leave),
// as far as floor, backoff, throttle and budget allow.
func (s *Schedule) Ask() { s.asked = true }

// Unask takes Ask back.
func (s *Schedule) Unask() { s.asked = false }

// Sent says that a request goes out now.
func (s *Schedule) Sent(now time.Time) {
	s.lastSent, s.asked = now, false
	s.recent[s.recentNext] = now
	s.recentNext = (s.recentNext + 1) % Budget
}

// Accepted takes interval and throttle time from an accepted answer. It reports
// whether the interval is one to adopt: an answer's interval of zero or less, or
// one longer than the session, is nonsense, and the last good one stays
// (rule 15; Java takes what it gets).
func (s *Schedule) Accepted(now time.Time, interval, throttle time.Duration) bool {
	s.failures, s.notBefore = 0, time.Time{}
	s.recent = [Budget]time.Time{}
	s.Throttle(now, throttle)
	if !s.Adopts(interval) {
		return false
	}
	s.interval = interval
	return true
}

// Adopts reports whether interval, from an accepted answer, is one to adopt.
func (s *Schedule) Adopts(interval time.Duration) bool {
	return interval > 0 && interval <= s.maxWait
}

// Throttle holds requests back for d, but never for longer than a third of the
// session: a broker's word must not make the member lose it.
func (s *Schedule) Throttle(now time.Time, d time.Duration) {
	if d <= 0 {
		return
	}
	if t := now.Add(min(d, s.maxWait/3)); t.After(s.throttled) {
		s.throttled = t
	}
}

// Failed says that an attempt failed or was refused: the next one is due when
// its backoff is over.
func (s *Schedule) Failed(now time.Time) time.Duration {
	s.failures++
	d := retry.Delay(s.failures, s.rand)
	if t := now.Add(d); t.After(s.notBefore) {
		s.notBefore = t
	}
	s.asked = true
	return d
}

// Calm forgets failures: what comes next is a new beginning (the first rejoin
// after a fence goes at once, KAFKA-16215).
func (s *Schedule) Calm() { s.failures, s.notBefore = 0, time.Time{} }

// Due is the time of the next request: one interval after the last, or at once
// if asked, or at early if that is set and sooner; and then not before floor,
// backoff, throttle and budget allow.
func (s *Schedule) Due(early time.Time) time.Time {
	due := s.lastSent.Add(s.interval)
	if !early.IsZero() && early.Before(due) {
		due = early
	}
	if s.asked {
		due = s.lastSent
	}
	return s.Allowed(due)
}

// Beside is the time of a request that repeats nothing, and so does not wait for the backoff:
// floor, throttle and budget hold for it.
func (s *Schedule) Beside() time.Time { return s.bounded(time.Time{}) }

// Allowed is due, or the first time after it at which a request may go out.
func (s *Schedule) Allowed(due time.Time) time.Time {
	if s.notBefore.After(due) {
		due = s.notBefore
	}
	return s.bounded(due)
}

func (s *Schedule) bounded(due time.Time) time.Time {
	for _, t := range [...]time.Time{s.throttled, s.after(s.lastSent, Floor), s.after(s.recent[s.recentNext], BudgetWindow)} {
		if t.After(due) {
			due = t
		}
	}
	return due
}

func (s *Schedule) after(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// Pace holds the next request back by the backoff of failure number n, without
// counting a failure: for what is accepted and comes undone, again and again.
func (s *Schedule) Pace(now time.Time, n int) {
	if t := now.Add(retry.Delay(n, s.rand)); n > 0 && t.After(s.notBefore) {
		s.notBefore = t
	}
}
