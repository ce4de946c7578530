package member

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// solo drives one machine by hand, with a broker that accepts everything.
type solo struct {
	m     *machine
	now   time.Time
	resp  *kmsg.ConsumerGroupHeartbeatResponse // to the next heartbeat
	names map[topicID]string
	wait  time.Time
}

// settle answers everything that the machine asks for, until it waits.
func (s *solo) settle() (sent int) {
	for {
		switch a := s.m.Next(s.now); a.Kind {
		case heartbeat.ActWait:
			s.wait = a.At
			return sent
		case heartbeat.ActSend:
			sent++
			s.m.Step(s.now, heartbeat.Input{Kind: heartbeat.InReply, Seq: a.Seq, Resp: s.resp, Conn: 1})
		case heartbeat.ActHost:
			switch o := a.Host.(*output); o.kind {
			case outCallback:
				s.m.Step(s.now, heartbeat.Input{Host: inCallback{id: o.v.(callbackCall).id}})
			case outLookup:
				s.m.Step(s.now, heartbeat.Input{Host: inNames{o.v.([]topicID), s.names}})
			}
		}
	}
}

// Rule 22: a keepalive costs no allocation in the pure core.
func TestRule22_KeepaliveAllocatesNothing(t *testing.T) {
	id := topicID{1}
	s := &solo{now: time.Unix(1000, 0), names: map[topicID]string{id: "orders"}, resp: kmsg.NewPtrConsumerGroupHeartbeatResponse()}
	s.resp.MemberEpoch, s.resp.HeartbeatIntervalMillis = 1, 5000
	cfg := ConsumerConfig{Group: "g", Topics: []string{"orders"}}.resolved()
	s.m = newMachine(cfg, Identity{Group: "g", MemberID: "abcdefghQjKlmnopqrstuQ"}, machineAux{rand: rand.New(rand.NewPCG(1, 1))})

	s.resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{
		Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{{TopicID: id, Partitions: []int32{0, 1, 2}}},
	}
	s.m.Step(s.now, heartbeat.Input{Host: inStart{}})
	s.settle()
	s.resp.Assignment = nil
	for s.m.state != StateStable {
		s.now = s.wait
		s.settle()
	}
	beat := func() {
		for sent := 0; sent == 0; { // one heartbeat, whatever else is due before it
			s.now = s.wait
			sent = s.settle()
		}
	}
	for range 100 {
		beat() // buffers have their size
	}
	start := s.now
	if n := testing.AllocsPerRun(1000, beat); n > 0 {
		t.Errorf("%v allocations per keepalive", n)
	}
	if d := s.now.Sub(start); d != 1001*heartbeat.DefaultInterval {
		t.Errorf("1001 keepalives in %v", d)
	}
}
