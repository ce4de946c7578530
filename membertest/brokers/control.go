package brokers

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// The request keys that the coordinator model has a say in.
const (
	keyHeartbeat = int16(kmsg.ConsumerGroupHeartbeat)
	keyDescribe  = int16(kmsg.ConsumerGroupDescribe)
)

// HeartbeatHook stands between a client's heartbeat and the coordinator. It
// gets the broker's ID and the request; apply hands the request to the
// coordinator and returns its answer. What the hook returns is sent: an error
// closes the connection instead, and nil without an error is never answered.
//
// So apply and then an error is an answer that got lost, and an error without
// apply a request that never arrived. A hook must not block: the whole cluster
// waits for it.
type HeartbeatHook func(
	broker int32,
	req *kmsg.ConsumerGroupHeartbeatRequest,
	apply func() *kmsg.ConsumerGroupHeartbeatResponse,
) (*kmsg.ConsumerGroupHeartbeatResponse, error)

// OnHeartbeat sets the hook for ConsumerGroupHeartbeat; nil removes it. One
// hook call runs at a time.
func (c *Cluster) OnHeartbeat(hook HeartbeatHook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = hook
}

// control installs the model into kfake. kfake calls control functions one at
// a time, and serves calls into itself while one runs.
func (c *Cluster) control() {
	handle := func(key kmsg.Key, fn func(kmsg.Request) (kmsg.Response, error, bool)) {
		c.kafka.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.kafka.KeepControl()
			return fn(req)
		})
	}
	handle(kmsg.CreateTopics, c.watchTopics)
	handle(kmsg.DeleteTopics, c.watchTopics)
	handle(kmsg.CreatePartitions, c.watchTopics)
	handle(kmsg.Metadata, c.watchTopics)
	if c.cfg.NoConsumerProtocol {
		return
	}
	handle(kmsg.ConsumerGroupHeartbeat, c.heartbeat)
	handle(kmsg.ConsumerGroupDescribe, c.describe)
	handle(kmsg.LeaveGroup, c.leaveGroup)
	handle(kmsg.JoinGroup, c.joinGroup)
	handle(kmsg.DeleteGroups, c.deleteGroups)
	handle(kmsg.OffsetFetch, c.offsetFetch)
	handle(kmsg.OffsetCommit, c.offsetCommit)
	handle(kmsg.TxnOffsetCommit, c.txnOffsetCommit)
}

// unsupported says whether kfake should refuse a request's version itself.
func (c *Cluster) unsupported(req kmsg.Request) bool {
	return req.GetVersion() > 1 || req.GetVersion() > 0 && c.cfg.HeartbeatV0
}

// elsewhere says whether another broker than the one asked coordinates the
// group.
func (c *Cluster) elsewhere(group string) bool {
	return c.kafka.CoordinatorFor(group) != c.kafka.CurrentNode()
}

// has says whether the model has a group.
func (c *Cluster) has(group string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.model.HasGroup(group)
}

func (c *Cluster) heartbeat(kreq kmsg.Request) (kmsg.Response, error, bool) {
	if c.unsupported(kreq) {
		return nil, nil, false
	}
	req := kreq.(*kmsg.ConsumerGroupHeartbeatRequest)
	c.syncTopics()
	c.mu.Lock()
	hook := c.hook
	c.mu.Unlock()
	apply := func() *kmsg.ConsumerGroupHeartbeatResponse { return c.applyHeartbeat(req) }
	if hook == nil {
		return apply(), nil, true
	}
	resp, err := hook(c.kafka.CurrentNode(), req, apply)
	if resp == nil || err != nil {
		return nil, err, true
	}
	resp.Version = req.Version
	return resp, nil, true
}

func (c *Cluster) applyHeartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	refuse := func(e *kerr.Error, message string) *kmsg.ConsumerGroupHeartbeatResponse {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.Version, resp.ErrorCode, resp.ErrorMessage = req.Version, e.Code, &message
		return resp
	}
	if c.elsewhere(req.Group) {
		return refuse(kerr.NotCoordinator, "This broker does not coordinate the group.")
	}
	if req.MemberEpoch == 0 && !c.has(req.Group) {
		if g := c.kafka.GroupInfo(req.Group); g != nil && len(g.Members) > 0 {
			return refuse(kerr.GroupIDNotFound, "The group is a live classic group, and this cluster does not migrate.")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.model.Heartbeat(time.Now(), req, coordinator.Client{Host: "/127.0.0.1"})
}

func (c *Cluster) describe(kreq kmsg.Request) (kmsg.Response, error, bool) {
	if c.unsupported(kreq) {
		return nil, nil, false
	}
	req := kreq.(*kmsg.ConsumerGroupDescribeRequest)
	c.syncTopics()
	c.mu.Lock()
	resp := c.model.Describe(time.Now(), req)
	c.mu.Unlock()
	for i, g := range resp.Groups {
		if c.elsewhere(g.Group) {
			resp.Groups[i] = kmsg.NewConsumerGroupDescribeResponseGroup()
			resp.Groups[i].Group = g.Group
			resp.Groups[i].ErrorCode = kerr.NotCoordinator.Code
		}
	}
	return resp, nil, true
}

// leaveGroup removes members of a consumer group for an admin.
func (c *Cluster) leaveGroup(kreq kmsg.Request) (kmsg.Response, error, bool) {
	req := kreq.(*kmsg.LeaveGroupRequest)
	if c.elsewhere(req.Group) {
		return nil, nil, false // kfake says so
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	resp, ok := c.model.LeaveClassic(time.Now(), req)
	if !ok {
		return nil, nil, false
	}
	return resp, nil, true
}

// joinGroup keeps classic members out of a live consumer group, where they
// would get the same partitions a second time.
func (c *Cluster) joinGroup(kreq kmsg.Request) (kmsg.Response, error, bool) {
	req := kreq.(*kmsg.JoinGroupRequest)
	if c.elsewhere(req.Group) || len(c.Group(req.Group).Members) == 0 {
		return nil, nil, false
	}
	resp := req.ResponseKind().(*kmsg.JoinGroupResponse)
	resp.ErrorCode = kerr.InconsistentGroupProtocol.Code
	return resp, nil, true
}

// deleteGroups deletes groups in the model, and leaves it to kfake to delete
// the offsets and the classic groups.
func (c *Cluster) deleteGroups(kreq kmsg.Request) (kmsg.Response, error, bool) {
	req := kreq.(*kmsg.DeleteGroupsRequest)
	resp := req.ResponseKind().(*kmsg.DeleteGroupsResponse)
	own := true // whether the model alone knows all groups
	for _, group := range req.Groups {
		out := kmsg.NewDeleteGroupsResponseGroup()
		out.Group = group
		known := c.has(group)
		if known && !c.elsewhere(group) {
			c.mu.Lock()
			out.ErrorCode = c.model.DeleteGroup(time.Now(), group)
			c.mu.Unlock()
		}
		own = own && known && !c.elsewhere(group) && (out.ErrorCode != 0 || c.kafka.GroupInfo(group) == nil)
		resp.Groups = append(resp.Groups, out)
	}
	if own {
		return resp, nil, true
	}
	for _, g := range resp.Groups {
		if g.ErrorCode != 0 {
			c.fault(kreq, g.Group, "", nil, g.ErrorCode)
		}
	}
	return nil, nil, false
}
