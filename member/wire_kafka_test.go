//go:build kafka

package member_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
)

const (
	findCoordinator = int16(kmsg.FindCoordinator)
	heartbeatKey    = int16(kmsg.ConsumerGroupHeartbeat)
)

// stepOf is a join or leave as "epoch:code", with what happened to its answer.
func stepOf(h kafkatest.Heartbeat) string {
	s := fmt.Sprintf("%d:%d", h.Epoch, h.ErrorCode)
	if h.Lost {
		s += "(lost)"
	}
	return s
}

// describe asks the coordinator of the moment. A client that is asked for a
// describe itself sticks to a coordinator that died.
func (l *lab) describe() (kafkatest.Group, error) {
	if len(l.c.Addrs()) == 1 {
		return l.c.Members(l.ctx, l.group)
	}
	node, err := l.c.Coordinator(l.ctx, l.group)
	if err != nil {
		return kafkatest.Group{}, err
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{l.group}
	ctx, cancel := context.WithTimeout(l.ctx, 3*time.Second)
	defer cancel()
	resp, err := l.admin.SeedBrokers()[node-1].Request(ctx, req)
	if err != nil {
		return kafkatest.Group{}, err
	}
	rg := resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
	g := kafkatest.Group{State: rg.State, Epoch: rg.Epoch}
	for _, m := range rg.Members {
		g.Members = append(g.Members, kafkatest.Member{
			ID: m.MemberID, Epoch: m.MemberEpoch, Current: byTopicName(m.Assignment), Target: byTopicName(m.TargetAssignment),
		})
	}
	return g, kerr.ErrorForCode(rg.ErrorCode)
}

func byTopicName(a kmsg.Assignment) map[string][]int32 {
	m := map[string][]int32{}
	for _, tp := range a.TopicPartitions {
		m[tp.Topic] = tp.Partitions
	}
	return m
}

// raw sends one heartbeat that is no member's of the lab's, straight to node 1.
func (l *lab) raw(memberID, instanceID string, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
	l.Helper()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = l.group, memberID, epoch
	if instanceID != "" {
		req.InstanceID = &instanceID
	}
	resp, err := l.admin.Broker(1).Request(l.ctx, req)
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
