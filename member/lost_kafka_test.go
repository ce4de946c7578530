//go:build kafka

package member_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// The group of a lost answer: an attempt ends after a third of the session.
const (
	lossSession  = 12 * time.Second
	lossInterval = 2 * time.Second
	lossLimit    = 2*lossInterval + lossSession/3
)

// plainBeats has no early heartbeats, so that a test decides by Wake which answer
// brings what.
func plainBeats(c *member.ConsumerConfig) {
	unhurried(c)
	c.Timing.SessionTimeout = lossSession
}

// A loss makes the group up to the answer in question and loses it. It returns the
// members that are left and the request whose answer was lost.
type loss struct {
	name string
	n    int // partitions of the topic, in the end
	run  func(l *lab, act kafkatest.Action) (ps []*probe, lost kafkatest.Heartbeat)
	kind func(lost kafkatest.Heartbeat) bool
}

var losses = []loss{
	{"revocation", 12, loseRevocation, func(h kafkatest.Heartbeat) bool { return assignedIn(h) == 6 && h.AnswerEpoch == h.Epoch }},
	{"partitions at the same epoch", 12, loseAddition, func(h kafkatest.Heartbeat) bool { return assignedIn(h) == 6 && h.AnswerEpoch == h.Epoch }},
	{"partitions at a new epoch", 12, loseTakeover, func(h kafkatest.Heartbeat) bool { return assignedIn(h) == 12 && h.AnswerEpoch > h.Epoch }},
	{"acknowledgement", 12, loseAcknowledgement, func(h kafkatest.Heartbeat) bool { return ownedIn(h.Request) == 6 && h.AnswerEpoch > h.Epoch }},
	{"acknowledgement that gives", 24, loseGivingAcknowledgement, func(h kafkatest.Heartbeat) bool { return ownedIn(h.Request) == 6 && assignedIn(h) == 12 }},
}

// An assignment is sent once, in the answer that made it: a member that goes on with
// bare heartbeats after a lost answer strands partitions for ever, misses a revocation until it is
// evicted, or fences itself.
func TestKafkaLostAnswersHeal(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		var names []string
		for _, x := range losses {
			names = append(names, x.name+", connection cut", x.name+", connection hangs")
		}
		l.cases(names, func(l *lab, i int) {
			act := []kafkatest.Action{kafkatest.LoseAnswer(), kafkatest.SwallowAnswer()}[i%2]
			loseAndHeal(l, losses[i/2], act)
		})
	})
}

func loseAndHeal(l *lab, x loss, act kafkatest.Action) {
	for try := 1; ; try++ {
		l := newLab(l.T, l.c, true)
		l.shortSession(lossSession, lossInterval)
		l.newTopic(12)
		ps, lost := x.run(l, act)
		if !x.kind(lost) {
			// A heartbeat of the member's own interval came in between.
			if try == 4 {
				l.Fatalf("not the answer that was to be lost: epoch %d -> %d, %d partitions", lost.Epoch, lost.AnswerEpoch, assignedIn(lost))
			}
			continue
		}
		took := l.settle(30*time.Second, x.n, ps...)
		slow := slowest(lost.At, ps...)
		l.Logf("%s: healed after %v, the slowest accepted heartbeat took %v", x.name, took.Round(time.Millisecond), slow.Round(time.Millisecond))
		if took-slow > lossLimit {
			l.Errorf("%s: healed after %v, not %v", x.name, took, lossLimit)
		}
		for _, p := range ps {
			p.undisturbed(time.Time{})
			if n := len(p.visited(member.StateJoining, time.Time{})); n != 1 {
				l.Errorf("%s joined %d times", p.name, n)
			}
		}
		next := l.wire(lost.At, func(h kafkatest.Heartbeat) bool { return h.MemberID == lost.MemberID && h.At.After(lost.At) })
		if len(next) == 0 || !next[0].Full || next[0].Request.Topics == nil || next[0].Epoch != lost.Epoch {
			l.Errorf("the heartbeat after the lost answer was not a full one at the old epoch: %+v", next)
		}
		l.never(2*lossInterval, "not settled any more", func() bool { return l.odd(x.n, ps...) != "" })
		return
	}
}

// slowest is the longest that an accepted heartbeat took, which on a busy machine is no
// fault of the member's.
func slowest(since time.Time, ps ...*probe) (d time.Duration) {
	for _, p := range ps {
		for _, i := range p.sent(since, accepted) {
			d = max(d, i.RTT)
		}
	}
	return d
}

// lose loses the answer to the next heartbeat that match picks, which p sends now.
func (l *lab) lose(p *probe, match kafkatest.Match, act kafkatest.Action) kafkatest.Heartbeat {
	l.Helper()
	r := l.px.On(kafkatest.ByMember(p.id()).And(match), 1, act)
	p.m.Wake()
	l.must(r.Wait(l.ctx, 1))
	return l.lostOf(p)
}

// lostOf is the one request of p whose answer was lost.
func (l *lab) lostOf(p *probe) kafkatest.Heartbeat {
	l.Helper()
	lost := l.wire(time.Time{}, func(h kafkatest.Heartbeat) bool { return h.MemberID == p.id() && h.Lost })
	if len(lost) != 1 {
		l.Fatalf("%d answers lost: %+v", len(lost), lost)
	}
	return lost[0]
}

// joined waits for the answer to the join.
func (l *lab) joined(p *probe) {
	l.Helper()
	_, err := l.px.WaitHeartbeat(l.ctx, func(h kafkatest.Heartbeat) bool {
		return h.MemberID == p.id() && h.Epoch == 0 && !h.AnsweredAt.IsZero() && h.ErrorCode == 0
	})
	l.must(err)
}

// ownerAndJoiner: the one owns all and is about to be told to give up half.
func (l *lab) ownerAndJoiner() (a, b *probe) {
	l.Helper()
	a = l.start(l.process(), plainBeats)
	l.settle(20*time.Second, 12, a)
	time.Sleep(rest)
	b = l.start(l.process(), plainBeats)
	l.joined(b)
	return a, b
}

func loseRevocation(l *lab, act kafkatest.Action) ([]*probe, kafkatest.Heartbeat) {
	a, b := l.ownerAndJoiner()
	return []*probe{a, b}, l.lose(a, kafkatest.IsHeartbeat, act)
}

func loseAddition(l *lab, act kafkatest.Action) ([]*probe, kafkatest.Heartbeat) {
	a, b := l.ownerAndJoiner()
	a.m.Wake()
	_, err := l.px.WaitHeartbeat(l.ctx, func(h kafkatest.Heartbeat) bool {
		return h.MemberID == a.id() && ownedIn(h.Request) == 6 && !h.AnsweredAt.IsZero()
	})
	l.must(err)
	return []*probe{a, b}, l.lose(b, kafkatest.IsHeartbeat, act)
}

func loseTakeover(l *lab, act kafkatest.Action) ([]*probe, kafkatest.Heartbeat) {
	a, b := l.ownerAndJoiner()
	l.settle(20*time.Second, 12, a, b)
	time.Sleep(rest)
	l.must(b.stop())
	return []*probe{a}, l.lose(a, kafkatest.IsHeartbeat, act)
}

func loseAcknowledgement(l *lab, act kafkatest.Action) ([]*probe, kafkatest.Heartbeat) {
	a, b := l.ownerAndJoiner()
	ack := func(r kafkatest.Request) bool { return ownedIn(r.Heartbeat) == 6 }
	return []*probe{a, b}, l.lose(a, ack, act)
}

// loseGivingAcknowledgement: the topic grows while the owner lets go, so that the answer to its acknowledgement
// gives it more than it has.
func loseGivingAcknowledgement(l *lab, act kafkatest.Action) ([]*probe, kafkatest.Heartbeat) {
	letGo := make(chan struct{})
	a := l.start(l.process(), plainBeats, func(c *member.ConsumerConfig) {
		c.OnRevoked = func(context.Context, member.Partitions) error { <-letGo; return nil }
	})
	l.settle(20*time.Second, 12, a)
	time.Sleep(rest)
	b := l.start(l.process(), plainBeats)
	l.joined(b)
	l.until(10*time.Second, "OnRevoked runs", func() bool { return a.inState(member.StateReconciling) })
	l.must(l.c.AddPartitions(l.ctx, l.topic, 12))
	l.until(10*time.Second, "a new target", func() bool {
		ms := l.members()
		return len(ms) == 2 && len(ms[0].Target[l.topic]) == 12 && len(ms[1].Target[l.topic]) == 12
	})
	r := l.px.On(kafkatest.ByMember(a.id()).And(func(r kafkatest.Request) bool { return ownedIn(r.Heartbeat) == 6 }), 1, act)
	close(letGo)
	l.must(r.Wait(l.ctx, 1))
	return []*probe{a, b}, l.lostOf(a)
}

// S-1, S-2: a join that is repeated must be the same join, or each lost answer leaves a ghost
// behind; and it must not become a hot loop.
func TestKafkaTenLostJoinsMakeOneMember(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(6)
		r := l.px.On(kafkatest.ByGroup(l.group).And(kafkatest.IsJoin), 10, kafkatest.LoseAnswer())
		p := l.start(l.process())
		l.must(r.Wait(l.ctx, 10))
		l.settle(20*time.Second, 6, p)
		joins := l.wire(time.Time{}, func(h kafkatest.Heartbeat) bool { return h.Epoch == 0 })
		want := 11
		if len(joins) > 10 && joins[10].ErrorCode == kerr.FencedMemberEpoch.Code && l.fencesJoins() {
			want = 12 // the group's epoch moved between two of them: the member leaves first
		}
		if len(joins) != want || len(l.members()) != 1 {
			l.Errorf("%d joins, %d members", len(joins), len(l.members()))
		}
		for i, h := range joins {
			if h.MemberID != p.id() || !h.Full || ownedIn(h.Request) != 0 {
				l.Errorf("join %d is not the same full join: %+v", i, h.Request)
			}
			if i > 0 && h.At.Sub(joins[i-1].At) < 45*time.Millisecond {
				l.Errorf("join %d came %v after the one before", i, h.At.Sub(joins[i-1].At))
			}
		}
		if last := joins[len(joins)-1].At.Sub(joins[0].At); last < 3*time.Second {
			l.Errorf("eleven joins within %v", last)
		}
		p.undisturbed(time.Time{})
	})
}
