package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

// runMembers starts the members one after another and waits for all of them. It
// returns the first failure; the others leave when it happens, as they leave when
// ctx ends.
func runMembers(ctx context.Context, o options, cl *kgo.Client, out *sink, log *slog.Logger) error {
	reporters := make([]*reporter, o.members)
	for i := range reporters {
		r, err := newReporter(i, o, cl, out, log)
		if err != nil {
			return err
		}
		reporters[i] = r
	}
	if o.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.duration)
		defer cancel()
	}
	g, ctx := errgroup.WithContext(ctx)
	if limit := o.timing.MaxPollInterval; limit > 0 {
		g.Go(func() error { keepAlive(ctx, limit/3, reporters); return nil })
	}
	for i, r := range reporters {
		if i > 0 {
			pause(ctx, o.startGap)
		}
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return r.run(ctx) })
	}
	return g.Wait()
}

// keepAlive stands for the poll loop of an application: it says that the
// application makes progress.
func keepAlive(ctx context.Context, every time.Duration, reporters []*reporter) {
	tick := time.NewTicker(max(every, time.Millisecond))
	defer tick.Stop()
	for {
		for _, r := range reporters {
			r.m.Alive()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
