package member_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Rule 17: revoke, acknowledge, assign. Until OnRevoked has returned, no heartbeat says that
// anything is given up, and nobody else gets it.
func TestRule17_RevokeAcknowledgeAssign(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		var began, ended cell[time.Duration]
		a := r.join(onRevoked(func(context.Context, member.Partitions) error {
			began.set(r.now())
			time.Sleep(12 * time.Second)
			ended.set(r.now())
			return nil
		}))
		b := r.start()
		r.until("a revokes", 2*interval, func() bool { return began.get() > 0 })
		r.sleep(11 * time.Second)
		r.equal("a's assignment in OnRevoked", a.Snapshot().Assignment.Len(), 12)
		r.settled(a, b)
		during := during(a.sent(steady), began.get()+time.Nanosecond, ended.get())
		r.that(len(during) >= 2, "heartbeats in OnRevoked, got %d", len(during))
		for _, x := range during {
			r.that(x.req.Topics == nil || len(x.req.Topics[0].Partitions) == 12, "no acknowledgement before OnRevoked returned, got %v", x)
		}
		r.that(b.told().calls[1].at >= ended.get(), "b's partitions after a gave them up")
		a.called("assigned orders[0-11]; revoked orders[6-11]")
		b.called("assigned none; assigned orders[6-11]")
	})
}

// Rule 17: a commit with the member's ID and epoch is accepted in OnRevoked, on every version.
func TestRule17_CommitInOnRevoked(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		var a *mem
		var codes []int16
		a = r.join(onRevoked(func(ctx context.Context, p member.Partitions) error {
			codes = append(codes, r.commit(ctx, a, 11))
			return nil
		}))
		b := r.start()
		r.settled(a, b)
		r.sleep(interval)
		a.leaves()
		r.equal("codes, of a rebalance and of the close", codes, []int16{0, 0})
		offsets, err := kadm.NewClient(r.cl).FetchOffsets(r.Context(), "g")
		if err != nil {
			r.Fatal(err)
		}
		o, _ := offsets.Lookup("orders", 11)
		r.equal("committed", o.At, int64(7))
	})
}

// commit commits offset 7 of one partition as the member, and returns the code.
func (r *rig) commit(ctx context.Context, m *mem, partition int32) int16 {
	s := m.Snapshot()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = "g", s.MemberID, s.MemberEpoch
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = "orders", r.c.Kfake().TopicInfo("orders").TopicID
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, 7
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, r.cl)
	if err != nil {
		r.Fatal(err)
	}
	return resp.Topics[0].Partitions[0].ErrorCode
}

// Rule 18: a newer target that comes while a callback runs waits: the round is finished and
// acknowledged as it is, then the newest target is taken.
func TestRule18_NewerTargetDuringOnAssigned(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		a := r.start(onAssigned(sleeps(12 * time.Second)))
		r.sleep(time.Second)
		b := r.start()
		r.sleep(10 * time.Second)
		r.that(len(r.c.Group("g").Members[0].PendingRevocation)+len(r.c.Group("g").Members[1].PendingRevocation) > 0, "a told to give up while OnAssigned runs")
		a.called("assigned orders[0-11]")
		r.settled(a, b)
		a.called("assigned orders[0-11]; revoked orders[6-11]")
		var owned []int
		for _, x := range a.sent(acks) {
			if !x.full() {
				owned = append(owned, len(x.req.Topics[0].Partitions))
			}
		}
		r.equal("acknowledged", slices.Compact(owned), []int{12, 6})
	})
}

// Rule 18: of several newer targets only the newest counts, and rounds are never interleaved.
func TestRule18_OnlyTheNewestTarget(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		running := 0
		slow := func(context.Context, member.Partitions) error {
			if running++; running > 1 {
				t.Error("two callbacks at once")
			}
			time.Sleep(12 * time.Second)
			running--
			return nil
		}
		m := r.join(onRevoked(slow), onAssigned(slow), quiet)
		r.on(1, steady, r.says(0, 1, 2, 3, 4, 5)) // begins a round
		r.on(1, steady, r.says(0, 1, 2))          // both come while it runs
		r.on(1, steady, r.says(0, 1, 2, 3, 11))
		r.sleep(time.Minute)
		m.called("assigned orders[0-11]; revoked orders[6-11]; revoked orders[4-5]; assigned orders[11]")
		var owned []int
		for _, x := range m.sent(acks) {
			if !x.full() {
				owned = append(owned, len(x.req.Topics[0].Partitions))
			}
		}
		r.equal("acknowledged", slices.Compact(owned), []int{12, 6, 4, 5})
	})
}
