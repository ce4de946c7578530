//go:build kafka

package member_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
)

// saboteur carries the requests of one member. Once armed, it sends the next
// heartbeat at the member's previous epoch and with nothing else in it, which
// every broker fences; the member stays in the group.
type saboteur struct {
	next heartbeat.Transport

	mu    sync.Mutex
	armed bool
	wire  []sabotaged
}

type sabotaged struct {
	at    time.Time // of the answer
	epoch int32
	code  int16
}

func (s *saboteur) Do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	hb, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest)
	if !ok {
		return s.next.Do(ctx, group, req)
	}
	s.mu.Lock()
	if s.armed && hb.MemberEpoch > 1 {
		s.armed = false
		bare := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		bare.Group, bare.MemberID, bare.InstanceID, bare.MemberEpoch = hb.Group, hb.MemberID, hb.InstanceID, hb.MemberEpoch-1
		hb, req = bare, bare
	}
	s.mu.Unlock()
	resp, err := s.next.Do(ctx, group, req)
	if err == nil {
		s.mu.Lock()
		s.wire = append(s.wire, sabotaged{time.Now(), hb.MemberEpoch, resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode})
		s.mu.Unlock()
	}
	return resp, err
}

func (s *saboteur) arm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed, s.wire = true, nil
}

// since is what was answered from the fence on, and when the fence was.
func (s *saboteur) sinceFence() (fence time.Time, after []sabotaged) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.wire {
		if w.epoch > 0 && w.code == kerr.FencedMemberEpoch.Code {
			return w.at, s.wire[i+1:]
		}
	}
	return time.Time{}, nil
}

// road is the way back as epochs and codes, up to the join that was accepted.
func road(wire []sabotaged) string {
	var steps []string
	for _, w := range wire {
		steps = append(steps, fmt.Sprintf("%d:%d", w.epoch, w.code))
		if w.epoch == 0 && w.code == 0 {
			break
		}
	}
	return strings.Join(steps, " ")
}

// fencesJoins reports whether epoch 0 of a member whose epoch has moved is fenced.
func (l *lab) fencesJoins() bool {
	return strings.HasPrefix(l.c.Version(), "4.0.") || strings.HasPrefix(l.c.Version(), "4.1.")
}

// 4.0 and 4.1 refuse epoch 0 from a member whose epoch has moved until its session ends,
// so a member that only repeats its join after a fence is out for 45 s (KAFKA-19233); and a
// static one that goes straight to epoch 0 locks itself out on every version.
func TestKafkaFencedMemberIsBackWithinTwoSeconds(t *testing.T) {
	inPeace(t, plainKafka(), func(l *lab) {
		l.cases([]string{
			"dynamic alone", "dynamic beside another", "dynamic beside another process",
			"static alone", "static beside another", "static beside another process",
		}, func(l *lab, i int) { fenceAndReturn(l, i >= 3, i%3) })
	})
}

// fenceAndReturn fences a member that is alone (beside is 0), beside another in its
// process (1), or beside one of another process (2).
func fenceAndReturn(l *lab, static bool, beside int) {
	s, ps := fencible(l, static, beside)
	a := ps[0]
	id, n := a.id(), a.owned().Len()

	before := time.Now()
	s.arm()
	a.m.Wake()
	l.until(10*time.Second, "fenced", func() bool { at, _ := s.sinceFence(); return !at.IsZero() })
	l.until(30*time.Second, "stable again", func() bool {
		return len(a.visited(member.StateStable, before)) > 0 && a.inState(member.StateStable) && a.owned().Len() == n
	})
	fence, after := s.sinceFence()
	stable := a.visited(member.StateStable, before)
	took := stable[len(stable)-1].At.Sub(fence)
	l.Logf("back after %v and %d requests: %s", took.Round(time.Millisecond), len(after), road(after))
	if took >= 2*time.Second || len(after) >= 20 {
		l.Errorf("back after %v and %d requests", took, len(after))
	}
	if n := len(a.visited(member.StateFenced, before)); n != 1 {
		l.Errorf("fenced %d times", n)
	}
	if lost := a.told(member.Lost, before); len(lost) != 1 || lost[0].Delta.Len() != n {
		l.Errorf("OnLost: %v", lost)
	}
	if a.id() != id {
		l.Errorf("the member ID changed from %s to %s", id, a.id())
	}
	want := "0:0"
	switch {
	case static:
		want = "-2:0 0:0"
	case l.fencesJoins():
		want = "0:110 -1:0 0:0"
	}
	if got := road(after); got != want {
		l.Errorf("the way back was %s, not %s", got, want)
	}
	l.settle(20*time.Second, 12, ps...)
}

// fencible makes the group: its first member's epoch has moved since it joined, and all is at rest.
func fencible(l *lab, static bool, beside int) (*saboteur, []*probe) {
	second := uniqueName("second")
	l.must(l.c.CreateTopic(l.ctx, second, 6))
	l.newTopic(6)
	cl := l.process()
	s := &saboteur{next: kgotransport.New(cl)}
	a := l.start(cl, func(c *member.ConsumerConfig) {
		c.Transport = s
		if static {
			c.InstanceID = "a"
		}
	})
	ps := []*probe{a}
	l.settle(20*time.Second, 6, a)
	if beside > 0 {
		if beside == 2 {
			cl = l.process()
		}
		ps = append(ps, l.start(cl, func(c *member.ConsumerConfig) { c.Topics = append(c.Topics, second) }))
		l.settle(20*time.Second, 12, ps...)
	}
	l.must(a.m.SetTopics(l.ctx, l.topic, second)) // the epoch moves
	l.settle(20*time.Second, 12, ps...)
	time.Sleep(rest)
	return s, ps
}
