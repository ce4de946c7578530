package coordinator

import (
	"slices"
	"strings"
	"time"
)

// MemberState is where a member stands on its way to the target assignment.
type MemberState string

// The member states of KIP-848, named as in Kafka's MemberState.
const (
	// StateStable is a member that has reached the assignment epoch it is in.
	StateStable MemberState = "STABLE"
	// StateUnrevoked is a member that must first give partitions up. It stays
	// in its old epoch until a heartbeat's owned list has none of them.
	StateUnrevoked MemberState = "UNREVOKED"
	// StateUnreleased is a member in the new epoch that waits for partitions
	// other members still hold.
	StateUnreleased MemberState = "UNRELEASED"
)

// leaveStatic is the member epoch of a static member that is away.
const leaveStatic = -2

// member is one group member. It is replaced as a whole by every accepted
// heartbeat and its maps are never changed in place.
type member struct {
	id               string
	instance         string // "": a dynamic member
	rack             string
	clientID         string
	clientHost       string
	rebalanceTimeout int32    // milliseconds
	topics           []string // sorted, without duplicates
	regex            string   // "": none
	assignor         string   // "": no preference

	epoch, previousEpoch int32
	state                MemberState
	assigned, pending    partitions // pending revocation

	sessionEnd     time.Time // zero: no session timer
	rebalanceEnd   time.Time // zero: no rebalance timer
	rebalanceEpoch int32     // the epoch the rebalance timer was started in
}

// slot is the key of the owner index.
type slot struct {
	topic     [16]byte
	partition int32
}

// group is one consumer group.
type group struct {
	name            string
	epoch           int32
	assignmentEpoch int32
	targetAt        time.Time // when the last target was made; zero: never

	members map[string]*member
	statics map[string]string // instance ID to member ID
	targets map[string]partitions
	owners  map[slot]string // who has a partition, pending revocation included

	regexes   map[string]resolved
	imageSeen int    // image version of metadata
	metadata  string // the subscribed topics, see metadataOf

	// leaksInstances: see Version.leaksInstances.
	leaksInstances bool
}

// newGroup returns a group without members. From 4.3 a group is born in epoch
// 1 with an empty target for it, so a first member without topics gets epoch 1
// and one with topics epoch 2.
func newGroup(name string, v Version) *group {
	g := &group{
		name:    name,
		members: make(map[string]*member),
		statics: make(map[string]string),
		targets: make(map[string]partitions),
		owners:  make(map[slot]string),
		regexes: make(map[string]resolved),

		leaksInstances: v.leaksInstances(),
	}
	if v.startsAtOne() {
		g.epoch, g.assignmentEpoch = 1, 1
	}
	return g
}

// put stores a new version of a member and keeps the indexes true. Only the
// index of instance IDs is as careless as the broker's: see
// Version.leaksInstances.
func (g *group) put(m *member) {
	if old := g.members[m.id]; old != nil {
		g.release(old)
		if old.instance != m.instance && !g.leaksInstances {
			delete(g.statics, old.instance)
		}
	}
	g.members[m.id] = m
	if m.instance != "" {
		g.statics[m.instance] = m.id
	}
	for _, set := range []partitions{m.assigned, m.pending} {
		for id, ps := range set {
			for n := range ps {
				g.owners[slot{id, n}] = m.id
			}
		}
	}
}

// touch stores a new version of a member that holds the same partitions under
// the same instance ID, without the cost of put.
func (g *group) touch(m *member) { g.members[m.id] = m }

// drop removes a member and its target. The group epoch is the caller's.
func (g *group) drop(m *member) {
	g.release(m)
	delete(g.members, m.id)
	delete(g.targets, m.id)
	delete(g.statics, m.instance)
}

// release takes a member's partitions out of the owner index.
func (g *group) release(m *member) {
	for _, set := range []partitions{m.assigned, m.pending} {
		for id, ps := range set {
			for n := range ps {
				if g.owners[slot{id, n}] == m.id {
					delete(g.owners, slot{id, n})
				}
			}
		}
	}
}

// ordered returns the members by ID.
func (g *group) ordered() []*member {
	out := make([]*member, 0, len(g.members))
	for _, m := range g.members {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *member) int { return strings.Compare(a.id, b.id) })
	return out
}

// state names the group's state as ConsumerGroup does.
func (g *group) state() string {
	if len(g.members) == 0 {
		return "Empty"
	}
	if g.epoch > g.assignmentEpoch {
		return "Assigning"
	}
	for _, m := range g.members {
		if !m.reconciledTo(g.assignmentEpoch) {
			return "Reconciling"
		}
	}
	return "Stable"
}

// reconciledTo says whether the member has nothing left to do for an epoch.
func (m *member) reconciledTo(epoch int32) bool {
	return m.state == StateStable && m.epoch == epoch
}

// moveTo enters an epoch. Entering the present epoch again also makes it the
// previous one, so an older epoch is no longer accepted after it
// (ConsumerGroupMember.Builder).
func (m *member) moveTo(epoch int32) {
	m.previousEpoch = m.epoch
	m.epoch = epoch
}
