package coordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// admitted is the member a heartbeat speaks for, as it was before.
type admitted struct {
	member   *member // an empty one for a new member
	replaces *member // the static member whose place it takes; nil: none
}

// admit finds the member a heartbeat speaks for, or refuses it. It changes
// nothing but the counter of made member IDs.
func (c *Coordinator) admit(g *group, req *kmsg.ConsumerGroupHeartbeatRequest) (admitted, *refusal) {
	if c.shutsOut(g, req) {
		return admitted{}, refuse(kerr.GroupMaxSizeReached, "The group has its maximum size.")
	}
	id := req.MemberID
	if id == "" {
		id = c.newMemberID() // only a v0 join comes this far without one
	}
	if req.InstanceID != nil {
		return c.admitStatic(g, id, req)
	}
	m := g.members[id]
	if m == nil {
		if req.MemberEpoch != 0 {
			return admitted{}, refuse(kerr.UnknownMemberID, "The member is not in the group.")
		}
		return admitted{member: newMember(id)}, nil
	}
	if refused := c.admitEpoch(m, req); refused != nil {
		return admitted{}, refused
	}
	return admitted{member: m}, nil
}

func newMember(id string) *member { return &member{id: id, state: StateStable} }

// shutsOut says whether the group has no place for the sender. Only known member
// IDs pass; until 4.3 that shuts out the new ID of a static member, too.
func (c *Coordinator) shutsOut(g *group, req *kmsg.ConsumerGroupHeartbeatRequest) bool {
	if c.cfg.MaxGroupSize <= 0 || len(g.members) < c.cfg.MaxGroupSize || g.members[req.MemberID] != nil {
		return false
	}
	if req.InstanceID != nil && c.cfg.Version.admitsReturnToFullGroup() {
		return g.statics[*req.InstanceID] == ""
	}
	return true
}

// admitStatic is admit for a request with an instance ID (KIP-848, "Static
// Membership"; GroupMetadataManager, getOrMaybeSubscribeStaticConsumerGroupMember).
//
// A join finds its instance free, away or in use. In use means
// UNRELEASED_INSTANCE_ID even for the very member that holds it: that is the
// lock-out of a static member whose join answer was lost.
func (c *Coordinator) admitStatic(g *group, id string, req *kmsg.ConsumerGroupHeartbeatRequest) (admitted, *refusal) {
	holder, refused := g.holder(*req.InstanceID)
	if refused != nil {
		return admitted{}, refused
	}
	if req.MemberEpoch != 0 {
		if refused := checkInstance(holder, id); refused != nil {
			return admitted{}, refused
		}
		if refused := c.admitEpoch(holder, req); refused != nil {
			return admitted{}, refused
		}
		return admitted{member: holder}, nil
	}
	if holder == nil {
		// A member that is known by its ID may become static, or change its
		// instance ID. Its epoch is not looked at on this path.
		if m := g.members[id]; m != nil {
			return admitted{member: m}, nil
		}
		return admitted{member: newMember(id)}, nil
	}
	if holder.epoch != leaveStatic {
		return admitted{}, refuse(kerr.UnreleasedInstanceID, "The instance ID is owned by member "+holder.id+".")
	}
	heir := *holder
	heir.id = id
	heir.epoch, heir.previousEpoch = 0, 0
	return admitted{member: &heir, replaces: holder}, nil
}

// holder returns the member that an instance ID stands for, nil if there is
// none. Until 4.3 an instance ID may outlive its member, see put: such a one is
// of no use to anybody (ConsumerGroup, staticMember).
func (g *group) holder(instance string) (*member, *refusal) {
	id, ok := g.statics[instance]
	m := g.members[id]
	if ok && m == nil {
		return nil, refuse(kerr.UnknownMemberID, "The member that had the instance ID is not in the group.")
	}
	return m, nil
}

// checkInstance refuses a member that is not the holder of the instance ID it
// sends.
func checkInstance(holder *member, id string) *refusal {
	if holder == nil {
		return refuse(kerr.UnknownMemberID, "The instance ID is unknown.")
	}
	if holder.id != id {
		return refuse(kerr.FencedInstanceID, "The instance ID was taken by member "+holder.id+".")
	}
	return nil
}

// admitEpoch checks the member epoch (KIP-848, "Consumer Group Heartbeat";
// GroupMetadataManager, throwIfConsumerGroupMemberEpochIsInvalid). The
// previous epoch passes with an owned list that the member may have: then only
// the answer with the new epoch was lost. To 4.0 and 4.1 epoch 0 is an epoch
// like any other: good while it is the previous one, which it is until the
// member's epoch has moved.
func (c *Coordinator) admitEpoch(m *member, req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	switch epoch := req.MemberEpoch; {
	case epoch == 0 && c.cfg.Version.rejoinAnyEpoch():
		return nil
	case epoch > m.epoch:
		return refuse(kerr.FencedMemberEpoch, "The member epoch is greater than the coordinator's: give up all partitions and rejoin.")
	case epoch < m.epoch && (epoch != m.previousEpoch || !subset(req.Topics, m.assigned)):
		return refuse(kerr.FencedMemberEpoch, "The member epoch is smaller than the coordinator's: give up all partitions and rejoin.")
	}
	return nil
}

// subset says whether an owned list is there and names nothing but p.
func subset(owned []kmsg.ConsumerGroupHeartbeatRequestTopic, p partitions) bool {
	if owned == nil {
		return false
	}
	for _, t := range owned {
		if p[t.TopicID] == nil {
			return false
		}
		for _, n := range t.Partitions {
			if !p.has(t.TopicID, n) {
				return false
			}
		}
	}
	return true
}

// replace stores the next version of an admitted member. An heir of a static
// member gets its target as well, and its timers start afresh.
func (g *group) replace(old admitted, next *member) {
	if old.replaces == nil {
		if next.instance == old.member.instance && g.members[next.id] != nil {
			g.touch(next)
		} else {
			g.put(next)
		}
		return
	}
	target := g.targets[old.replaces.id]
	g.drop(old.replaces)
	if g.leaksInstances {
		// The heir first comes in under the instance ID of the old member,
		// which is another one if it was found under a leaked one.
		g.statics[old.replaces.instance] = next.id
	}
	g.targets[next.id] = target
	next.rebalanceEnd = time.Time{}
	g.put(next)
}
