package brokers

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// commit commits offset 7 for partitions of t12 and returns their codes. The
// topic goes by ID where the version wants it.
func (r *rig) commit(member string, epoch int32, partitions ...int32) []int16 {
	r.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = "g", member, epoch
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "t12"
	t.TopicID, _, _ = r.c.model.Topic("t12")
	for _, n := range partitions {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = n, 7
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	var out []int16
	for _, p := range send[*kmsg.OffsetCommitResponse](r, req).Topics[0].Partitions {
		out = append(out, p.ErrorCode)
	}
	return out
}

// fetch fetches one offset as a member; the offset is -2 with a group error.
func (r *rig) fetch(group string, member *string, epoch, partition int32) (int16, int64) {
	r.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberID, g.MemberEpoch = group, member, epoch
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic = "t12"
	t.TopicID, _, _ = r.c.model.Topic("t12")
	t.Partitions = []int32{partition}
	g.Topics = append(g.Topics, t)
	req.Groups = append(req.Groups, g)
	resp, err := r.cl.Broker(r.find(group)).Request(r.Context(), req)
	if err != nil {
		r.Fatal(err)
	}
	got := resp.(*kmsg.OffsetFetchResponse).Groups[0]
	if got.ErrorCode != 0 {
		return got.ErrorCode, -2
	}
	return got.Topics[0].Partitions[0].ErrorCode, got.Topics[0].Partitions[0].Offset
}

func (r *rig) fetched(group string, member *string, epoch int32, want *kerr.Error, offset int64) {
	r.Helper()
	code, got := r.fetch(group, member, epoch, 0)
	r.code(code, want)
	if want == nil && got != offset {
		r.Fatalf("got offset %d, want %d", got, offset)
	}
}

func TestOffsets(t *testing.T) {
	for _, v := range coordinator.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			bubble(t, Config{Version: v, AssignmentInterval: -1}, func(r *rig) { offsets(r, v) })
		})
	}
}

func offsets(r *rig, v coordinator.Version) {
	e, a := int32(1), "A"
	if v >= coordinator.V43 {
		e = 2
	}
	r.want(r.join(a, "t12"), e, 12)
	r.fetched("g", &a, e, nil, -1)
	r.fetched("other", &a, e, nil, -1) // no such group
	r.code(r.commit(a, e, 0)[0], nil)
	r.fetched("g", &a, e, nil, 7)
	r.fetched("g", nil, -1, nil, 7)
	r.fetched("g", &a, e+1, kerr.StaleMemberEpoch, 0)
	b := "B"
	r.fetched("g", &b, e, kerr.UnknownMemberID, 0)
	r.code(r.commit(b, e, 0)[0], kerr.UnknownMemberID)
	r.code(r.commit(a, e+1, 0)[0], kerr.StaleMemberEpoch)
	r.code(r.commit("", -1, 0)[0], kerr.UnknownMemberID)

	// A goes on to a new epoch with half of its partitions. A commit at the
	// old epoch then is good for those only, and from 4.3 only.
	r.want(r.join(b, "t12"), e+1, 0)
	told := r.beat(a, e)
	r.want(r.ack(a, told), e+1, -1)
	kept := told.Assignment.Topics[0].Partitions[0]
	r.want(r.beat(b, e+1), e+1, 6)
	m, _ := r.c.Group("g").Member(b)
	given := m.Assigned[0].Partitions[0]
	codes := r.commit(a, e, kept, given)
	if v >= coordinator.V43 {
		r.code(codes[0], nil)
	} else {
		r.code(codes[0], kerr.StaleMemberEpoch)
	}
	r.code(codes[1], kerr.StaleMemberEpoch)
	for _, code := range r.commit(a, e+1, kept, given) {
		r.code(code, nil)
	}
}

func TestTxnOffsetCommit(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.want(r.join("A", "t12"), 2, 12)
		req := kmsg.NewPtrTxnOffsetCommitRequest()
		req.Group, req.MemberID, req.Generation, req.TransactionalID = "g", "A", 9, "tx"
		topic := kmsg.NewTxnOffsetCommitRequestTopic()
		topic.Topic = "t12"
		topic.TopicID, _, _ = r.c.model.Topic("t12")
		topic.Partitions = append(topic.Partitions, kmsg.NewTxnOffsetCommitRequestTopicPartition())
		req.Topics = append(req.Topics, topic)
		resp := send[*kmsg.TxnOffsetCommitResponse](r, req)
		r.code(resp.Topics[0].Partitions[0].ErrorCode, kerr.IllegalGeneration)
	})
}

func TestAdmin(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		admin, ctx := kadm.NewClient(r.cl), r.Context()
		static := joinRequest("A", "t12")
		static.InstanceID = kmsg.StringPtr("i1")
		r.want(send[*kmsg.ConsumerGroupHeartbeatResponse](r, static), 2, 12)
		r.code(r.commit("A", 2, 0)[0], nil)
		deleted, err := admin.DeleteGroups(ctx, "g")
		if err != nil || !errors.Is(deleted["g"].Err, kerr.NonEmptyGroup) {
			r.Fatalf("got %v, %v", deleted["g"].Err, err)
		}
		left, err := admin.LeaveGroup(ctx, kadm.LeaveGroup("g").InstanceIDs("i1", "i9"))
		if err != nil || left["i1"].Err != nil || !errors.Is(left["i9"].Err, kerr.UnknownMemberID) {
			r.Fatalf("got %+v, %v", left, err)
		}
		r.code(r.beat("A", 2).ErrorCode, kerr.UnknownMemberID)
		for range 2 { // with offsets in kfake, and then without
			if deleted, err = admin.DeleteGroups(ctx, "g"); err != nil || deleted["g"].Err != nil {
				r.Fatalf("got %v, %v", deleted["g"].Err, err)
			}
			r.code(r.beat("A", 2).ErrorCode, kerr.GroupIDNotFound)
			r.want(r.join("A", "t12"), 2, 12)
			r.want(r.beat("A", -1), -1, -1)
		}
	})
}

// Classic and consumer members keep out of each other's live groups.
func TestProtocolsDoNotMix(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.want(r.join("A", "t12"), 2, 12)
		classic := kmsg.NewPtrJoinGroupRequest()
		classic.Group, classic.ProtocolType, classic.SessionTimeoutMillis = "g", "consumer", 30_000
		classic.RebalanceTimeoutMillis = 30_000
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name = "range"
		classic.Protocols = append(classic.Protocols, p)
		r.code(send[*kmsg.JoinGroupResponse](r, classic).ErrorCode, kerr.InconsistentGroupProtocol)
		r.want(r.beat("A", -1), -1, -1)
	})
}
