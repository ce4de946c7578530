package kgotransport

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A dial that hangs, as of a SYN that was dropped, costs 250 ms, or 500 ms if it happens twice, and not the second of the kernel.
func TestDialThatHangsIsTriedBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials, closed atomic.Int32
		dial := func(context.Context, string, string) (net.Conn, error) {
			if dials.Add(1) <= 2 {
				time.Sleep(time.Second) // and does not heed its context
			}
			a, _ := net.Pipe()
			return &countedClose{a, &closed}, nil
		}
		start := time.Now()
		conn, err := dialHedged(t.Context(), dial, "tcp", "host")
		if took := time.Since(start); err != nil || conn == nil || took != 2*redialAfter {
			t.Fatalf("%v after %v", err, took)
		}
		time.Sleep(2 * time.Second)
		if dials.Load() != 3 || closed.Load() != 2 {
			t.Errorf("%d dials, %d closed", dials.Load(), closed.Load())
		}
	})
}

type countedClose struct {
	net.Conn
	n *atomic.Int32
}

func (c *countedClose) Close() error { c.n.Add(1); return c.Conn.Close() }

func TestDialErrors(t *testing.T) {
	refused := errors.New("refused")
	synctest.Test(t, func(t *testing.T) {
		n := 0
		start := time.Now()
		_, err := dialHedged(t.Context(), func(context.Context, string, string) (net.Conn, error) { n++; return nil, refused }, "tcp", "host")
		if !errors.Is(err, refused) || n != 1 || time.Since(start) != 0 {
			t.Errorf("refused: %v after %d dials and %v", err, n, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start = time.Now()
		_, err = dialHedged(ctx, func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, "tcp", "host")
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("a dead host: %v after %v", err, time.Since(start))
		}
		// The first is refused late: the second one is waited for.
		var dials atomic.Int32
		conn, err := dialHedged(t.Context(), func(context.Context, string, string) (net.Conn, error) {
			if dials.Add(1) == 1 {
				time.Sleep(300 * time.Millisecond)
				return nil, refused
			}
			time.Sleep(300 * time.Millisecond)
			a, _ := net.Pipe()
			return a, nil
		}, "tcp", "host")
		if err != nil || conn == nil {
			t.Errorf("the second one: %v", err)
		}
		time.Sleep(time.Second) // the third ends
	})
}
