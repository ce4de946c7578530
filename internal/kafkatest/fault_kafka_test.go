//go:build kafka

package kafkatest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestACL(t *testing.T) {
	c := Start(t, Config{ACL: true, Proxy: true})
	ctx := testContext(t)
	m := newMember(unique("topic"))
	check(t, c.CreateTopic(ctx, m.topic, 1))
	alice := c.ClientAs(Alice, kgo.SeedBrokers(c.ProxyAddrs()...))
	defer alice.Close()
	if _, err := m.beatKafka(ctx, c, alice); !errors.Is(err, kerr.GroupAuthorizationFailed) {
		t.Fatalf("before: %v", err)
	}
	check(t, c.Allow(ctx, Alice, kmsg.ACLResourceTypeGroup, m.group, kmsg.ACLOperationRead))
	check(t, c.Allow(ctx, Alice, kmsg.ACLResourceTypeTopic, m.topic, kmsg.ACLOperationDescribe))
	_, err := m.beatKafka(ctx, c, alice)
	check(t, err)
	bob := c.ClientAs(Bob)
	defer bob.Close()
	if _, err := newMember(m.topic).beatKafka(ctx, c, bob); !errors.Is(err, kerr.GroupAuthorizationFailed) {
		t.Errorf("bob: %v", err)
	}
	check(t, c.RemoveAllow(ctx, Alice, kmsg.ACLResourceTypeGroup, m.group, kmsg.ACLOperationRead))
	if _, err := m.beatKafka(ctx, c, alice); !errors.Is(err, kerr.GroupAuthorizationFailed) {
		t.Errorf("after: %v", err)
	}
	if hs := c.Proxy(1).Heartbeats(nil); len(hs) != 3 || hs[1].ErrorCode != 0 || hs[2].ErrorCode != kerr.GroupAuthorizationFailed.Code {
		t.Errorf("%+v", hs)
	}
	wrong := c.ClientAs("mallory", kgo.RetryTimeout(time.Second))
	defer wrong.Close()
	if err := wrong.Ping(ctx); err == nil {
		t.Error("anyone may log in")
	}
}

func TestProxyWithKafka(t *testing.T) {
	Each(t, func(t *testing.T, c *Cluster) {
		t.Run("lose answer", func(t *testing.T) { testLoseAnswer(t, c) })
		t.Run("late join", func(t *testing.T) { testLateJoin(t, c) })
	})
}

func proxiedClient(t *testing.T, c *Cluster) *kgo.Client {
	cl := c.Client(kgo.SeedBrokers(c.ProxyAddrs()...), kgo.RequestRetries(0))
	t.Cleanup(cl.Close)
	return cl
}

// testLoseAnswer: the broker has the member, the client has no answer.
func testLoseAnswer(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	m := newMember(unique("topic"))
	check(t, c.CreateTopic(ctx, m.topic, 1))
	cl := proxiedClient(t, c)
	r := c.Proxy(1).On(Match(IsJoin).And(ByGroup(m.group)), 1, LoseAnswer())
	if _, err := m.beatKafka(ctx, c, cl); err == nil {
		t.Fatal("answered")
	}
	check(t, r.Wait(ctx, 1))
	if g, err := c.Members(ctx, m.group); err != nil || len(g.Members) != 1 || g.Members[0].ID != m.id {
		t.Errorf("%+v, %v", g, err)
	}
	_, err := m.beatKafka(ctx, c, cl)
	check(t, err)
	hs := c.Proxy(1).Heartbeats(func(h Heartbeat) bool { return h.MemberID == m.id })
	if len(hs) != 2 || !hs[0].Lost || hs[1].Lost || hs[0].AnswerEpoch != hs[1].AnswerEpoch || !hs[1].Full {
		t.Errorf("%+v", hs)
	}
}

// testLateJoin: a join whose client has given up and left arrives after the
// leave, and brings the member back.
func testLateJoin(t *testing.T, c *Cluster) {
	ctx := testContext(t)
	m := newMember(unique("topic"))
	check(t, c.CreateTopic(ctx, m.topic, 1))
	cl := proxiedClient(t, c)
	r := c.Proxy(1).On(Match(IsJoin).And(ByGroup(m.group)), 1, HoldRequest(time.Hour, CutNow))
	if _, err := m.beatKafka(ctx, c, cl); err == nil {
		t.Fatal("answered")
	}
	leave := *m
	leave.epoch = -1
	if _, err := leave.beatKafka(ctx, c, cl); err == nil {
		t.Error("left a group without having joined")
	}
	members(t, ctx, c, m.group, 0)
	r.Release()
	check(t, r.Wait(ctx, 1))
	members(t, ctx, c, m.group, 1)
}

// members checks how many members a group has, which may not exist.
func members(t *testing.T, ctx context.Context, c *Cluster, group string, want int) {
	t.Helper()
	g, err := c.Members(ctx, group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		t.Fatal(err)
	}
	if len(g.Members) != want {
		t.Errorf("%d members, want %d: %+v", len(g.Members), want, g)
	}
}
