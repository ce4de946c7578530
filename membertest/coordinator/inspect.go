package coordinator

import (
	"slices"
	"time"
)

// Group is the truth about one group at one moment. It shares nothing with the
// model.
type Group struct {
	Name            string
	State           string // Empty, Assigning, Reconciling or Stable
	Assignor        string
	Epoch           int32
	AssignmentEpoch int32
	Members         []Member // by ID
}

// Member is the truth about one member.
type Member struct {
	ID         string
	InstanceID string // "": a dynamic member
	RackID     string
	Client     Client

	// Epoch is -2 for a static member that is away.
	Epoch         int32
	PreviousEpoch int32
	State         MemberState

	Assigned          []TopicPartitions // what the member may use
	PendingRevocation []TopicPartitions // what it was told to give up and may still use
	Owned             []TopicPartitions // both: what nobody else can get
	Target            []TopicPartitions

	SubscribedTopics []string // sorted
	SubscribedRegex  string   // "": none
	ServerAssignor   string   // "": no preference
	RebalanceTimeout time.Duration

	// SessionEnd is when the session ends if nothing more is heard, and
	// RebalanceEnd when a member that must revoke is removed. Zero: not set.
	SessionEnd   time.Time
	RebalanceEnd time.Time
}

// TopicPartitions are partitions of one topic.
type TopicPartitions struct {
	ID         [16]byte
	Topic      string  // "": the topic was deleted
	Partitions []int32 // sorted
}

// Member returns a member by ID.
func (g Group) Member(id string) (Member, bool) {
	for _, m := range g.Members {
		if m.ID == id {
			return m, true
		}
	}
	return Member{}, false
}

// Group returns the truth about a group as of the last call that took a time.
func (c *Coordinator) Group(name string) (Group, bool) {
	g := c.groups[name]
	if g == nil {
		return Group{}, false
	}
	out := Group{
		Name:            g.name,
		State:           g.state(),
		Assignor:        g.preferredAssignor(),
		Epoch:           g.epoch,
		AssignmentEpoch: g.assignmentEpoch,
	}
	for _, m := range g.ordered() {
		out.Members = append(out.Members, Member{
			ID: m.id, InstanceID: m.instance, RackID: m.rack,
			Client: Client{ID: m.clientID, Host: m.clientHost},
			Epoch:  m.epoch, PreviousEpoch: m.previousEpoch, State: m.state,
			Assigned:          c.list(m.assigned),
			PendingRevocation: c.list(m.pending),
			Owned:             c.list(m.assigned, m.pending),
			Target:            c.list(g.targets[m.id]),
			SubscribedTopics:  slices.Clone(m.topics),
			SubscribedRegex:   m.regex,
			ServerAssignor:    m.assignor,
			RebalanceTimeout:  time.Duration(m.rebalanceTimeout) * time.Millisecond,
			SessionEnd:        m.sessionEnd,
			RebalanceEnd:      m.rebalanceEnd,
		})
	}
	return out, true
}

// HasGroup says whether there is a group, empty or not.
func (c *Coordinator) HasGroup(name string) bool { return c.groups[name] != nil }

// HasMember says whether a group has a member.
func (c *Coordinator) HasMember(group, memberID string) bool {
	g := c.groups[group]
	return g != nil && g.members[memberID] != nil
}

// Groups returns the truth about all groups, by name.
func (c *Coordinator) Groups() []Group {
	names := make([]string, 0, len(c.groups))
	for name := range c.groups {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([]Group, 0, len(names))
	for _, name := range names {
		g, _ := c.Group(name)
		out = append(out, g)
	}
	return out
}

// list merges disjoint sets into one sorted list.
func (c *Coordinator) list(sets ...partitions) []TopicPartitions {
	all := make(partitions)
	for _, set := range sets {
		for id, ps := range set {
			for n := range ps {
				all.add(id, n, 0)
			}
		}
	}
	out := make([]TopicPartitions, 0, len(all))
	for _, id := range all.sortedIDs() {
		tp := TopicPartitions{ID: id, Partitions: all.sorted(id)}
		if t := c.image.byID[id]; t != nil {
			tp.Topic = t.name
		}
		out = append(out, tp)
	}
	return out
}
