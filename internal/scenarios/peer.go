package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// Peer is a coordinator that a scenario talks to. An error is a failure of the
// peer itself, never an answer.
type Peer interface {
	Version() coordinator.Version

	Heartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, error)
	Describe(group string) (kmsg.ConsumerGroupDescribeResponseGroup, error)

	// OffsetFetch asks for no topic at all, and returns the group's code: it
	// is a cheap look at whether a member is known.
	OffsetFetch(group string, memberID *string, epoch int32) (int16, error)
	// OffsetCommit commits one partition and returns its code.
	OffsetCommit(group, memberID string, epoch int32, topic string, partition int32) (int16, error)

	// LeaveGroup is the classic request, as admin tools send it. It returns
	// the code of the member's row.
	LeaveGroup(group, memberID string, instanceID *string) (int16, error)
	DeleteGroup(group string) (int16, error)

	CreateTopic(name string, partitions int32) error
	DeleteTopic(name string) error
	AddPartitions(name string, total int32) error
	TopicID(name string) ([16]byte, error)

	Sleep(d time.Duration)
}

// Requester is a peer that takes any request.
type Requester interface {
	Request(req kmsg.Request) (kmsg.Response, error)
}
