package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// model is the pure coordinator as a peer, with a clock that only Sleep moves.
type model struct {
	c   *coordinator.Coordinator
	now time.Time
}

// NewModel returns the pure model of a version as a peer.
func NewModel(v coordinator.Version, interval time.Duration) Peer {
	m := newModel(config(v, interval))
	for name, n := range Topics {
		m.c.CreateTopic(m.now, name, [16]byte{}, n)
	}
	return m
}

func newModel(cfg coordinator.Config) *model {
	return &model{
		c:   coordinator.New(cfg),
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
	}
}

// config is the suite's settings as the model takes them.
func config(v coordinator.Version, interval time.Duration) coordinator.Config {
	if interval == 0 {
		interval = -1 // the zero value is the version's default
	}
	return coordinator.Config{
		Version:              v,
		HeartbeatInterval:    HeartbeatInterval,
		SessionTimeout:       SessionTimeout,
		AssignmentInterval:   interval,
		RegexRefreshInterval: RegexRefresh,
		MaxGroupSize:         MaxGroupSize,
	}
}

func (m *model) Version() coordinator.Version { return m.c.Version() }

func (m *model) Sleep(d time.Duration) {
	m.now = m.now.Add(d)
	m.c.Advance(m.now)
}

func (m *model) Heartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	return m.c.Heartbeat(m.now, req, coordinator.Client{Host: "/127.0.0.1"}), nil
}

func (m *model) Describe(group string) (kmsg.ConsumerGroupDescribeResponseGroup, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	return m.c.Describe(m.now, req).Groups[0], nil
}

func (m *model) OffsetFetch(group string, memberID *string, epoch int32) (int16, error) {
	if memberID == nil {
		return 0, nil
	}
	return m.c.OffsetFetchCheck(m.now, group, *memberID, epoch), nil
}

func (m *model) OffsetCommit(group, memberID string, epoch int32, topic string, partition int32) (int16, error) {
	id, _, _ := m.c.Topic(topic)
	return m.c.OffsetCommitCheck(m.now, group, memberID, epoch, id, partition), nil
}

func (m *model) LeaveGroup(group, memberID string, instanceID *string) (int16, error) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Version, req.Group = 5, group
	row := kmsg.NewLeaveGroupRequestMember()
	row.MemberID, row.InstanceID = memberID, instanceID
	req.Members = append(req.Members, row)
	resp, ok := m.c.LeaveClassic(m.now, req)
	if !ok {
		return unknownMember, nil // as without any group
	}
	return resp.Members[0].ErrorCode, nil
}

func (m *model) DeleteGroup(group string) (int16, error) {
	return m.c.DeleteGroup(m.now, group), nil
}

func (m *model) CreateTopic(name string, partitions int32) error {
	m.c.CreateTopic(m.now, name, [16]byte{}, partitions)
	return nil
}

func (m *model) DeleteTopic(name string) error {
	m.c.DeleteTopic(m.now, name)
	return nil
}

func (m *model) AddPartitions(name string, total int32) error {
	m.c.AddPartitions(m.now, name, total)
	return nil
}

func (m *model) TopicID(name string) ([16]byte, error) {
	id, _, _ := m.c.Topic(name)
	return id, nil
}
