package member_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Rule 22: the members of one client share the coordinator, the connections and the names of
// topic IDs, now and after the coordinator has moved.
func TestRule22_Shared(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var names cell[int]
		r.c.Kfake().ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
			r.c.Kfake().KeepControl()
			for _, topic := range req.(*kmsg.MetadataRequest).Topics {
				if topic.TopicID != [16]byte{} {
					names.set(names.get() + 1)
				}
			}
			return nil, nil, false
		})
		for range 10 {
			r.start()
		}
		r.settled(r.members...)
		r.equal("look-ups of the coordinator", r.lookups(), 1)
		r.that(r.net.conns() <= 3, "few connections, got %d", r.net.conns())
		r.equal("look-ups of a topic's name", names.get(), 1)
		if _, err := r.c.MoveCoordinator("g"); err != nil {
			r.Fatal(err)
		}
		r.sleep(2 * interval)
		r.settled(r.members...)
		r.equal("look-ups after a move", r.lookups(), 2)
		for _, m := range r.members {
			m.cancel()
		}
		for _, m := range r.members {
			m.ended(time.Minute)
		}
		r.equal("connections once all have left", r.net.conns(), 0)
	})
}

// Rule 22: a produce request of the application that blocks its connection delays no
// heartbeat, of however many members.
func TestRule22_BlockedProduce(t *testing.T) {
	spec(t, brokers.Config{Brokers: 1}, func(r *rig) {
		r.cl = r.client(kgo.DefaultProduceTopic("orders"), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.RecordDeliveryTimeout(time.Minute))
		m := r.join(quiet)
		r.net.mu.Lock()
		r.net.stall = func(b []byte) bool { return len(b) > 100_000 }
		r.net.mu.Unlock()
		r.cl.Produce(r.Context(), &kgo.Record{Value: make([]byte, 200_000)}, nil)
		start := r.now()
		r.sleep(time.Minute)
		beats := during(m.sent(every), start, r.now())
		r.equal("heartbeats in a minute", len(beats), 12)
		for _, gap := range gaps(beats) {
			r.equal("gap", gap, interval)
		}
		r.net.cut(false)
	})
}

// Rule 22: nor does a fetch that waits.
func TestRule22_LongFetch(t *testing.T) {
	spec(t, brokers.Config{Brokers: 1}, func(r *rig) {
		r.cl = r.client(kgo.ConsumeTopics("orders"), kgo.FetchMaxWait(30*time.Second))
		m := r.join(quiet)
		start := r.now()
		r.sleep(10 * time.Minute)
		beats := during(m.sent(every), start, r.now())
		r.equal("heartbeats in 10 minutes", len(beats), 120)
	})
}

// Rule 22: a hung connection takes no member with it: attempts end in time for two more in
// the session, and the next ones go another way.
func TestRule22_HungConnection(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		for range 5 {
			r.start()
		}
		r.settled(r.members...)
		r.on(1, from(r.members[0], steady), mute) // nothing behind it on its connection is answered either
		r.sleep(3 * time.Minute)
		for i, m := range r.members {
			rec := m.told()
			r.that(len(rec.trust) == 0, "trust all along for member %d", i)
			r.that(m.Snapshot().State == member.StateStable, "stable, member %d is %v", i, m.Snapshot().State)
			for _, b := range rec.beats {
				r.that(b.RTT <= specSession/3, "attempts of at most 15 s, got %v", b.RTT)
			}
		}
		r.settled(r.members...)
	})
}

// Rule 22: names are unique per client, group and time.
func TestRule22_NamesOncePerClient(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(withName("x"))
		_, err := r.build(withName("x"))
		wantFaults(r, err, "InstanceID")
		r.make(withName("x"), group("another"))
		cl, _ := r.elsewhere()
		if _, err := r.buildOn(cl, withName("x")); err != nil {
			r.Fatal(err) // another process: the broker tells
		}
		m.leaves()
		r.join(withName("x"))
	})
}

// Rule 22: an hour of 20 members is 14,400 heartbeats and nothing else.
func TestRule22_Soak(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 50}}, func(r *rig) {
		const members, hour = 20, time.Hour
		for range members {
			r.start()
		}
		r.settled(r.members...)
		start, lookups, dials := r.now(), r.lookups(), r.net.dials
		r.sleep(hour)
		n := len(during(r.sent(every), start, r.now()))
		r.that(n >= members*720-members && n <= members*720+members, "%d heartbeats, got %d", members*720, n)
		r.equal("look-ups", r.lookups(), lookups)
		r.that(r.net.dials-dials <= 30, "no connections but for kgo's metadata every 5 minutes, got %d", r.net.dials-dials)
	})
}
