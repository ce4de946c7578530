package backoff

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestDelayDoublesUpToMax(t *testing.T) {
	p := Policy{Base: 100 * time.Millisecond, Max: time.Second}
	want := []time.Duration{0, 100, 200, 400, 800, 1000, 1000}
	for i, w := range want {
		if got := p.Delay(i, nil); got != w*time.Millisecond {
			t.Errorf("attempt %d: %v, want %v", i, got, w*time.Millisecond)
		}
	}
}

func TestDelayStaysInItsBounds(t *testing.T) {
	p := Policy{Base: 100 * time.Millisecond, Max: time.Second, Jitter: 0.2}
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[time.Duration]bool{}
	for attempt := 1; attempt < 2000; attempt++ {
		d := p.Delay(attempt%70, r)
		if d < 0 || d > p.Max || (attempt%70 > 0 && d < 80*time.Millisecond) {
			t.Fatalf("attempt %d: %v", attempt%70, d)
		}
		seen[d] = true
	}
	if len(seen) < 100 {
		t.Errorf("only %d different delays: no jitter", len(seen))
	}
}

// A huge attempt number must not overflow into a zero or negative delay.
func TestDelayDoesNotOverflow(t *testing.T) {
	p := Policy{Base: time.Hour, Max: 1 << 62}
	for _, n := range []int{60, 1000, 1 << 30} {
		if d := p.Delay(n, nil); d <= 0 || d > p.Max {
			t.Errorf("attempt %d: %v", n, d)
		}
	}
}
