//go:build kafka

package member_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// onOwn runs f on a cluster of its own for each version: one that f may kill.
func onOwn(t *testing.T, cfg kafkatest.Config, f func(l *lab)) {
	t.Parallel()
	for _, v := range kafkatest.Versions() {
		t.Run(v, func(t *testing.T) {
			cfg, first := cfg, secured()
			cfg.Version, first.Version = v, v
			kafkatest.Shared(t, first) // not all clusters at once: the longest tests begin first
			f(newLab(t, kafkatest.Start(t, cfg), false))
		})
	}
}

// S-26: a coordinator that dies, restarts or hangs takes nothing from anybody: sessions start anew at the next
// one. A member that takes its silence for the end stops the whole group for nothing.
func TestKafkaCoordinatorDies(t *testing.T) {
	onOwn(t, kafkatest.Config{Nodes: 3}, func(l *lab) {
		l.newTopic(12)
		one := l.process()
		ps := []*probe{l.start(one), l.start(one), l.start(l.process(), staticAs("a")), l.start(l.process())}
		l.settle(40*time.Second, 12, ps...)
		time.Sleep(rest)

		node := l.coordinator()
		l.outage("killed", ps, func() { l.must(l.c.Kill(node)) })
		l.outage("back", ps, func() { l.must(l.c.StartNode(l.ctx, node)) })

		node = l.coordinator()
		l.outage("paused for 10 s", ps, func() {
			l.must(l.c.Pause(node))
			time.Sleep(10 * time.Second)
			l.must(l.c.Resume(node))
		})

		l.must(l.c.WaitReady(l.ctx))
		node = l.coordinator()
		l.outage("restarted in good order", ps, func() {
			l.must(l.c.StopNode(node))
			l.must(l.c.StartNode(l.ctx, node))
		})
		for _, p := range ps {
			l.Logf("%s sent %d requests, %d of them accepted", p.name, p.attempts(), len(p.sent(time.Time{}, accepted)))
		}
	})
}

func accepted(i member.HeartbeatInfo) bool { return i.Err == nil && i.Code == 0 }

func (l *lab) coordinator() int {
	l.Helper()
	node, err := l.c.Coordinator(l.ctx, l.group)
	l.must(err)
	return node
}

// outage does something to the cluster and waits until each member's heartbeats are accepted again. Nothing may
// have happened to any of them.
func (l *lab) outage(what string, ps []*probe, do func()) {
	l.Helper()
	t0 := time.Now()
	var had []string
	for _, p := range ps {
		had = append(had, p.owned().String())
	}
	do()
	t1 := time.Now()
	l.until(60*time.Second, what+": accepted heartbeats", func() bool {
		for _, p := range ps {
			if !p.m.Snapshot().LastHeartbeat.After(t1) {
				return false
			}
		}
		return true
	})
	took := time.Since(t1)
	l.settle(30*time.Second, 12, ps...)
	failed := 0
	for i, p := range ps {
		p.undisturbed(t0)
		if n := p.calls(t0); n != 0 || p.owned().String() != had[i] {
			l.Errorf("%s: %s had %s, has %v, after %d callbacks", what, p.name, had[i], p.owned(), n)
		}
		failed += len(p.sent(t0, func(i member.HeartbeatInfo) bool { return !accepted(i) }))
	}
	l.Logf("%s: all accepted again %v later; %d attempts failed", what, took.Round(time.Millisecond), failed)
}

// S-27, with one node. Members come before their broker; it is silent for half a session of 6 s, and for two; and it
// restarts, which takes nothing from members with a session of 45 s, one of them static.
func TestKafkaBrokerComesLaterAndGoes(t *testing.T) {
	onOwn(t, kafkatest.Config{Props: plainKafka().Props}, func(l *lab) {
		slow := newLab(l.T, l.c, false)
		slow.newTopic(12)
		l.newTopic(12)
		l.shortSession(6*time.Second, 500*time.Millisecond)
		l.must(l.c.Kill(1))
		one := l.process()
		long := []*probe{slow.start(one, staticAs("a")), slow.start(one)}
		a := l.start(l.process(), sessionOption(6*time.Second))
		b := l.start(l.process(), sessionOption(6*time.Second), func(c *member.ConsumerConfig) { c.SelfFence = true })
		time.Sleep(3 * time.Second)
		l.must(l.c.StartNode(l.ctx, 1))
		l.Logf("the broker came later: settled after %v", l.spread(12, a, b).Round(time.Millisecond))
		slow.spread(12, long...)
		for _, p := range append(long, a, b) {
			if n := len(p.noticed(member.NoticeUnreachable)); n != 1 {
				l.Errorf("%s: %d notices", p.name, n)
			}
		}
		time.Sleep(rest)

		l.outage("silent for half a session", []*probe{a, b}, func() {
			l.must(l.c.Pause(1))
			time.Sleep(3 * time.Second)
			l.must(l.c.Resume(1))
		})
		silentForTwoSessions(l, a, b)
		slow.outage("restarted", long, func() {
			l.must(l.c.Kill(1))
			l.must(l.c.StartNode(l.ctx, 1))
		})
	})
}

// silentForTwoSessions: a goes on, as nobody can have taken its partitions from it so far; b fences itself. Both are
// back when the broker is.
func silentForTwoSessions(l *lab, a, b *probe) {
	l.Helper()
	t0 := time.Now()
	had := b.owned().Len()
	l.must(l.c.Pause(1))
	time.Sleep(12 * time.Second)
	if lost := b.told(member.Lost, t0); len(lost) != 1 || lost[0].Delta.Len() != had || lost[0].At.Sub(t0) > 6*time.Second {
		l.Errorf("the one with SelfFence lost %v", lost)
	}
	if a.calls(t0) != 0 || !a.inState(member.StateStable) {
		l.Errorf("the other is %v after %d callbacks", a.m.Snapshot().State, a.calls(t0))
	}
	for _, p := range []*probe{a, b} {
		if told := p.trustTold(); p.m.Snapshot().Trusted(time.Now()) || len(told) != 1 {
			l.Errorf("%s trusts its session: %+v", p.name, told)
		}
	}
	l.ledger.off() // the session of a may have ended, and b may have got its share before a heard of it
	l.must(l.c.Resume(1))
	l.Logf("silent for two sessions: settled %v later; the one without SelfFence was fenced %d times",
		l.spread(12, a, b).Round(time.Millisecond), len(a.visited(member.StateFenced, t0)))
}
