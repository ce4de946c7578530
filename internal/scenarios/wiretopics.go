package scenarios

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (w *wire) CreateTopic(name string, partitions int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, t)
	resp, err := w.Request(req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("scenarios: make topic %s: %w", name, err)
	}
	return w.waitTopic(name, partitions)
}

func (w *wire) DeleteTopic(name string) error {
	if err := w.dropTopic(name); err != nil {
		return err
	}
	return w.waitTopic(name, 0)
}

// dropTopic does not wait until the broker knows.
func (w *wire) dropTopic(name string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &name
	req.Topics = append(req.Topics, t)
	req.TopicNames = []string{name}
	resp, err := w.Request(req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("scenarios: delete topic %s: %w", name, err)
	}
	return nil
}

func (w *wire) AddPartitions(name string, total int32) error {
	req := kmsg.NewPtrCreatePartitionsRequest()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = name, total
	req.Topics = append(req.Topics, t)
	resp, err := w.Request(req)
	if err == nil {
		err = kerr.ErrorForCode(resp.(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("scenarios: add partitions to %s: %w", name, err)
	}
	return w.waitTopic(name, total)
}

func (w *wire) TopicID(name string) ([16]byte, error) {
	t, err := w.topic(name)
	if err == nil {
		err = kerr.ErrorForCode(t.ErrorCode)
	}
	return t.TopicID, err
}

// waitTopic waits until the broker knows so many partitions of a topic: what
// the controller accepted reaches it a moment later, and its group coordinator
// a moment after that.
func (w *wire) waitTopic(name string, partitions int32) error {
	for range 1000 {
		t, err := w.topic(name)
		if err != nil {
			return err
		}
		if int32(len(t.Partitions)) == partitions && (t.ErrorCode == 0) == (partitions > 0) {
			seen, err := w.seen(name)
			if err != nil {
				return err
			}
			if partitions == 0 && count(seen) == 0 || count(seen) == int(partitions) && seen[0].TopicID == t.TopicID {
				return nil
			}
		}
		w.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("scenarios: topic %s does not get %d partitions", name, partitions)
}

// seen returns a topic as the group coordinator sees it: it is what the only
// member of a group gets. The coordinator must have one shard for all groups
// (offsets.topic.num.partitions), so that it is the view of all of them.
func (w *wire) seen(name string) (owned, error) {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version = 1
	q.Group, q.MemberID = "probe-"+name, "probe"
	topics(name)(q)
	timeout(10_000)(q)
	owns()(q)
	a, err := w.Heartbeat(q)
	if err == nil {
		err = kerr.ErrorForCode(a.ErrorCode)
	}
	if err != nil {
		return nil, fmt.Errorf("scenarios: probe for topic %s: %w", name, err)
	}
	leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	leave.Group, leave.MemberID, leave.MemberEpoch = q.Group, q.MemberID, -1
	leave.Version = 1
	_, err = w.Heartbeat(leave)
	return given(a), err
}

func (w *wire) topic(name string) (kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &name
	req.Topics = append(req.Topics, t)
	resp, err := w.Request(req)
	if err != nil {
		return kmsg.MetadataResponseTopic{}, err
	}
	return resp.(*kmsg.MetadataResponse).Topics[0], nil
}
