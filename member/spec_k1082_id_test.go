package member_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// K1082-1: the member has its ID before anything is sent, and no broker is asked for it.
func TestK1082_01_IDBeforeTheFirstByte(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.make()
		r.equal("length of the ID", len(m.id), 22)
		r.equal("connections before Run", r.net.dials, 0)
		m.run()
		r.settled(m)
		first := r.sent(every)[0]
		r.equal("ID of the first heartbeat", first.id(), m.id)
		r.equal("its epoch", first.req.MemberEpoch, int32(0))
	})
}

// K1082-2: a join can be repeated: same ID, epoch 0, full; one process is one member.
func TestK1082_02_RepeatedJoinIsOneMember(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.on(2, joins, lost)
		r.on(1, joins, dropped)
		m := r.join()
		r.equal("joins", len(m.sent(joins)), 4) // the rig checks that each is full
		r.equal("heartbeats of others", len(r.sent(every)), len(m.sent(every)))
		r.that(r.alone(m), "one member in the group")
		m.called("assigned orders[0-11]")
	})
}

// K1082-3: each request that names a member names ours.
func TestK1082_03_IDInEveryRequest(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		s, spied := r.spy()
		r.on(1, joins, lost) // so that the member looks at the group
		m := r.join(spied)
		r.sleep(3 * interval)
		m.leaves()
		seen := map[string]int{}
		for _, req := range s.reqs {
			switch q := req.(type) {
			case *kmsg.ConsumerGroupHeartbeatRequest:
				seen["heartbeat"]++
				r.equal("member ID of a heartbeat", q.MemberID, m.id)
			case *kmsg.OffsetFetchRequest:
				seen["look"]++
				r.equal("member ID of a look", *q.Groups[0].MemberID, m.id)
			}
		}
		r.that(seen["heartbeat"] >= 6 && seen["look"] == 1, "heartbeats and one look, got %v", seen)
	})
}

// K1082-4: the ID is kept for life: after a fence, when the broker forgot the member or
// the group, and after the application was away.
func TestK1082_04_IDForLife(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(timing(func(t *member.Timing) { t.MaxPollInterval = time.Minute }))
		for _, c := range []int16{kerr.FencedMemberEpoch.Code, kerr.UnknownMemberID.Code, kerr.GroupIDNotFound.Code} {
			r.on(1, steady, code(c))
			m.Alive()
			m.Wake()
			r.sleep(time.Second)
			r.settled(m)
		}
		m.in(member.StateStale)
		m.Alive()
		r.settled(m)
		r.equal("joins", len(m.sent(joins)), 5)
		r.equal("heartbeats under another ID", len(r.sent(every))-len(m.sent(every)), 0)
		r.equal("ID now", m.Snapshot().MemberID, m.id)
	})
}

// K1082-5: no heartbeat, and no leave, without an ID, whenever the member is closed.
func TestK1082_05_NeverNameless(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 40 * time.Millisecond, 60 * time.Millisecond, interval} {
		t.Run("closed after "+after.String(), func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(1, joins, held(20*time.Millisecond))
				m := r.start()
				r.sleep(after)
				m.leaves()
				r.that(len(m.sent(leaves)) > 0, "a leave")
				r.equal("heartbeats without our ID", len(r.sent(every))-len(m.sent(every)), 0)
			})
		})
	}
}

// K1082-11: version 1 where the broker has it.
func TestK1082_11_Version1(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		m.leaves()
		for _, b := range m.sent(every) {
			r.equal("version", b.req.Version, int16(1))
		}
	})
}

// K1082-12: a broker with version 0 only would make IDs; ours is sent all the same.
func TestK1082_12_OldBroker(t *testing.T) {
	spec(t, brokers.Config{HeartbeatV0: true}, func(r *rig) {
		m := r.join()
		r.that(r.alone(m), "the member under its own ID")
		for _, b := range m.sent(every) {
			r.equal("version", b.req.Version, int16(0))
		}
	})
}

// K1082-13: both versions carry the ID alike; what version 1 added is refused here on
// version 0, instead of being dropped on the way.
func TestK1082_13_RegexNeedsVersion1(t *testing.T) {
	spec(t, brokers.Config{HeartbeatV0: true}, func(r *rig) {
		e := r.start(regex("ord.*")).failed(time.Minute, member.ErrUnsupported)
		r.that(strings.Contains(e.Error(), "version 1"), "the version that is needed, got %v", e)
		r.equal("heartbeats", len(r.sent(every)), 0)
		m := r.join()
		err := m.Subscribe(r.Context(), member.Subscription{Regex: "ord.*"})
		r.that(errors.Is(err, member.ErrUnsupported), "ErrUnsupported, got %v", err)
		r.sleep(2 * interval)
		r.settled(m) // it stays as it was
		m.called("assigned orders[0-11]")
	})
}

// K1082-14: the member does not learn who it is from an answer.
func TestK1082_14_ForeignIDInAnAnswer(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		foreign := "AAAAAAAAQACAAAAAAAAAAA"
		r.on(3, every, mangled(func(resp response) { resp.MemberID = &foreign }))
		m := r.join()
		r.sleep(2 * interval)
		r.equal("notices", m.noticed(member.NoticeForeignID), 3)
		r.equal("ID", m.Snapshot().MemberID, m.id)
		r.equal("heartbeats under another ID", len(r.sent(every))-len(m.sent(every)), 0)
		m.called("assigned orders[0-11]")
	})
}

// K1082-15: a refused ID is a fault in the program: typed, fatal, not repeated.
func TestK1082_15_RefusedID(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(-1, every, code(kerr.InvalidRequest.Code, "MemberId can't be empty."))
		e := r.start().failed(time.Second, kerr.InvalidRequest)
		r.equal("the broker's text", e.Message, "MemberId can't be empty.")
		r.equal("requests", len(r.sent(every)), 1)
	})
}

// K1082-20: an injected ID is checked as our own are, and taken once per client and group.
func TestK1082_20_InjectedID(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		const id = "abcdefghQjKlmnopqrstuQ"
		for _, bad := range []string{"m", "AAAAAAAAAAAAAAAAAAAAAA", "abcdefghQjKlmnopq-stuQ", id + "==", id[:21] + "R", "6a204bd8-9f4c-4a4b-9d9c-3b2a1f0e9d8c"} {
			_, err := r.build(withID(bad))
			wantFaults(r, err, "MemberID")
		}
		m := r.join(withID(id))
		_, err := r.build(withID(id))
		wantFaults(r, err, "MemberID")
		r.make(withID(id), group("another"))
		m.leaves()
		r.equal("ID on the wire", r.sent(every)[0].id(), id)
		r.make(withID(id)) // free again
	})
}

// K1082-22: one code path: an old and a new broker see the same requests.
func TestK1082_22_OneCodePath(t *testing.T) {
	var seen []string
	for _, cfg := range []brokers.Config{{Version: coordinator.V40, HeartbeatV0: true}, {Version: coordinator.V40}} {
		spec(t, cfg, func(r *rig) {
			r.on(1, joins, lost)
			m := r.join()
			r.sleep(2 * interval)
			m.leaves()
			var sb strings.Builder
			for _, b := range m.sent(every) {
				sb.WriteString(strings.Replace(b.String(), m.id[:4], "", 1) + "\n")
			}
			seen = append(seen, sb.String())
		})
	}
	if seen[0] != seen[1] || strings.Count(seen[0], "\n") < 6 {
		t.Errorf("version 0:\n%s\nversion 1:\n%s", seen[0], seen[1])
	}
}

// K1082-23: the ID is wherever a ghost may have to be matched to a process.
func TestK1082_23_IDIsShown(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var log strings.Builder
		m := r.join(func(c *member.ConsumerConfig) {
			c.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		r.on(1, steady, code(kerr.GroupMaxSizeReached.Code))
		e := m.failed(2 * interval)
		rec := m.told()
		r.equal("in the snapshot", m.Snapshot().MemberID, m.id)
		r.equal("in the error", e.Member.MemberID, m.id)
		r.that(strings.Contains(e.Error(), "g/"+m.id), "group and ID in %q", e)
		r.equal("in hooks", []string{rec.states[0].Member.MemberID, rec.beats[0].Member.MemberID, rec.owned[0].Member.MemberID}, []string{m.id, m.id, m.id})
		for _, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
			r.that(strings.Contains(line, `"member_id":"`+m.id+`"`), "the ID in the log line %s", line)
		}
		r.that(strings.Count(log.String(), "\n") > 5, "log lines")
	})
}

// K1082-21: an answer with epoch 0 and interval 0 does not mean "send again at once".
func TestK1082_21_NoHandshake(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(-1, joins, mangled(func(resp response) {
			resp.MemberEpoch, resp.HeartbeatIntervalMillis, resp.Assignment = 0, 0, nil
		}))
		m := r.start()
		r.sleep(time.Minute)
		n := len(m.sent(joins))
		r.that(n >= 30 && n <= 120, "a join a second or so, got %d in a minute", n)
		r.equal("other requests", len(m.sent(every))-n, 0)
		r.that(m.noticed(member.NoticeBadAnswer) == n, "a notice for each")
		r.calm()
		r.settled(m)
	})
}
