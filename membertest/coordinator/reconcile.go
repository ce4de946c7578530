package coordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// reconcile moves a member one step towards its target (KIP-848, "Member
// Assignment Reconciliation"; CurrentAssignmentBuilder) and stores it. The
// returned member is the stored one.
func (c *Coordinator) reconcile(now time.Time, r reconciler, changed bool) *member {
	g, m := r.g, r.m
	changed = changed && c.cfg.Version.enforcesSubscription()
	if !changed && m.reconciledTo(g.assignmentEpoch) {
		return m
	}
	r.topics = c.subscribedIDs(g, m)
	next := r.step(changed)
	if next == m {
		return m
	}
	// The rebalance timer starts when the member is told to revoke, and
	// stops with any other step. Waiting longer, or a new timeout from the
	// member, does not touch it.
	next.rebalanceEnd = time.Time{}
	if next.state == StateUnrevoked {
		next.rebalanceEnd = now.Add(time.Duration(next.rebalanceTimeout) * time.Millisecond)
		next.rebalanceEpoch = next.epoch
	}
	g.put(next)
	return next
}

// reconciler is one reconciliation of one member.
type reconciler struct {
	c      *Coordinator
	g      *group
	m      *member
	owned  []kmsg.ConsumerGroupHeartbeatRequestTopic // nil: not sent
	target partitions
	topics map[[16]byte]bool // subscribed and existing
}

// step returns the member after the step, or the member itself if it has to
// stay as it is. changed says that this heartbeat changed the subscription.
func (r *reconciler) step(changed bool) *member {
	switch m := r.m; m.state {
	case StateStable:
		if m.epoch != r.g.assignmentEpoch {
			return r.advance(m.epoch)
		}
		return r.dropUnsubscribed()
	case StateUnrevoked:
		if !r.owns(m.pending) {
			if r.c.cfg.Version.stepsWithEachAck() {
				return r.advance(m.epoch + 1)
			}
			return r.advance(m.epoch)
		}
		if changed {
			return r.dropUnsubscribed()
		}
		return m
	default: // StateUnreleased
		return r.advance(m.epoch)
	}
}

// owns says whether the member may still hold any of p. Without an owned list
// it may hold all of them, so only a list acknowledges a revocation. Strangers
// in the list are ignored.
func (r *reconciler) owns(p partitions) bool {
	if r.owned == nil {
		return true
	}
	for _, t := range r.owned {
		for _, n := range t.Partitions {
			if p.has(t.TopicID, n) {
				return true
			}
		}
	}
	return false
}

// dropUnsubscribed takes the topics the member no longer subscribes to out of
// its assignment, in its present epoch and without a new target.
func (r *reconciler) dropUnsubscribed() *member {
	keep, pending := make(partitions), make(partitions)
	for id, ps := range r.m.pending {
		for n, epoch := range ps {
			pending.add(id, n, epoch)
		}
	}
	removed := false
	for id, ps := range r.m.assigned {
		if r.topics[id] {
			keep[id] = ps
			continue
		}
		removed = true
		for n, epoch := range ps {
			pending.add(id, n, epoch)
		}
	}
	if !removed {
		return r.m
	}
	next := *r.m
	next.assigned = keep
	if r.owns(pending) {
		next.state, next.pending = StateUnrevoked, pending
	}
	next.moveTo(r.m.epoch)
	return &next
}

// advance compares what the member has with its target. It first gives up,
// in the given epoch; then it enters the target's epoch and takes what is
// free; what others still hold it waits for.
func (r *reconciler) advance(epoch int32) *member {
	keep, revoke := r.split()
	next := *r.m
	if len(revoke) > 0 && r.owns(revoke) {
		next.state, next.assigned, next.pending = StateUnrevoked, keep, revoke
		next.moveTo(epoch)
		return &next
	}
	next.state = StateStable
	for id, ps := range r.target {
		if !r.wants(id) {
			continue
		}
		for n := range ps {
			switch {
			case keep.has(id, n):
			case r.free(id, n):
				keep.add(id, n, r.g.assignmentEpoch)
			default:
				next.state = StateUnreleased
			}
		}
	}
	next.assigned, next.pending = keep, nil
	next.moveTo(r.g.assignmentEpoch)
	return &next
}

// free says whether nobody has a partition, but for the member that was to give
// it up.
func (r *reconciler) free(id [16]byte, n int32) bool {
	return r.g.owners[slot{id, n}] == "" || r.m.pending.has(id, n)
}

// split divides the assigned partitions into those the target keeps and those
// to revoke. Both are fresh maps.
func (r *reconciler) split() (keep, revoke partitions) {
	keep, revoke = make(partitions), make(partitions)
	for id, ps := range r.m.assigned {
		for n, epoch := range ps {
			if r.wants(id) && r.target.has(id, n) {
				keep.add(id, n, epoch)
			} else {
				revoke.add(id, n, epoch)
			}
		}
	}
	return keep, revoke
}

// wants says whether the target of a topic counts. Since 4.2 it does not for a
// topic the member has unsubscribed from since the target was made.
func (r *reconciler) wants(id [16]byte) bool {
	return r.topics[id] || !r.c.cfg.Version.enforcesSubscription()
}

// subscribedIDs returns the existing topics a member subscribes to. A regular
// expression that is not resolved yet matches nothing.
func (c *Coordinator) subscribedIDs(g *group, m *member) map[[16]byte]bool {
	ids := make(map[[16]byte]bool)
	for _, names := range [][]string{m.topics, g.regexes[m.regex].topics} {
		for _, name := range names {
			if t := c.image.byName[name]; t != nil {
				ids[t.id] = true
			}
		}
	}
	return ids
}
