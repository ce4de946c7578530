//go:build kafka

package member_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// trials is how often each ghost case runs, side by side: ROLLCALL_TRIALS, or 10.
func trials() int {
	if n, err := strconv.Atoi(os.Getenv("ROLLCALL_TRIALS")); err == nil && n > 0 {
		return n
	}
	return 10
}

var unique atomic.Int64

func uniqueName(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, time.Now().UnixNano(), unique.Add(1))
}

// ghostTrial is one member in a group of its own, behind the proxy.
type ghostTrial struct {
	c     *kafkatest.Cluster
	px    *kafkatest.Proxy
	group string
	topic string
	cfg   member.ConsumerConfig
}

func (g *ghostTrial) joins() kafkatest.Match { return kafkatest.ByGroup(g.group).And(kafkatest.IsJoin) }

// run starts the member, calls until, ends the member's context, and returns how
// long the close took and who is left a second after it.
func (g *ghostTrial) run(ctx context.Context, until func(ctx context.Context) error) (closing time.Duration, left []kafkatest.Member, err error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(g.c.ProxyAddrs()...))
	if err != nil {
		return 0, nil, err
	}
	defer cl.Close()
	g.cfg.Group, g.cfg.Topics, g.cfg.Logger = g.group, []string{g.topic}, slog.New(slog.DiscardHandler)
	m, err := member.NewConsumer(cl, g.cfg)
	if err != nil {
		return 0, nil, err
	}
	mctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- m.Run(mctx) }()
	if err := until(ctx); err != nil {
		return 0, nil, err
	}
	t0 := time.Now()
	stop()
	if err := <-done; err != nil {
		return 0, nil, fmt.Errorf("Run: %w", err)
	}
	closing = time.Since(t0)
	time.Sleep(time.Second)
	group, err := g.c.Members(ctx, g.group)
	if errors.Is(err, kerr.GroupIDNotFound) {
		return closing, nil, nil
	}
	return closing, group.Members, err
}

func wait(d time.Duration) func(context.Context) error {
	return func(context.Context) error { time.Sleep(d); return nil }
}

var ghostCases = []struct {
	name  string
	limit time.Duration // of the close
	run   func(ctx context.Context, g *ghostTrial) (time.Duration, []kafkatest.Member, error)
}{
	{"1 first join answer lost, close at once", time.Second, func(ctx context.Context, g *ghostTrial) (time.Duration, []kafkatest.Member, error) {
		r := g.px.On(g.joins(), 1, kafkatest.LoseAnswer())
		return g.run(ctx, func(ctx context.Context) error { return r.Wait(ctx, 1) })
	}},
	{"2 all join answers lost, close after 3 s", time.Second, func(ctx context.Context, g *ghostTrial) (time.Duration, []kafkatest.Member, error) {
		g.px.On(g.joins(), -1, kafkatest.LoseAnswer())
		return g.run(ctx, wait(3*time.Second))
	}},
	{"3 join answer held 3 s, close after 0.3 s", time.Second, func(ctx context.Context, g *ghostTrial) (time.Duration, []kafkatest.Member, error) {
		r := g.px.On(g.joins(), 1, kafkatest.HoldAnswer(3*time.Second))
		return g.run(ctx, func(ctx context.Context) error {
			err := r.WaitMatched(ctx, 1)
			time.Sleep(300 * time.Millisecond)
			return err
		})
	}},
	{"4 leave sent while the join is on its way", time.Second, func(ctx context.Context, g *ghostTrial) (time.Duration, []kafkatest.Member, error) {
		r := g.px.On(g.joins(), 1, kafkatest.HoldRequest(1200*time.Millisecond, kafkatest.EvenIfGone))
		return g.run(ctx, func(ctx context.Context) error { return r.WaitMatched(ctx, 1) })
	}},
	{"5 two joins held on two cut connections, the second delivered after the leave", 0, func(ctx context.Context, g *ghostTrial) (time.Duration, []kafkatest.Member, error) {
		g.cfg.Timing.LeaveTimeout = 6 * time.Second
		first := g.px.On(g.joins(), 1, kafkatest.HoldRequest(time.Minute, kafkatest.CutNow, kafkatest.EvenIfGone))
		second := g.px.On(g.joins(), 1, kafkatest.HoldRequest(time.Minute, kafkatest.CutNow, kafkatest.EvenIfGone))
		others := g.px.On(g.joins(), -1, kafkatest.HoldRequest(time.Minute, kafkatest.CutNow)) // never delivered
		return g.run(ctx, func(ctx context.Context) error {
			if err := second.WaitMatched(ctx, 1); err != nil {
				return err
			}
			first.Release()
			if err := first.Wait(ctx, 1); err != nil {
				return err
			}
			go func() {
				// The member's close begins now; its leave is accepted at once.
				_, _ = g.px.WaitHeartbeat(ctx, func(h kafkatest.Heartbeat) bool {
					return h.Group == g.group && h.Epoch < 0 && !h.AnsweredAt.IsZero() && h.ErrorCode == 0
				})
				time.Sleep(1500 * time.Millisecond)
				second.Release()
				others.Remove()
			}()
			return nil
		})
	}},
}

// K1082-9, K1082-26, S-3, S-6: whatever gets lost, no member is left behind, and the
// close is quick.
func TestNoGhosts(t *testing.T) {
	kafkatest.EachConfig(t, kafkatest.Config{Proxy: true}, func(t *testing.T, c *kafkatest.Cluster) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		topic := uniqueName("ghosts")
		if err := c.CreateTopic(ctx, topic, 12); err != nil {
			t.Fatal(err)
		}
		for _, gc := range ghostCases {
			t.Run(gc.name, func(t *testing.T) {
				var wg sync.WaitGroup
				var worst atomic.Int64
				var ghosts atomic.Int64
				for range trials() {
					wg.Go(func() {
						g := &ghostTrial{c: c, px: c.Proxy(1), group: uniqueName("ghost"), topic: topic}
						closing, left, err := gc.run(ctx, g)
						if err != nil {
							t.Errorf("%s: %v", g.group, err)
							return
						}
						if len(left) > 0 {
							ghosts.Add(1)
							t.Errorf("%s: left behind: %v\n%s", g.group, left, history(g))
						}
						if gc.limit > 0 && closing >= gc.limit {
							t.Errorf("%s: close took %v\n%s", g.group, closing, history(g))
						}
						for n := worst.Load(); int64(closing) > n && !worst.CompareAndSwap(n, int64(closing)); n = worst.Load() {
						}
					})
				}
				wg.Wait()
				t.Logf("%d trials: %d ghosts, longest close %v", trials(), ghosts.Load(), time.Duration(worst.Load()).Round(time.Millisecond))
			})
		}
	})
}

func history(g *ghostTrial) string {
	s := ""
	for _, h := range g.px.Heartbeats(func(h kafkatest.Heartbeat) bool { return h.Group == g.group }) {
		s += fmt.Sprintf("  %s conn %d epoch %d forwarded %v answered %s code %d epoch %d lost %v\n", h.At.Format("05.000"), h.Conn, h.Epoch,
			h.Forwarded, h.AnsweredAt.Format("05.000"), h.ErrorCode, h.AnswerEpoch, h.Lost)
	}
	return s
}
