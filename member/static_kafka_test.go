//go:build kafka

package member_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// staticAs makes a member static.
func staticAs(instance string, more ...labOption) labOption {
	return func(c *member.ConsumerConfig) {
		c.InstanceID = instance
		for _, o := range more {
			o(c)
		}
	}
}

// unhurried has no early heartbeats.
func unhurried(c *member.ConsumerConfig) { c.Timing.EarlyBeats = -1 }

// calls is how often the member has run a callback with partitions since t.
func (p *probe) calls(since time.Time) int {
	return len(p.told(member.Assigned, since)) + len(p.told(member.Revoked, since)) + len(p.told(member.Lost, since))
}

// S-12: a restart that moves partitions makes a static name pointless: each rolling bounce
// would rebalance the group twice an instance.
func TestKafkaStaticRestartKeepsItsPartitions(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(12)
		first := l.process()
		a, b := l.start(first, staticAs("a", unhurried)), l.start(l.process(), staticAs("b"))
		l.settle(20*time.Second, 12, a, b)
		a.m.Wake()
		time.Sleep(2500 * time.Millisecond) // the last heartbeat of a is old enough for one before the -2
		epoch, had, id := l.epoch(), a.owned(), a.id()
		t0 := time.Now()
		l.must(a.stop())
		first.Close()
		ms := l.members()
		if len(ms) != 2 || l.epoch() != epoch {
			l.Errorf("%d members, epoch %d, after %d", len(ms), l.epoch(), epoch)
		}
		end := l.wire(t0, func(h kafkatest.Heartbeat) bool { return h.MemberID == id })
		asked := len(end) >= 2 && end[0].Epoch > 0
		for i, h := range end { // a -2 that is not answered within 200 ms is repeated
			asked = asked && (i == 0 || h.Epoch == -2)
		}
		if !asked {
			l.Errorf("the leave was not -2 behind one last heartbeat: %+v", end)
		}
		time.Sleep(time.Second)

		t1 := time.Now()
		again := l.start(l.process(), staticAs("a"))
		took := l.settle(20*time.Second, 12, again, b)
		l.Logf("back after %v, %v after its close", took.Round(time.Millisecond), time.Since(t0).Round(time.Millisecond))
		if again.owned().String() != had.String() || again.id() == id || l.epoch() != epoch {
			l.Errorf("had %v, has %v; the group epoch was %d, is %d", had, again.owned(), epoch, l.epoch())
		}
		if n := b.calls(t0); n != 0 || len(b.visited(member.StateReconciling, t0)) != 0 {
			l.Errorf("the other member was disturbed: %d callbacks", n)
		}
		if n := len(again.sent(t1, func(i member.HeartbeatInfo) bool { return i.Epoch <= 0 })); n != 1 {
			l.Errorf("%d joins and leaves", n)
		}
	})
}

// S-12 at group.consumer.max.size: before 4.4 the place that the restart comes for counts as taken until the
// session of the old incarnation ends. The member must wait for it, not give up for good.
func TestKafkaStaticRestartIntoAFullGroup(t *testing.T) {
	cfg := plainKafka()
	cfg.Props["group.consumer.max.size"] = "2"
	onKafka(t, cfg, func(l *lab) {
		l.shortSession(6*time.Second, 500*time.Millisecond)
		l.newTopic(12)
		session := func(c *member.ConsumerConfig) { c.Timing.SessionTimeout = 6 * time.Second }
		a, b := l.start(l.process(), staticAs("a", session)), l.start(l.process(), staticAs("b", session))
		l.settle(20*time.Second, 12, a, b)
		l.must(a.stop())
		again := l.start(l.process(), staticAs("a", session))
		took := l.settle(30*time.Second, 12, again, b)
		l.Logf("back after %v, %d requests, %d notices", took.Round(time.Millisecond), again.attempts(), len(again.noticed(member.NoticeWaiting)))
		if v := l.c.Version(); (v >= "4.4") != (len(again.noticed(member.NoticeWaiting)) == 0) {
			l.Errorf("%s: %d notices", v, len(again.noticed(member.NoticeWaiting)))
		}
		b.undisturbed(time.Time{})
	})
}

// S-13: after the session the place is gone; the member must join like a new one.
func TestKafkaStaticRestartComesTooLate(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.shortSession(6*time.Second, 500*time.Millisecond)
		l.newTopic(12)
		session := func(c *member.ConsumerConfig) { c.Timing.SessionTimeout = 6 * time.Second }
		a, b := l.start(l.process(), staticAs("a", session)), l.start(l.process(), session)
		l.settle(20*time.Second, 12, a, b)
		l.must(a.stop())
		t0 := time.Now()
		l.settle(15*time.Second, 12, b)
		l.Logf("the other took over after %v", time.Since(t0).Round(100*time.Millisecond))
		if d := time.Since(t0); d < 4*time.Second {
			l.Errorf("the place was kept for %v only", d)
		}
		again := l.start(l.process(), staticAs("a", session))
		l.settle(20*time.Second, 12, again, b)
		b.undisturbed(time.Time{})
		again.undisturbed(time.Time{})
	})
}

// S-14: a second process with the name must not throw the first one out, nor ask so often that it
// disturbs it; and it gets the place when the first one leaves.
func TestKafkaSecondHolderWaits(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(12)
		a := l.start(l.process(), staticAs("a"))
		l.settle(20*time.Second, 12, a)
		t0 := time.Now()
		b := l.start(l.process(), staticAs("a"))
		l.until(5*time.Second, "notice", func() bool { return len(b.noticed(member.NoticeWaiting)) == 1 })
		time.Sleep(12 * time.Second)
		refused := b.sent(t0, func(i member.HeartbeatInfo) bool { return i.Code == kerr.UnreleasedInstanceID.Code })
		l.Logf("%d joins refused in %v", len(refused), time.Since(t0).Round(time.Second))
		if len(refused) < 2 || len(refused) > 3 || b.attempts() != len(refused) {
			l.Errorf("%d joins refused, of %d requests", len(refused), b.attempts())
		}
		e, _ := errors.AsType[*member.Error](b.noticed(member.NoticeWaiting)[0].Err)
		if e == nil || e.Owner != a.id() || !errors.Is(e, member.ErrInstanceHeld) {
			l.Errorf("the notice names %+v", e)
		}
		a.undisturbed(t0)
		if n := a.calls(t0); n != 0 || len(a.visited(member.StateReconciling, t0)) != 0 {
			l.Errorf("the holder was disturbed: %d callbacks", n)
		}
		l.must(a.stop())
		l.settle(20*time.Second, 12, b)
		if n := len(b.noticed(member.NoticeWaiting)); n != 1 {
			l.Errorf("%d notices", n)
		}
	})
}

// S-14, the other policies: fail at once, and fail when InstanceWait is over.
func TestKafkaSecondHolderFails(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(2)
		a := l.start(l.process(), staticAs("a"))
		l.settle(20*time.Second, 2, a)
		wait := func(d time.Duration) labOption { return func(c *member.ConsumerConfig) { c.InstanceWait = d } }
		b := l.start(l.process(), staticAs("a", wait(-1)))
		e := b.ends(10*time.Second, a.id(), member.ErrInstanceHeld, kerr.UnreleasedInstanceID)
		if e.Owner != a.id() || b.attempts() != 1 || len(b.noticed(member.NoticeWaiting)) != 0 {
			l.Errorf("owner %q, %d requests", e.Owner, b.attempts())
		}
		t0 := time.Now()
		c := l.start(l.process(), staticAs("a", wait(7*time.Second)))
		c.ends(20*time.Second, a.id(), member.ErrInstanceHeld)
		if d := time.Since(t0); d < 7*time.Second {
			l.Errorf("gave up after %v", d)
		}
		a.undisturbed(time.Time{})
		l.settle(time.Second, 2, a)
	})
}

// A predecessor that crashed holds the name for the rest of its session: the default wait outlasts it.
func TestKafkaStaticMemberOutlastsACrashedPredecessor(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.shortSession(6*time.Second, 500*time.Millisecond)
		l.newTopic(4)
		l.rawJoin("AAAAAAAAQACAAAAAAAAAAB", "a")
		t0 := time.Now()
		p := l.start(l.process(), staticAs("a", func(c *member.ConsumerConfig) { c.Timing.SessionTimeout = 6 * time.Second }))
		l.settle(20*time.Second, 4, p)
		l.Logf("got its name after %v", time.Since(t0).Round(100*time.Millisecond))
		p.undisturbed(t0)
	})
}

// rawJoin makes a member that never sends anything again.
func (l *lab) rawJoin(memberID, instanceID string) {
	l.Helper()
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.RebalanceTimeoutMillis = l.group, memberID, &instanceID, 60_000
	req.SubscribedTopicNames, req.Topics = []string{l.topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	resp, err := l.admin.Broker(1).Request(l.ctx, req)
	l.must(err)
	l.must(kerr.ErrorForCode(resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode))
}

// S-15: two members that both think they are "a" throw each other out for ever, unless the one that
// lost its place ends; and its leave must not hit the new holder.
func TestKafkaDisplacedMemberEnds(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.ledger.off() // the operator takes the name away, without a word to its holder
		l.newTopic(12)
		a := l.start(l.process(), staticAs("a"))
		l.settle(20*time.Second, 12, a)
		l.must(kerr.ErrorForCode(l.raw(a.id(), "a", -2).ErrorCode))
		b := l.start(l.process(), staticAs("a"))
		l.joined(b)
		t0 := time.Now()
		a.m.Wake()
		e := a.ends(15*time.Second, a.id(), member.ErrDisplaced, kerr.FencedInstanceID)
		if e.Owner != b.id() {
			l.Errorf("the error names the owner %q", e.Owner)
		}
		if lost := a.told(member.Lost, t0); len(lost) != 1 || lost[0].Delta.Len() != 12 {
			l.Errorf("OnLost: %v", lost)
		}
		if after := l.wire(t0, func(h kafkatest.Heartbeat) bool { return h.MemberID == a.id() && h.Epoch <= 0 }); len(after) != 0 {
			l.Errorf("the displaced member went on: %+v", after)
		}
		l.settle(20*time.Second, 12, b)
		b.undisturbed(time.Time{})
	})
}

// S-18: the join was applied and its answer lost: the retry meets UNRELEASED_INSTANCE_ID, which names
// the very member that asks, on all versions and until the session ends.
func TestKafkaStaticMemberUnlocksItself(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.cases([]string{"alone", "beside another", "twice", "connection hangs"}, func(l *lab, i int) {
			l.newTopic(12)
			ps := []*probe{}
			if i == 1 {
				ps = append(ps, l.start(l.process()))
				l.settle(20*time.Second, 12, ps...)
			}
			n, act := 1, kafkatest.LoseAnswer()
			switch i {
			case 2:
				n = 2
			case 3:
				act = kafkatest.SwallowAnswer()
			}
			me := func(r kafkatest.Request) bool { return r.Heartbeat.InstanceID != nil }
			r := l.px.On(kafkatest.ByGroup(l.group).And(kafkatest.IsJoin).And(me), n, act)
			cl := l.process(kgo.ClientID("static"))
			a := l.start(cl, staticAs("a"))
			l.must(r.Wait(l.ctx, n))
			t0 := time.Now()
			ps = append(ps, a)
			took := l.settle(40*time.Second, 12, ps...)
			var steps []string
			for _, h := range l.wire(time.Time{}, func(h kafkatest.Heartbeat) bool { return h.MemberID == a.id() && h.Epoch <= 0 }) {
				steps = append(steps, stepOf(h))
			}
			l.Logf("in after %v: %s", took.Round(time.Millisecond), strings.Join(steps, " "))
			if w := a.noticed(member.NoticeWaiting); len(w) != 0 || a.ended() {
				l.Errorf("took itself for a rival: %+v", w)
			}
			a.undisturbed(t0)
		})
	})
}

// The -2 of a close may get lost as well; and an instance that leaves for good has to be gone at once,
// not after its session.
func TestKafkaStaticLeaves(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(12)
		a, b := l.start(l.process(), staticAs("a")), l.start(l.process(), staticAs("b"))
		l.settle(20*time.Second, 12, a, b)
		l.px.On(kafkatest.ByMember(a.id()).And(kafkatest.IsLeave), 1, kafkatest.LoseAnswer())
		t0 := time.Now()
		l.must(a.m.Leave(l.ctx, member.LeaveGroup))
		l.Logf("left for good within %v", time.Since(t0).Round(time.Millisecond))
		if ms := l.members(); len(ms) != 1 || ms[0].InstanceID != "b" {
			l.Errorf("%+v", ms)
		}
		l.settle(20*time.Second, 12, b)
		b.undisturbed(t0)

		l.px.On(kafkatest.ByMember(b.id()).And(kafkatest.IsLeave), 1, kafkatest.LoseAnswer())
		l.must(b.m.Leave(l.ctx, member.RemainInGroup))
		if ms := l.members(); len(ms) != 1 || ms[0].InstanceID != "b" || len(ms[0].Target[l.topic]) != 12 {
			l.Errorf("%+v", ms)
		}
	})
}

// S-17: two members with one name in one process would displace each other.
func TestKafkaTwinsInOneProcess(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(2)
		cl := l.process()
		a := l.start(cl, staticAs("a"))
		l.settle(20*time.Second, 2, a)
		_, err := member.NewConsumer(cl, member.ConsumerConfig{Group: l.group, Topics: []string{l.topic}, InstanceID: "a"})
		if _, ok := errors.AsType[*member.ConfigError](err); !ok || !strings.Contains(err.Error(), "InstanceID") {
			l.Errorf("%T: %v", err, err)
		}
		l.must(a.stop())
		b := l.start(cl, staticAs("a")) // the name is free again
		l.settle(20*time.Second, 2, b)
	})
}
