package kgotransport

import (
	"context"
	"time"
)

// result is how one of several tries ended.
type result[T any] struct {
	v   T
	err error
}

// hedged is try, and once more beside it each time that it takes longer than after, up to most
// tries. The first success is taken, or else the first failure, which is the one that says
// most: later ones may only tell of a connection that was given up. drop, if not nil, gets what
// was not needed.
func hedged[T any](ctx context.Context, after time.Duration, most int, try func(ctx context.Context, n int) (T, error), drop func(T)) (T, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends those that lost
	results := make(chan result[T], most)
	started := 0
	start := func() {
		n := started
		started++
		go func() {
			v, err := try(ctx, n)
			results <- result[T]{v, err}
		}()
	}
	start()
	late := time.NewTicker(after)
	defer late.Stop()
	var failed error
	for open := 1; ; {
		select {
		case <-late.C:
			if started < most {
				open++
				start()
			}
		case r := <-results:
			open--
			if r.err != nil && failed == nil {
				failed = r.err
			}
			switch {
			case r.err != nil && open > 0:
				continue // another one may do
			case r.err != nil:
				return r.v, failed
			case open > 0 && drop != nil:
				go dropLate(results, open, drop)
			}
			return r.v, nil
		}
	}
}

func dropLate[T any](results <-chan result[T], open int, drop func(T)) {
	for range open {
		if r := <-results; r.err == nil {
			drop(r.v)
		}
	}
}
