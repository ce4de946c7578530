package member_test

import (
	"context"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

func rebalanceIn(d time.Duration) option {
	return timing(func(t *member.Timing) { t.RebalanceTimeout = d })
}

// restores is an OnAssigned of topic that works for d, and obeys its context.
func restores(topic string, d time.Duration) callback {
	return func(ctx context.Context, p member.Partitions) error {
		if p[topic] == nil {
			return nil
		}
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Rule 19: what is assigned in answer to the acknowledgement of a revocation has the time from
// that request, not from the one that asked for the revocation.
func TestRule19_AssignedAfterASlowRevoke(t *testing.T) {
	specAll(t, brokers.Config{Topics: map[string]int32{"orders": 3, "other": 3}}, func(r *rig) {
		m := r.join(topics("orders"), rebalanceIn(20*time.Second),
			onRevoked(first(sleeps(17*time.Second))), onAssigned(restores("other", 15*time.Second)))
		r.sleep(time.Minute)
		go func() { _ = m.SetTopics(context.Background(), "other") }()
		r.until("other", time.Minute, func() bool { return m.Snapshot().Assignment["other"] != nil })
		r.settled(m)
		calls := m.told().calls
		last := calls[len(calls)-1]
		r.equal("what came last", last.what+" "+last.parts.String(), "assigned other[0-2]")
		r.that(last.left >= 17*time.Second, "all of 18 s, got %v", last.left)
		r.that(m.Snapshot().TrustedUntil.Sub(m.Snapshot().LastHeartbeat) > 30*time.Second, "trust for the session")
	})
}

// Rule 19: likewise after a slow OnLost of a topic that was made again.
func TestRule19_AssignedAfterASlowLost(t *testing.T) {
	specAll(t, brokers.Config{Topics: map[string]int32{"again": 2}}, func(r *rig) {
		m := r.join(topics("again"), onLost(first(sleeps(16*time.Second))), rebalanceIn(20*time.Second))
		r.sleep(time.Minute)
		r.remake("again", 3)
		r.until("new", time.Minute, func() bool { return m.Snapshot().Assignment.Len() == 3 })
		r.settled(m)
		calls := m.told().calls
		r.that(calls[len(calls)-1].left >= 17*time.Second, "all of 18 s, got %v", calls[len(calls)-1].left)
	})
}

// Rule 19: a member that gives up and takes in one change of the group.
func TestRule19_SwapAfterASlowRevoke(t *testing.T) {
	specAll(t, brokers.Config{Topics: map[string]int32{"orders": 12, "x": 2, "y": 2}}, func(r *rig) {
		r.ghosts = true
		opts := []option{rebalanceIn(20 * time.Second), func(c *member.ConsumerConfig) { c.Assignor = "range" }, onRevoked(first(sleeps(16 * time.Second)))}
		b := r.start(append(opts, withName("b"))...)
		r.settled(b)
		c := r.start(append(opts, withName("c"))...)
		r.settledIn(2*time.Minute, b, c)
		a := r.start(append(opts, withName("a"))...)
		r.settledIn(3*time.Minute, a, b, c)
		for _, m := range r.members {
			for _, call := range m.told().calls {
				r.that(call.what != "assigned" || call.left >= 15*time.Second, "time for OnAssigned(%v) of %s, got %v", call.parts, m.Snapshot().InstanceID, call.left)
			}
		}
	})
}

// Rule 19: no timer runs for what is assigned, so OnAssigned has its time, though the heartbeats before
// it had no answer for longer than the rebalance timeout.
func TestRule19_AssignedAfterSilence(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		a, b := r.start(rebalanceIn(10*time.Second)), r.start(rebalanceIn(10*time.Second))
		r.settled(a, b)
		r.on(-1, from(a, every), ignored)
		r.sleep(10 * time.Second)
		b.leaves()
		r.sleep(10 * time.Second)
		r.calm()
		r.until("all", time.Minute, func() bool { return a.Snapshot().Assignment.Len() == 12 })
		for _, call := range a.told().calls {
			r.that(call.left >= 8*time.Second, "time for %s(%v), got %v", call.what, call.parts, call.left)
		}
	})
}
