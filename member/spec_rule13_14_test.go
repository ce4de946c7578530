package member_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Rule 13: COORDINATOR_LOAD_IN_PROGRESS keeps the coordinator; what says that it is
// elsewhere, or nothing at all, makes the member look again. What is owned is kept.
func TestRule13_Rediscovery(t *testing.T) {
	for name, c := range map[string]struct {
		fault   fault
		lookups int
	}{
		"COORDINATOR_LOAD_IN_PROGRESS": {code(14), 0},
		"COORDINATOR_NOT_AVAILABLE":    {code(15), 1},
		"NOT_COORDINATOR":              {code(16), 1},
		"disconnect":                   {dropped, 1},
		"timeout":                      {ignored, 1},
	} {
		for _, what := range []string{"heartbeat", "join"} {
			t.Run(name+" to a "+what, func(t *testing.T) {
				spec(t, brokers.Config{}, func(r *rig) {
					m := r.make(quiet)
					at := joins
					if what == "heartbeat" {
						m.run()
						r.settled(m)
						at = steady
					} else if err := r.cl.Ping(r.Context()); err != nil {
						r.Fatal(err)
					}
					before := r.lookups()
					if what == "join" {
						before = 1 // its own
					}
					r.on(1, at, c.fault)
					if what == "join" {
						m.run()
					}
					r.sleep(5 * interval)
					r.settled(m)
					r.equal("look-ups", r.lookups()-before, c.lookups)
					m.called("assigned orders[0-11]")
				})
			})
		}
	}
}

// Rule 13: the coordinator moves: the member follows with the same ID, epoch and partitions.
func TestRule13_CoordinatorMoves(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		epoch := m.Snapshot().MemberEpoch
		for range 5 {
			node, err := r.c.MoveCoordinator("g")
			if err != nil {
				r.Fatal(err)
			}
			r.sleep(2 * interval)
			all := m.sent(every)
			last := all[len(all)-1]
			r.that(last.broker == node && last.ok() && last.req.MemberEpoch == epoch, "heartbeats at broker %d, got %v", node, last)
		}
		m.called("assigned orders[0-11]")
	})
}

// Rule 14: UNKNOWN_SERVER_ERROR and codes that nobody knows are retried five times, with
// backoff; the sixth in a row is fatal, with the raw code.
func TestRule14_ServerErrors(t *testing.T) {
	for _, c := range []int16{-1, 999, 3} {
		for _, at := range []string{"join", "heartbeat"} {
			for _, n := range []int{5, 6} {
				t.Run(fmt.Sprintf("%d times %d to a %s", n, c, at), func(t *testing.T) {
					spec(t, brokers.Config{}, func(r *rig) {
						m := r.make(quiet)
						if at == "heartbeat" {
							m.run()
							r.settled(m)
						}
						x := r.on(n, every, code(c, "the broker's text"))
						if at == "join" {
							m.run()
						}
						if n == 5 {
							r.sleep(4 * interval)
							r.settled(m)
							r.equal("errors met", r.hits(x), 5)
							m.called("assigned orders[0-11]")
							return
						}
						e := m.failed(4 * interval)
						r.equal("code", e.Code, c)
						r.equal("text", e.Message, "the broker's text")
						if at == "heartbeat" {
							m.called("assigned orders[0-11]; lost orders[0-11]")
							r.equal("leaves", len(m.sent(leaves)), 1)
						}
					})
				})
			}
		}
	}
}

// Rule 14: the count is of errors in a row.
func TestRule14_NotInARow(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join(quiet)
		for range 5 {
			x := r.on(4, steady, code(-1))
			r.until("four errors", 2*interval, func() bool { return r.hits(x) == 4 })
			r.sleep(interval)
		}
		m.called("assigned orders[0-11]")
		r.that(r.alone(m), "a member")
	})
}

// Rule 14: GROUP_ID_NOT_FOUND at a real epoch: lost, rejoin; to a join: another type of group.
func TestRule14_GroupIDNotFound(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		m := r.join()
		r.on(1, steady, code(kerr.GroupIDNotFound.Code))
		r.sleep(2 * interval)
		r.settled(m)
		m.called("assigned orders[0-11]; lost orders[0-11]; assigned orders[0-11]")
		r.on(1, joins, code(kerr.GroupIDNotFound.Code, "Group g is not a consumer group."))
		e := r.start().failed(time.Second, member.ErrOtherType, kerr.GroupIDNotFound)
		r.equal("text", e.Message, "Group g is not a consumer group.")
	})
}

// Rule 14: fatal is OnLost, one leave, one typed error, and the end.
func TestRule14_Fatal(t *testing.T) {
	for _, e := range []*kerr.Error{
		kerr.GroupAuthorizationFailed, kerr.InvalidRequest, kerr.GroupMaxSizeReached, kerr.UnsupportedVersion,
		kerr.InvalidGroupID, kerr.SaslAuthenticationFailed,
	} {
		t.Run(e.Message, func(t *testing.T) {
			spec(t, brokers.Config{}, func(r *rig) {
				m := r.join()
				r.on(1, steady, code(e.Code))
				err := m.failed(2*interval, e)
				m.called("assigned orders[0-11]; lost orders[0-11]")
				r.equal("state", m.Snapshot().State, member.StateFatal)
				r.equal("error in the snapshot", m.Snapshot().Err, error(err))
				r.equal("leaves", len(m.sent(leaves)), 1)
				r.equal("members", len(r.c.Group("g").Members), 0)
			})
		})
	}
}
