package member_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// process starts a member of another process.
func (r *rig) process(opts ...option) *mem {
	r.Helper()
	cl, _ := r.elsewhere()
	return r.startOn(cl, opts...)
}

// K345-1: one setting: with it the member is static from its first join on, without it dynamic.
func TestK345_01_OneSetting(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(withName("pod-1"))
		r.equal("name in the first join", *m.sent(joins)[0].req.InstanceID, "pod-1")
		r.equal("name in the snapshot", m.Snapshot().InstanceID, "pod-1")
		at, _ := r.c.Group("g").Member(m.id)
		r.equal("name at the coordinator", at.InstanceID, "pod-1")
		other := r.start(group("dynamic"))
		r.settled(other)
		r.that(other.sent(joins)[0].req.InstanceID == nil, "no name of a dynamic member")
	})
}

// K345-2: the name survives a restart, the member ID does not.
func TestK345_02_NewProcessNewID(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		old := r.join(withName("x"))
		old.leaves()
		heir := r.process(withName("x"))
		r.settled(heir)
		r.that(heir.id != old.id, "another ID")
		heir.called("assigned orders[0-11]")
	})
}

// K345-4: a name that Kafka would not take is refused before anything is sent.
func TestK345_04_IllegalNames(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		for _, bad := range []string{" ", "\t", ".", "..", "a b", "a:b", "fe80::1", "ä", "a/b", "a\n", strings.Repeat("x", 250)} {
			_, err := r.build(withName(bad))
			wantFaults(r, err, "InstanceID")
		}
		for _, good := range []string{"x", "pod-1", "a.b_c-D9", "...", strings.Repeat("x", 249)} {
			r.make(withName(good))
		}
		r.equal("connections", r.net.dials, 0)
		r.join()
	})
}

// K345-11: the pair of member ID and name is in every heartbeat, not just in the join. (The rig
// looks at each.)
func TestK345_11_PairInEveryHeartbeat(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(withName("x"))
		r.sleep(3 * interval)
		m.leaves()
		all := r.sent(every)
		r.that(len(all) >= 6 && len(all) == len(m.sent(every)), "heartbeats under one ID, got %d", len(all))
		for _, b := range all {
			r.equal("name", *b.req.InstanceID, "x")
		}
	})
}

// K345-12, S-12: a restart in time gets the same partitions; the group epoch does not move and
// the peers see nothing.
func TestK345_12_RestartInTime(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		peer := r.join()
		old := r.process(withName("x"))
		r.settled(peer, old)
		epoch, had, calls := r.c.Group("g").Epoch, old.Snapshot().Assignment, peer.history()
		r.sleep(time.Minute)
		old.leaves()
		r.sleep(30 * time.Second)
		heir := r.process(withName("x"))
		took := r.settled(peer, heir)
		r.that(took <= 200*time.Millisecond, "back at once, took %v", took)
		r.equal("partitions", heir.Snapshot().Assignment, had)
		r.equal("group epoch", r.c.Group("g").Epoch, epoch)
		r.sleep(2 * interval)
		peer.called(calls)
	})
}

// K345-13, S-13: after the window it is a first join like any other.
func TestK345_13_RestartTooLate(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		peer := r.join()
		old := r.process(withName("x"))
		r.settled(peer, old)
		old.leaves()
		r.sleep(specSession + 2*interval)
		r.settled(peer)
		r.equal("partitions of the peer", peer.Snapshot().Assignment.Len(), 12)
		heir := r.process(withName("x"))
		r.settled(peer, heir)
		heir.called("assigned none; assigned " + heir.Snapshot().Assignment.String())
		r.equal("partitions of the heir", heir.Snapshot().Assignment.Len(), 6)
	})
}

// K345-14: a normal shutdown keeps the place: -2, and no partition moves.
func TestK345_14_ShutdownKeepsThePlace(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		peer := r.join()
		m := r.process(withName("x"))
		r.settled(peer, m)
		calls := peer.history()
		m.leaves()
		at, ok := r.c.Group("g").Member(m.id)
		r.that(ok && at.Epoch == -2 && count(at.Owned) == 6, "a member that is away and holds 6, got %+v", at)
		r.sleep(specSession - interval)
		peer.called(calls)
	})
}

// K345-15, S-25: a static member that leaves for good gives its place up, at once.
func TestK345_15_GoodBye(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		peer := r.join()
		m := r.start(withName("x"), leaving(member.LeaveGroup))
		r.settled(peer, m)
		r.sleep(time.Minute)
		m.leaves()
		took := r.settled(peer)
		r.that(took <= 2*time.Second, "its partitions soon, took %v", took)
		r.equal("partitions of the peer", peer.Snapshot().Assignment.Len(), 12)
		r.equal("epoch of the leave", m.sent(leaves)[0].req.MemberEpoch, int32(-1))
	})
}

// K345-16, S-27: an outage that is shorter than the session costs nothing; a longer one is
// noticed without any answer.
func TestK345_16_Outage(t *testing.T) {
	for _, long := range []bool{false, true} {
		t.Run(map[bool]string{false: "half a session", true: "two sessions"}[long], func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				r.ghosts = true
				m := r.join(withName("x"), selfFence)
				r.sleep(interval)
				r.on(-1, every, ignored)
				if !long {
					r.sleep(specSession / 2)
					r.calm()
					r.sleep(specSession)
					m.called("assigned orders[0-11]")
					return
				}
				r.sleep(2 * specSession)
				m.called("assigned orders[0-11]; lost orders[0-11]")
				r.calm()
				r.settled(m)
				m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
			})
		})
	}
}

// K345-18: static and dynamic members share a group.
func TestK345_18_Mixed(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		a, b, c := r.start(withName("x")), r.start(), r.start(withName("y"))
		r.settled(a, b, c)
		b.leaves()
		r.settled(a, c)
		r.equal("partitions", a.Snapshot().Assignment.Len()+c.Snapshot().Assignment.Len(), 12)
	})
}

// K345-31, S-26: the coordinator moves or forgets its connections: name, ID and partitions stay.
func TestK345_31_CoordinatorMoves(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		m := r.join(withName("x"))
		if _, err := r.c.MoveCoordinator("g"); err != nil {
			r.Fatal(err)
		}
		r.c.CutConnections()
		r.sleep(3 * interval)
		r.settled(m)
		at, ok := r.c.Group("g").Member(m.id)
		r.that(ok && at.InstanceID == "x", "the same member, got %+v", at)
		m.called("assigned orders[0-11]")
	})
}
