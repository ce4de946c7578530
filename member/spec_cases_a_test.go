package member_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// Case 4 (KAFKA-7610): a coordinator that takes connections and never answers sees one ID in
// five minutes, at a pace.
func TestCase04_MuteCoordinator(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(-1, every, mute)
		m := r.start()
		r.sleep(5 * time.Minute)
		n := len(m.sent(every))
		r.that(n >= 10 && n <= 60, "10 to 60 attempts, got %d", n)
		r.equal("attempts under another ID", len(r.sent(every))-n, 0)
		r.that(r.alone(m), "one member")
		r.calm()
		r.settled(m)
	})
}

// Case 5 (crabka#301): UNKNOWN_MEMBER_ID to every join: paced, and then a typed error.
func TestCase05_NeverAdmitted(t *testing.T) {
	for _, e := range []*kerr.Error{kerr.UnknownMemberID, kerr.FencedMemberEpoch} {
		t.Run(e.Message, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(-1, joins, code(e.Code))
				m := r.start()
				m.failed(2*time.Minute, e)
				js := m.sent(joins)
				r.that(len(js) >= 5 && len(js) <= 30, "5 to 30 joins, got %d", len(js))
				r.that(len(during(js, 0, 10*time.Second)) <= 20, "at most 20 in 10 s")
				m.called("")
			})
		})
	}
}

// Case 7 (franz-go 6d06afae): a coordinator that forgot the member is no error of the application.
func TestCase07_ForgottenMember(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		r.c.Expire("g", m.id)
		r.sleep(2 * interval)
		r.settled(m)
		m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
		r.equal("error", m.Snapshot().Err, error(nil))
		r.equal("notices", len(m.told().notices), 0)
	})
}

// Case 8 (franz-go edba3cad, KAFKA-17536): brokers without the protocol: one typed error that
// says which version is needed, and no leave.
func TestCase08_NoSuchProtocol(t *testing.T) {
	for name, prepare := range map[string]func(r *rig){
		"not offered": nil, "switched off": func(r *rig) { r.on(-1, every, code(kerr.UnsupportedVersion.Code)) },
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{NoConsumerProtocol: prepare == nil}, func(r *rig) {
				if prepare != nil {
					prepare(r)
				}
				m := r.start()
				e := m.failed(time.Second, member.ErrUnsupported, kerr.UnsupportedVersion)
				r.that(strings.Contains(e.Error(), "4.0") && strings.Contains(e.Error(), "group.version"), "version and feature in %q", e)
				r.equal("leaves", len(m.sent(leaves)), 0)
				r.that(r.net.dials > 0, "a connection")
			})
		})
	}
}

// Case 14 (franz-go f0d0655d): success with a negative epoch is ignored; the next heartbeat is
// no leave.
func TestCase14_NegativeEpoch(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		epoch := m.Snapshot().MemberEpoch
		r.on(3, steady, mangled(func(resp response) { resp.MemberEpoch = -1 }))
		r.sleep(3 * interval)
		r.settled(m)
		r.equal("epoch", m.Snapshot().MemberEpoch, epoch)
		r.equal("notices", m.noticed(member.NoticeBadAnswer), 3)
		r.equal("leaves", len(m.sent(leaves)), 0)
		r.equal("joins", len(m.sent(joins)), 1)
		m.called("assigned orders[0-11]")
	})
}

// Case 16 (franz-go 8e7cfc60): an assigned topic without a name does not get into the next
// join, and the member recovers.
func TestCase16_UnresolvedTopicAndFence(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.on(1, steady, mangled(func(resp response) { resp.Assignment = unknownTopic(r, 0, 1) }))
		r.sleep(interval)
		r.equal("unresolved", m.Snapshot().Unresolved, 1)
		r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
		r.sleep(2 * interval)
		r.settled(m) // the rig checks that the join owned nothing
		r.equal("unresolved", m.Snapshot().Unresolved, 0)
		m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
	})
}

// Case 17 b (librdkafka#5485): a subscription that matches nothing joins all the same, with a
// list that is empty and not null.
func TestCase17_PatternMatchesNothing(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.start(topics(), regex("no-such-.*"))
		r.sleep(2 * interval)
		r.that(r.alone(m), "a member")
		join := m.sent(joins)[0].req
		r.that(join.SubscribedTopicNames != nil && len(join.SubscribedTopicNames) == 0, "an empty list, got %v", join.SubscribedTopicNames)
		m.called("assigned none")
		r.equal("CreateTopic", r.c.CreateTopic("no-such-luck", 3), error(nil))
		r.until("the new topic", time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 3 })
	})
}

// Case 38 (franz-go#1340): who hears of trouble from a commit can have it decided at once by a
// heartbeat; ten such calls are still one request in flight.
func TestCase38_WakeDecides(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.sleep(time.Second)
		r.c.Expire("g", m.id)
		r.on(1, steady, held(200*time.Millisecond))
		at, n := r.now(), len(m.sent(every))
		for range 10 {
			m.Wake()
			r.sleep(10 * time.Millisecond)
		}
		r.equal("requests in flight", len(m.sent(every))-n, 1)
		r.settled(m)
		r.that(r.now()-at <= time.Second, "back within a second, took %v", r.now()-at)
		m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
	})
}

// Case 40 (Dekaf#2767, franz-go 392608ca): the rebalance timeout that is sent is the one that is
// set; one that would wrap on the wire is refused here.
func TestCase40_RebalanceTimeout(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(timing(func(t *member.Timing) { t.RebalanceTimeout = 45 * time.Second }))
		r.equal("in the join", m.sent(joins)[0].req.RebalanceTimeoutMillis, int32(45_000))
		r.sleep(2 * interval)
		sent := m.sent(steady)
		r.equal("later", sent[len(sent)-1].req.RebalanceTimeoutMillis, int32(-1))
		for _, days := range []time.Duration{30, 50} {
			_, err := r.build(timing(func(t *member.Timing) { t.RebalanceTimeout = days * 24 * time.Hour }))
			wantFaults(r, err, "Timing.RebalanceTimeout")
		}
	})
}

// Case 41 (KAFKA-15561): a bad pattern is fatal to a join, with the pattern and the broker's reason;
// and what is subscribed now is what a rejoin carries.
func TestCase41_Patterns(t *testing.T) {
	spec(t, brokers.Config{Version: coordinator.V44}, func(r *rig) {
		e := r.start(topics(), regex("ord(ers")).failed(time.Minute, kerr.InvalidRegularExpression)
		r.that(strings.Contains(e.Error(), "ord(ers") && e.Message != "", "pattern and reason in %q", e)
		m := r.start(topics(), regex("ord.*"))
		r.until("assigned", time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 12 })
		r.equal("SetTopics", m.SetTopics(r.Context(), "orders"), error(nil))
		r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
		r.sleep(2 * interval)
		js := m.sent(joins)
		r.equal("joins", len(js), 2)
		r.that(js[1].req.SubscribedTopicRegex == nil && len(js[1].req.SubscribedTopicNames) == 1, "a rejoin by name only, got %v %v", js[1].req.SubscribedTopicRegex, js[1].req.SubscribedTopicNames)
		r.settled(m)
	})
}

// Case 41: a bad pattern at run time is the caller's error, and changes nothing.
func TestCase41_BadPatternAtRunTime(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		err := m.Subscribe(r.Context(), member.Subscription{Regex: "ord(ers"})
		r.that(errors.Is(err, kerr.InvalidRegularExpression) && strings.Contains(err.Error(), "ord(ers"), "the reason, got %v", err)
		r.sleep(time.Minute)
		r.settled(m)
		m.called("assigned orders[0-11]")
	})
}
