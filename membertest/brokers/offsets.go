package brokers

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Offsets are kept by kfake. The model only says which requests of members to
// refuse; what it lets through goes on to kfake as a request without a member,
// because kfake does not know the members.

// fault makes kfake answer one entity of one request with an error code.
func (c *Cluster) fault(req kmsg.Request, group, topic string, partitions []int32, code int16) {
	c.kafka.Fault(kfake.Fault{
		Keys:       []kmsg.Key{kmsg.Key(req.Key())},
		Group:      group,
		Topic:      topic,
		Partitions: partitions,
		Err:        kerr.TypedErrorForCode(code),
		When:       func(r kmsg.Request) bool { return r == req },
	})
}

// offsetFetch checks the member and epoch of an OffsetFetch (v9 and newer).
// Unlike kfake, a broker answers for a group it does not know: no offsets.
func (c *Cluster) offsetFetch(kreq kmsg.Request) (kmsg.Response, error, bool) {
	req := kreq.(*kmsg.OffsetFetchRequest)
	if req.Version < 8 {
		return nil, nil, false
	}
	resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
	own := true // whether kfake has nothing to say on any group
	for i := range req.Groups {
		g := &req.Groups[i]
		if c.elsewhere(g.Group) {
			own = false
			continue
		}
		var code int16
		if g.MemberID != nil {
			c.mu.Lock()
			code = c.model.OffsetFetchCheck(time.Now(), g.Group, *g.MemberID, g.MemberEpoch)
			c.mu.Unlock()
			g.MemberID, g.MemberEpoch = nil, -1
		}
		own = own && (code != 0 || c.kafka.GroupInfo(g.Group) == nil)
		resp.Groups = append(resp.Groups, noOffsets(g, code))
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

// noOffsets answers for a group that has no offsets, or with an error.
func noOffsets(g *kmsg.OffsetFetchRequestGroup, code int16) kmsg.OffsetFetchResponseGroup {
	out := kmsg.NewOffsetFetchResponseGroup()
	out.Group, out.ErrorCode = g.Group, code
	if code != 0 {
		return out
	}
	for _, t := range g.Topics {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, n := range t.Partitions {
			p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			p.Partition, p.Offset, p.LeaderEpoch = n, -1, -1
			topic.Partitions = append(topic.Partitions, p)
		}
		out.Topics = append(out.Topics, topic)
	}
	return out
}

// offsetCommit checks the member and epoch of an OffsetCommit, partition by
// partition: since 4.3 some may pass at an older epoch where others do not.
func (c *Cluster) offsetCommit(kreq kmsg.Request) (kmsg.Response, error, bool) {
	req := kreq.(*kmsg.OffsetCommitRequest)
	if c.elsewhere(req.Group) || !c.has(req.Group) && !c.missing(req) {
		return nil, nil, false
	}
	resp := req.ResponseKind().(*kmsg.OffsetCommitResponse)
	own := true // whether every partition is refused
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetCommitResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, in := range t.Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = in.Partition, c.commitCode(req, t, in.Partition)
			own = own && p.ErrorCode != 0
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if own {
		return resp, nil, true
	}
	req.MemberID, req.InstanceID, req.Generation = "", nil, -1
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			// An unknown topic is refused by kfake anyway.
			if name := c.nameOf(req.Version >= 10, t.Topic, t.TopicID); name != "" && p.ErrorCode != 0 {
				c.fault(kreq, req.Group, name, []int32{p.Partition}, p.ErrorCode)
			}
		}
	}
	return nil, nil, false
}

// missing says whether a member commits to a group that is not there at all.
// kfake would call that ILLEGAL_GENERATION, as a broker does before version 9.
func (c *Cluster) missing(req *kmsg.OffsetCommitRequest) bool {
	return req.Version >= 9 && req.Generation >= 0 && c.kafka.GroupInfo(req.Group) == nil
}

// nameOf returns a topic's name from a request that has the name or the ID.
func (c *Cluster) nameOf(byID bool, name string, id [16]byte) string {
	if byID {
		return c.topicName(id)
	}
	return name
}

// commitCode checks the commit of one partition. A member of the consumer
// protocol has to use version 9 or newer.
func (c *Cluster) commitCode(req *kmsg.OffsetCommitRequest, t kmsg.OffsetCommitRequestTopic, partition int32) int16 {
	name := c.nameOf(req.Version >= 10, t.Topic, t.TopicID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.Version < 9 && c.model.HasMember(req.Group, req.MemberID) {
		return kerr.UnsupportedVersion.Code
	}
	id, _, _ := c.model.Topic(name)
	return c.model.OffsetCommitCheck(time.Now(), req.Group, req.MemberID, req.Generation, id, partition)
}

// txnOffsetCommit checks the member and epoch of a TxnOffsetCommit. One
// refused partition refuses all.
func (c *Cluster) txnOffsetCommit(kreq kmsg.Request) (kmsg.Response, error, bool) {
	req := kreq.(*kmsg.TxnOffsetCommitRequest)
	if c.elsewhere(req.Group) || !c.has(req.Group) {
		return nil, nil, false
	}
	var code int16
	for _, t := range req.Topics {
		name := c.nameOf(req.Version >= 6, t.Topic, t.TopicID)
		for _, p := range t.Partitions {
			c.mu.Lock()
			id, _, _ := c.model.Topic(name)
			if code == 0 {
				code = c.model.TxnOffsetCommitCheck(time.Now(), req.Group, req.MemberID, req.Generation, id, p.Partition)
			}
			c.mu.Unlock()
		}
	}
	req.MemberID, req.InstanceID, req.Generation = "", nil, -1
	if code == 0 {
		return nil, nil, false
	}
	resp := req.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	for _, t := range req.Topics {
		topic := kmsg.NewTxnOffsetCommitResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, in := range t.Partitions {
			p := kmsg.NewTxnOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = in.Partition, code
			topic.Partitions = append(topic.Partitions, p)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp, nil, true
}
