package coordinator

import (
	"slices"
	"strings"
	"time"
)

// maybeAssign makes a new target assignment if the group epoch is ahead of the
// assignment epoch (KIP-848, "Target Assignment"). From 4.3 that happens at
// most once per assignment interval; a join inside the interval is answered
// with the old assignment epoch. Nothing happens when the interval is over:
// the next heartbeat of any member makes the target. It says whether a target
// was made.
func (c *Coordinator) maybeAssign(now time.Time, g *group) bool {
	if g.epoch <= g.assignmentEpoch {
		return false
	}
	if !g.targetAt.IsZero() && now.Sub(g.targetAt) < c.cfg.AssignmentInterval {
		return false
	}
	g.targets = c.assign(g)
	g.assignmentEpoch = g.epoch
	g.targetAt = now
	return true
}

// assign runs the group's assignor.
func (c *Coordinator) assign(g *group) map[string]partitions {
	if c.cfg.Assign != nil {
		snapshot, _ := c.Group(g.name)
		targets := make(map[string]partitions)
		for id, list := range c.cfg.Assign(snapshot) {
			targets[id] = make(partitions)
			for _, tp := range list {
				for _, n := range tp.Partitions {
					targets[id].add(tp.ID, n, 0)
				}
			}
		}
		return targets
	}
	if g.preferredAssignor() == assignorRange {
		return assignRange(c.subscribers(g))
	}
	return assignUniform(c.subscribers(g))
}

// subscriber is one member as the assignors see it.
type subscriber struct {
	id     string
	key    string   // what range orders by: the instance ID, else the member ID
	topics []*topic // existing ones, by name
	had    partitions
}

// subscribers returns the group's members for an assignor, by ID.
func (c *Coordinator) subscribers(g *group) []subscriber {
	var out []subscriber
	for _, m := range g.ordered() {
		s := subscriber{id: m.id, key: m.instance, had: g.targets[m.id]}
		if s.key == "" {
			s.key = m.id
		}
		for id := range c.subscribedIDs(g, m) {
			s.topics = append(s.topics, c.image.byID[id])
		}
		slices.SortFunc(s.topics, func(a, b *topic) int { return strings.Compare(a.name, b.name) })
		out = append(out, s)
	}
	return out
}

// votes counts the members that name each assignor.
func (g *group) votes() map[string]int {
	votes := make(map[string]int)
	for _, m := range g.members {
		if m.assignor != "" {
			votes[m.assignor]++
		}
	}
	return votes
}

// winner returns the assignor with most votes. A tie, or no vote, goes to
// uniform.
func winner(votes map[string]int) string {
	if votes[assignorRange] > votes[assignorUniform] {
		return assignorRange
	}
	return assignorUniform
}

// preferredAssignor returns the assignor the next target is made with.
func (g *group) preferredAssignor() string { return winner(g.votes()) }

// assignorUnrest says whether a heartbeat changed the preferred assignor, or
// comes from the losing side of a tie. 4.4.0 bumps the group epoch for both,
// and for a tie again at each heartbeat, so name one assignor or none.
func (g *group) assignorUnrest(old, next *member) bool {
	votes := g.votes()
	if old.assignor != next.assignor {
		before := map[string]int{assignorUniform: votes[assignorUniform], assignorRange: votes[assignorRange]}
		before[next.assignor]--
		before[old.assignor]++
		if winner(before) != winner(votes) {
			return true
		}
	}
	return next.assignor != "" && next.assignor != winner(votes) && votes[next.assignor] == votes[winner(votes)]
}
