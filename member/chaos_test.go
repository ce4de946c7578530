package member_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// Four members that come and go on one client, over a Transport that loses, delays and makes up
// answers, while topics are made and deleted. No callback gives a partition twice, nobody owns
// one after Run, each close ends, and once it is calm all are in the group, and later none.
// ROLLCALL_CHAOS=n runs n seeds, ROLLCALL_SEED=n that one.
func TestChaos(t *testing.T) { seeds(t, 12, chaosRun) }

func seeds(t *testing.T, n int, run func(t *testing.T, seed uint64)) {
	from := 1
	if s := os.Getenv("ROLLCALL_CHAOS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("ROLLCALL_SEED"); s != "" {
		from, _ = strconv.Atoi(s)
		n = 1
	}
	for seed := from; seed < from+n; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { run(t, uint64(seed)) }) })
	}
}

// chaos is the faults and the choices of one run.
type chaos struct {
	t     *testing.T
	cl    *kgo.Client
	start time.Time
	stop  chan struct{}

	mu   sync.Mutex
	r    *rand.Rand
	calm bool
}

func (c *chaos) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

func (c *chaos) off() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calm
}

func (c *chaos) bad(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t.Errorf(format, args...)
}

func (c *chaos) sleep(ms int) { time.Sleep(time.Duration(c.n(ms)) * time.Millisecond) }

func chaosRun(t *testing.T, seed uint64) {
	vs := coordinator.Versions()
	b, cl := bare(t, brokers.Config{Version: vs[int(seed)%len(vs)], Topics: map[string]int32{"t0": 3, "t1": 2, "t2": 4}})
	c := &chaos{t: t, cl: cl, start: time.Now(), stop: make(chan struct{}), r: rand.New(rand.NewPCG(seed, 1))}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := 0; !over(c.stop); n++ {
				newLife(c, i, n).live()
			}
		})
	}
	c.topics(b)
	c.mu.Lock()
	c.calm = true
	c.mu.Unlock()
	time.Sleep(2 * time.Minute)
	if g := b.Group("g"); len(g.Members) != 4 || g.State != "Stable" {
		c.bad("two minutes after the last fault: %d members, %s: %+v", len(g.Members), g.State, g)
	}
	close(c.stop)
	wg.Wait()
	for _, m := range b.Group("g").Members {
		c.bad("left behind: %+v", m)
	}
}

func over(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// topics are made and deleted for four minutes.
func (c *chaos) topics(b *brokers.Cluster) {
	names := []string{"t0", "t1", "t2"}
	for time.Since(c.start) < 4*time.Minute {
		c.sleep(8000)
		topic, what := names[c.n(3)], c.n(4)
		if what < 3 {
			_ = b.DeleteTopic(topic)
		}
		if what < 2 {
			c.sleep(1500)
		}
		if what != 2 {
			_ = b.CreateTopic(topic, int32(1+c.n(4)))
		}
	}
	for _, topic := range names {
		_ = b.CreateTopic(topic, 3)
	}
}

// life is one member, from its making to the return of Run.
type life struct {
	*chaos
	name string
	m    *member.Consumer

	hmu   sync.Mutex
	held  map[string]bool
	log   []string
	asked time.Time // to end
}

func newLife(c *chaos, i, n int) *life {
	l := &life{chaos: c, name: fmt.Sprintf("member %d life %d", i, n), held: map[string]bool{}}
	cfg := member.ConsumerConfig{Group: "g", Topics: []string{"t0", "t1"}, Logger: slog.New(slog.DiscardHandler),
		Transport: c.wrap(kgotransport.New(c.cl)), OnAssigned: l.callback("assigned"), OnRevoked: l.callback("revoked"), OnLost: l.callback("lost")}
	cfg.Hooks.Notice = func(i member.NoticeInfo) {
		if i.What == member.NoticeOther {
			c.bad("%s: notice %s %v", l.name, i.Text, i.Err)
		}
	}
	switch c.n(4) {
	case 0:
		cfg.InstanceID, cfg.Leave = fmt.Sprint("s", i), member.LeaveGroup
	case 1:
		cfg.Topics, cfg.Regex = nil, "t.*"
	case 2:
		cfg.Timing.MaxPollInterval, cfg.SelfFence = 15*time.Second, true
	}
	m, err := member.NewConsumer(c.cl, cfg)
	if err != nil {
		panic(err)
	}
	l.m = m
	return l
}

// callback holds its partitions against what is held, and takes a while now and then.
func (l *life) callback(what string) callback {
	return func(ctx context.Context, p member.Partitions) error {
		l.hmu.Lock()
		l.log = append(l.log, fmt.Sprint(time.Since(l.start), " ", what, " ", p))
		for t, n := range p.All() {
			k := fmt.Sprint(t, n)
			if l.held[k] == (what == "assigned") {
				l.bad("%s: %s %s, held before: %v; %v", l.name, what, k, l.held[k], l.log)
			}
			l.held[k] = what == "assigned"
		}
		l.hmu.Unlock()
		if d := l.n(12); d < 3 {
			select {
			case <-time.After(time.Duration(d*2) * time.Second):
			case <-ctx.Done():
			}
		}
		return nil
	}
}

func (l *life) live() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { l.use(over, cancel) })
	err := l.m.Run(ctx)
	close(over)
	wg.Wait()
	l.hmu.Lock()
	defer l.hmu.Unlock()
	if !l.asked.IsZero() && time.Since(l.asked) > 27*time.Second {
		l.bad("%s: close took %v: %v", l.name, time.Since(l.asked), err)
	}
	if l.m.Snapshot().Assignment.Len() > 0 {
		l.bad("%s: owns %v after Run", l.name, l.m.Snapshot().Assignment)
	}
	for k, h := range l.held {
		if h {
			l.bad("%s: still holds %s after Run (%v); %v", l.name, k, err, l.log)
		}
	}
}

// use is the application: it calls what it can, and ends the member some time; but the last
// one lives on.
func (l *life) use(over <-chan struct{}, cancel func()) {
	lifetime := time.After(time.Duration(5+l.n(120)) * time.Second)
	for {
		wait := time.Duration(100+l.n(6000)) * time.Millisecond
		if l.off() {
			lifetime = nil
		}
		select {
		case <-over:
			return
		case <-l.stop:
			l.end(cancel)
			return
		case <-lifetime:
			l.end(cancel)
			return
		case <-time.After(wait):
			l.call()
		}
	}
}

func (l *life) call() {
	n := l.n(5)
	switch {
	case n < 2 || l.off():
		l.m.Alive()
	case n == 2:
		l.m.Wake()
	case n == 3:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(l.n(3000))*time.Millisecond)
		defer cancel()
		_ = l.m.SetTopics(ctx, []string{"t0", "t1", "t2"}[l.n(3)], "t1")
	}
}

func (l *life) end(cancel func()) {
	l.hmu.Lock()
	l.asked = time.Now()
	l.hmu.Unlock()
	if l.n(2) == 0 {
		cancel()
		return
	}
	_ = l.m.Leave(context.Background(), member.LeaveGroup)
}
