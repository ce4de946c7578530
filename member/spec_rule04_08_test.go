package member_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// refuse is a road: the next heartbeat is refused.
func refuse(e *kerr.Error) func(r *rig, m *mem) {
	return func(r *rig, m *mem) {
		r.on(1, steady, code(e.Code))
		m.Wake()
	}
}

// lossy marks a road on which two joins get lost.
func lossy(c *member.ConsumerConfig) { c.Rack = "lossy" }

// The roads to epoch 0, and how many joins there are at their ends.
var roads = map[string]struct {
	opts  []option
	road  func(r *rig, m *mem)
	joins int
}{
	"first join":  {joins: 1},
	"retry":       {[]option{lossy}, nil, 3},
	"fenced":      {nil, refuse(kerr.FencedMemberEpoch), 2},
	"unknown":     {nil, refuse(kerr.UnknownMemberID), 2},
	"no group":    {nil, refuse(kerr.GroupIDNotFound), 2},
	"stale epoch": {nil, refuse(kerr.StaleMemberEpoch), 2},
	"stale": {[]option{timing(func(t *member.Timing) { t.MaxPollInterval = 10 * time.Second })}, func(r *rig, m *mem) {
		m.in(member.StateStale)
		m.Alive()
	}, 2},
	"self-fence": {[]option{selfFence}, func(r *rig, m *mem) {
		r.net.cut(true)
		m.in(member.StateJoining)
		r.net.up()
	}, 2},
	"subscription changed while joining": {[]option{lossy}, func(r *rig, m *mem) {
		r.equal("SetTopics", m.SetTopics(r.Context(), "orders", "more"), error(nil))
	}, 3},
}

// Rule 4: every road to epoch 0 is a full join: timeout, subscription, empty owned list.
func TestRule04_EveryRoadToEpochZero(t *testing.T) {
	for name, c := range roads {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{Topics: map[string]int32{"orders": 12, "more": 1}}, func(r *rig) {
				m := r.make(c.opts...)
				if len(c.opts) > 0 && c.joins == 3 {
					r.on(1, joins, lost)
					r.on(1, joins, dropped)
				}
				m.run()
				r.sleep(time.Millisecond)
				if c.joins < 3 {
					r.settled(m)
				}
				if c.road != nil {
					c.road(r, m)
				}
				r.until("joined", time.Minute, func() bool { return len(m.sent(joins)) == c.joins })
				r.settled(m)
				for _, b := range m.sent(joins) {
					q := b.req
					r.that(q.RebalanceTimeoutMillis == 300_000 && len(q.SubscribedTopicNames) > 0 && q.Topics != nil && len(q.Topics) == 0, "a full join, got %v", b)
				}
				last := m.sent(joins)[c.joins-1].req
				if name == "subscription changed while joining" {
					r.equal("topics of the last join", last.SubscribedTopicNames, []string{"more", "orders"})
				}
			})
		})
	}
}

// Rule 5: what the coordinator is known to hold is left out, and nothing else is.
func TestRule05_OnlyWhatIsNotKnown(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.sleep(20 * interval)
		beats := m.sent(steady)
		ack := beats[0].req
		r.that(ack.Topics != nil && ack.RebalanceTimeoutMillis == -1 && ack.SubscribedTopicNames == nil, "an acknowledgement with the owned list only, got %v", beats[0])
		for _, b := range beats[1:] {
			r.that(b.req.Topics == nil && b.req.RebalanceTimeoutMillis == -1 && b.req.SubscribedTopicNames == nil, "bare heartbeats, got %v", b)
		}
		r.that(len(beats) > 20, "heartbeats, got %d", len(beats))
	})
}

// Rule 5: after an unknown outcome the next heartbeat is full, with what is really owned.
// They are bare again once the lost one cannot arrive any more.
func TestRule05_UnknownOutcome(t *testing.T) {
	for name, f := range map[string]fault{
		"timeout": mute, "cut after it": lost, "cut before it": dropped,
		"COORDINATOR_LOAD_IN_PROGRESS": appliedBut(14), "COORDINATOR_NOT_AVAILABLE": appliedBut(15), "NOT_COORDINATOR": appliedBut(16),
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join(quiet)
				r.sleep(interval)
				before := len(m.sent(steady))
				r.on(1, steady, f)
				r.sleep(12 * interval)
				beats := m.sent(steady)[before:]
				r.that(!beats[0].full(), "a bare heartbeat that fails, got %v", beats[0])
				r.that(beats[1].full() && len(beats[1].req.Topics[0].Partitions) == 12, "a full one with 12 partitions, got %v", beats[1])
				last := beats[len(beats)-1]
				r.that(!last.full() && last.req.Topics == nil, "bare ones again, got %v", last)
				m.called("assigned orders[0-11]")
			})
		})
	}
}

// Rule 5: TOPIC_AUTHORIZATION_FAILED is a known refusal of what names topics. The member keeps
// itself in with bare heartbeats, however long it lasts, and tries the full one paced.
func TestRule05_TopicAuthorizationFailed(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.sleep(interval)
		denied := r.on(-1, func(q request) bool { return q.SubscribedTopicNames != nil }, code(kerr.TopicAuthorizationFailed.Code))
		r.on(1, steady, lost) // so that the next one has to be full
		start := r.now()
		r.sleep(10 * time.Minute)
		r.equal("notices", m.noticed(member.NoticeRefused), 1)
		r.that(r.alone(m), "a member after 10 minutes")
		tries := r.hits(denied)
		r.that(tries >= 18 && tries <= 30, "a try every 30 s or so, got %d in 10 min", tries)
		var fed []time.Duration
		for _, b := range during(m.sent(steady), start, r.now()) {
			if b.ok() {
				fed = append(fed, b.at)
			}
		}
		for i := 1; i < len(fed); i++ {
			r.that(fed[i]-fed[i-1] <= interval+200*time.Millisecond, "accepted heartbeats at the interval, got a gap of %v", fed[i]-fed[i-1])
		}
		r.calm()
		r.sleep(time.Minute)
		m.called("assigned orders[0-11]")
		sent := m.sent(every)
		r.that(!sent[len(sent)-1].full(), "bare heartbeats once it is accepted")
	})
}

// Rule 5: a refused change of subscription leaves the member as it was, and its caller has
// the error.
func TestRule05_RefusedChange(t *testing.T) {
	for _, e := range []*kerr.Error{kerr.InvalidRegularExpression, kerr.TopicAuthorizationFailed} {
		t.Run(e.Message, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join(quiet)
				r.on(1, func(q request) bool { return q.SubscribedTopicRegex != nil }, code(e.Code, "why"))
				err := m.Subscribe(r.Context(), member.Subscription{Regex: "ord[ers"})
				me, ok := errors.AsType[*member.Error](err)
				r.that(ok && errors.Is(err, e) && me.Message == "why", "%v with its text, got %v", e.Message, err)
				n := len(m.sent(every))
				r.sleep(3 * interval)
				for _, b := range m.sent(every)[n:] {
					r.that(b.req.SubscribedTopicNames == nil && b.req.SubscribedTopicRegex == nil, "nothing of the change, got %v", b)
				}
				r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
				r.sleep(2 * interval)
				last := m.sent(joins)[1].req
				r.equal("topics of the rejoin", last.SubscribedTopicNames, []string{"orders"})
				r.that(last.SubscribedTopicRegex == nil, "no regex in the rejoin")
			})
		})
	}
}

// Rule 6: a member that owns nothing sends full heartbeats, so an assignment whose
// answer was lost comes again.
func TestRule06_FullWhileNothingIsOwned(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		a := r.join(quiet)
		b := r.start(quiet)
		var lost cell[bool]
		r.on(-1, from(b, steady), func(_ *wire, _ request, apply func() response) (response, error) {
			resp := apply()
			if !lost.get() && resp.Assignment != nil && len(resp.Assignment.Topics) > 0 {
				lost.set(true)
				return nil, errCut
			}
			return resp, nil
		})
		r.until("b's assignment is lost", time.Minute, func() bool { return lost.get() })
		at, _ := r.c.Group("g").Member(b.id)
		r.equal("what the coordinator counts as b's", count(at.Owned), 6)
		r.equal("what b has", b.Snapshot().Assignment.Len(), 0)
		r.settled(a, b)
		owned := false
		for _, x := range b.sent(steady) {
			r.that(owned || x.full(), "full heartbeats while nothing is owned, got %v", x)
			owned = owned || x.ok() && x.resp.Assignment != nil && len(x.resp.Assignment.Topics) > 0
		}
	})
}

// Rule 6: a deleted topic is revoked with the next heartbeat.
func TestRule06_DeletedTopic(t *testing.T) {
	specAll(t, brokers.Config{Topics: map[string]int32{"orders": 3, "gone": 2}}, func(r *rig) {
		m := r.join(topics("gone", "orders"), quiet)
		r.sleep(time.Minute)
		r.equal("DeleteTopic", r.c.DeleteTopic("gone"), error(nil))
		took := r.until("told", 10*time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 3 })
		r.that(took <= interval, "told within an interval, took %v", took)
		m.called("assigned gone[0-1] orders[0-2]; revoked gone[0-1]")
	})
}

// Rule 6: where a bare heartbeat is not told of a change, a full one is: every 4 minutes, and no
// more often.
func TestRule06_Refresh(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 3, "gone": 2}}, func(r *rig) {
		m := r.join(topics("gone", "orders"), quiet)
		r.sleep(time.Minute)
		bare := func(q request) bool { return q.MemberEpoch > 0 && q.SubscribedTopicNames == nil }
		r.on(-1, bare, mangled(func(resp response) { resp.Assignment = nil }))
		r.equal("DeleteTopic", r.c.DeleteTopic("gone"), error(nil))
		took := r.until("told", 10*time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 3 })
		r.that(took >= 2*time.Minute && took <= 4*time.Minute+interval, "told within 4 minutes, took %v", took)
		r.calm()
		start := r.now()
		r.sleep(time.Hour)
		full := during(m.sent(func(q request) bool { return q.SubscribedTopicNames != nil }), start, r.now())
		r.that(len(full) >= 14 && len(full) <= 15, "a full heartbeat every 4 minutes, got %d in an hour", len(full))
	})
}

// Rule 8: a heartbeat that may name a previous epoch carries its owned list, for every
// answer that can get lost on the way through a rebalance.
func TestRule08_PreviousEpoch(t *testing.T) {
	for n := range 8 {
		t.Run(fmt.Sprintf("answer %d lost", n+1), func(t *testing.T) {
			specAll(t, brokers.Config{}, func(r *rig) {
				a := r.join(quiet)
				r.on(n, steady, func(_ *wire, _ request, apply func() response) (response, error) { return apply(), nil })
				r.on(1, steady, lost)
				b := r.start(quiet)
				r.settled(a, b)
				r.sleep(2 * interval)
				r.settled(a, b)
				for _, m := range []*mem{a, b} {
					for _, x := range m.sent(steady) {
						r.that(x.resp == nil || x.ok(), "no refusal, got %v", x)
					}
				}
				r.equal("b's partitions", b.Snapshot().Assignment.Len(), 6)
			})
		})
	}
}
