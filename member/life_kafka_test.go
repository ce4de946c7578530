//go:build kafka

package member_test

import (
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// An application that hangs keeps its partitions for ever if heartbeats go on without it.
func TestKafkaMaxPollInterval(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(12)
		a := l.start(l.process(), func(c *member.ConsumerConfig) { c.Timing.MaxPollInterval = 3 * time.Second })
		b := l.start(l.process())
		l.until(20*time.Second, "both in", func() bool {
			a.m.Alive()
			return l.odd(12, a, b) == ""
		})
		t0 := time.Now()
		a.m.Alive()
		l.until(10*time.Second, "STALE", func() bool { return a.inState(member.StateStale) })
		l.Logf("stale after %v", time.Since(t0).Round(time.Millisecond))
		if d := time.Since(t0); d < 2900*time.Millisecond {
			l.Errorf("stale after %v", d)
		}
		l.until(5*time.Second, "OnLost", func() bool { return len(a.told(member.Lost, t0)) == 1 })
		if lost := a.told(member.Lost, t0)[0]; lost.Delta.Len() != 6 || a.owned().Len() != 0 || a.ended() {
			l.Errorf("lost %v, owns %v, ended %v", lost.Delta, a.owned(), a.ended())
		}
		l.settle(20*time.Second, 12, b)
		l.never(2*time.Second, "back without Alive", func() bool { return !a.inState(member.StateStale) || len(l.members()) != 1 })
		id := a.id()
		a.m.Alive()
		l.until(20*time.Second, "both in again", func() bool {
			a.m.Alive()
			return l.odd(12, a, b) == ""
		})
		if a.id() != id {
			l.Errorf("the member ID changed")
		}
		b.undisturbed(time.Time{})

		l.until(10*time.Second, "STALE again", func() bool { return a.inState(member.StateStale) })
		l.must(a.stop()) // a stale member ends at once, and has nothing to leave
		l.settle(20*time.Second, 12, b)
	})
}

// KIP-1092: a member that remains for its successor must not send a leave; the Java client does (-1),
// and loses its place.
func TestKafkaDynamicMemberRemains(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.shortSession(6*time.Second, 500*time.Millisecond)
		l.newTopic(4)
		p := l.start(l.process(), sessionOption(6*time.Second), func(c *member.ConsumerConfig) { c.Leave = member.RemainInGroup })
		l.settle(20*time.Second, 4, p)
		t0 := time.Now()
		l.must(p.stop())
		if d := time.Since(t0); d > time.Second {
			l.Errorf("closed within %v", d)
		}
		if gone := p.told(member.Revoked, t0); len(gone) != 1 || gone[0].Delta.Len() != 4 {
			l.Errorf("revoked: %v", gone)
		}
		l.never(4*time.Second, "not listed any more", func() bool { return len(l.members()) != 1 })
		l.until(8*time.Second, "its session ends", func() bool { return len(l.members()) == 0 })
		l.Logf("listed for %v", time.Since(t0).Round(100*time.Millisecond))
		if sent := l.wire(t0, nil); len(sent) != 0 {
			l.Errorf("sent %+v", sent)
		}
	})
}

// A program that closes its client first, as deferred calls easily do, leaves a ghost behind if
// the membership dies with the client.
func TestKafkaClientIsClosedTooEarly(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(4)
		cl := l.process()
		p := l.start(cl)
		l.settle(20*time.Second, 4, p)
		t0 := time.Now()
		cl.Close()
		p.ends(10*time.Second, "before Run returned", member.ErrClientClosed)
		l.Logf("ended after %v", time.Since(t0).Round(time.Millisecond))
		if n := len(l.members()); n != 0 {
			l.Errorf("%d members are left", n)
		}
		if leave := l.wire(t0, func(h kafkatest.Heartbeat) bool { return h.Epoch == -1 && h.ErrorCode == 0 }); len(leave) != 1 {
			l.Errorf("%d leaves", len(leave))
		}
	})
}

// Heartbeats have to go on while callbacks run, or a slow one costs the session; and what is being given
// up must not have a second owner meanwhile.
func TestKafkaSlowCallbacks(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.shortSession(6*time.Second, 500*time.Millisecond)
		l.newTopic(12)
		slow := func(c *member.ConsumerConfig) {
			c.OnRevoked, c.OnAssigned = dawdle, dawdle
			c.Timing.SessionTimeout = 6 * time.Second
		}
		a := l.start(l.process(), slow)
		l.settle(30*time.Second, 12, a)
		b := l.start(l.process(), slow)
		l.Logf("with callbacks of 8 s a session of 6 s holds; settled after %v", l.settle(40*time.Second, 12, a, b).Round(time.Millisecond))
		a.undisturbed(time.Time{})
		b.undisturbed(time.Time{})
	})
}
