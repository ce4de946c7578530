package membertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/member"
)

// story is a history of made-up members, told to a Verifier. Each step takes a second.
type story struct {
	*testing.T
	v     *Verifier
	cast  map[string]*actor
	me    *actor
	found []Violation
	air   sync.WaitGroup
	step  time.Duration
}

type actor struct {
	id, instance string
	tap          heartbeat.Transport
	reply        reply
	landing      chan struct{}
}

type (
	step  func(s *story)
	edit  func(a *actor, req *kmsg.ConsumerGroupHeartbeatRequest)
	reply func(a *actor) (*kmsg.ConsumerGroupHeartbeatResponse, error)
)

var ordersID = [16]byte{1}

const (
	idA = "Q6lSKPNgT2WeChcaCa41oA" // version 4 UUIDs
	idB = "11T1Pr5qTKyL46fagIrpCQ"
)

func tell(t *testing.T, steps ...step) []Violation {
	t.Helper()
	var found []Violation
	synctest.Test(t, func(t *testing.T) {
		s := &story{T: t, cast: map[string]*actor{}, step: time.Second}
		s.v = NewVerifier(func(v Violation) { s.found = append(s.found, v) })
		s.play("A")
		s.names()
		for _, f := range steps {
			f(s)
			synctest.Wait()
			time.Sleep(s.step)
		}
		s.v.Finish()
		found = s.found
	})
	return found
}

// play makes name the member of the next steps.
func (s *story) play(name string) {
	if s.cast[name] == nil {
		a := &actor{id: map[string]string{"A": idA, "B": idB}[name]}
		a.tap = s.v.Transport(heartbeat.TransportFunc(func(_ context.Context, _ string, req kmsg.Request) (kmsg.Response, error) {
			if m, ok := req.(*kmsg.MetadataRequest); ok {
				resp, name := m.ResponseKind().(*kmsg.MetadataResponse), "orders"
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.TopicID = &name, ordersID
				resp.Topics = append(resp.Topics, topic)
				return resp, nil
			}
			resp, err := a.reply(a)
			if resp == nil {
				return nil, err
			}
			return resp, err
		}))
		s.cast[name] = a
	}
	s.me = s.cast[name]
}

func (s *story) names() { _, _ = s.me.tap.Do(s.Context(), "", kmsg.NewPtrMetadataRequest()) }

// Requests.

func send(epoch int32, r reply, edits ...edit) step {
	return func(s *story) { s.send(epoch, r, edits) }
}

func (s *story) send(epoch int32, r reply, edits []edit) {
	a, req := s.me, kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = "g", a.id, epoch
	req.RebalanceTimeoutMillis = -1
	if a.instance != "" {
		req.InstanceID = &a.instance
	}
	for _, e := range edits {
		e(a, req)
	}
	a.reply = r
	defer func() { _ = recover() }()
	_, _ = a.tap.Do(s.Context(), "g", req)
}

func join(r reply, edits ...edit) step { return send(0, r, append([]edit{full()}, edits...)...) }

func beat(epoch int32, r reply, edits ...edit) step { return send(epoch, r, edits...) }

func leave(epoch int32, r reply, edits ...edit) step { return send(epoch, r, edits...) }

// inAir sends without waiting for the end; land lets all end.
func inAir(f step) step {
	return func(s *story) {
		a := s.me
		if a.landing == nil {
			a.landing = make(chan struct{})
		}
		s.air.Go(func() { f(s) })
		synctest.Wait()
	}
}

func land(s *story) {
	close(s.me.landing)
	s.me.landing = nil
	s.air.Wait()
}

func hanging(r reply) reply {
	return func(a *actor) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
		<-a.landing
		return r(a)
	}
}

// What requests carry.

func full(owned ...int32) edit {
	return func(a *actor, req *kmsg.ConsumerGroupHeartbeatRequest) {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 1000, []string{"orders"}
		owning(owned...)(a, req)
	}
}

func owning(owned ...int32) edit {
	return func(_ *actor, req *kmsg.ConsumerGroupHeartbeatRequest) {
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		if len(owned) > 0 {
			req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: ordersID, Partitions: owned})
		}
	}
}

func rack(_ *actor, req *kmsg.ConsumerGroupHeartbeatRequest) { r := "r1"; req.RackID = &r }

func without(f field) edit {
	return func(_ *actor, req *kmsg.ConsumerGroupHeartbeatRequest) {
		switch f {
		case fieldTimeout:
			req.RebalanceTimeoutMillis = -1
		case fieldNames:
			req.SubscribedTopicNames = nil
		case fieldOwned:
			req.Topics = nil
		}
	}
}

func as(id, instance string) edit {
	return func(a *actor, req *kmsg.ConsumerGroupHeartbeatRequest) {
		req.MemberID, req.InstanceID = id, nil
		if instance != "" {
			req.InstanceID = &instance
		}
	}
}

// Answers.

func ok(epoch int32, assigned ...int32) reply {
	return func(*actor) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.MemberEpoch, resp.HeartbeatIntervalMillis = epoch, 5000
		if len(assigned) > 0 {
			resp.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{
				Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{{TopicID: ordersID, Partitions: assigned}},
			}
		}
		return resp, nil
	}
}

func code(c int16) reply {
	return func(*actor) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = c
		return resp, nil
	}
}

func lost(*actor) (*kmsg.ConsumerGroupHeartbeatResponse, error) { return nil, errors.New("timeout") }

func unsent(*actor) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	return nil, heartbeat.NotSent(errors.New("no connection"))
}

func panics(*actor) (*kmsg.ConsumerGroupHeartbeatResponse, error) { panic("a bug") }

// Hooks.

func (s *story) event() member.Event {
	return member.Event{Member: member.Identity{Group: "g", MemberID: s.me.id, InstanceID: s.me.instance}, At: time.Now()}
}

func state(from, to member.State) step {
	return func(s *story) { s.v.Hooks().State(member.StateInfo{Event: s.event(), From: from, To: to}) }
}

func to(st member.State) step { return state(member.StateStable, st) }

func callback(what member.Ownership, parts ...int32) step {
	return func(s *story) {
		i := member.OwnershipInfo{Event: s.event(), What: what, Took: 100 * time.Millisecond}
		if len(parts) > 0 {
			i.Delta = member.Partitions{"orders": parts}
		}
		s.v.Hooks().Ownership(i)
	}
}

func trustEnds(s *story) { s.v.Hooks().Trust(member.TrustInfo{Event: s.event()}) }

func earlyBeats(n int, epoch, answered int32) step {
	return beats(member.ReasonEarly, n, epoch, answered)
}

func beats(why member.Reason, n int, epoch, answered int32) step {
	return func(s *story) {
		for range n {
			s.v.Hooks().Heartbeat(member.HeartbeatInfo{Event: s.event(), Reason: why, Epoch: epoch, AnsweredEpoch: answered})
		}
	}
}

// Order and time.

func all(steps ...step) step {
	return func(s *story) {
		for i, f := range steps {
			f(s)
			synctest.Wait()
			if i < len(steps)-1 {
				time.Sleep(s.step)
			}
		}
	}
}

// every makes each step take d from now on.
func every(d time.Duration) step { return func(s *story) { s.step = d } }

func after(d time.Duration) step { return func(*story) { time.Sleep(d) } }

func by(name string, steps ...step) step {
	return func(s *story) {
		me := s.me
		s.play(name)
		all(steps...)(s)
		s.me = me
	}
}

func named(instance string) step { return func(s *story) { s.me.instance = instance } }

// joined is a member at epoch 3 that owns parts.
func joined(parts ...int32) step {
	return all(to(member.StateJoining), join(ok(3, parts...)), state(member.StateJoining, member.StateReconciling),
		callback(member.Assigned, parts...), beat(3, ok(3), owning(parts...)), to(member.StateStable))
}

// gone is a clean end.
func gone(parts ...int32) step {
	return all(to(member.StatePrepareLeaving), callback(member.Revoked, parts...), to(member.StateLeaving),
		leave(-1, ok(-1)), to(member.StateUnsubscribed))
}
