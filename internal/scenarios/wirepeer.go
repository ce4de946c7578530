package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

var unknownMember = kerr.UnknownMemberID.Code

// wire is a cluster of one node as a peer: a real broker, or kfake with the
// model.
type wire struct {
	ctx context.Context
	v   coordinator.Version
	cl  *kgo.Client
	old *kgo.Client // knows version 0 of the heartbeat, and no topic IDs in offset requests
}

// NewWire returns a cluster of one node as a peer; close ends it. The options
// say how to reach it.
func NewWire(ctx context.Context, v coordinator.Version, opts ...kgo.Opt) (peer Peer, close func(), err error) {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.ConsumerGroupHeartbeat), 0)
	versions.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9)
	versions.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	w := &wire{ctx: ctx, v: v}
	if w.cl, err = kgo.NewClient(opts...); err != nil {
		return nil, nil, err
	}
	if w.old, err = kgo.NewClient(append(opts, kgo.MaxVersions(versions))...); err != nil {
		w.cl.Close()
		return nil, nil, err
	}
	return w, func() { w.old.Close(); w.cl.Close() }, nil
}

func (w *wire) Version() coordinator.Version { return w.v }

func (w *wire) Sleep(d time.Duration) { time.Sleep(d) }

// Request sends a request to the only node.
func (w *wire) Request(req kmsg.Request) (kmsg.Response, error) { return w.send(w.cl, req) }

// send sends a request to the only node. A client knows the node's number once
// it has seen the cluster's metadata.
func (w *wire) send(cl *kgo.Client, req kmsg.Request) (kmsg.Response, error) {
	brokers := cl.DiscoveredBrokers()
	if len(brokers) == 0 {
		if err := cl.Ping(w.ctx); err != nil {
			return nil, err
		}
		meta := kmsg.NewPtrMetadataRequest()
		meta.Topics = []kmsg.MetadataRequestTopic{}
		if _, err := meta.RequestWith(w.ctx, cl); err != nil {
			return nil, err
		}
		brokers = cl.DiscoveredBrokers()
	}
	if len(brokers) != 1 {
		return nil, fmt.Errorf("scenarios: a cluster of %d nodes", len(brokers))
	}
	ctx, cancel := context.WithTimeout(w.ctx, 20*time.Second)
	defer cancel()
	return brokers[0].Request(ctx, req)
}

func (w *wire) Heartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	cl := w.cl
	if req.Version == 0 {
		cl = w.old
	}
	for {
		resp, err := w.send(cl, req)
		if err != nil {
			return nil, err
		}
		a := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
		// The part of the coordinator that this group falls to may still load.
		if err := kerr.ErrorForCode(a.ErrorCode); errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.CoordinatorNotAvailable) {
			w.Sleep(20 * time.Millisecond)
			continue
		}
		return a, nil
	}
}

func (w *wire) Describe(group string) (kmsg.ConsumerGroupDescribeResponseGroup, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	resp, err := w.Request(req)
	if err != nil {
		return kmsg.ConsumerGroupDescribeResponseGroup{}, err
	}
	return resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0], nil
}

// OffsetFetch asks with the newest version and with version 9, which must not
// differ.
func (w *wire) OffsetFetch(group string, memberID *string, epoch int32) (int16, error) {
	var codes []int16
	for _, cl := range []*kgo.Client{w.cl, w.old} {
		req := kmsg.NewPtrOffsetFetchRequest()
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.MemberID, g.MemberEpoch = group, memberID, epoch
		g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
		req.Groups = append(req.Groups, g)
		resp, err := w.send(cl, req)
		if err != nil {
			return 0, err
		}
		groups := resp.(*kmsg.OffsetFetchResponse).Groups
		if len(groups) != 1 || groups[0].Group != group || len(groups[0].Topics) != 0 {
			return 0, fmt.Errorf("scenarios: a strange answer to OffsetFetch v%d: %+v", req.Version, groups)
		}
		codes = append(codes, groups[0].ErrorCode)
	}
	if codes[0] != codes[1] {
		return 0, fmt.Errorf("scenarios: two versions of OffsetFetch answer %v", codes)
	}
	return codes[0], nil
}

func (w *wire) OffsetCommit(group, memberID string, epoch int32, topic string, partition int32) (int16, error) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = group, memberID, epoch
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = topic
	part := kmsg.NewOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset = partition, 7
	t.Partitions = append(t.Partitions, part)
	req.Topics = append(req.Topics, t)
	resp, err := w.send(w.old, req)
	if err != nil {
		return 0, err
	}
	return resp.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, nil
}

func (w *wire) LeaveGroup(group, memberID string, instanceID *string) (int16, error) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group = group
	row := kmsg.NewLeaveGroupRequestMember()
	row.MemberID, row.InstanceID = memberID, instanceID
	req.Members = append(req.Members, row)
	resp, err := w.Request(req)
	if err != nil {
		return 0, err
	}
	a := resp.(*kmsg.LeaveGroupResponse)
	if a.ErrorCode != 0 || len(a.Members) == 0 {
		return a.ErrorCode, nil
	}
	return a.Members[0].ErrorCode, nil
}

func (w *wire) DeleteGroup(group string) (int16, error) {
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	resp, err := w.Request(req)
	if err != nil {
		return 0, err
	}
	return resp.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode, nil
}
