//go:build kafka

package member_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/member"
)

// rest is longer than the broker's assignment interval: a group that was left alone
// for so long computes its next target at once.
const rest = 1300 * time.Millisecond

// extra counts the heartbeats that a member sent before its interval was over.
func extra(p *probe, since time.Time) int {
	return len(p.sent(since, func(i member.HeartbeatInfo) bool {
		return i.Reason == member.ReasonEarly || i.Reason == member.ReasonWake
	}))
}

// handOver checks what a change of the group cost: the number of partitions that
// were revoked and assigned, and that no member sent more than ten extra beats.
func (l *lab) handOver(what string, since time.Time, took time.Duration, revoked, assigned int, ps ...*probe) {
	l.Helper()
	gone, come, extras := 0, 0, ""
	for _, p := range ps {
		for _, i := range p.told(member.Revoked, since) {
			gone += i.Delta.Len()
		}
		for _, i := range p.told(member.Assigned, since) {
			come += i.Delta.Len()
		}
		n := extra(p, since)
		extras += fmt.Sprint(" ", n)
		if n > 10 {
			l.Errorf("%s: %s sent %d extra heartbeats", what, p.name, n)
		}
		p.undisturbed(since)
	}
	l.Logf("%s: %v; %d revoked, %d assigned; extra heartbeats%s", what, took.Round(time.Millisecond), gone, come, extras)
	if gone != revoked || come != assigned {
		l.Errorf("%s: %d revoked and %d assigned, to be %d and %d", what, gone, come, revoked, assigned)
	}
	if took >= 5*time.Second {
		l.Errorf("%s took %v: no better than waiting for the interval", what, took)
	}
}

// spread is settle with each of ps owning the same number of partitions.
func (l *lab) spread(partitions int, ps ...*probe) time.Duration {
	l.Helper()
	took := l.settle(30*time.Second, partitions, ps...)
	for _, p := range ps {
		if n := p.owned().Len(); n != partitions/len(ps) {
			l.Errorf("%s has %d of %d partitions", p.name, n, partitions)
		}
	}
	return took
}

// Without early heartbeats each idle interval on either side of a hand-over is paid in
// full: 5 s to join, 5 s more to be told that another has left.
func TestKafkaFourthMemberJoinsAndOneLeaves(t *testing.T) {
	inPeace(t, plainKafka(), func(l *lab) {
		l.newTopic(12)
		cl := l.process()
		ps := []*probe{l.start(cl), l.start(cl), l.start(cl)}
		l.spread(12, ps...)
		var joins, leaves []time.Duration
		for i := range 3 {
			time.Sleep(rest)
			t0 := time.Now()
			ps = append(ps, l.start(cl))
			took := l.spread(12, ps...)
			l.handOver("a fourth joins", t0, took, 3, 3, ps...)
			joins = append(joins, took)

			time.Sleep(rest)
			t0 = time.Now()
			out := ps[i] // an old one, each time another
			ps = append(ps[:i:i], ps[i+1:]...)
			l.must(out.stop())
			took = l.spread(12, ps...)
			l.handOver("one of four closes", t0, took, 0, 3, ps...)
			leaves = append(leaves, took)
		}
		l.Logf("median: %v to join, %v after a leave", medianOf(joins), medianOf(leaves))
	})
}

// From 4.3 on the target of a group is made at most once a second, within some heartbeat:
// members that start together and then wait for their intervals need 5 to 10 s.
func TestKafkaThreeStartTogether(t *testing.T) {
	inPeace(t, plainKafka(), func(l *lab) {
		var tooks []time.Duration
		for range 3 {
			l := newLab(l.T, l.c, true)
			l.newTopic(12)
			cl := l.process()
			t0 := time.Now()
			ps := []*probe{l.start(cl), l.start(cl), l.start(cl)}
			took := l.spread(12, ps...)
			tooks = append(tooks, took)
			for _, p := range ps {
				p.undisturbed(t0)
				if n := extra(p, t0); n > 30 { // they take part in three target changes
					l.Errorf("%s sent %d extra heartbeats", p.name, n)
				}
			}
			l.Logf("three start together: %v; extra heartbeats %d %d %d", took.Round(time.Millisecond), extra(ps[0], t0), extra(ps[1], t0), extra(ps[2], t0))
			if took >= 5*time.Second {
				l.Errorf("three need %v: no better than waiting for the interval", took)
			}
		}
		l.Logf("median: %v", medianOf(tooks))
	})
}

// A second process is not woken by the first, whose members have no sibling in it:
// the joiner's own early beats, and the owners' plain ones, have to do.
func TestKafkaMemberOfAnotherProcessJoins(t *testing.T) {
	inPeace(t, plainKafka(), func(l *lab) {
		l.newTopic(12)
		a := l.start(l.process())
		l.spread(12, a)
		time.Sleep(rest)
		t0 := time.Now()
		b := l.start(l.process())
		took := l.spread(12, a, b)
		l.Logf("joined beside another process after %v; extra heartbeats %d %d", took.Round(time.Millisecond), extra(a, t0), extra(b, t0))
		if n := extra(a, t0) + extra(b, t0); n > 20 {
			l.Errorf("%d extra heartbeats", n)
		}
		if took > 12*time.Second { // the owner's interval, and one of the joiner's
			l.Errorf("took %v", took)
		}
	})
}

// An idle member that beats more often than it was told to, or with all its fields, or that asks
// for its coordinator again and again, costs a large group dearly.
func TestKafkaTwelveBeatsAMinute(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(12)
		name := uniqueName("idle")
		cl := l.process(kgo.ClientID(name))
		p := l.start(cl)
		l.settle(20*time.Second, 12, p)
		time.Sleep(6 * time.Second)
		t0, lookups := time.Now(), l.px.Requests(name, findCoordinator)
		time.Sleep(time.Minute)
		beats := l.wire(t0, nil)
		bytes, full := 0, 0
		for _, h := range beats {
			bytes += h.Bytes + h.AnswerBytes
			if h.Full || h.Request.Topics != nil {
				full++
			}
		}
		l.Logf("%d heartbeats in a minute, %d of them full, %d bytes", len(beats), full, bytes)
		if len(beats) < 11 || len(beats) > 13 || full > 0 {
			l.Errorf("%d heartbeats in a minute, %d of them full", len(beats), full)
		}
		if n := l.px.Requests(name, findCoordinator) - lookups; n > 0 {
			l.Errorf("%d look-ups of the coordinator", n)
		}
		if hooks := p.sent(t0, nil); len(hooks) < len(beats)-1 || len(hooks) > len(beats)+1 {
			l.Errorf("the hook was told of %d heartbeats, the proxy saw %d", len(hooks), len(beats))
		}
		p.undisturbed(time.Time{})
		if g := l.members(); len(g) != 1 || g[0].Epoch != p.m.Snapshot().MemberEpoch {
			l.Errorf("%+v", g)
		}
	})
}
