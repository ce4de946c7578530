package member_test

import (
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// S-1: the join is applied and its answer lost; describe shows one member.
func TestS01_LostJoinResponse(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.on(1, joins, lost)
		m := r.join()
		groups, err := kadm.NewClient(r.cl).DescribeConsumerGroups(r.Context(), "g")
		if err != nil {
			r.Fatal(err)
		}
		r.equal("members in a describe", len(groups["g"].Members), 1)
		r.equal("its ID", groups["g"].Members[0].MemberID, m.id)
		r.equal("joins", len(m.sent(joins)), 2)
	})
}

// S-2: ten answers in a row are lost: one member, and attempts spaced by the backoff of
// 100 ms, doubled up to 1 s, give or take a fifth.
func TestS02_LostTenTimes(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(10, joins, lost)
		m := r.join()
		r.that(r.alone(m), "one member")
		js := m.sent(joins)
		r.equal("joins", len(js), 11)
		for i, gap := range gaps(js) {
			want := min(time.Second, 100*time.Millisecond<<i)
			r.that(gap >= want*8/10 && gap <= want*12/10, "about %v before join %d, got %v", want, i+2, gap)
		}
	})
}

// S-3: a close while the answer to the join is held back is one accepted leave; nil, and
// an empty group long before the session ends.
func TestS03_CloseWithTheJoinInFlight(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(1, joins, held(10*time.Second))
		m := r.start()
		r.sleep(time.Second)
		took := m.leaves() // Run returned nil, or this fails
		r.that(took <= 500*time.Millisecond, "a quick close, took %v", took)
		accepted := 0
		for _, b := range m.sent(leaves) {
			r.equal("epoch", b.req.MemberEpoch, int32(-1))
			if b.ok() {
				accepted++
			}
		}
		r.equal("accepted leaves", accepted, 1)
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}

// S-4: close before anything was sent, and even before Run.
func TestS04_CloseBeforeAnything(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.make()
		r.equal("Leave before Run", m.Leave(r.Context(), member.LeaveDefault), error(nil))
		r.equal("Run after it", m.run().ended(time.Second), error(nil))
		r.equal("connections", r.net.dials, 0)
		r.that(errors.Is(m.Run(r.Context()), member.ErrRunning), "ErrRunning from a second Run")
		r.join() // the name is free, and others are not harmed
	})
}

// S-5: a member that is gone already leaves without an error and without a second try.
func TestS05_LeaveOfAGoneMember(t *testing.T) {
	for name, remove := range map[string]func(r *rig, m *mem){
		"evicted": func(r *rig, m *mem) { r.that(r.c.Expire("g", m.id), "a member to evict") },
		"its group deleted": func(r *rig, m *mem) {
			r.c.Expire("g", m.id)
			if _, err := kadm.NewClient(r.cl).DeleteGroup(r.Context(), "g"); err != nil {
				r.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join()
				remove(r, m)
				r.equal("time to close", m.leaves(), time.Duration(0))
				ls := m.sent(leaves)
				r.that(len(ls) == 1 && !ls[0].ok(), "one refused leave, got %v", ls)
				m.called("assigned orders[0-11]; revoked orders[0-11]")
			})
		})
	}
}

// S-6: a join that is answered after the leave does not revive the member.
func TestS06_LateJoinAnswer(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(1, joins, held(300*time.Millisecond))
		r.on(-1, leaves, held(time.Second))
		m := r.start()
		r.sleep(100 * time.Millisecond)
		m.leaves()
		r.sleep(2 * specSession)
		r.equal("state", m.Snapshot().State, member.StateUnsubscribed)
		r.equal("joins", len(m.sent(joins)), 1)
		r.equal("heartbeats after it", len(m.sent(steady)), 0)
		r.equal("members", len(r.c.Group("g").Members), 0)
		m.called("")
	})
}

// S-6: a join that is applied only after the leave makes a ghost; a further leave removes it.
func TestS06_LateJoin(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		var late func() response
		r.on(1, joins, func(_ *wire, _ request, apply func() response) (response, error) {
			late = apply
			return nil, errCut
		})
		r.on(-1, joins, dropped)
		r.on(1, leaves, func(_ *wire, _ request, apply func() response) (response, error) {
			resp := apply()
			late()
			return resp, nil
		})
		m := r.start()
		r.sleep(2 * time.Second)
		r.that(late != nil && len(r.c.Group("g").Members) == 0, "a join on its way")
		m.leaves()
		ls := m.sent(leaves)
		r.that(len(ls) >= 2 && ls[0].resp.ErrorCode == kerr.GroupIDNotFound.Code && ls[1].ok(), "a leave of nobody, then one of the ghost, got %v", ls)
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}

// S-7: a broker with version 0 only: our ID is sent; a regex fails here, with nothing sent.
func TestS07_OldBroker(t *testing.T) {
	spec(t, brokers.Config{HeartbeatV0: true}, func(r *rig) {
		m := r.join()
		r.that(r.alone(m), "the member under its own ID")
		sent := len(r.sent(joins))
		e := r.start(regex("o.*")).failed(time.Second, member.ErrUnsupported, kerr.UnsupportedVersion)
		r.that(e.Code == kerr.UnsupportedVersion.Code, "code 35, got %d", e.Code)
		r.equal("joins with a regex", len(r.sent(joins)), sent)
	})
}

// S-8: a refused ID ends the member at once, with a typed error.
func TestS08_RefusedID(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(1, joins, code(kerr.InvalidRequest.Code, "bad MemberId"))
		m := r.start()
		e := m.failed(time.Second, kerr.InvalidRequest)
		r.equal("operation", e.Op, "join")
		r.equal("requests in a minute", len(during(m.sent(every), 0, time.Minute)), 1)
		m.called("")
	})
}

// S-10: success with epoch 0 and interval 0 is no membership: no spin, never stable, and what
// follows is a paced full join.
func TestS10_HandshakeTrap(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(6, joins, mangled(func(resp response) {
			resp.MemberEpoch, resp.HeartbeatIntervalMillis, resp.Assignment = 0, 0, nil
		}))
		m := r.start()
		r.sleep(700 * time.Millisecond)
		r.equal("state", m.Snapshot().State, member.StateJoining)
		r.settled(m)
		js := m.sent(joins)
		r.equal("joins", len(js), 7)
		for i, gap := range gaps(js) {
			r.that(gap >= min(800*time.Millisecond, 80*time.Millisecond<<i), "backoff, got %v after join %d", gap, i+1)
		}
		for _, s := range m.told().states {
			r.that(s.To != member.StateStable || s.MemberEpoch > 0, "never stable at epoch %d", s.MemberEpoch)
		}
		m.called("assigned orders[0-11]")
	})
}

// S-11: a process that is killed right after its join: its peers have its partitions within
// the session timeout and two intervals.
func TestS11_GhostByKill(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		cl, net := r.elsewhere()
		x := r.on(1, joins, mute)
		killed := r.startOn(cl)
		r.until("its join applied", time.Second, func() bool { return r.hits(x) == 1 })
		net.cut(true)
		at := r.now()
		peer := r.start()
		r.until("all partitions with the peer", 2*time.Minute, func() bool { return peer.Snapshot().Assignment.Len() == 12 })
		r.Logf("after %v", r.now()-at)
		r.that(r.now()-at <= specSession+2*interval, "within %v, took %v", specSession+2*interval, r.now()-at)
		r.that(r.alone(peer), "the ghost %s gone", killed.id)
		net.up()
	})
}
