package member_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// onNames calls f with each look-up of topics by name, before its answer: f may change it.
func (r *rig) onNames(f func(q *kmsg.MetadataRequest)) {
	r.c.Kfake().ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		r.c.Kfake().KeepControl()
		q := req.(*kmsg.MetadataRequest)
		if len(q.Topics) > 0 && q.Topics[0].Topic != nil && *q.Topics[0].Topic != "" {
			f(q)
		}
		return nil, nil, false
	})
}

// byName counts the look-ups of topics by name, of the members' own client, and withholds their answers if told to.
func (r *rig) byName(deaf bool) *cell[int] {
	var n cell[int]
	r.onNames(func(q *kmsg.MetadataRequest) {
		n.set(n.get() + 1)
		if q.AllowAutoTopicCreation {
			r.Errorf("a look-up that may make a topic")
		}
		if deaf {
			q.Topics[0].Topic = kmsg.StringPtr("nothing")
		}
	})
	return &n
}

func (r *rig) remake(topic string, partitions int32) {
	r.equal("DeleteTopic", r.c.DeleteTopic(topic), error(nil))
	r.equal("CreateTopic", r.c.CreateTopic(topic, partitions), error(nil))
}

// A topic that was deleted and made again is lost, not revoked: there is nothing left to commit to, and a
// commit by name would be one for the new topic. By name or by regex; what stays is not touched.
func TestRecreatedTopicIsLost(t *testing.T) {
	for name, sub := range map[string]option{"names": topics("again", "orders"), "regex": func(c *member.ConsumerConfig) { c.Topics, c.Regex = nil, ".*" }} {
		t.Run(name, func(t *testing.T) {
			specAll(t, brokers.Config{Topics: map[string]int32{"orders": 3, "again": 2}}, func(r *rig) {
				m := r.start(sub, quiet)
				r.until("all", time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 5 })
				r.settled(m)
				n := r.byName(false)
				r.remake("again", 4)
				r.until("the new one", time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 7 })
				r.settled(m)
				want := "assigned again[0-1] orders[0-2]; lost again[0-1]; assigned again[0-3]"
				if name == "regex" {
					want = "assigned none; " + want // a regex is resolved in the background
				}
				m.called(want)
				r.equal("look-ups", n.get(), 1)
				r.equal("joins", len(m.sent(joins)), 1)
			})
		})
	}
}

// Whether it was made again is asked once and in vain at most: a topic that is gone, or that nobody
// tells about, is revoked.
func TestGoneTopicIsRevoked(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		spec(t, brokers.Config{Topics: map[string]int32{"orders": 3, "gone": 2}}, func(r *rig) {
			m := r.join(topics("gone", "orders"), quiet)
			r.sleep(time.Minute)
			n := r.byName(deaf)
			if deaf {
				r.remake("gone", 2)
			} else {
				r.equal("DeleteTopic", r.c.DeleteTopic("gone"), error(nil))
			}
			r.sleep(2 * interval)
			r.equal("look-ups", n.get(), 1)
			want := "assigned gone[0-1] orders[0-2]; revoked gone[0-1]"
			if deaf {
				want += "; assigned gone[0-1]"
			}
			m.called(want)
			r.settled(m)
		})
	}
}

// Rule 17: the coordinator waits for the word that what was lost is given up, also from a member that leaves
// meanwhile, or it evicts it while its last OnRevoked runs.
func TestRecreatedTopicWhileLeaving(t *testing.T) {
	specAll(t, brokers.Config{Topics: map[string]int32{"orders": 3, "again": 2}}, func(r *rig) {
		m := r.join(topics("again", "orders"), quiet, onLost(sleeps(8*time.Second)), onRevoked(sleeps(7*time.Second)))
		r.sleep(time.Minute)
		r.remake("again", 2)
		n := len(m.sent(acks))
		r.sleep(2 * interval) // OnLost runs
		m.leaves()
		m.called("assigned again[0-1] orders[0-2]; lost again[0-1]; revoked orders[0-2]")
		told := m.sent(acks)[n:]
		r.that(len(told) > 0 && len(told[len(told)-1].req.Topics) == 1, "the word that it is given up, got %v", told)
	})
}

// A look-up that hangs does not keep the partitions from their next owner for longer than a second.
func TestGoneTopicLookUpHangs(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 3, "gone": 2}}, func(r *rig) {
		m := r.join(topics("gone", "orders"), quiet)
		r.sleep(time.Minute)
		at := r.hangs("gone")
		r.remake("gone", 2)
		r.until("the question", time.Minute, func() bool { return at.get() > 0 })
		r.sleep(900 * time.Millisecond)
		m.called("assigned gone[0-1] orders[0-2]")
		r.sleep(200 * time.Millisecond)
		m.called("assigned gone[0-1] orders[0-2]; revoked gone[0-1]")
		r.sleep(time.Minute)
		r.settled(m)
	})
}

// hangs makes look-ups by name take 20 s, and tells when the first one came.
func (r *rig) hangs(topic string) *cell[time.Duration] {
	var at cell[time.Duration]
	r.onNames(func(q *kmsg.MetadataRequest) {
		if *q.Topics[0].Topic == topic {
			at.set(r.now())
			r.c.Kfake().SleepControl(func() { time.Sleep(20 * time.Second) })
		}
	})
	return &at
}

// What happens while the question is open goes first: a leave, a fence, another subscription, the topic's return.
func TestGoneTopicMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(r *rig, m *mem)
		want string
	}{
		"it leaves": {func(_ *rig, m *mem) { m.leaves() }, "revoked gone[0-1] orders[0-2]"},
		"it is fenced": {func(r *rig, m *mem) {
			r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
			m.Wake()
		}, "lost gone[0-1] orders[0-2]; assigned none; assigned gone[0-1] orders[0-2]"},
		"it is not wanted any more": {func(r *rig, m *mem) {
			r.equal("SetTopics", m.SetTopics(r.Context(), "orders"), error(nil))
		}, "revoked gone[0-1]"},
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{Topics: map[string]int32{"orders": 3, "gone": 2}}, func(r *rig) {
				m := r.join(topics("gone", "orders"), quiet)
				r.sleep(time.Minute)
				at := r.hangs("gone")
				r.remake("gone", 2)
				r.until("the question", time.Minute, func() bool { return at.get() > 0 })
				c.do(r, m)
				r.sleep(2 * time.Minute)
				m.called("assigned gone[0-1] orders[0-2]; " + c.want)
			})
		})
	}
}

// Each member of a client loses its own share, and asks once at most.
func TestRecreatedTopicOfManyMembers(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"again": 30}}, func(r *rig) {
		var ms []*mem
		for range 10 {
			ms = append(ms, r.start(topics("again")))
		}
		r.settled(ms...)
		n := r.byName(false)
		r.remake("again", 20)
		for _, m := range ms {
			m.Wake()
		}
		r.until("told", time.Minute, func() bool { return len(ms[0].told().owned) > 1 })
		r.settled(ms...)
		for _, m := range ms {
			lost := 0
			for _, o := range m.told().owned {
				if o.What == member.Revoked && o.Delta.Len() == 3 {
					r.Errorf("revoked %v", o.Delta)
				}
				if o.What == member.Lost {
					lost += o.Delta.Len()
				}
			}
			r.equal("lost", lost, 3)
		}
		r.that(n.get() <= 10, "a look-up a member at most, got %d", n.get())
	})
}

// Nothing is asked about partitions that move, nor about a topic that is not subscribed any more.
func TestMovedPartitionsAreNotAskedFor(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 12, "other": 4}}, func(r *rig) {
		n := r.byName(false)
		a := r.join(topics("orders", "other"))
		b := r.join(topics("orders", "other"))
		r.settled(a, b)
		r.equal("SetTopics", a.SetTopics(r.Context(), "orders"), error(nil))
		r.settled(a, b)
		r.equal("what the other owns of it", len(b.Snapshot().Assignment["other"]), 4)
		r.equal("look-ups", n.get(), 0)
	})
}

// Before 4.4 a full group has no place for a static member's restart until the old session ends: it is waited
// for like a name that is held. S-12.
func TestStaticRestartIntoAFullGroup(t *testing.T) {
	specAll(t, brokers.Config{MaxGroupSize: 2}, func(r *rig) {
		r.ghosts = true
		b := r.join(withName("b"))
		a := r.join(withName("a"))
		r.settled(a, b)
		a.leaves()
		start := r.now()
		again := r.start(withName("a"))
		took := r.until("back", specSession+10*time.Second, func() bool { return again.Snapshot().State == member.StateStable })
		r.settled(again, b)
		waits := 0
		if r.v < coordinator.V44 {
			waits = 1
			r.that(took > specSession-interval, "back when the session of the first ended, took %v", took)
			r.that(len(again.sent(joins)) <= 11, "a join every 5 s, got %d in %v", len(again.sent(joins)), r.now()-start)
		} else {
			r.that(took < time.Second, "back at once, took %v", took)
		}
		r.equal("notices", again.noticed(member.NoticeWaiting), waits)

		b.Leave(r.Context(), member.LeaveGroup)
		r.join(withName("c"))
		d := r.start(withName("d"))
		d.failed(specSession+20*time.Second, kerr.GroupMaxSizeReached)
		e := r.start(withName("e"), func(c *member.ConsumerConfig) { c.InstanceWait = -1 })
		e.failed(time.Second, kerr.GroupMaxSizeReached)
		r.equal("joins", len(e.sent(joins)), 1)
	})
}
