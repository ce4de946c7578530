package member_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// says is an answer with an assignment of orders.
func (r *rig) says(parts ...int32) fault {
	return mangled(func(resp response) {
		resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{}}
		if len(parts) > 0 {
			id := r.c.Kfake().TopicInfo("orders").TopicID
			resp.Assignment.Topics = append(resp.Assignment.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: id, Partitions: parts})
		}
	})
}

// unknownTopic is an assignment of all of orders, and of partitions of a topic that nobody knows.
func unknownTopic(r *rig, parts ...int32) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	return &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{
		{TopicID: [16]byte{1, 2, 3}, Partitions: parts},
		{TopicID: r.c.Kfake().TopicInfo("orders").TopicID, Partitions: []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	}}
}

// Case 19 (franz-go 0af2689c): an empty assignment revokes everything; none changes nothing.
func TestCase19_EmptyAssignment(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.sleep(3 * interval)
		m.called("assigned orders[0-11]")
		r.on(1, steady, r.says())
		r.sleep(interval + time.Second)
		m.called("assigned orders[0-11]; revoked orders[0-11]; assigned orders[0-11]") // the truth, in answer to the acknowledgement
		sent := m.sent(acks)
		r.that(len(sent) >= 2 && len(sent[1].req.Topics) == 0, "an acknowledgement with an empty list, got %v", sent)
	})
}

// Case 20 (franz-go 6536e4f3): a newer answer that takes more away while OnRevoked runs: what it
// takes is revoked before anything is assigned.
func TestCase20_MoreIsTakenWhileRevoking(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet, onRevoked(sleeps(7*time.Second)))
		r.on(1, steady, r.says(0, 1, 2, 3, 4, 5))
		r.on(1, steady, r.says(0, 1, 2))
		r.on(1, steady, func(_ *wire, _ request, apply func() response) (response, error) { return apply(), nil }) // the acknowledgement
		r.on(1, steady, r.says(0, 1, 2, 9))
		r.sleep(time.Minute)
		m.called("assigned orders[0-11]; revoked orders[6-11]; revoked orders[3-5]; assigned orders[9]")
	})
}

// Case 22 (KAFKA-17170, Dekaf#1377): a lost acknowledgement is sent again until one is accepted,
// and not after that.
func TestCase22_LostAcknowledgement(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(1, acks, dropped)
		r.on(1, acks, code(kerr.NotCoordinator.Code))
		m := r.join(quiet)
		r.sleep(12 * interval)
		sent := m.sent(steady)
		for i := range 3 {
			r.that(len(sent[i].req.Topics) == 1 && len(sent[i].req.Topics[0].Partitions) == 12, "heartbeat %d with the owned list, got %v", i+1, sent[i])
		}
		r.that(sent[len(sent)-1].req.Topics == nil, "none in the end, got %v", sent[len(sent)-1])
		m.called("assigned orders[0-11]")
	})
}

// Case 23 (KAFKA-16312): the same partitions under a new epoch: no callback, one acknowledgement.
func TestCase23_SamePartitionsNewEpoch(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		n := len(m.sent(acks))
		all := []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
		r.on(1, steady, func(w *wire, q request, apply func() response) (response, error) {
			resp, err := r.says(all...)(w, q, apply)
			resp.MemberEpoch++
			return resp, err
		})
		r.on(-1, steady, func(_ *wire, q request, _ func() response) (response, error) { // it is in that epoch now
			resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
			resp.MemberEpoch, resp.HeartbeatIntervalMillis = q.MemberEpoch, int32(interval.Milliseconds())
			return resp, nil
		})
		r.sleep(4 * interval)
		sent := m.sent(acks)[n:]
		r.that(len(sent) == 1 && len(sent[0].req.Topics[0].Partitions) == 12, "one acknowledgement, got %v", sent)
		r.equal("its epoch", sent[0].req.MemberEpoch, m.Snapshot().MemberEpoch)
		m.called("assigned orders[0-11]")
	})
}

// Case 25 (KAFKA-16375, librdkafka#4634): a round that was under way when the member was fenced is
// void: neither its acknowledgement nor what would have followed it.
func TestCase25_FencedWhileRevoking(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet, onRevoked(first(sleeps(12*time.Second))))
		r.on(1, steady, r.says(0, 1, 2, 3, 4, 5))
		r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
		r.sleep(time.Minute)
		m.called("assigned orders[0-11]; revoked orders[6-11]; lost orders[0-5]; assigned orders[0-11]")
		for _, b := range m.sent(acks) {
			r.that(len(b.req.Topics[0].Partitions) == 12, "no acknowledgement of the old round, got %v", b)
		}
		r.settled(m)
	})
}

// Case 26 (KAFKA-16198): of an assignment with a topic that has no name yet the rest is handed
// over at once; the name is asked for again, and then it follows without another answer.
func TestCase26_TopicWithoutAName(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 3, "new": 2}}, func(r *rig) {
		var shown cell[bool]
		r.c.Kfake().ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
			r.c.Kfake().KeepControl()
			q := req.(*kmsg.MetadataRequest)
			byID := len(q.Topics) > 0 && q.Topics[0].TopicID != [16]byte{}
			if !shown.get() && byID {
				q.Topics = slices.DeleteFunc(q.Topics, func(t kmsg.MetadataRequestTopic) bool { return t.TopicID == r.c.Kfake().TopicInfo("new").TopicID })
			}
			return nil, nil, false
		})
		m := r.start(topics("new", "orders"), quiet)
		r.sleep(time.Second)
		m.called("assigned orders[0-2]")
		r.equal("unresolved", m.Snapshot().Unresolved, 1)
		r.sleep(10 * time.Second)
		n := len(m.sent(func(q request) bool { return q.Topics != nil }))
		shown.set(true)
		took := r.until("the rest", time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 5 })
		r.that(took <= 5*time.Second, "within 5 s, took %v", took)
		r.settled(m)
		m.called("assigned orders[0-2]; assigned new[0-1]")
		r.that(len(m.sent(func(q request) bool { return q.Topics != nil })) > n, "an acknowledgement")
	})
}

// Case 28 (franz-go f0d0655d): duplicate and negative partitions are dropped, once and for all.
func TestCase28_Duplicates(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(1, joins, r.says(0, 0, -1, 0))
		m := r.start(quiet)
		r.sleep(time.Second)
		m.called("assigned orders[0]")
		r.on(1, steady, r.says(0, -5, 0))
		r.sleep(interval)
		m.called("assigned orders[0]")
		r.on(1, steady, r.says(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)) // what it really has
		r.sleep(interval)
		r.settled(m)
	})
}

// Case 29 (franz-go 2ff493a1): fifty topics and no change: the owned list goes out once.
func TestCase29_FiftyTopics(t *testing.T) {
	names, counts := []string{}, map[string]int32{}
	for i := range 50 {
		names = append(names, fmt.Sprintf("t%02d", i))
		counts[names[i]] = 1
	}
	spec(t, brokers.Config{Topics: counts, Version: coordinator.V42}, func(r *rig) {
		m := r.join(topics(names...), quiet)
		r.sleep(40 * interval)
		r.equal("owned lists", len(m.sent(acks)), 1)
		r.equal("DeleteTopic", r.c.DeleteTopic("t07"), error(nil))
		r.until("told", time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 49 })
		r.settled(m)
	})
}

// Case 34 (node-rdkafka#1146): twenty joins and leaves in a minute: nobody holds an assignment that
// it was sent and has not acknowledged for longer than three intervals.
func TestCase34_Churn(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		stay := []*mem{r.join(), r.process()}
		worst, since := time.Duration(0), map[*mem]time.Duration{}
		watch := func() {
			for _, m := range stay {
				if m.Snapshot().State == member.StateStable {
					since[m] = r.now()
				}
				worst = max(worst, r.now()-since[m])
			}
		}
		r.settled(stay...)
		for range 10 {
			m := r.process()
			for range 30 {
				r.sleep(100 * time.Millisecond)
				watch()
			}
			m.leaves()
			for range 30 {
				r.sleep(100 * time.Millisecond)
				watch()
			}
		}
		r.that(worst <= 3*interval, "at most 3 intervals, got %v", worst)
		r.settled(stay...)
	})
}

// Case 50 (sarama#2110 and others): callbacks of three sessions: heartbeats at the interval all
// through, with the old epoch, and the member stays in.
func TestCase50_SlowCallbacks(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		slow := sleeps(3 * specSession)
		a := r.start(quiet, onAssigned(first(slow)), onRevoked(first(slow)))
		r.sleep(3*specSession + interval)
		b := r.start(quiet)
		r.settledIn(10*time.Minute, a, b)
		for _, gap := range gaps(a.sent(every)) {
			r.that(gap <= interval, "heartbeats at the interval, got a gap of %v", gap)
		}
		r.equal("joins", len(a.sent(joins)), 1)
		a.called("assigned orders[0-11]; revoked orders[6-11]")
	})
}

// Hostile answers: none makes the member panic, spin, or own what it cannot name.
func TestHostileAnswers(t *testing.T) {
	huge := func(n int) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
		a := &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
		for i := range n {
			a.Topics = append(a.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: [16]byte{byte(i), byte(i >> 8), 1}, Partitions: make([]int32, 100)})
		}
		return a
	}
	empty := ""
	for name, f := range map[string]func(resp response){
		"2,000 unknown topics": func(resp response) { resp.Assignment = huge(2_000) },
		"the zero topic ID":    func(resp response) { resp.Assignment = huge(1); resp.Assignment.Topics[0].TopicID = [16]byte{} },
		"an empty member ID":   func(resp response) { resp.MemberID = &empty },
		"no member ID":         func(resp response) { resp.MemberID = nil },
		"an epoch far ahead":   func(resp response) { resp.MemberEpoch = 1 << 30 },
		"an epoch far below":   func(resp response) { resp.MemberEpoch = -1 << 31 },
		"an error, all the same": func(resp response) {
			resp.ErrorCode = kerr.UnknownServerError.Code
			resp.Assignment = huge(10)
		},
		"a negative throttle": func(resp response) { resp.ThrottleMillis = -1 << 31 },
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(1, joins, mangled(f))
				m := r.start(onAssigned(func(_ context.Context, p member.Partitions) error {
					for topic := range p.All() {
						if topic != "orders" {
							t.Errorf("owns %q", topic)
						}
					}
					return nil
				}))
				r.sleep(time.Second)
				r.on(2, steady, mangled(f))
				r.sleep(6 * interval)
				r.c.Expire("g", m.id) // whatever it believes now, the truth heals it
				r.sleep(2 * interval)
				r.settled(m)
				r.equal("partitions", m.Snapshot().Assignment.Len(), 12)
			})
		})
	}
}
