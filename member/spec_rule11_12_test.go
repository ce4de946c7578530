package member_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// Rule 11: thrown out: the assignment is gone before OnLost runs, which runs once; nothing
// is sent until it has returned; then a join with the same ID, at once.
func TestRule11_LostThenJoin(t *testing.T) {
	for _, e := range []*kerr.Error{kerr.FencedMemberEpoch, kerr.UnknownMemberID} {
		t.Run(e.Message, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				var m *mem
				var seen member.Snapshot
				m = r.join(onLost(func(context.Context, member.Partitions) error {
					seen = m.Snapshot()
					time.Sleep(10 * time.Second)
					return nil
				}))
				r.on(1, steady, code(e.Code))
				m.in(member.StateFenced)
				at := r.now()
				r.sleep(10*time.Second - time.Millisecond)
				r.equal("assignment in OnLost", seen.Assignment.Len(), 0)
				r.equal("requests during OnLost", len(during(m.sent(every), at+time.Nanosecond, r.now())), 0)
				r.settled(m)
				js := m.sent(joins)
				lost := m.told().calls[1].at
				r.equal("the join, after OnLost began", js[1].at-lost, 10*time.Second)
				m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
			})
		})
	}
}

// Rule 11: the first rejoin goes at once; if it comes undone again and again, they are paced.
func TestRule11_PacedRejoins(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		r.on(40, steady, code(kerr.UnknownMemberID.Code))
		r.sleep(time.Minute)
		r.settled(m)
		js := m.sent(joins)
		first := js[1].at - m.sent(steady)[1].at
		r.that(first <= 50*time.Millisecond, "the first rejoin at once, took %v", first)
		r.that(len(js) >= 20, "rejoins, got %d", len(js))
		for _, gap := range gaps(js)[6:] {
			r.that(gap >= 800*time.Millisecond, "paced rejoins, got one after %v", gap)
		}
	})
}

// Rule 11: where the join is fenced too (4.0 and 4.1, until the session ends), a leave
// makes room for it; elsewhere one join is enough.
func TestRule11_FencedJoin(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		a := r.join()
		b := r.start()
		r.settled(a, b)
		r.on(1, from(a, steady), code(kerr.FencedMemberEpoch.Code))
		a.Wake()
		r.until("fenced", 2*interval, func() bool { return len(a.sent(joins)) >= 2 })
		took := r.settled(a, b)
		r.that(took <= 3*time.Second, "back soon, took %v", took)
		leavings := len(a.sent(leaves))
		old := r.c.Group("g").Members[0].Epoch > 0 && a.sent(joins)[1].resp.ErrorCode == kerr.FencedMemberEpoch.Code
		if old {
			r.equal("leaves", leavings, 1)
			r.that(len(a.sent(joins)) <= 4, "few joins, got %d", len(a.sent(joins)))
		} else {
			r.equal("joins", len(a.sent(joins)), 2)
			r.equal("leaves", leavings, 0)
		}
		r.that(r.alone(a, b), "two members")
	})
}

// Rule 12: a static join that was applied and its answer lost locks nobody out: UNRELEASED
// names ourselves, -2 makes room, the join gets the same partitions.
func TestRule12_OwnLockout(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		r.on(1, joins, lost)
		m := r.join(withName("x"))
		var got []int32
		for _, b := range m.sent(every)[:4] {
			got = append(got, b.req.MemberEpoch)
		}
		r.equal("epochs", got, []int32{0, 0, -2, 0})
		r.equal("answer to the second join", m.sent(joins)[1].resp.ErrorCode, kerr.UnreleasedInstanceID.Code)
		r.that(r.now() <= time.Second, "in soon, took %v", r.now())
		m.called("assigned orders[0-11]")
	})
}

// Rule 12: a static member that is fenced makes room by -2 before it joins, or it would
// lock itself out for a session.
func TestRule12_FencedStatic(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(withName("x"))
		r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
		r.until("back", 2*interval, func() bool { return len(m.sent(joins)) == 2 })
		took := r.settled(m)
		r.that(took <= time.Second, "back soon, took %v", took)
		r.equal("joins", len(m.sent(joins)), 2)
		r.equal("releases", len(m.sent(leaves)), 1)
		r.equal("epoch of the release", m.sent(leaves)[0].req.MemberEpoch, int32(-2))
	})
}

// Rule 12: -2 is sent only by who may hold the name itself. A first join that meets a
// rival waits for it, asking every 5 s, and gets in when the rival leaves.
func TestRule12_WaitsForARival(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		cl, _ := r.elsewhere()
		rival := r.join(withName("x"), leaving(member.LeaveGroup))
		m := r.startOn(cl, withName("x"))
		r.sleep(22 * time.Second)
		r.equal("joins", len(m.sent(joins)), 5)
		r.equal("leaves", len(m.sent(leaves)), 0)
		r.equal("notices", m.noticed(member.NoticeWaiting), 1)
		r.equal("joins of the rival", len(rival.sent(joins)), 1)
		rival.leaves()
		r.settled(m)
		m.called("assigned orders[0-11]")
	})
}

// Rule 12: InstanceWait bounds the wait; negative fails at once.
func TestRule12_InstanceWait(t *testing.T) {
	for wait, want := range map[time.Duration]time.Duration{-1: 0, 12 * time.Second: 12 * time.Second, 0: specSession + 10*time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.ghosts = true
				cl, _ := r.elsewhere()
				rival := r.join(withName("x"))
				start := r.now()
				m := r.startOn(cl, withName("x"), func(c *member.ConsumerConfig) { c.InstanceWait = wait })
				e := m.failed(2*time.Minute, member.ErrInstanceHeld, kerr.UnreleasedInstanceID)
				r.equal("time until it failed", r.now()-start, want)
				r.that(e.Owner == rival.id && e.Member.InstanceID == "x" && e.Advice != "", "owner, name and advice, got %+v", e)
				r.equal("leaves", len(m.sent(leaves)), 0)
				rival.called("assigned orders[0-11]")
			})
		})
	}
}

// Rule 12: FENCED_INSTANCE_ID on the -2 says that it is a rival after all.
func TestRule12_RivalAfterALostJoin(t *testing.T) {
	spec(t, brokers.Config{Version: coordinator.V44}, func(r *rig) {
		r.ghosts = true
		cl, _ := r.elsewhere()
		rival := r.join(withName("x"))
		r.on(1, joins, dropped)
		m := r.startOn(cl, withName("x"), func(c *member.ConsumerConfig) { c.InstanceWait = -1 })
		m.failed(time.Minute, member.ErrInstanceHeld, kerr.FencedInstanceID)
		r.equal("releases", len(m.sent(leaves)), 1)
		r.sleep(2 * interval)
		rival.called("assigned orders[0-11]")
		r.that(r.alone(rival), "the rival undisturbed")
	})
}

// Rule 12: a joined member that is displaced stops at once: OnLost, typed error, no rejoin.
func TestRule12_Displaced(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		cl, net := r.elsewhere()
		old := r.startOn(cl, withName("x"))
		r.settled(old)
		net.cut(true)
		r.sleep(specSession + time.Second) // the coordinator has given it up
		heir := r.join(withName("x"))
		net.up()
		e := old.failed(time.Minute, member.ErrDisplaced, kerr.FencedInstanceID)
		r.that(e.Member.InstanceID == "x" && e.Member.MemberID == old.id && e.Advice != "", "name, ID and advice, got %+v", e)
		old.called("assigned orders[0-11]; lost orders[0-11]")
		sent := len(old.sent(every))
		r.sleep(specSession)
		r.equal("requests after it", len(old.sent(every)), sent)
		r.equal("joins of the heir", len(heir.sent(joins)), 1)
	})
}
