package member

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// unrest says what keeps the run from having come to rest; "" if nothing does.
func (w *simWorld) unrest() string {
	g := w.group()
	living := 0
	for _, n := range w.nodes {
		switch {
		case n.living():
			living++
			if why := n.unrest(g); why != "" {
				return fmt.Sprintf("m%d (%v): %s", n.i, n.m.state, why)
			}
		case n.started && !n.dead && !n.done:
			return fmt.Sprintf("m%d is still leaving", n.i)
		}
	}
	if len(g.Members) != living {
		return fmt.Sprintf("the group has %d members, %d are living", len(g.Members), living)
	}
	if living > 0 && g.State != "Stable" {
		return "the group is " + g.State
	}
	return w.unowned()
}

func (n *simNode) unrest(g coordinator.Group) string {
	m, ok := g.Member(n.m.id.MemberID)
	last := n.w.now - n.wire.accepted
	switch {
	case !ok:
		return "the coordinator does not know it"
	case n.m.state != StateStable || n.snap.State != StateStable:
		return "not stable"
	case last > 2*n.w.plan.interval+time.Second:
		return fmt.Sprintf("no accepted heartbeat for %v", last)
	case m.Epoch != n.snap.MemberEpoch:
		return fmt.Sprintf("has epoch %d, the coordinator says %d", n.snap.MemberEpoch, m.Epoch)
	case n.own.cb != nil:
		return "a callback runs"
	case len(n.changes) > 0:
		return "a change of the subscription is not answered"
	case !n.snap.Trusted(n.local()) && n.skew == 0:
		return "not trusted"
	case !slices.Equal(m.SubscribedTopics, sorted(n.sub.Topics)) || m.SubscribedRegex != n.sub.Regex:
		return fmt.Sprintf("is subscribed to %v %q, and wants %v", m.SubscribedTopics, m.SubscribedRegex, n.sub)
	}
	var truth topicSet
	for _, tp := range m.Assigned {
		truth = append(truth, topicParts{tp.ID, tp.Partitions})
	}
	if !truth.equal(n.own.owned) {
		return fmt.Sprintf("owns %v, the coordinator says %v", n.w.names(n.own.owned), n.w.names(truth))
	}
	return ""
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// unowned looks for a partition of a subscribed topic that is not owned exactly once.
func (w *simWorld) unowned() string {
	for _, name := range simTopicNames {
		id, parts, ok := w.c.Topic(name)
		if !ok || !slices.ContainsFunc(w.nodes, func(n *simNode) bool { return n.living() && n.sub.wants(name) }) {
			continue
		}
		for p := range parts {
			if k := len(w.owners[simSlot{id, p}]); k != 1 {
				return fmt.Sprintf("partition %d of %s is owned by %d", p, name, k)
			}
		}
	}
	return ""
}

func (s Subscription) wants(topic string) bool {
	if slices.Contains(s.Topics, topic) {
		return true
	}
	return s.Regex != "" && regexp.MustCompile("^("+s.Regex+")$").MatchString(topic)
}

// checkRest looks at a machine that waits, and at what it lets others see.
func (n *simNode) checkRest(now time.Time) {
	m, s := n.m, &n.snap
	owned, shown := n.own.owned.len(), s.Assignment.Len()
	switch {
	case n.core != m:
		return
	case s.State != m.state:
		n.w.fail(n, "the snapshot has state %v", s.State)
	case s.MemberEpoch != m.epoch:
		n.w.fail(n, "the snapshot has epoch %d, the machine %d", s.MemberEpoch, m.epoch)
	case s.TrustedUntil.After(m.trust.until):
		n.w.fail(n, "the snapshot trusts for longer than the machine")
	}
	switch m.state {
	case StateUnsubscribed, StateJoining, StateFenced, StateStale, StateFatal:
		if shown > 0 || m.state != StateFatal && s.MemberEpoch != 0 {
			n.w.fail(n, "the snapshot has %d partitions and epoch %d", shown, s.MemberEpoch)
		}
		if !s.TrustedUntil.IsZero() {
			n.w.fail(n, "trusted")
		}
	default:
		if m.own.losing {
			owned = 0
		}
		if shown != owned && !m.lv.sending { // then a callback may have been left behind
			n.w.fail(n, "the snapshot has %d partitions, %d are owned", shown, owned)
		}
	}
}
