package kgotransport

import (
	"context"
	"time"
)

// result is how one of two tries ended.
type result[T any] struct {
	v   T
	err error
}

// twice is try, and once more beside it if it takes longer than after. The first success is
// taken, or else the last failure. drop, if not nil, gets what was not needed.
func twice[T any](ctx context.Context, after time.Duration, try func(ctx context.Context, again bool) (T, error), drop func(T)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the one that lost
	results := make(chan result[T], 2)
	start := func(again bool) {
		go func() {
			v, err := try(ctx, again)
			results <- result[T]{v, err}
		}()
	}
	start(false)
	late := time.NewTimer(after)
	defer late.Stop()
	for open := 1; ; {
		select {
		case <-late.C:
			open++
			start(true)
		case r := <-results:
			if open--; r.err != nil && open > 0 {
				continue // the other one may do
			}
			if open > 0 && drop != nil {
				go dropLate(results, drop)
			}
			return r.v, r.err
		}
	}
}

func dropLate[T any](results <-chan result[T], drop func(T)) {
	if r := <-results; r.err == nil {
		drop(r.v)
	}
}
