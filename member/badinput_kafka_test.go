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
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/member"
)

// ends checks the one error that a member ends with: its type, what errors.Is finds
// in it, and that it says what is needed.
func (p *probe) ends(limit time.Duration, hint string, targets ...error) *member.Error {
	l := p.l
	l.Helper()
	err := p.wait(limit)
	e, ok := errors.AsType[*member.Error](err)
	if !ok {
		l.Fatalf("Run returned %T: %v", err, err)
	}
	l.Logf("%v", err)
	l.wants(err, targets...)
	if !strings.Contains(err.Error(), hint) {
		l.Errorf("the error does not say %q: %v", hint, err)
	}
	if s := p.m.Snapshot(); s.State != member.StateFatal || !errors.Is(s.Err, err) {
		l.Errorf("the snapshot has %v and %v", s.State, s.Err)
	}
	if n := len(p.visited(member.StateFatal, time.Time{})); n != 1 {
		l.Errorf("%d changes to FATAL", n)
	}
	return e
}

// attempts is how many requests the member sent, as far as its hook was told.
func (p *probe) attempts() int { return len(p.sent(time.Time{}, nil)) }

// A broker that has the protocol switched off answers every heartbeat the same way: retrying
// hides that from whoever has to switch it on.
func TestKafkaConsumerProtocolSwitchedOff(t *testing.T) {
	onOwn(t, kafkatest.Config{NoConsumerProtocol: true}, func(l *lab) {
		l.newTopic(1)
		p := l.start(l.process())
		p.ends(10*time.Second, "group.version", member.ErrUnsupported, kerr.UnsupportedVersion)
		if n := p.attempts(); n != 1 {
			l.Errorf("%d requests", n)
		}
	})
}

// kgo.MaxVersions without the request would make every heartbeat fail before it is sent.
func TestKafkaMaxVersionsExcludesHeartbeats(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		name := uniqueName("old")
		cl := l.process(kgo.MaxVersions(kversion.V3_6_0()), kgo.ClientID(name))
		_, err := member.NewConsumer(cl, member.ConsumerConfig{Group: l.group, Topics: []string{"t"}})
		l.wants(err, member.ErrUnsupported)
		if _, ok := errors.AsType[*member.ConfigError](err); !ok || !strings.Contains(err.Error(), "4.0") {
			l.Errorf("%T: %v", err, err)
		}
		if n := l.px.Requests(name, heartbeatKey) + l.px.Requests(name, findCoordinator); n != 0 {
			l.Errorf("%d requests", n)
		}
	})
}

// What a broker refuses for good must end the member at the first answer.
func TestKafkaRefusedJoins(t *testing.T) {
	onKafka(t, plainKafka(), func(l *lab) {
		l.cases([]string{"unknown assignor", "bad regex", "share group", "streams group"}, func(l *lab, i int) {
			l.newTopic(2)
			cl := l.process()
			switch i {
			case 0:
				p := l.start(cl, func(c *member.ConsumerConfig) { c.Assignor = "sticky" })
				p.ends(10*time.Second, "group.consumer.assignors", kerr.UnsupportedAssignor)
			case 1:
				p := l.start(cl, func(c *member.ConsumerConfig) { c.Regex = "(?=x)" })
				p.ends(10*time.Second, "RE2", kerr.InvalidRegularExpression)
			case 2:
				l.otherType(shareJoin(l))
			case 3:
				l.otherType(streamsJoin(l))
			}
			if n := l.probes[0].attempts(); n != 1 {
				l.Errorf("%d requests", n)
			}
		})
	})
}

// otherType makes a group of another type by first, and joins it.
func (l *lab) otherType(first kmsg.Request) {
	l.Helper()
	if v := l.c.Version(); strings.HasPrefix(v, "4.0.") || strings.HasPrefix(v, "4.1.") {
		l.Skipf("Kafka %s has neither share nor streams groups that are ready for use", v)
	}
	resp, err := l.admin.Broker(1).Request(l.ctx, first)
	l.must(err)
	switch r := resp.(type) {
	case *kmsg.ShareGroupHeartbeatResponse:
		l.must(kerr.ErrorForCode(r.ErrorCode))
	case *kmsg.StreamsGroupHeartbeatResponse:
		l.must(kerr.ErrorForCode(r.ErrorCode))
	}
	p := l.start(l.process())
	p.ends(10*time.Second, "another ID", member.ErrOtherType, kerr.GroupIDNotFound)
}

func shareJoin(l *lab) kmsg.Request {
	req := kmsg.NewPtrShareGroupHeartbeatRequest()
	req.GroupID, req.MemberID, req.SubscribedTopicNames = l.group, "AAAAAAAAQACAAAAAAAAAAB", []string{l.topic}
	return req
}

func streamsJoin(l *lab) kmsg.Request {
	req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
	process := "process"
	req.Group, req.MemberID, req.ProcessID, req.RebalanceTimeoutMillis = l.group, "AAAAAAAAQACAAAAAAAAAAB", &process, 60_000
	req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	topo := kmsg.NewStreamsGroupHeartbeatRequestTopology()
	sub := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
	sub.SubtopologyID, sub.SourceTopics = "0", []string{l.topic}
	topo.Subtopologies = append(topo.Subtopologies, sub)
	req.Topology = &topo
	return req
}
