package member_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Rule 1: one ID on every heartbeat, retry, rejoin and leave, with v0 and v1 alike.
func TestRule01_OneID(t *testing.T) {
	for name, cfg := range map[string]brokers.Config{"v0": {HeartbeatV0: true}, "v1": {}} {
		t.Run(name, func(t *testing.T) {
			spec(t, cfg, func(r *rig) {
				r.on(1, joins, lost)
				m := r.join()
				r.on(2, steady, lost)
				r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
				r.sleep(3 * interval)
				r.settled(m)
				r.on(1, leaves, lost)
				m.leaves()
				all := r.sent(every)
				r.that(len(all) >= 8, "heartbeats, got %d", len(all))
				for _, b := range all {
					r.equal("member ID", b.id(), m.id)
				}
			})
		})
	}
}

// What a leave has to survive.
var errBad = errors.New("bad")

var survivors = map[string]struct {
	opts []option
	end  func(r *rig, m *mem) // ends the member; Run has returned after it
}{
	"a heartbeat in flight": {end: func(r *rig, m *mem) {
		r.on(1, steady, mute)
		m.Wake()
		r.sleep(time.Second)
		r.that(m.leaves() <= 300*time.Millisecond, "a leave that waits for nothing")
	}},
	"a failing callback": {[]option{onRevoked(fails(errBad))}, func(r *rig, m *mem) {
		m.cancel()
		r.that(errors.Is(m.ended(time.Second), errBad), "the callback's error")
	}},
	"a panicking callback": {[]option{onRevoked(func(context.Context, member.Partitions) error { panic("bad") })}, func(r *rig, m *mem) {
		m.cancel()
		r.that(m.ended(time.Second) != nil, "an error")
	}},
	"a moved coordinator": {end: func(r *rig, m *mem) {
		if _, err := r.c.MoveCoordinator("g"); err != nil {
			r.Fatal(err)
		}
		m.leaves()
		ls := m.sent(leaves)
		r.that(len(ls) == 2 && ls[0].broker != ls[1].broker && ls[1].ok(), "a leave at the old coordinator and one at the new, got %v", ls)
	}},
	"an unknown coordinator": {end: func(r *rig, m *mem) {
		r.net.cut(true)
		m.cancel()
		r.sleep(5 * time.Second)
		r.net.up()
		r.equal("Run", m.ended(5*time.Second), error(nil))
	}},
	"lost leaves": {end: func(r *rig, m *mem) {
		r.on(3, leaves, dropped)
		m.leaves()
		r.equal("leaves", len(m.sent(leaves)), 4)
	}},
	"a coordinator that loads": {end: func(r *rig, m *mem) {
		r.on(3, leaves, code(kerr.CoordinatorLoadInProgress.Code))
		m.leaves()
		r.equal("leaves", len(m.sent(leaves)), 4)
	}},
}

// Rule 2: a leave is owed once a join may have been written, and nothing stops it.
func TestRule02_LeaveSurvives(t *testing.T) {
	for name, c := range survivors {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join(c.opts...)
				c.end(r, m)
				r.equal("members right after Run", len(r.c.Group("g").Members), 0)
				r.that(len(m.sent(leaves)) > 0, "a leave")
			})
		})
	}
}

// Rule 2: the leave is bounded by LeaveTimeout, and then says so.
func TestRule02_LeaveTimeout(t *testing.T) {
	for name, f := range map[string]fault{"never answered": ignored, "refused": code(kerr.CoordinatorNotAvailable.Code), "cut": dropped} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.ghosts = true
				m := r.join(timing(func(t *member.Timing) { t.LeaveTimeout = 7 * time.Second }))
				r.on(-1, leaves, f)
				start := r.now()
				m.cancel()
				m.failed(time.Minute, member.ErrLeave)
				took := r.now() - start
				r.that(took >= 6*time.Second && took <= 7*time.Second, "about 7 s, took %v", took)
				r.that(len(m.sent(leaves)) >= 2, "several leaves, got %d", len(m.sent(leaves)))
				r.that(len(m.sent(leaves)) <= 30, "few leaves, got %d", len(m.sent(leaves)))
			})
		})
	}
}

// Rule 2: while a join of unknown fate may still arrive, "no such member" does not end
// the leave; LeaveTimeout does, and that is no error.
func TestRule02_SuspectedJoin(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(-1, joins, dropped)
		m := r.start(timing(func(t *member.Timing) { t.LeaveTimeout = 4 * time.Second }))
		r.sleep(time.Second)
		took := m.leaves()
		r.that(took >= 3*time.Second && took <= 4*time.Second, "leaves for 4 s, took %v", took)
		for _, b := range m.sent(leaves) {
			r.equal("answer", b.resp.ErrorCode, kerr.GroupIDNotFound.Code)
		}
		r.that(len(m.sent(leaves)) >= 4, "repeated leaves")
	})
}

// Rule 2: two leaves are on their way, and the answer that there is nobody comes before the one that
// accepts. The accepted one proves that the join has arrived all the same.
func TestRule02_AnswersCross(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		x := r.on(1, joins, lost)
		r.on(1, leaves, held(350*time.Millisecond))
		m := r.start()
		r.until("the join", time.Second, func() bool { return r.hits(x) == 1 })
		took := m.leaves()
		r.that(took < time.Second, "a quick close, took %v", took)
		ls := m.sent(leaves)
		r.that(ls[0].ok() && !ls[1].ok() && ls[1].told < ls[0].told, "crossing answers, got %v", ls)
	})
}

// Rule 2: a leave whose answer is lost may be why there is nobody; it says nothing of joins that
// were seen to have arrived.
func TestRule02_LostLeaveAfterSeenJoins(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.on(-1, joins, lost)
		r.on(1, leaves, lost)
		m := r.start()
		r.sleep(3 * time.Second)
		r.that(len(m.sent(joins)) > 2, "several joins")
		took := m.leaves()
		r.that(took < time.Second, "a quick close, took %v", took)
		for _, b := range m.sent(leaves)[1:] {
			r.that(b.resp.ErrorCode == kerr.GroupIDNotFound.Code || b.resp.ErrorCode == kerr.UnknownMemberID.Code, "nobody there, got %v", b)
		}
	})
}

// Rule 2: a look that was asked before the leave, and is answered after it, says nothing of joins either.
func TestRule02_LookBesideTheLeave(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(-1, joins, lost)
		var held cell[bool]
		inner := kgotransport.New(r.cl)
		late := heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
			if _, ok := req.(*kmsg.OffsetFetchRequest); ok {
				held.set(true)
				time.Sleep(100 * time.Millisecond)
			}
			return inner.Do(ctx, group, req)
		})
		m := r.start(func(c *member.ConsumerConfig) { c.Transport = late })
		r.until("the look", time.Minute, held.get)
		took := m.leaves()
		r.that(took < time.Second, "a quick close, took %v", took)
	})
}

// Rule 2: that nobody is there was true for a while; a join that was missing then may have arrived when
// no leave got through any more. Then Run says that it does not know.
func TestRule02_NobodyThenNoAnswer(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		x := r.on(-1, joins, dropped)
		r.on(1, leaves, func(_ *wire, _ request, apply func() response) (response, error) { return apply(), nil })
		r.on(-1, leaves, code(kerr.NotCoordinator.Code))
		m := r.start(timing(func(t *member.Timing) { t.LeaveTimeout = 4 * time.Second }))
		r.until("the join", time.Second, func() bool { return r.hits(x) == 1 })
		m.cancel()
		e := m.failed(5*time.Second, member.ErrLeave, kerr.NotCoordinator)
		r.that(e.Advice != "", "advice")
	})
}

// Rule 2: so it is with a rejoin, of a member that the coordinator knew before.
func TestRule02_SuspectedRejoin(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(timing(func(t *member.Timing) { t.LeaveTimeout = 4 * time.Second }))
		r.on(-1, joins, dropped)
		r.c.Expire("g", m.id)
		r.sleep(interval + time.Second)
		r.equal("state", m.Snapshot().State, member.StateJoining)
		took := m.leaves()
		r.that(took >= 3*time.Second && took <= 4*time.Second, "leaves for 4 s, took %v", took)
		r.that(len(m.sent(leaves)) >= 4, "repeated leaves")
	})
}

// Rule 2: a leave of unknown fate may hit the rejoin behind it: that costs one
// UNKNOWN_MEMBER_ID, and the member heals once.
func TestRule02_LateLeaveHitsTheRejoin(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var late func() response
		m := r.join(timing(func(t *member.Timing) { t.MaxPollInterval = 20 * time.Second }))
		r.on(1, leaves, func(_ *wire, _ request, apply func() response) (response, error) {
			late = apply
			return nil, errCut
		})
		m.in(member.StateStale) // its leave was lost, the next one accepted
		r.on(1, steady, func(_ *wire, _ request, apply func() response) (response, error) {
			late()
			return apply(), nil
		})
		m.Alive()
		r.until("back", time.Minute, func() bool { return len(m.sent(joins)) >= 2 })
		r.sleep(time.Second)
		m.Alive()
		r.settled(m)
		m.Alive()
		r.sleep(15 * time.Second)
		r.equal("joins", len(m.sent(joins)), 3)
		r.that(r.alone(m), "one member")
	})
}

// Rule 3: the epochs of a leave (KIP-1092). A dynamic member that remains sends nothing.
func TestRule03_LeaveEpochs(t *testing.T) {
	for _, c := range []struct {
		name string
		op   member.LeaveOperation
		want int32 // 0: none
	}{
		{"", member.LeaveDefault, -1}, {"", member.LeaveGroup, -1}, {"", member.RemainInGroup, 0},
		{"x", member.LeaveDefault, -2}, {"x", member.LeaveGroup, -1}, {"x", member.RemainInGroup, -2},
	} {
		for _, by := range []string{"context", "Leave"} {
			t.Run("instance "+c.name+" "+c.op.String()+" by "+by, func(t *testing.T) {
				spec(t, brokers.Config{}, func(r *rig) {
					m := r.join(withName(c.name), leaving(c.op))
					r.ghosts = c.want != -1
					if by == "Leave" {
						r.equal("Leave", m.Leave(context.Background(), c.op), error(nil))
					}
					m.leaves()
					var got []int32
					for _, b := range m.sent(leaves) {
						got = append(got, b.req.MemberEpoch)
					}
					want := []int32{c.want}
					if c.want == 0 {
						r.rules.Stays(m.Snapshot().Identity)
						want = nil
					}
					r.equal("leaves", got, want)
					m.called("assigned orders[0-11]; revoked orders[0-11]")
				})
			})
		}
	}
}

// Rule 3: -2 does not restart the session, so a heartbeat goes just before it if the last
// one is older than a second; it is not waited for beyond a second.
func TestRule03_BeatBeforeMinusTwo(t *testing.T) {
	for _, c := range []struct {
		name  string
		after time.Duration // of the last heartbeat
		fault fault
		beats int // before the leave
		took  time.Duration
	}{
		{"fresh", 900 * time.Millisecond, nil, 0, 0},
		{"old", 1100 * time.Millisecond, nil, 1, 0},
		{"old, no answer", 3 * time.Second, ignored, 1, time.Second},
		{"old, fenced", 3 * time.Second, code(kerr.FencedMemberEpoch.Code), 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.ghosts = true
				m := r.join(withName("x"), quiet)
				r.sleep(5 * interval)
				sent := m.sent(every)
				r.sleep(sent[len(sent)-1].at + interval + c.after - r.now())
				before := len(m.sent(steady))
				if c.fault != nil {
					r.on(1, steady, c.fault)
				}
				left := r.now()
				r.equal("time to close", m.leaves(), c.took)
				r.equal("heartbeats before the leave", len(m.sent(steady))-before, c.beats)
				r.equal("leaves", len(m.sent(leaves)), 1)
				if c.beats == 1 && c.fault == nil {
					at, _ := r.c.Group("g").Member(m.id)
					r.equal("end of the session", at.SessionEnd.Sub(r.t0), left+specSession)
				}
			})
		})
	}
}

// Rule 3: FENCED_INSTANCE_ID is never followed by a leave, which would be refused.
func TestRule03_NoLeaveWhenDisplaced(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(withName("x"))
		r.on(1, steady, code(kerr.FencedInstanceID.Code))
		m.failed(2*interval, member.ErrDisplaced, kerr.FencedInstanceID)
		r.equal("leaves", len(m.sent(leaves)), 0)
		m.called("assigned orders[0-11]; lost orders[0-11]")
	})
}
