//go:build kafka

package member_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// secured is a cluster with logins, rights and small groups.
func secured() kafkatest.Config {
	return kafkatest.Config{ACL: true, Proxy: true, Props: map[string]string{"group.consumer.max.size": "3"}}
}

const (
	onGroup = kmsg.ACLResourceTypeGroup
	onTopic = kmsg.ACLResourceTypeTopic
)

// processAs is a process that logs in as a user.
func (l *lab) processAs(user string, opts ...kgo.Opt) *kgo.Client {
	cl := l.c.ClientAs(user, append([]kgo.Opt{kgo.SeedBrokers(l.c.ProxyAddrs()...)}, opts...)...)
	return l.owns(cl)
}

func (l *lab) allow(typ kmsg.ACLResourceType, name string, ops ...kmsg.ACLOperation) {
	l.Helper()
	for _, op := range ops {
		l.must(l.c.Allow(l.ctx, kafkatest.Alice, typ, name, op))
	}
}

func sessionOption(d time.Duration) labOption {
	return func(c *member.ConsumerConfig) { c.Timing.SessionTimeout = d }
}

// A right that is missing on the group is missing on every retry too; the look-up of the
// coordinator is refused before the heartbeat if there is not even DESCRIBE.
func TestKafkaNoReadOnTheGroup(t *testing.T) {
	onKafka(t, secured(), func(l *lab) {
		l.cases([]string{"no right at all", "DESCRIBE only"}, func(l *lab, i int) {
			l.newTopic(1)
			l.allow(onTopic, l.topic, kmsg.ACLOperationRead)
			if i == 1 {
				l.allow(onGroup, l.group, kmsg.ACLOperationDescribe)
			}
			p := l.start(l.processAs(kafkatest.Alice))
			p.ends(10*time.Second, "READ on the group", kerr.GroupAuthorizationFailed)
			if n := p.attempts(); n != 1 {
				l.Errorf("%d requests", n)
			}
		})
	})
}

// Without DESCRIBE on a topic the join is refused; rights are often given a moment after
// a deployment, so it is no reason to end at once, nor to try for ever.
func TestKafkaNoDescribeOnTheTopic(t *testing.T) {
	onKafka(t, secured(), func(l *lab) {
		l.cases([]string{"never given", "given in time"}, func(l *lab, i int) {
			l.newTopic(12)
			l.allow(onGroup, l.group, kmsg.ACLOperationRead)
			t0 := time.Now()
			limit := 4 * time.Second
			if i == 1 {
				limit = 30 * time.Second
			}
			p := l.start(l.processAs(kafkatest.Alice), sessionOption(limit))
			l.until(3*time.Second, "notice", func() bool { return len(p.noticed(member.NoticeRefused)) == 1 })
			l.wants(p.noticed(member.NoticeRefused)[0].Err, kerr.TopicAuthorizationFailed)
			if i == 1 {
				time.Sleep(2 * time.Second)
				l.allow(onTopic, l.topic, kmsg.ACLOperationDescribe)
				l.Logf("in %v after the right came", l.settle(10*time.Second, 12, p).Round(time.Millisecond))
			} else {
				p.ends(15*time.Second, "DESCRIBE on every subscribed topic", kerr.TopicAuthorizationFailed)
				l.Logf("ended after %v and %d requests", time.Since(t0).Round(time.Millisecond), p.attempts())
				if d := time.Since(t0); d < limit || d > limit+5*time.Second {
					l.Errorf("ended after %v", d)
				}
			}
			if n := len(p.noticed(member.NoticeRefused)); n != 1 {
				l.Errorf("%d notices", n)
			}
			if n := p.attempts(); n > 20 {
				l.Errorf("%d requests", n)
			}
		})
	})
}

func TestKafkaGroupIsFull(t *testing.T) {
	onKafka(t, secured(), func(l *lab) {
		l.newTopic(12)
		ps := []*probe{l.start(l.process()), l.start(l.process()), l.start(l.process())}
		l.settle(30*time.Second, 12, ps...)
		t0 := time.Now()
		l.start(l.process()).ends(10*time.Second, "group.consumer.max.size", kerr.GroupMaxSizeReached)
		for _, p := range ps {
			p.undisturbed(t0)
		}
	})
}

// A wrong password must not look like a broker that is down, and must not be tried for ever: accounts
// get locked. One that is being rotated is tried again.
func TestKafkaWrongPassword(t *testing.T) {
	onKafka(t, secured(), func(l *lab) {
		l.cases([]string{"for good", "mended"}, func(l *lab, i int) {
			l.newTopic(4)
			var right atomic.Bool
			login := plain.Plain(func(context.Context) (plain.Auth, error) {
				if right.Load() {
					return plain.Auth{User: kafkatest.Admin, Pass: kafkatest.Admin + "-secret"}, nil
				}
				return plain.Auth{User: kafkatest.Admin, Pass: "guess"}, nil
			})
			limit := 9 * time.Second
			if i == 1 {
				limit = 30 * time.Second
			}
			t0 := time.Now()
			cl, err := kgo.NewClient(kgo.SeedBrokers(l.c.ProxyAddrs()...), kgo.SASL(login))
			l.must(err)
			l.owns(cl)
			p := l.start(cl, sessionOption(limit))
			l.until(5*time.Second, "notice", func() bool { return len(p.noticed(member.NoticeAuth)) == 1 })
			l.wants(p.noticed(member.NoticeAuth)[0].Err, kerr.SaslAuthenticationFailed)
			if i == 1 {
				time.Sleep(2 * time.Second)
				right.Store(true)
				l.settle(10*time.Second, 4, p)
				return
			}
			p.ends(40*time.Second, "SASL", kerr.SaslAuthenticationFailed)
			l.Logf("ended after %v and %d attempts", time.Since(t0).Round(time.Millisecond), p.attempts())
			if d := time.Since(t0); d < limit {
				l.Errorf("ended after %v", d)
			}
			if n, m := len(p.noticed(member.NoticeAuth)), len(p.noticed(member.NoticeUnreachable)); n != 1 || m != 0 {
				l.Errorf("%d notices about the login, %d about no answer", n, m)
			}
		})
	})
}

// A broker that is not there is no error: programs start before their brokers. But a member must not
// hold up the end of the program.
func TestKafkaNoBrokerAtAll(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, false)
	l.topic = "t"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	l.must(err)
	nobody := listener.Addr().String()
	l.must(listener.Close())
	cl, err := kgo.NewClient(kgo.SeedBrokers(nobody))
	l.must(err)
	p := l.start(l.owns(cl))
	time.Sleep(5 * time.Second)
	if n := len(p.noticed(member.NoticeUnreachable)); n != 1 || !p.inState(member.StateJoining) {
		l.Errorf("%d notices, %v", n, p.m.Snapshot().State)
	}
	sent := p.sent(time.Time{}, nil)
	for _, i := range sent {
		l.wants(i.Err, heartbeat.ErrNotSent)
	}
	t0 := time.Now()
	l.must(p.stop())
	l.Logf("%d attempts in 5 s; closed within %v", len(sent), time.Since(t0).Round(time.Microsecond))
	if d := time.Since(t0); d > 500*time.Millisecond || len(sent) < 3 || len(sent) > 20 {
		l.Errorf("%d attempts, closed within %v", len(sent), d)
	}
}
