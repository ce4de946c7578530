//go:build kafka

package member_test

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// A name that does not exist yet is no error, and what becomes of topics later must
// reach the member without a restart.
func TestKafkaTopicIsMadeAndGrows(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.topic = uniqueName("later")
		p := l.start(l.process())
		l.until(10*time.Second, "stable with nothing", func() bool { return p.inState(member.StateStable) })
		time.Sleep(rest)
		l.must(l.c.CreateTopic(l.ctx, l.topic, 6))
		l.Logf("made: owned after %v", l.settle(15*time.Second, 6, p).Round(time.Millisecond))
		t0 := time.Now()
		l.must(l.c.AddPartitions(l.ctx, l.topic, 3))
		l.Logf("grown: owned after %v", l.settle(15*time.Second, 9, p).Round(time.Millisecond))
		if come := p.told(member.Assigned, t0); len(come) != 1 || come[0].Delta.Len() != 3 {
			l.Errorf("assigned: %v", come)
		}
		if gone := p.told(member.Revoked, time.Time{}); len(gone) != 0 {
			l.Errorf("revoked: %v", gone)
		}
		p.undisturbed(time.Time{})
	})
}

// An owner that is never told that its topic is gone works on it for ever. On all versions the next
// heartbeat is told, bare as it is. (A full one is told in any case, and goes out every few minutes.)
func TestKafkaTopicIsDeleted(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		stays := uniqueName("stays")
		l.must(l.c.CreateTopic(l.ctx, stays, 2))
		l.newTopic(4)
		p := l.start(l.process(), unhurried, func(c *member.ConsumerConfig) { c.Topics = append(c.Topics, stays) })
		l.settle(20*time.Second, 6, p)
		time.Sleep(rest)
		t0 := time.Now()
		l.must(l.c.DeleteTopic(l.ctx, l.topic))
		l.until(12*time.Second, "told", func() bool { return len(p.told(member.Revoked, t0)) == 1 })
		gone := p.told(member.Revoked, t0)[0]
		teller := l.wire(t0, func(h kafkatest.Heartbeat) bool { return assignedIn(h) == 2 })[0]
		l.Logf("told after %v by a heartbeat that was full: %v", gone.At.Sub(t0).Round(time.Millisecond), teller.Full)
		if gone.Delta.Len() != 4 || len(gone.Delta[l.topic]) != 4 {
			l.Errorf("revoked %v", gone.Delta)
		}
		l.settle(10*time.Second, 2, p)
		p.undisturbed(t0)
	})
}

// A topic that is deleted and made again has the name but neither the data nor the offsets of the old one: the
// application has to hear that the old partitions are lost before it gets the new ones. Coordinators of all versions
// take the old ID away first, at the old epoch, and give the new one in answer to the acknowledgement; a heartbeat
// that brings both at once was never seen.
func TestKafkaTopicIsMadeAgain(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.newTopic(4)
		p := l.start(l.process(), unhurried)
		l.settle(20*time.Second, 4, p)
		time.Sleep(rest)
		p.m.Wake() // the next heartbeat is an interval away, and sees only the new topic
		time.Sleep(200 * time.Millisecond)
		t0 := time.Now()
		l.must(l.c.DeleteTopic(l.ctx, l.topic))
		l.must(l.c.CreateTopic(l.ctx, l.topic, 3))
		l.until(15*time.Second, "the new partitions", func() bool { return len(p.told(member.Assigned, t0)) == 1 })
		come := p.told(member.Assigned, t0)[0]
		gone := p.told(member.Lost, t0)
		if len(gone) != 1 || len(p.told(member.Revoked, t0)) != 0 || gone[0].Delta.Len() != 4 || gone[0].At.After(come.At) || come.Delta.Len() != 3 {
			l.Errorf("lost %v, revoked %v, assigned %v", gone, p.told(member.Revoked, t0), come)
		}
		l.Logf("lost, then assigned after %v", come.At.Sub(t0).Round(time.Millisecond))
		l.settle(10*time.Second, 3, p)
		if n := len(p.visited(member.StateFenced, t0)); n != 0 {
			l.Errorf("fenced %d times", n)
		}
	})
}

// The broker resolves a regular expression in the background and at most every 10 s; nothing of it may depend on
// a rejoin, and neither may a change of it.
func TestKafkaRegexAndItsChange(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		red, blue := uniqueName("red"), uniqueName("blue")
		l.must(l.c.CreateTopic(l.ctx, red+"-1", 3))
		l.must(l.c.CreateTopic(l.ctx, blue, 5))
		p := l.start(l.process(), func(c *member.ConsumerConfig) { c.Regex = red + "-.*" })
		l.Logf("regex: owned after %v", l.settle(15*time.Second, 3, p).Round(time.Millisecond))
		l.must(l.c.CreateTopic(l.ctx, red+"-2", 2))
		l.Logf("another topic matches: owned after %v", l.settle(25*time.Second, 5, p).Round(time.Millisecond))

		t0 := time.Now()
		l.must(p.m.Subscribe(l.ctx, member.Subscription{Regex: blue + "|nothing"}))
		l.until(25*time.Second, "the topic of the new regex", func() bool { return len(p.owned()[blue]) == 5 })
		l.settle(15*time.Second, 5, p)
		l.Logf("changed: settled after %v", time.Since(t0).Round(time.Millisecond))
		l.must(p.m.SetTopics(l.ctx, red+"-1"))
		l.settle(25*time.Second, 3, p)

		l.must(p.m.Subscribe(l.ctx, member.Subscription{Topics: []string{red + "-1"}, Regex: blue}))
		l.settle(25*time.Second, 8, p)
		l.must(p.m.SetTopics(l.ctx, red+"-1"))
		want := 3
		if strings.HasPrefix(l.c.Version(), "4.0.") {
			want = 8 // if the names stay, 4.0 does not drop what only the regex matched
			time.Sleep(6 * time.Second)
		}
		l.settle(25*time.Second, want, p)
		p.undisturbed(t0)
		if n := len(p.sent(t0, func(i member.HeartbeatInfo) bool { return i.Epoch <= 0 })); n != 0 {
			l.Errorf("%d joins or leaves for a change of the subscription", n)
		}
	})
}

// A change of names must not cost a rejoin, nor what stays subscribed.
func TestKafkaSubscribeAddsAndRemoves(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		second := uniqueName("second")
		l.must(l.c.CreateTopic(l.ctx, second, 5))
		l.newTopic(3)
		p := l.start(l.process())
		l.settle(20*time.Second, 3, p)
		time.Sleep(rest)
		t0 := time.Now()
		l.must(p.m.SetTopics(l.ctx, l.topic, second))
		l.Logf("added: accepted and owned after %v", l.settle(15*time.Second, 8, p).Round(time.Millisecond))
		if n := p.calls(t0); n != 1 {
			l.Errorf("%d callbacks to add a topic", n)
		}
		t1 := time.Now()
		l.must(p.m.SetTopics(l.ctx, second))
		l.Logf("removed: settled after %v", l.settle(15*time.Second, 5, p).Round(time.Millisecond))
		if gone := p.told(member.Revoked, t1); len(gone) != 1 || len(gone[0].Delta[l.topic]) != 3 {
			l.Errorf("revoked: %v", gone)
		}
		if n := len(p.sent(t0, func(i member.HeartbeatInfo) bool { return i.Epoch <= 0 })); n != 0 {
			l.Errorf("%d joins or leaves", n)
		}
		p.undisturbed(time.Time{})
	})
}

// A regular expression with a typing error must not cost the membership, nor stay in the
// way of later heartbeats: the caller is told, the member stays as it was.
func TestKafkaRefusedChangeLeavesTheMemberAsItWas(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		second := uniqueName("second")
		l.must(l.c.CreateTopic(l.ctx, second, 5))
		l.newTopic(3)
		p := l.start(l.process())
		l.settle(20*time.Second, 3, p)
		t0, epoch := time.Now(), p.m.Snapshot().MemberEpoch
		for _, bad := range []string{"[", "(?=x)"} {
			err := p.m.Subscribe(l.ctx, member.Subscription{Topics: []string{second}, Regex: bad})
			l.Logf("%v", err)
			l.wants(err, kerr.InvalidRegularExpression)
		}
		time.Sleep(6 * time.Second)
		l.settle(time.Second, 3, p)
		if p.calls(t0) != 0 || p.m.Snapshot().MemberEpoch != epoch {
			l.Errorf("%d callbacks, epoch %d after %d", p.calls(t0), p.m.Snapshot().MemberEpoch, epoch)
		}
		if g := l.members(); len(g) != 1 || len(g[0].Topics) != 1 || g[0].Topics[0] != l.topic || g[0].Regex != "" {
			l.Errorf("the coordinator has the subscription %v, %q", g[0].Topics, g[0].Regex)
		}
		if n := len(p.sent(t0, func(i member.HeartbeatInfo) bool { return i.Code != 0 })); n != 2 {
			l.Errorf("%d heartbeats refused", n)
		}
		l.must(p.m.SetTopics(l.ctx, l.topic, second))
		l.settle(15*time.Second, 8, p)
		p.undisturbed(time.Time{})
	})
}
