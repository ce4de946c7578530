//go:build kafka

package member_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// Both are longer than a session. Full heartbeats are repeated 5, 15, 35, 65 and 95 s after the first that was
// refused, so that these end soon after the right is back.
const (
	flapFor     = 70 * time.Second
	idleFlapFor = 62 * time.Second
)

// flap is a group of alice's with a second topic whose right is taken away.
type flap struct {
	*lab
	second string
	ps     []*probe
}

// While DESCRIBE on one topic is missing, full heartbeats are refused and do not feed the session,
// bare ones are accepted: a member that repeats its full one is expelled after 45 s, though it was
// answered all the time.
func TestKafkaRightOnATopicComesAndGoes(t *testing.T) {
	onKafka(t, secured(), func(l *lab) {
		l.cases([]string{"at rest", "an answer is lost", "owning nothing", "owning nothing, one leaves"}, func(l *lab, i int) {
			f := newFlap(l, i >= 2)
			t0 := time.Now()
			f.take()
			switch i {
			case 0:
				f.watch(flapFor)
			case 1:
				f.watch(10 * time.Second)
				f.loseOneOf(f.ps[0])
				f.watch(20 * time.Second)
				f.loseOneOf(f.ps[0])
				f.watch(flapFor - time.Since(t0))
			case 2:
				f.watch(idleFlapFor)
				f.refusedBut()
			case 3:
				f.oneLeaves(t0)
			}
			f.give()
			f.whole()
		})
	})
}

func newFlap(l *lab, idle bool) *flap {
	f := &flap{lab: l, second: uniqueName("second")}
	n, members := 6, 1
	if idle {
		n, members = 1, 3
	}
	l.newTopic(n)
	l.must(l.c.CreateTopic(l.ctx, f.second, n))
	l.allow(onGroup, l.group, kmsg.ACLOperationRead)
	l.allow(onTopic, l.topic, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
	f.give()
	for range members {
		f.ps = append(f.ps, l.start(l.processAs(kafkatest.Alice), func(c *member.ConsumerConfig) { c.Topics = []string{l.topic, f.second} }))
	}
	l.settle(30*time.Second, 2*n, f.ps...)
	return f
}

func (f *flap) give() {
	f.Helper()
	f.allow(onTopic, f.second, kmsg.ACLOperationRead, kmsg.ACLOperationDescribe)
}

// take takes DESCRIBE away, and READ, which implies it.
func (f *flap) take() {
	f.Helper()
	for _, op := range []kmsg.ACLOperation{kmsg.ACLOperationRead, kmsg.ACLOperationDescribe} {
		f.must(f.c.RemoveAllow(f.ctx, kafkatest.Alice, onTopic, f.second, op))
	}
}

// watch looks every second, for d, whether members and coordinator still agree.
func (f *flap) watch(d time.Duration) {
	f.Helper()
	epoch := f.epoch()
	for t0 := time.Now(); time.Since(t0) < d; time.Sleep(time.Second) {
		g, err := f.describe()
		f.must(err)
		if len(g.Members) != len(f.ps) || g.Epoch != epoch {
			f.Fatalf("after %v: %+v", time.Since(t0), g)
		}
		for _, p := range f.ps {
			if odd := p.disagrees(g); odd != "" {
				f.Fatalf("after %v: %s", time.Since(t0), odd)
			}
		}
	}
}

// loseOneOf makes the next heartbeat of p one of unknown outcome, so that full ones
// are called for.
func (f *flap) loseOneOf(p *probe) {
	f.Helper()
	r := f.px.On(kafkatest.ByMember(p.id()), 1, kafkatest.LoseAnswer())
	p.m.Wake()
	f.must(r.Wait(f.ctx, 1))
	f.until(10*time.Second, "notice of the refusal", func() bool { return len(p.noticed(member.NoticeRefused)) == 1 })
	f.wants(p.noticed(member.NoticeRefused)[0].Err, kerr.TopicAuthorizationFailed)
}

// refusedBut checks that who owns nothing was refused, went on with bare heartbeats, and
// did not ask too often.
func (f *flap) refusedBut() {
	f.Helper()
	for _, p := range f.ps {
		if p.owned().Len() > 0 {
			continue
		}
		refused := p.sent(time.Time{}, func(i member.HeartbeatInfo) bool { return i.Code == kerr.TopicAuthorizationFailed.Code })
		f.Logf("%s owns nothing: %d heartbeats refused of %d", p.name, len(refused), p.attempts())
		if len(refused) < 2 || len(refused) > 8 || len(p.noticed(member.NoticeRefused)) != 1 {
			f.Errorf("%d refused, %d notices", len(refused), len(p.noticed(member.NoticeRefused)))
		}
	}
}

// oneLeaves: who owns nothing gets the share of a member that leaves, though its full heartbeats
// are refused: in the answer to a bare one, once.
func (f *flap) oneLeaves(t0 time.Time) {
	f.Helper()
	time.Sleep(20 * time.Second)
	var stay []*probe
	left := false
	for _, p := range f.ps {
		if !left && p.owned().Has(f.topic, 0) {
			left = true
			f.must(p.stop())
			continue
		}
		stay = append(stay, p)
	}
	f.ps = stay
	f.Logf("the share of the one that left is back after %v", f.settle(15*time.Second, 2, f.ps...).Round(time.Millisecond))
	f.watch(idleFlapFor - time.Since(t0))
}

// whole waits until no member is refused any more.
func (f *flap) whole() {
	f.Helper()
	t0 := time.Now()
	for _, p := range f.ps {
		if len(p.noticed(member.NoticeRefused)) == 0 {
			continue
		}
		f.until(35*time.Second, "an accepted full heartbeat", func() bool {
			return len(p.sent(t0, func(i member.HeartbeatInfo) bool { return i.Full && i.Code == 0 && i.Err == nil })) > 0
		})
		f.Logf("%s: accepted in full %v after the right was back", p.name, time.Since(t0).Round(time.Millisecond))
	}
	total := 0
	for _, p := range f.ps {
		p.undisturbed(time.Time{})
		total += p.owned().Len()
	}
	f.settle(10*time.Second, total, f.ps...)
	if len(f.ps) == 1 && total != 12 || len(f.ps) > 1 && total != 2 {
		f.Errorf("%d partitions are owned", total)
	}
}
