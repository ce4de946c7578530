package member_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// K1082-6: a close while the join has no answer leaves under the join's ID.
func TestK1082_06_LeaveWithoutAJoinAnswer(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.on(1, joins, mute)
		m := r.start()
		r.sleep(time.Second)
		r.that(r.alone(m), "the join was applied")
		took := m.leaves()
		r.that(took < time.Second, "a quick close, took %v", took)
		r.equal("epoch of the leave", m.sent(leaves)[0].req.MemberEpoch, int32(-1))
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}

// K1082-7: nothing is sent by a close if no join was.
func TestK1082_07_NothingToLeave(t *testing.T) {
	for name, prepare := range map[string]func(*rig){
		"no coordinator": func(r *rig) { r.wire.find = noCoordinator },
		"no network":     func(r *rig) { r.net.cut(true) },
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				prepare(r)
				m := r.start()
				r.sleep(7 * time.Second)
				r.that(m.noticed(member.NoticeUnreachable) == 1 && (r.net.dials > 3 || r.lookups() > 3), "attempts to join")
				r.equal("time to close", m.leaves(), time.Duration(0))
				r.equal("heartbeats", len(r.sent(every)), 0)
			})
		})
	}
}

// K1082-8: "no such member" or "no such group" in answer to a leave is success.
func TestK1082_08_GoneIsSuccess(t *testing.T) {
	for _, c := range []*kerr.Error{kerr.UnknownMemberID, kerr.GroupIDNotFound} {
		t.Run(c.Message, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join()
				r.on(1, leaves, appliedBut(c.Code))
				r.equal("time to close", m.leaves(), time.Duration(0))
				r.equal("leaves", len(m.sent(leaves)), 1)
			})
		})
	}
}

// K1082-9: whatever ends the member, if a join may have been applied then a leave follows.
func TestK1082_09_GivingUpLeaves(t *testing.T) {
	for name, end := range map[string]func(r *rig, m *mem){
		"fatal error": func(r *rig, m *mem) {
			r.on(1, joins, code(kerr.GroupAuthorizationFailed.Code))
			m.failed(time.Minute, kerr.GroupAuthorizationFailed)
		},
		"cancelled": func(r *rig, m *mem) { m.leaves() },
		"client closed": func(r *rig, m *mem) {
			r.cl.Close()
			m.failed(time.Minute, member.ErrClientClosed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.on(1, joins, lost)
				m := r.start()
				r.sleep(time.Millisecond)
				r.that(r.alone(m), "a member that does not know that it is one")
				end(r, m)
				r.that(len(m.sent(leaves)) > 0, "a leave")
				r.equal("members", len(r.c.Group("g").Members), 0)
			})
		})
	}
}

// K1082-10: the worst case, to be stated: what a killed process owned comes back when
// its session has ended, and the others have asked.
func TestK1082_10_KilledProcess(t *testing.T) {
	for _, v := range []coordinator.Version{coordinator.V40, coordinator.V44} {
		for _, phase := range []time.Duration{100 * time.Millisecond, 4900 * time.Millisecond} {
			t.Run(v.String()+" killed "+phase.String()+" after a heartbeat", func(t *testing.T) {
				spec(t, brokers.Config{Version: v}, func(r *rig) {
					a := r.join(quiet)
					cl, net := r.elsewhere()
					b := r.startOn(cl)
					r.settled(a, b)
					beats := b.sent(every)
					r.sleep(beats[len(beats)-1].at + interval + phase - r.now())
					net.cut(true)
					back := r.until("all partitions back", 2*time.Minute, func() bool { return a.Snapshot().Assignment.Len() == 12 })
					t.Logf("partitions are back %v after the kill", back)
					r.that(back <= specSession+2*interval, "partitions back within %v, took %v", specSession+2*interval, back)
					net.up()
				})
			})
		}
	}
}

// K1082-26: a leave does not overtake its join: one is written behind it on its own
// connection, and those that went another way are repeated until the fate of the join is known.
func TestK1082_26_LeaveBehindItsJoin(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.on(1, joins, delayed(500*time.Millisecond))
		m := r.start()
		r.sleep(100 * time.Millisecond)
		m.leaves()
		all := m.sent(every)
		r.equal("the first request", all[0].req.MemberEpoch, int32(0))
		r.that(all[1].req.MemberEpoch == -1 && !all[1].ok(), "a leave that overtook the join, got %v", all[1])
		last := all[len(all)-1]
		r.that(last.req.MemberEpoch == -1 && last.at >= 500*time.Millisecond, "a leave after the join, last is %v", last)
		r.equal("members", len(r.c.Group("g").Members), 0)
	})
}
