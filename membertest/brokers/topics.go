package brokers

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopic makes a topic. Groups notice with their next heartbeat.
func (c *Cluster) CreateTopic(name string, partitions int32) error {
	return c.changeTopic(name, func() error { return c.kafka.CreateTopic(name, partitions, nil) })
}

// DeleteTopic deletes a topic and the offsets committed for it. Groups notice
// with their next heartbeat; a topic made again before that has a new ID, and
// the groups never see that it was gone.
func (c *Cluster) DeleteTopic(name string) error {
	return c.changeTopic(name, func() error { return c.kafka.DeleteTopic(name) })
}

func (c *Cluster) changeTopic(name string, change func() error) error {
	if !c.enter() {
		return ErrClosed
	}
	defer c.calls.Done()
	if err := change(); err != nil {
		return err
	}
	c.mark(name)
	return nil
}

// mark notes that kfake's topic may differ from the model's.
func (c *Cluster) mark(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.dirty, name) {
		c.dirty = append(c.dirty, name)
	}
}

// syncTopics brings the marked topics into the model. It must only run where
// no topic request can be half done: inside a control function, because kfake
// handles one request at a time, or before the first request.
func (c *Cluster) syncTopics() {
	c.mu.Lock()
	names := c.dirty
	c.dirty = nil
	c.mu.Unlock()
	for _, name := range names {
		info := c.kafka.TopicInfo(name)
		partitions := int32(len(c.kafka.PartitionInfos(name)))
		c.mu.Lock()
		if info == nil {
			c.model.DeleteTopic(time.Now(), name)
		} else {
			c.adopt(name, info.TopicID, partitions)
		}
		c.mu.Unlock()
	}
}

// adopt makes the model's topic equal to kfake's. c.mu is held.
func (c *Cluster) adopt(name string, id [16]byte, partitions int32) {
	now := time.Now()
	if known, _, ok := c.model.Topic(name); !ok || known != id {
		c.model.CreateTopic(now, name, id, partitions)
		c.names[id] = name
	}
	c.model.AddPartitions(now, name, partitions)
}

// watchTopics marks the topics a request may change. The request itself is
// kfake's to answer.
func (c *Cluster) watchTopics(kreq kmsg.Request) (kmsg.Response, error, bool) {
	switch req := kreq.(type) {
	case *kmsg.CreateTopicsRequest:
		for _, t := range req.Topics {
			c.mark(t.Topic)
		}
	case *kmsg.CreatePartitionsRequest:
		for _, t := range req.Topics {
			c.mark(t.Topic)
		}
	case *kmsg.DeleteTopicsRequest:
		for _, name := range req.TopicNames {
			c.mark(name)
		}
		for _, t := range req.Topics {
			if t.Topic != nil {
				c.mark(*t.Topic)
			} else {
				c.mark(c.topicName(t.TopicID))
			}
		}
	case *kmsg.MetadataRequest:
		for _, t := range req.Topics {
			if req.AllowAutoTopicCreation && t.Topic != nil {
				c.mark(*t.Topic)
			}
		}
	}
	return nil, nil, false
}

// topicName returns the name of a topic, "" if the ID is unknown.
func (c *Cluster) topicName(id [16]byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.names[id]
}
