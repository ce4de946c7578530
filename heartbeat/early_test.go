package heartbeat

import (
	"math/rand/v2"
	"testing"
	"time"
)

// beats sends every early heartbeat that is due, for a minute.
func (e *Early) beats(now time.Time) (at []time.Duration) {
	for due := e.Due(); !due.IsZero() && due.Before(now.Add(time.Minute)); due = e.Due() {
		at = append(at, due.Sub(t0))
		e.Sent(due, true)
		if len(at) > 100 {
			break
		}
	}
	return at
}

// Rule 21: a run covers a little more than an interval, evenly, and then stops.
func TestRule21EarlyRun(t *testing.T) {
	e := NewEarly(10, nil)
	e.Run(t0, 10, 5*time.Second)
	at := e.beats(t0)
	if len(at) != 10 || at[0] != 525*time.Millisecond || at[9] != 5250*time.Millisecond {
		t.Errorf("early heartbeats at %v", at)
	}
	e.Changed()
	e.Run(t0, 1, 5*time.Second)
	if at := e.beats(t0); len(at) != 1 {
		t.Errorf("a run of one: %v", at)
	}
}

// Rule 21: at most max extra heartbeats per target change, whoever asks.
func TestRule21EarlyAllowance(t *testing.T) {
	e := NewEarly(3, rand.New(rand.NewPCG(1, 1)))
	n := 0
	for range 5 {
		e.Run(t0, 10, time.Second)
		n += len(e.beats(t0))
		if e.Kick(t0) {
			n += len(e.beats(t0))
		}
	}
	if n != 3 || e.Left() != 0 {
		t.Errorf("%d extra heartbeats, %d left, want 3 and 0", n, e.Left())
	}
	if e.Changed(); e.Left() != 3 || !e.Kick(t0) || !e.Due().Equal(t0) {
		t.Error("a new target change does not bring the allowance back")
	}
}

func TestEarlyMovesWithPlainHeartbeats(t *testing.T) {
	e := NewEarly(10, nil)
	e.Run(t0, 10, 5*time.Second)
	e.Sent(after(500*time.Millisecond), false)
	if got := e.Due(); !got.Equal(after(1025 * time.Millisecond)) {
		t.Errorf("due at %v", got.Sub(t0))
	}
	if e.Left() != 10 {
		t.Errorf("a plain heartbeat was counted: %d left", e.Left())
	}
	e.Stop()
	if !e.Due().IsZero() {
		t.Error("stopped, and due")
	}
}

// The zero value, and negative EarlyBeats, send none.
func TestEarlyOff(t *testing.T) {
	for _, e := range []Early{{}, NewEarly(0, nil)} {
		e.Changed()
		e.Run(t0, 5, time.Second)
		if e.Kick(t0) || !e.Due().IsZero() {
			t.Error("an early heartbeat though there are none")
		}
	}
}

func TestEarlyGapIsNeverBelowTheFloor(t *testing.T) {
	e := NewEarly(10, nil)
	e.Run(t0, 10, time.Millisecond)
	if got := e.Due(); !got.Equal(after(Floor)) {
		t.Errorf("due after %v", got.Sub(t0))
	}
}
