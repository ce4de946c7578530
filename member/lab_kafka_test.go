//go:build kafka

package member_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

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
	ledger *labLedger
	probes []*probe
}

// onKafka runs f on the shared cluster of each version, beside other tests.
func onKafka(t *testing.T, cfg kafkatest.Config, f func(l *lab)) {
	t.Helper()
	t.Parallel()
	kafkatest.EachConfig(t, cfg, func(t *testing.T, c *kafkatest.Cluster) { f(newLab(t, c, cfg.Proxy)) })
}

func newLab(t *testing.T, c *kafkatest.Cluster, proxied bool) *lab {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	l := &lab{T: t, ctx: ctx, c: c, group: uniqueName("group"), ledger: newLabLedger()}
	if proxied {
		l.px = c.Proxy(1)
	}
	t.Cleanup(func() {
		for _, p := range l.probes {
			p.close()
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
	cl := l.c.Client(opts...)
	l.Cleanup(cl.Close)
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
	g, err := l.c.Members(l.ctx, l.group)
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
	g, err := l.c.Members(l.ctx, l.group)
	if err != nil {
		return nil
	}
	return g.Members
}

func (l *lab) epoch() int32 {
	l.Helper()
	g, err := l.c.Members(l.ctx, l.group)
	l.must(err)
	return g.Epoch
}

// raw sends one heartbeat that is no member's of the lab's, straight to node 1.
func (l *lab) raw(cl *kgo.Client, memberID, instanceID string, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
	l.Helper()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = l.group, memberID, epoch
	if instanceID != "" {
		req.InstanceID = &instanceID
	}
	resp, err := cl.Broker(1).Request(l.ctx, req)
	l.must(err)
	return resp.(*kmsg.ConsumerGroupHeartbeatResponse)
}

// wire is what the proxy saw of the group since t.
func (l *lab) wire(since time.Time, keep func(kafkatest.Heartbeat) bool) []kafkatest.Heartbeat {
	return l.px.Heartbeats(func(h kafkatest.Heartbeat) bool {
		return h.Group == l.group && !h.At.Before(since) && (keep == nil || keep(h))
	})
}

// story is all that is known of the test, for its failure.
func (l *lab) story() string {
	var sb strings.Builder
	for _, p := range l.probes {
		fmt.Fprintf(&sb, "%s %v\n", p.name, p.m.Snapshot())
		p.mu.Lock()
		for _, line := range p.log {
			sb.WriteString("  " + line + "\n")
		}
		p.mu.Unlock()
	}
	if l.px != nil {
		for _, h := range l.wire(time.Time{}, nil) {
			fmt.Fprintf(&sb, "wire %s %s conn %d epoch %d full %v topics %v -> %s code %d epoch %d %v lost %v\n", h.At.Format("05.000"), h.MemberID[:6],
				h.Conn, h.Epoch, h.Full, ownedIn(h.Request), h.AnsweredAt.Format("05.000"), h.ErrorCode, h.AnswerEpoch, assignedIn(h), h.Lost)
		}
	}
	return sb.String()
}

// ownedIn counts the owned partitions of a request; -1: it says nothing of them.
func ownedIn(r *kmsg.ConsumerGroupHeartbeatRequest) int {
	if r == nil || r.Topics == nil {
		return -1
	}
	n := 0
	for _, t := range r.Topics {
		n += len(t.Partitions)
	}
	return n
}

// assignedIn counts the partitions of an answer; -1: it says nothing of them.
func assignedIn(h kafkatest.Heartbeat) int {
	if h.Answer == nil || h.Answer.Assignment == nil {
		return -1
	}
	n := 0
	for _, t := range h.Answer.Assignment.Topics {
		n += len(t.Partitions)
	}
	return n
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

const (
	findCoordinator = int16(kmsg.FindCoordinator)
	heartbeatKey    = int16(kmsg.ConsumerGroupHeartbeat)
)

func kgoClientID(id string) kgo.Opt { return kgo.ClientID(id) }

// stepOf is a join or leave as "epoch:code", with what happened to its answer.
func stepOf(h kafkatest.Heartbeat) string {
	s := fmt.Sprintf("%d:%d", h.Epoch, h.ErrorCode)
	if h.Lost {
		s += "(lost)"
	}
	return s
}
