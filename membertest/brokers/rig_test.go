package brokers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is one cluster and one client that sends raw requests.
type rig struct {
	*testing.T
	c  *Cluster
	cl *kgo.Client
}

// bubble runs a test against a cluster on the in-memory network, in virtual
// time.
func bubble(t *testing.T, cfg Config, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newRig(t, cfg)) })
}

func newRig(t *testing.T, cfg Config) *rig {
	t.Helper()
	if cfg.Topics == nil {
		cfg.Topics = map[string]int32{"t12": 12}
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(c.Opts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return &rig{T: t, c: c, cl: cl}
}

// find asks who coordinates a group.
func (r *rig) find(group string) int {
	r.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	resp, err := req.RequestWith(r.Context(), r.cl)
	if err != nil {
		r.Fatal(err)
	}
	return int(resp.Coordinators[0].NodeID)
}

// send sends a request to the group's coordinator.
func send[R kmsg.Response](r *rig, req kmsg.Request) R {
	r.Helper()
	resp, err := r.cl.Broker(r.find("g")).Request(r.Context(), req)
	if err != nil {
		r.Fatal(err)
	}
	return resp.(R)
}

func heartbeat(id string, epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = "g", id, epoch
	return req
}

func (r *rig) beat(id string, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
	r.Helper()
	return send[*kmsg.ConsumerGroupHeartbeatResponse](r, heartbeat(id, epoch))
}

func joinRequest(id string, topics ...string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := heartbeat(id, 0)
	req.RebalanceTimeoutMillis = 10_000
	req.SubscribedTopicNames = topics
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

func (r *rig) join(id string, topics ...string) *kmsg.ConsumerGroupHeartbeatResponse {
	r.Helper()
	return send[*kmsg.ConsumerGroupHeartbeatResponse](r, joinRequest(id, topics...))
}

// ack reports what an answer assigned as owned.
func (r *rig) ack(id string, told *kmsg.ConsumerGroupHeartbeatResponse) *kmsg.ConsumerGroupHeartbeatResponse {
	r.Helper()
	req := heartbeat(id, told.MemberEpoch)
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for _, t := range told.Assignment.Topics {
		req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
	}
	return send[*kmsg.ConsumerGroupHeartbeatResponse](r, req)
}

// want checks an answer; parts is -1 for no assignment.
func (r *rig) want(resp *kmsg.ConsumerGroupHeartbeatResponse, epoch int32, parts int) {
	r.Helper()
	got := -1
	if resp.Assignment != nil {
		got = 0
		for _, t := range resp.Assignment.Topics {
			got += len(t.Partitions)
		}
	}
	if resp.ErrorCode != 0 || resp.MemberEpoch != epoch || got != parts {
		r.Fatalf("got code %d e=%d asg=%d, want e=%d asg=%d", resp.ErrorCode, resp.MemberEpoch, got, epoch, parts)
	}
}

func (r *rig) code(got int16, want *kerr.Error) {
	r.Helper()
	var code int16
	if want != nil {
		code = want.Code
	}
	if got != code {
		r.Fatalf("got code %d, want %d", got, code)
	}
}

// rebalance runs two members from join to leave. It wants an assignment
// interval of zero.
func rebalance(r *rig) {
	first := int32(1)
	if r.c.model.Version() >= coordinator.V43 {
		first = 2
	}
	r.want(r.join("A", "t12"), first, 12)
	r.want(r.beat("A", first), first, -1)
	r.want(r.join("B", "t12"), first+1, 0)
	told := r.beat("A", first)
	r.want(told, first, 6)
	r.want(r.ack("A", told), first+1, -1)
	r.want(r.beat("B", first+1), first+1, 6)
	if g := r.c.Group("g"); g.State != "Stable" || len(g.Members) != 2 {
		r.Fatalf("got %s with %d members", g.State, len(g.Members))
	}
	r.want(r.beat("B", -1), -1, -1)
	r.want(r.beat("A", first+1), first+2, 12)
	r.want(r.beat("A", -1), -1, -1)
	if g := r.c.Group("g"); g.State != "Empty" {
		r.Fatalf("got %s", g.State)
	}
}

// within is a context for the tests on a real network.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
