//go:build kafka

package member_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// plainKafka is the cluster that most tests share. Its sessions and intervals are Kafka's
// defaults; a group's config may have shorter ones.
func plainKafka() kafkatest.Config {
	return kafkatest.Config{Proxy: true, Props: map[string]string{
		"group.consumer.min.session.timeout.ms":    "6000",
		"group.consumer.min.heartbeat.interval.ms": "500",
	}}
}

// lab is one group and one topic on a cluster, for one test.
type lab struct {
	*testing.T
	ctx    context.Context
	c      *kafkatest.Cluster
	px     *kafkatest.Proxy // nil on a cluster without
	group  string
	topic  string
	admin  *kgo.Client
	ledger *labLedger
	probes []*probe
	procs  []*kgo.Client // closed when all members have ended
}

// onKafka runs f on the shared cluster of each version, beside other tests.
func onKafka(t *testing.T, cfg kafkatest.Config, f func(l *lab)) {
	t.Helper()
	t.Parallel()
	inPeace(t, cfg, f)
}

// inPeace is onKafka for tests with a limit of time: before all others, and not beside any.
func inPeace(t *testing.T, cfg kafkatest.Config, f func(l *lab)) {
	t.Helper()
	kafkatest.EachConfig(t, cfg, func(t *testing.T, c *kafkatest.Cluster) { f(newLab(t, c, cfg.Proxy)) })
}

func newLab(t *testing.T, c *kafkatest.Cluster, proxied bool) *lab {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	l := &lab{T: t, ctx: ctx, c: c, group: uniqueName("group"), ledger: newLabLedger()}
	if proxied {
		l.px = c.Proxy(1)
	}
	if c != nil {
		l.admin = c.Client()
		t.Cleanup(l.admin.Close)
	}
	t.Cleanup(func() {
		for _, p := range l.probes {
			p.close()
		}
		for _, cl := range l.procs {
			cl.Close()
		}
		for _, v := range l.ledger.faults() {
			t.Error(v)
		}
		if t.Failed() {
			t.Log(l.story())
		}
		cancel()
	})
	return l
}

// cases runs f as parallel subtests, each in a group of its own.
func (l *lab) cases(names []string, f func(l *lab, i int)) {
	l.Helper()
	for i, name := range names {
		l.Run(name, func(t *testing.T) {
			t.Parallel()
			f(newLab(t, l.c, l.px != nil), i)
		})
	}
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// newTopic makes the topic that members of the lab subscribe to.
func (l *lab) newTopic(partitions int) string {
	l.Helper()
	l.topic = uniqueName("topic")
	l.must(l.c.CreateTopic(l.ctx, l.topic, partitions))
	return l.topic
}

// process is a kgo client, which is what stands for a process; it talks through
// the proxy if there is one.
func (l *lab) process(opts ...kgo.Opt) *kgo.Client {
	if l.px != nil {
		opts = append([]kgo.Opt{kgo.SeedBrokers(l.c.ProxyAddrs()...)}, opts...)
	}
	return l.owns(l.c.Client(opts...))
}

// owns closes cl at the end of the test, after the members.
func (l *lab) owns(cl *kgo.Client) *kgo.Client {
	l.procs = append(l.procs, cl)
	return cl
}

// shortSession gives the group a session and an interval of its own. It has to come before
// the first join, and takes a moment to reach the coordinator.
func (l *lab) shortSession(session, interval time.Duration) {
	l.Helper()
	l.must(l.c.SetGroupConfig(l.ctx, l.group, map[string]string{
		"consumer.session.timeout.ms":    fmt.Sprint(session.Milliseconds()),
		"consumer.heartbeat.interval.ms": fmt.Sprint(interval.Milliseconds()),
	}))
	time.Sleep(time.Second)
}

// until waits for cond and fails the test if it takes longer than limit.
func (l *lab) until(limit time.Duration, what string, cond func() bool) time.Duration {
	l.Helper()
	t0 := time.Now()
	for !cond() {
		if time.Since(t0) > limit {
			l.Fatalf("not within %v: %s", limit, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(t0)
}

// never watches for d that cond stays false.
func (l *lab) never(d time.Duration, what string, cond func() bool) {
	l.Helper()
	for t0 := time.Now(); time.Since(t0) < d; time.Sleep(20 * time.Millisecond) {
		if cond() {
			l.Fatalf("after %v: %s", time.Since(t0).Round(time.Millisecond), what)
		}
	}
}

// settle waits until ps are all of the group, STABLE, own all the partitions
// once, and the coordinator says the same of each.
func (l *lab) settle(limit time.Duration, partitions int, ps ...*probe) time.Duration {
	l.Helper()
	t0, odd := time.Now(), ""
	for {
		if odd = l.odd(partitions, ps...); odd == "" {
			return time.Since(t0)
		}
		if time.Since(t0) > limit {
			l.Fatalf("not settled within %v: %s", limit, odd)
		}
		time.Sleep(15 * time.Millisecond)
	}
}

// odd says what keeps the group from being settled; "": nothing.
func (l *lab) odd(partitions int, ps ...*probe) string {
	var all []string
	for _, p := range ps {
		s := p.m.Snapshot()
		if s.State != member.StateStable {
			return fmt.Sprintf("%s is %v", p.name, s.State)
		}
		for topic, n := range s.Assignment.All() {
			all = append(all, fmt.Sprintf("%s/%d", topic, n))
		}
	}
	slices.Sort(all)
	if len(all) != partitions || len(slices.Compact(slices.Clone(all))) != partitions {
		return fmt.Sprintf("of %d partitions are owned: %v", partitions, all)
	}
	g, err := l.describe()
	if err != nil {
		return err.Error()
	}
	if len(g.Members) != len(ps) || g.State != "Stable" {
		return fmt.Sprintf("%d members, to be %d; the group is %s", len(g.Members), len(ps), g.State)
	}
	for _, p := range ps {
		if odd := p.disagrees(g); odd != "" {
			return odd
		}
	}
	return ""
}

// disagrees says how the member differs from what the coordinator has of it.
func (p *probe) disagrees(g kafkatest.Group) string {
	s := p.m.Snapshot()
	m, ok := g.Member(s.MemberID)
	if !ok {
		return p.name + " is not in the group"
	}
	current, target := member.Partitions(m.Current), member.Partitions(m.Target)
	if m.Epoch != s.MemberEpoch || inOrder(current).String() != s.Assignment.String() || inOrder(target).String() != s.Assignment.String() {
		return fmt.Sprintf("%s is at epoch %d with %v; the coordinator has %d, %v, and wants %v",
			p.name, s.MemberEpoch, s.Assignment, m.Epoch, current, target)
	}
	return ""
}

func inOrder(p member.Partitions) member.Partitions {
	for _, ns := range p {
		slices.Sort(ns)
	}
	return p
}

// members describes the group; a group that does not exist has none.
func (l *lab) members() []kafkatest.Member {
	g, err := l.describe()
	if err != nil {
		return nil
	}
	return g.Members
}

func (l *lab) epoch() int32 {
	l.Helper()
	g, err := l.describe()
	l.must(err)
	return g.Epoch
}

func medianOf(ds []time.Duration) time.Duration {
	ds = slices.Sorted(slices.Values(ds))
	return ds[len(ds)/2].Round(time.Millisecond)
}

// wants fails the test unless err is all of targets.
func (l *lab) wants(err error, targets ...error) {
	l.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			l.Errorf("error %v is not %v", err, target)
		}
	}
}
