package kafkatest

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Group is a consumer group as its coordinator sees it.
type Group struct {
	State           string // Empty, Assigning, Reconciling, Stable, Dead
	Epoch           int32
	AssignmentEpoch int32
	Assignor        string
	Members         []Member
}

// Member is a member of a [Group].
type Member struct {
	ID         string
	InstanceID string // "" for a dynamic member
	RackID     string
	ClientID   string
	Epoch      int32
	Topics     []string // the subscription
	Regex      string
	Current    map[string][]int32 // partitions it has, by topic
	Target     map[string][]int32 // partitions it is to have, by topic
	Classic    bool               // it talks the classic protocol
}

// Member returns the member with an id.
func (g Group) Member(id string) (Member, bool) {
	for _, m := range g.Members {
		if m.ID == id {
			return m, true
		}
	}
	return Member{}, false
}

// Members describes a consumer group. The error for a group that does not
// exist is kerr.GroupIDNotFound.
func (c *Cluster) Members(ctx context.Context, group string) (Group, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return Group{}, err
	}
	if len(resp.Groups) != 1 {
		return Group{}, fmt.Errorf("kafkatest: %d groups in an answer for one", len(resp.Groups))
	}
	rg := resp.Groups[0]
	if err := codeError(rg.ErrorCode, rg.ErrorMessage); err != nil {
		return Group{}, err
	}
	g := Group{State: rg.State, Epoch: rg.Epoch, AssignmentEpoch: rg.AssignmentEpoch, Assignor: rg.AssignorName}
	for _, m := range rg.Members {
		g.Members = append(g.Members, Member{
			ID: m.MemberID, InstanceID: deref(m.InstanceID), RackID: deref(m.RackID), ClientID: m.ClientID,
			Epoch: m.MemberEpoch, Topics: m.SubscribedTopics, Regex: deref(m.SubscribedTopicRegex),
			Current: byTopic(m.Assignment), Target: byTopic(m.TargetAssignment), Classic: m.MemberType == 0,
		})
	}
	return g, nil
}

func byTopic(a kmsg.Assignment) map[string][]int32 {
	m := map[string][]int32{}
	for _, tp := range a.TopicPartitions {
		m[tp.Topic] = append(m[tp.Topic], tp.Partitions...)
	}
	return m
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
