// Package backoff turns a count of failed attempts into the delay before the
// next one. It is pure: no clock, no sleeping, and the source of randomness is
// the caller's.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Policy is an exponential backoff with jitter. Java's retry.backoff.ms and
// retry.backoff.max.ms are Base and Max (ExponentialBackoff, Kafka 4.x).
type Policy struct {
	Base   time.Duration // delay after the first failure, before jitter
	Max    time.Duration // no delay is longer
	Jitter float64       // 0.2 spreads a delay over 0.8 to 1.2 of itself
}

// Delay is the time to wait after failure number attempt, counted from 1. It is
// never above Max and never negative. r may be nil: then there is no jitter.
func (p Policy) Delay(attempt int, r *rand.Rand) time.Duration {
	if attempt < 1 {
		return 0
	}
	d := p.Base
	for i := 1; i < attempt && d < p.Max; i++ {
		d *= 2
	}
	d = min(d, p.Max)
	if r != nil && p.Jitter > 0 {
		d = time.Duration(float64(d) * (1 - p.Jitter + 2*p.Jitter*r.Float64()))
	}
	return max(0, min(d, p.Max))
}
