package coordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// leave handles the member epochs -1 and -2 (KIP-848, "Leaving the Group";
// GroupMetadataManager, consumerGroupLeave). The answer has the epoch of the
// request and interval 0; a client must adopt neither.
func (c *Coordinator) leave(req *kmsg.ConsumerGroupHeartbeatRequest, resp *kmsg.ConsumerGroupHeartbeatResponse) *refusal {
	g := c.groups[req.Group]
	if g == nil {
		return refuse(kerr.GroupIDNotFound, "There is no such group.")
	}
	m := g.members[req.MemberID]
	if req.InstanceID != nil {
		var refused *refusal
		if m, refused = g.holder(*req.InstanceID); refused != nil {
			return refused
		}
		if refused := checkInstance(m, req.MemberID); refused != nil {
			return refused
		}
	}
	if m == nil {
		return refuse(kerr.UnknownMemberID, "The member is not in the group.")
	}
	if req.MemberEpoch == leaveStatic {
		g.goAway(m)
	} else {
		c.remove(g, m)
	}
	resp.MemberID = kmsg.StringPtr(req.MemberID)
	resp.MemberEpoch = req.MemberEpoch
	return nil
}

// goAway marks a static member as away. It keeps its partitions but for those
// it was told to give up, and its session timer goes on from the last
// heartbeat.
func (g *group) goAway(m *member) {
	next := *m
	next.epoch = leaveStatic
	next.pending = nil
	next.rebalanceEnd = time.Time{}
	g.put(&next)
}

// remove takes a member out for good and bumps the group epoch.
func (c *Coordinator) remove(g *group, members ...*member) {
	for _, m := range members {
		g.drop(m)
	}
	g.pruneRegexes()
	c.refreshMetadata(g, true)
	g.epoch++
	if len(g.members) == 0 && c.cfg.Version.assignsEmptyGroup() {
		g.assignmentEpoch, g.targetAt = g.epoch, time.Time{}
	}
}

// LeaveClassic answers a LeaveGroup (v3 and newer) sent to a consumer group,
// as admin tools send it to remove members by instance ID, by member ID or by
// both. It returns false, and does nothing, if there is no such group here.
func (c *Coordinator) LeaveClassic(now time.Time, req *kmsg.LeaveGroupRequest) (*kmsg.LeaveGroupResponse, bool) {
	c.Advance(now)
	g := c.groups[req.Group]
	if g == nil {
		return nil, false
	}
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.Version = req.Version
	rows := req.Members
	if req.Version < 3 {
		rows = []kmsg.LeaveGroupRequestMember{{MemberID: req.MemberID}}
	}
	var leaving []*member
	seen := make(map[string]bool)
	for _, row := range rows {
		out := kmsg.NewLeaveGroupResponseMember()
		out.MemberID, out.InstanceID = row.MemberID, row.InstanceID
		m, refused := g.find(row.MemberID, row.InstanceID)
		if refused != nil {
			out.ErrorCode = refused.err.Code
		} else if !seen[m.id] {
			seen[m.id] = true
			leaving = append(leaving, m)
		}
		resp.Members = append(resp.Members, out)
	}
	if len(leaving) > 0 {
		c.remove(g, leaving...) // one bump, however many leave
	}
	if req.Version < 3 {
		resp.ErrorCode = resp.Members[0].ErrorCode
		resp.Members = nil
	}
	return resp, true
}

// RemoveInstance removes the member with an instance ID, as an admin does. It
// returns an error code.
func (c *Coordinator) RemoveInstance(now time.Time, group, instance string) int16 {
	c.Advance(now)
	g := c.groups[group]
	if g == nil {
		return kerr.GroupIDNotFound.Code
	}
	m, refused := g.find("", &instance)
	if refused != nil {
		return refused.err.Code
	}
	c.remove(g, m)
	return 0
}

// find looks a member up the way LeaveGroup names it.
func (g *group) find(id string, instance *string) (*member, *refusal) {
	if instance != nil {
		m := g.members[g.statics[*instance]]
		if m != nil && id == "" {
			return m, nil
		}
		return m, checkInstance(m, id)
	}
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, refuse(kerr.UnknownMemberID, "The member is not in the group.")
}

// DeleteGroup deletes an empty group and returns an error code:
// NON_EMPTY_GROUP while it has members, GROUP_ID_NOT_FOUND if there is none. A
// group made anew under the name starts its epochs again.
func (c *Coordinator) DeleteGroup(now time.Time, group string) int16 {
	c.Advance(now)
	g := c.groups[group]
	switch {
	case g == nil:
		return kerr.GroupIDNotFound.Code
	case len(g.members) > 0:
		return kerr.NonEmptyGroup.Code
	}
	delete(c.groups, group)
	return 0
}
