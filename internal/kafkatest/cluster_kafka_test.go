//go:build kafka

package kafkatest

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func unique(prefix string) string { return prefix + "-" + uuid.NewString() }

// groupMember is what a bare heartbeat needs.
type groupMember struct {
	group, id, topic string
	epoch            int32
}

// beatKafka sends a heartbeat to the group's coordinator.
func (m *groupMember) beatKafka(ctx context.Context, c *Cluster, cl *kgo.Client) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	node, err := c.Coordinator(ctx, m.group)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = m.group, m.id, m.epoch
	if m.epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 10000, []string{m.topic}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	r, err := cl.Broker(node).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := r.(*kmsg.ConsumerGroupHeartbeatResponse)
	if err := codeError(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return resp, err
	}
	m.epoch = resp.MemberEpoch
	return resp, nil
}

func newMember(topic string) *groupMember {
	return &groupMember{group: unique("group"), id: uuid.NewString(), topic: topic}
}

func TestJoinAndLeave(t *testing.T) {
	begin := time.Now()
	Each(t, func(t *testing.T, c *Cluster) {
		t.Logf("%s is there after %v", c.Version(), time.Since(begin).Round(time.Millisecond))
		defer func() { begin = time.Now() }()
		ctx := testContext(t)
		m := newMember(unique("topic"))
		check(t, c.CreateTopic(ctx, m.topic, 2))
		check(t, c.AddPartitions(ctx, m.topic, 1))
		cl := c.Client()
		defer cl.Close()
		resp, err := m.beatKafka(ctx, c, cl)
		check(t, err)
		if resp.HeartbeatIntervalMillis != 5000 {
			t.Errorf("interval %d ms", resp.HeartbeatIntervalMillis)
		}
		g, err := c.Members(ctx, m.group)
		check(t, err)
		got, ok := g.Member(m.id)
		if !ok || len(g.Members) != 1 || got.Epoch != m.epoch || !slices.Equal(got.Topics, []string{m.topic}) || got.Classic {
			t.Errorf("group %+v", g)
		}
		if ps := got.Target[m.topic]; len(ps) != 3 {
			t.Errorf("target %v", ps)
		}
		check(t, c.SetGroupConfig(ctx, m.group, map[string]string{"consumer.heartbeat.interval.ms": "6000"}))
		if resp, err = m.beatKafka(ctx, c, cl); err != nil || resp.HeartbeatIntervalMillis != 6000 {
			t.Errorf("with a setting: %+v, %v", resp, err)
		}
		m.epoch = -1
		_, err = m.beatKafka(ctx, c, cl)
		check(t, err)
		if g, err = c.Members(ctx, m.group); err != nil || len(g.Members) != 0 || g.State != "Empty" {
			t.Errorf("after leaving: %+v, %v", g, err)
		}
		check(t, c.DeleteTopic(ctx, m.topic))
		if _, err := c.Members(ctx, unique("none")); !errors.Is(err, kerr.GroupIDNotFound) {
			t.Errorf("unknown group: %v", err)
		}
	})
}

func TestShared(t *testing.T) {
	v := Versions()[0]
	a, b := Shared(t, Config{Version: v, Proxy: true}), Shared(t, Config{Version: v, Proxy: true, Nodes: 1})
	if a != b {
		t.Error("two clusters for one config")
	}
}

func TestNoConsumerProtocol(t *testing.T) {
	for _, v := range Versions() {
		t.Run(v, func(t *testing.T) {
			c := Start(t, Config{Version: v, NoConsumerProtocol: true})
			cl := c.Client()
			defer cl.Close()
			_, err := newMember("t").beatKafka(testContext(t), c, cl)
			if !errors.Is(err, kerr.UnsupportedVersion) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestStartFails(t *testing.T) {
	for name, props := range map[string]map[string]string{
		"log.cleaner.threads": {"log.cleaner.threads": "-1"},                   // fails to format
		"no.such.Authorizer":  {"authorizer.class.name": "no.such.Authorizer"}, // fails to start
	} {
		_, err := Open(testContext(t), Config{Props: props})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", props, err)
		}
	}
}

// TestPortTaken sees that a clash of ports is told from other failures: it is
// tried again, which here does not help.
func TestPortTaken(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer ln.Close()
	port, err := freePort(map[int]bool{})
	check(t, err)
	client, controller := clientListener+"://"+ln.Addr().String(), controllerListener+"://"+addr(port)
	_, err = Open(testContext(t), Config{Props: map[string]string{
		"listeners": client + "," + controller, "advertised.listeners": client,
		"controller.quorum.voters": "1@" + addr(port),
	}})
	if !errors.Is(err, errPortTaken) {
		t.Error(err)
	}
}

// mustBeat sends a heartbeat with a client of its own: one that has been there
// for longer may find only now that a node's end has cut its connection.
func (m *groupMember) mustBeat(t *testing.T, c *Cluster) {
	t.Helper()
	cl := c.Client(kgo.RequestTimeoutOverhead(time.Second)) // it may ask a paused node first
	defer cl.Close()
	_, err := m.beatKafka(testContext(t), c, cl)
	check(t, err)
}

func TestThreeNodes(t *testing.T) {
	begin := time.Now()
	c := Start(t, Config{Version: Versions()[len(Versions())-1], Nodes: 3})
	t.Logf("ready after %v", time.Since(begin))
	ctx := testContext(t)
	m := newMember(unique("topic"))
	check(t, c.CreateTopic(ctx, m.topic, 3))
	m.mustBeat(t, c)
	t.Run("kill", func(t *testing.T) { testKill(t, c, m) })
	t.Run("pause", func(t *testing.T) { testPause(t, c, m) })
	t.Run("stop", func(t *testing.T) {
		at, err := c.Coordinator(ctx, m.group)
		check(t, err)
		check(t, c.StopNode(at))
		check(t, c.WaitReady(ctx))
		m.mustBeat(t, c)
	})
}

func testKill(t *testing.T, c *Cluster, m *groupMember) {
	ctx := testContext(t)
	first, err := c.Coordinator(ctx, m.group)
	check(t, err)
	begin := time.Now()
	check(t, c.Kill(first))
	check(t, c.WaitReady(ctx))
	second, err := c.Coordinator(ctx, m.group)
	check(t, err)
	t.Logf("killed %d, coordinator is %d after %v", first, second, time.Since(begin))
	if second == first {
		t.Fatal("the coordinator is dead")
	}
	m.mustBeat(t, c)
	begin = time.Now()
	check(t, c.StartNode(ctx, first))
	t.Logf("started %d after %v", first, time.Since(begin))
}

func testPause(t *testing.T, c *Cluster, m *groupMember) {
	ctx := testContext(t)
	at, err := c.Coordinator(ctx, m.group)
	check(t, err)
	check(t, c.Pause(at))
	if err := c.Pause(at); err == nil {
		t.Error("paused twice")
	}
	begin := time.Now()
	check(t, c.WaitReady(ctx))
	m.mustBeat(t, c)
	t.Logf("paused %d, heartbeat after %v", at, time.Since(begin))
	check(t, c.Resume(at))
	check(t, c.WaitReady(ctx))
	if g, err := c.Members(ctx, m.group); err != nil || len(g.Members) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
}
