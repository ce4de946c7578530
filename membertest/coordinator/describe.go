package coordinator

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Describe answers a ConsumerGroupDescribe. It shows nothing of topics that
// are deleted, though members may still have to give them up.
func (c *Coordinator) Describe(now time.Time, req *kmsg.ConsumerGroupDescribeRequest) *kmsg.ConsumerGroupDescribeResponse {
	c.Advance(now)
	resp := kmsg.NewPtrConsumerGroupDescribeResponse()
	resp.Version = req.Version
	for _, name := range req.Groups {
		out := kmsg.NewConsumerGroupDescribeResponseGroup()
		out.Group = name
		if g := c.groups[name]; g != nil {
			c.describe(g, &out)
		} else {
			out.ErrorCode = kerr.GroupIDNotFound.Code
			out.ErrorMessage = kmsg.StringPtr("There is no such group.")
		}
		resp.Groups = append(resp.Groups, out)
	}
	return resp
}

func (c *Coordinator) describe(g *group, out *kmsg.ConsumerGroupDescribeResponseGroup) {
	out.State = g.state()
	out.Epoch = g.epoch
	out.AssignmentEpoch = g.assignmentEpoch
	out.AssignorName = g.preferredAssignor()
	for _, m := range g.ordered() {
		row := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		row.MemberID = m.id
		row.InstanceID = optional(m.instance)
		row.RackID = optional(m.rack)
		row.MemberEpoch = m.epoch
		row.ClientID, row.ClientHost = m.clientID, m.clientHost
		row.SubscribedTopics = slices.Clone(m.topics)
		row.SubscribedTopicRegex = optional(m.regex)
		assigned := c.list(m.assigned)
		if c.cfg.Version.describesPending() {
			assigned = c.list(m.assigned, m.pending)
		}
		row.Assignment = wireDescribed(assigned)
		row.TargetAssignment = wireDescribed(c.list(g.targets[m.id]))
		row.MemberType = 1 // the consumer protocol
		out.Members = append(out.Members, row)
	}
}

func wireDescribed(list []TopicPartitions) (out kmsg.Assignment) {
	for _, tp := range list {
		if tp.Topic == "" {
			continue
		}
		out.TopicPartitions = append(out.TopicPartitions, kmsg.AssignmentTopicPartition{
			TopicID: tp.ID, Topic: tp.Topic, Partitions: tp.Partitions,
		})
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
