package member_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

const (
	crowdSize = 100
	crowdStep = 300 * time.Millisecond
	crowdRamp = (crowdSize - 1) * crowdStep
)

// crowd starts 100 members of one process, 300 ms apart, and returns the times of all
// heartbeats and the time at which the group came to rest.
func crowd(t *testing.T, v coordinator.Version, partitions int32, earlyBeats int) (beats []time.Duration, rest time.Duration) {
	spec(t, brokers.Config{Version: v, Topics: map[string]int32{"orders": partitions}}, func(r *rig) {
		for i := range crowdSize {
			if i > 0 {
				r.sleep(crowdStep)
			}
			r.start(timing(func(t *member.Timing) { t.EarlyBeats = earlyBeats }))
		}
		r.until("100 members at rest", time.Minute, func() bool { return r.rests(r.members...) })
		rest = r.now()
		r.sleep(crowdRamp + 30*time.Second - r.now())
		for _, b := range r.sent(every) {
			beats = append(beats, b.at)
		}
	})
	return beats, rest
}

// busiest compares two runs over every window of 10 s and returns the worst.
func busiest(got, plain []time.Duration) (factor float64, at time.Duration, n, m int) {
	count := func(beats []time.Duration, from time.Duration) (n int) {
		for _, b := range beats {
			if b >= from && b < from+10*time.Second {
				n++
			}
		}
		return n
	}
	for from := time.Duration(0); from <= crowdRamp+20*time.Second; from += 100 * time.Millisecond {
		a, b := count(got, from), count(plain, from)
		if f := float64(a) / float64(b); f > factor {
			factor, at, n, m = f, from, a, b
		}
	}
	return factor, at, n, m
}

// Rule 21: a crowd settles fast and stays cheap.
func TestRule21_Crowd(t *testing.T) {
	for _, v := range []coordinator.Version{coordinator.V44, coordinator.V40} {
		for _, partitions := range []int32{12, 200} {
			t.Run(fmt.Sprintf("%v with %d partitions", v, partitions), func(t *testing.T) {
				plain, slow := crowd(t, v, partitions, -1)
				got, rest := crowd(t, v, partitions, 0)
				factor, at, n, m := busiest(got, plain)
				t.Logf("at rest %v after the ramp (without early heartbeats: %v); %d heartbeats (%d); most in 10 s from %v on: %d (%d), %.2f x",
					rest-crowdRamp, slow-crowdRamp, len(got), len(plain), at, n, m, factor)
				if factor > 3 {
					t.Errorf("%.2f x the plain heartbeats", factor)
				}
				if rest > crowdRamp+2*time.Second {
					t.Errorf("at rest only %v after the ramp", rest-crowdRamp)
				}
			})
		}
	}
}
