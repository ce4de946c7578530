package member_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Case 44 (KAFKA-21031): the first answer takes long: one request in flight, no spin, and it counts
// if it comes in time.
func TestCase44_SlowFirstAnswer(t *testing.T) {
	for _, delay := range []time.Duration{9 * time.Second, 20 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(1, joins, held(delay))
				m := r.start()
				r.sleep(delay - time.Millisecond)
				n := len(m.sent(joins))
				if delay < specSession/3 {
					r.equal("requests", len(m.sent(every)), 1)
				}
				r.that(n <= 2, "one request in flight, got %d joins", n)
				r.settled(m)
				r.equal("joins", len(m.sent(joins)), n)
				m.called("assigned orders[0-11]")
			})
		})
	}
}

// Case 46 (franz-go aae08a38): a coordinator that cannot be reached is told of, once, until one
// answers.
func TestCase46_UnreachableIsTold(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		for i := range 3 {
			r.net.cut(true)
			r.sleep(20 * time.Second)
			r.equal("notices", m.noticed(member.NoticeUnreachable), i+1)
			r.net.up()
			r.sleep(2 * interval)
		}
		m.called("assigned orders[0-11]")
	})
}

// Case 46: so is a coordinator that only says that it is none, or not yet, for longer than an
// interval; one that moves is not.
func TestCase46_NoCoordinatorIsTold(t *testing.T) {
	for _, e := range []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress} {
		t.Run(e.Message, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join()
				r.on(3, steady, code(e.Code))
				r.sleep(time.Minute)
				r.equal("notices of a short outage", m.noticed(member.NoticeUnreachable), 0)
				for i := range 2 {
					r.on(-1, steady, code(e.Code))
					r.sleep(20 * time.Second)
					r.equal("notices", m.noticed(member.NoticeUnreachable), i+1)
					r.calm()
					r.sleep(2 * interval)
				}
				m.called("assigned orders[0-11]")
			})
		})
	}
}

// Case 47 (platformatic/kafka#374): an idle member whose heartbeats fail does not look alive.
func TestCase47_FailingQuietly(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		r.sleep(time.Minute)
		last := m.Snapshot().LastHeartbeat
		r.on(-1, steady, code(kerr.CoordinatorLoadInProgress.Code))
		r.that(m.Snapshot().Trusted(time.Now()), "trust so far")
		r.sleep(time.Minute)
		r.that(!m.Snapshot().Trusted(time.Now()), "none after a minute")
		r.equal("last accepted heartbeat", m.Snapshot().LastHeartbeat.Sub(last), time.Duration(0))
		trust := m.told().trust
		r.that(len(trust) == 1 && trust[0].Last.Equal(last), "an event with the last success, got %v", trust)
		r.calm()
		r.sleep(2 * interval)
		r.settled(m)
	})
}

// Case 49 (kafkajs#1361): a member that owns nothing beats all the same.
func TestCase49_NothingAssigned(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 1}}, func(r *rig) {
		a := r.join()
		cl, _ := r.elsewhere()
		idle := r.startOn(cl)
		r.settled(a, idle)
		r.sleep(10 * specSession)
		for _, gap := range gaps(idle.sent(every)) {
			r.that(gap <= interval, "heartbeats at the interval, got a gap of %v", gap)
		}
		idle.called("assigned none")
		r.settled(a, idle)
	})
}

// Case 53 (KAFKA-16215): after three timeouts and a fence the join goes at once: no leftover backoff.
func TestCase53_NoLeftoverBackoff(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.on(3, steady, dropped)
		r.on(1, steady, code(kerr.UnknownMemberID.Code))
		r.sleep(4 * interval)
		all := m.sent(every)
		for i, b := range all {
			if i > 0 && b.req.MemberEpoch == 0 {
				r.that(b.at-all[i-1].at <= 50*time.Millisecond, "a join at once, got one after %v", b.at-all[i-1].at)
			}
		}
		r.equal("joins", len(m.sent(joins)), 2)
		r.settled(m)
	})
}

// Case 55 (kafka_ex#559, KAFKA-14729): a Transport that panics is a failed attempt: the member goes
// on, and the process with it.
func TestCase55_PanickingTransport(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		inner, n := kgotransport.New(r.cl), 0
		m := r.join(func(c *member.ConsumerConfig) {
			c.Transport = heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
				if n++; n%3 == 1 {
					panic("boom")
				}
				return inner.Do(ctx, group, req)
			})
		})
		r.sleep(time.Minute)
		r.settled(m)
		r.that(n > 10, "attempts, got %d", n)
		r.that(!strings.Contains(m.history(), "lost"), "nothing lost, got %q", m.history())
	})
}

// Case 56 (Dekaf#2364): an old heartbeat that fails late does not knock out the member that has
// rejoined meanwhile.
func TestCase56_LateFailure(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		inner := kgotransport.New(r.cl)
		var stuck cell[chan struct{}]
		m := r.join(quiet, selfFence, func(c *member.ConsumerConfig) {
			c.Transport = heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
				if late := stuck.get(); late != nil && req.Key() == int16(kmsg.ConsumerGroupHeartbeat) && req.(request).MemberEpoch > 0 {
					<-late // whatever its context says
					stuck.set(nil)
					resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
					resp.ErrorCode = kerr.UnknownMemberID.Code
					return resp, nil
				}
				return inner.Do(ctx, group, req)
			})
		})
		late := make(chan struct{})
		stuck.set(late)
		r.sleep(specSession + interval)
		close(late)
		r.sleep(3 * interval)
		r.settled(m)
		r.that(len(m.sent(joins)) <= 3, "no more than two rejoins, got %d joins", len(m.sent(joins)))
		r.that(r.alone(m), "one member")
	})
}

// Case 58 (librdkafka#2944): for a while the brokers disagree on who the coordinator is: paced
// tries with the same ID and epoch, and look-ups at more than one broker.
func TestCase58_BrokersDisagree(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		epoch := m.Snapshot().MemberEpoch
		wrong := (r.c.Coordinator("g") + 1) % 3
		answers := 30
		r.wire.mu.Lock()
		r.wire.find = func(q *kmsg.FindCoordinatorRequest) kmsg.Response {
			if answers--; answers < 0 {
				return nil
			}
			resp := q.ResponseKind().(*kmsg.FindCoordinatorResponse)
			c := kmsg.NewFindCoordinatorResponseCoordinator()
			c.Key, c.NodeID, c.Host, c.Port = "g", wrong, "127.0.0.1", 9092+wrong
			resp.Coordinators = append(resp.Coordinators, c)
			return resp
		}
		r.wire.mu.Unlock()
		r.on(1, steady, code(kerr.NotCoordinator.Code))
		r.sleep(specSession)
		r.settled(m)
		refused := 0
		for _, b := range m.sent(steady) {
			r.equal("epoch", b.req.MemberEpoch, epoch)
			if b.broker == wrong {
				refused++
			}
		}
		r.that(refused >= 29, "tries at the wrong broker, got %d", refused)
		m.called("assigned orders[0-11]")
	})
}

// Case 59 (kafka-python#2695): a connection that is cut while idle is made again with the next
// heartbeat, and costs at most one retry.
func TestCase59_CutWhileIdle(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		for range 5 {
			r.sleep(interval / 2)
			r.net.cut(false)
			r.sleep(interval)
		}
		for _, gap := range gaps(m.sent(every)) {
			r.that(gap <= interval+200*time.Millisecond, "heartbeats at the interval, got a gap of %v", gap)
		}
		r.settled(m)
		m.called("assigned orders[0-11]")
	})
}

// Case 61 (librdkafka#3064): an answer that takes longer than the interval: still one in flight, and
// its deadline is well under the session timeout.
func TestCase61_SlowAnswers(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		r.on(-1, steady, held(7*time.Second))
		r.sleep(5 * time.Minute)
		sent := m.sent(steady)
		for i := 2; i < len(sent); i++ {
			r.that(sent[i].at >= sent[i-1].at+7*time.Second, "one in flight, got %v after %v", sent[i].at, sent[i-1].at)
		}
		r.that(len(sent) >= 35, "one after the other, got %d", len(sent))
		r.equal("trust that ran out", len(m.told().trust), 0)
		m.called("assigned orders[0-11]")
	})
}

// Case 64 (numaflow#3355): peers that come and go ten times make no error.
func TestCase64_PeersComeAndGo(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		for range 10 {
			peer := r.process()
			r.settled(m, peer)
			peer.leaves()
			r.settled(m)
		}
		r.equal("error", m.Snapshot().Err, error(nil))
		r.equal("notices", len(m.told().notices), 0)
		r.equal("partitions", m.Snapshot().Assignment.Len(), 12)
	})
}
