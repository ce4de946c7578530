package scenarios

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

type answer = *kmsg.ConsumerGroupHeartbeatResponse

// Play is one run of a scenario. Its methods are the words that scenarios are
// written in; what does not go as expected ends the run.
type Play struct {
	testing.TB
	Peer
	V coordinator.Version

	prefix string
	group  string
}

// in returns the play in another group of its own.
func (p *Play) in(group string) *Play {
	other := *p
	other.group = p.prefix + "-" + group
	return &other
}

// own is the name of a topic, or a regular expression, of this run alone.
func (p *Play) own(name string) string { return p.prefix + "." + name }

// check ends the run if the peer itself failed.
func (p *Play) check(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// first is the epoch of a new group's first member: from 4.3 a group is born
// with an empty target in epoch 1.
func (p *Play) first() int32 {
	if p.V >= v43 {
		return 2
	}
	return 1
}

// beat sends a heartbeat.
func (p *Play) beat(id string, epoch int32, fields ...field) answer {
	p.Helper()
	q, a := p.send(id, epoch, fields)
	p.Logf("%-5.20q at %2d%s: %s", q.MemberID, epoch, brief(q), show(a))
	return a
}

func (p *Play) send(id string, epoch int32, fields []field) (*kmsg.ConsumerGroupHeartbeatRequest, answer) {
	p.Helper()
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version = 1
	q.Group, q.MemberID, q.MemberEpoch = p.group, id, epoch
	for _, f := range fields {
		f(q)
	}
	a, err := p.Heartbeat(q)
	p.check(err)
	return q, a
}

// join sends a valid join for t12, changed by fields.
func (p *Play) join(id string, fields ...field) answer {
	p.Helper()
	return p.beat(id, 0, append([]field{whole, owns()}, fields...)...)
}

// brief prints what a heartbeat carries.
func brief(q *kmsg.ConsumerGroupHeartbeatRequest) string {
	s := ""
	if q.InstanceID != nil {
		s += fmt.Sprintf(" i=%.10q", *q.InstanceID)
	}
	if q.RebalanceTimeoutMillis != -1 {
		s += " rt"
	}
	if q.SubscribedTopicNames != nil {
		s += fmt.Sprintf(" topics=%.60q", q.SubscribedTopicNames)
	}
	if q.SubscribedTopicRegex != nil {
		s += fmt.Sprintf(" regex=%q", *q.SubscribedTopicRegex)
	}
	if q.Topics != nil {
		s += fmt.Sprintf(" owned=%d", count(q.Topics))
	}
	return s
}

func show(a answer) string {
	if a.ErrorCode != 0 {
		return code(a.ErrorCode)
	}
	return fmt.Sprintf("OK e=%d asg=%d", a.MemberEpoch, size(a))
}

func code(c int16) string {
	if c == 0 {
		return "OK"
	}
	return kerr.TypedErrorForCode(c).Message
}

// ok wants an accepted heartbeat with a member epoch and a number of
// partitions. Only an answer at a real epoch tells the interval.
func (p *Play) ok(a answer, epoch int32, parts int) {
	p.Helper()
	if a.ErrorCode != 0 || a.MemberEpoch != epoch || size(a) != parts {
		p.Fatalf("got %s, want OK e=%d asg=%d", show(a), epoch, parts)
	}
	interval := int32(HeartbeatInterval.Milliseconds())
	if epoch < 0 {
		interval = 0
	}
	if a.HeartbeatIntervalMillis != interval {
		p.Fatalf("got interval %d at epoch %d", a.HeartbeatIntervalMillis, epoch)
	}
}

// accepted wants no error, whatever the rest.
func (p *Play) accepted(a answer) {
	p.Helper()
	if a.ErrorCode != 0 {
		p.Fatalf("got %s, want OK", show(a))
	}
}

// refused wants an error, with nothing in it that a client could adopt.
func (p *Play) refused(a answer, want *kerr.Error) {
	p.Helper()
	if a.ErrorCode != want.Code {
		p.Fatalf("got %s, want %s", show(a), want.Message)
	}
	if a.MemberEpoch != 0 || a.HeartbeatIntervalMillis != 0 || a.Assignment != nil || a.ErrorMessage == nil {
		p.Fatalf("the refusal carries more than code and message: %+v", a)
	}
}

// code wants an error code; nil is none.
func (p *Play) code(got int16, err error) func(want *kerr.Error) {
	p.Helper()
	p.check(err)
	return func(want *kerr.Error) {
		p.Helper()
		var c int16
		if want != nil {
			c = want.Code
		}
		if got != c {
			p.Fatalf("got %s, want %s", code(got), code(c))
		}
	}
}

// until sends the same heartbeat again and again until its answer has an
// assignment or another epoch, which takes a broker a moment where it works in
// the background.
func (p *Play) until(id string, epoch int32, fields ...field) answer {
	p.Helper()
	for range 150 {
		_, a := p.send(id, epoch, fields)
		if a.ErrorCode != 0 || a.MemberEpoch != epoch || a.Assignment != nil {
			p.Logf("%-5.20q at %2d, in time: %s", id, epoch, show(a))
			return a
		}
		p.Sleep(20 * time.Millisecond)
	}
	p.Fatalf("nothing changes for %s at epoch %d", id, epoch)
	return nil
}

// quiet sends keepalives for a time, and wants nothing to happen.
func (p *Play) quiet(d time.Duration, id string, epoch int32) {
	p.Helper()
	for ; d > 0; d -= HeartbeatInterval {
		p.Sleep(min(d, HeartbeatInterval))
		p.ok(p.beat(id, epoch), epoch, none)
	}
}
