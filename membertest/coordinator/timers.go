package coordinator

import (
	"cmp"
	"slices"
	"time"
)

// Advance runs every session and rebalance timer that is due at now. All
// methods that take now call it first, so it is only needed to make time pass
// without a request.
func (c *Coordinator) Advance(now time.Time) {
	if c.due.IsZero() || now.Before(c.due) {
		return
	}
	for _, f := range c.firing(now) {
		if f.group.members[f.member.id] == f.member {
			c.remove(f.group, f.member)
		}
	}
	c.due, _ = c.NextDeadline()
}

// firing is one member whose time is over.
type firing struct {
	at     time.Time
	group  *group
	member *member
}

// firing returns the members to remove, in the order their timers end.
func (c *Coordinator) firing(now time.Time) []firing {
	var out []firing
	for _, g := range c.groups {
		for _, m := range g.members {
			if at := m.deadline(); !at.IsZero() && !at.After(now) {
				out = append(out, firing{at, g, m})
			}
		}
	}
	slices.SortFunc(out, func(a, b firing) int {
		return cmp.Or(a.at.Compare(b.at),
			cmp.Compare(a.group.name, b.group.name),
			cmp.Compare(a.member.id, b.member.id))
	})
	return out
}

// deadline is when the member is removed if nothing more is heard: at the end
// of its session, or of the rebalance timeout if it is still in the epoch in
// which it was told to revoke (GroupMetadataManager,
// scheduleConsumerGroupRebalanceTimeout). Zero: never.
func (m *member) deadline() time.Time {
	at := m.sessionEnd
	if !m.rebalanceEnd.IsZero() && m.rebalanceEpoch == m.epoch && (at.IsZero() || m.rebalanceEnd.Before(at)) {
		at = m.rebalanceEnd
	}
	return at
}

// NextDeadline returns when the next timer ends, and false if none runs. A new
// target assignment has no timer: it is made inside a heartbeat.
func (c *Coordinator) NextDeadline() (time.Time, bool) {
	var next time.Time
	for _, g := range c.groups {
		for _, m := range g.members {
			if at := m.deadline(); !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
	return next, !next.IsZero()
}

// arm makes sure that Advance looks at the timers at t.
func (c *Coordinator) arm(t time.Time) {
	if !t.IsZero() && (c.due.IsZero() || t.Before(c.due)) {
		c.due = t
	}
}

// Expire removes a member as if its session had ended. It returns false if
// there is no such member.
func (c *Coordinator) Expire(now time.Time, group, memberID string) bool {
	c.Advance(now)
	g := c.groups[group]
	if g == nil || g.members[memberID] == nil {
		return false
	}
	c.remove(g, g.members[memberID])
	return true
}
