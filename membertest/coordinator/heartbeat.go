package coordinator

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refusal is a request the coordinator does not carry out. A refused request
// changes nothing, and does not feed the member's session.
type refusal struct {
	err     *kerr.Error
	message string
}

func refuse(err *kerr.Error, message string) *refusal { return &refusal{err, message} }

// Heartbeat answers one ConsumerGroupHeartbeat. It runs the timers that are
// due first. The request is only read; the answer shares nothing with it or
// with the model.
func (c *Coordinator) Heartbeat(now time.Time, req *kmsg.ConsumerGroupHeartbeatRequest, from Client) *kmsg.ConsumerGroupHeartbeatResponse {
	c.Advance(now)
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.Version = req.Version

	refused := validate(req)
	switch {
	case refused != nil:
	case req.MemberEpoch < 0:
		refused = c.leave(req, resp)
	default:
		refused = c.beat(now, req, from, resp)
	}
	if refused != nil {
		// An error carries neither epoch nor interval (GroupCoordinatorService
		// sets only code and message), so a client must adopt nothing from it.
		resp.ErrorCode = refused.err.Code
		resp.ErrorMessage = kmsg.StringPtr(refused.message)
	}
	return resp
}

// beat handles a join or a heartbeat (GroupMetadataManager,
// consumerGroupHeartbeat). Everything that can refuse comes before the first
// change.
func (c *Coordinator) beat(now time.Time, req *kmsg.ConsumerGroupHeartbeatRequest, from Client, resp *kmsg.ConsumerGroupHeartbeatResponse) *refusal {
	g := c.groups[req.Group]
	if g == nil {
		if req.MemberEpoch != 0 {
			return refuse(kerr.GroupIDNotFound, "There is no such group.")
		}
		g = newGroup(req.Group, c.cfg.Version)
	}
	old, refused := c.admit(g, req)
	if refused != nil {
		return refused
	}
	next := merge(old.member, req, from)
	regex, refused := g.compareRegex(old.member, next)
	if refused != nil {
		return refused
	}

	c.groups[g.name] = g
	// A member's target is found by its instance ID, which is not listed yet
	// (ConsumerGroup, targetAssignment): a member that changes its instance ID
	// while it has not reached its target loses everything, unless the target
	// is a new one.
	unlisted := next.instance != "" && g.statics[next.instance] == ""
	g.replace(old, next)
	c.bump(g, old.member, next, regex)
	r := reconciler{c: c, g: g, m: next, owned: req.Topics}
	if assigned := c.maybeAssign(now, g); assigned || !unlisted {
		r.target = g.targets[next.id]
	}
	next = c.reconcile(now, r, subscriptionChanged(old.member, next, regex))
	next.sessionEnd = now.Add(c.cfg.SessionTimeout)
	c.arm(next.sessionEnd)
	c.arm(next.rebalanceEnd)
	c.maybeResolve(now, g, regex == regexNew)

	resp.MemberID = kmsg.StringPtr(next.id)
	resp.MemberEpoch = next.epoch
	resp.HeartbeatIntervalMillis = int32(c.cfg.HeartbeatInterval.Milliseconds())
	if req.MemberEpoch == 0 || full(req) || !next.assigned.same(old.member.assigned) {
		resp.Assignment = wireAssignment(next.assigned)
	}
	return nil
}

// full says whether a heartbeat asks for the whole assignment. Three fields
// decide it, and any two of them are not enough (KIP-848, and
// GroupMetadataManager's own definition of a full request).
func full(req *kmsg.ConsumerGroupHeartbeatRequest) bool {
	return req.RebalanceTimeoutMillis != -1 &&
		(req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil) &&
		req.Topics != nil
}

// merge applies the fields a heartbeat carries to the member. A missing field
// leaves the member's value as it is.
func merge(old *member, req *kmsg.ConsumerGroupHeartbeatRequest, from Client) *member {
	next := *old
	next.clientID, next.clientHost = from.ID, from.Host
	if req.InstanceID != nil {
		next.instance = *req.InstanceID
	}
	if req.RackID != nil {
		next.rack = *req.RackID
	}
	if req.RebalanceTimeoutMillis != -1 {
		next.rebalanceTimeout = req.RebalanceTimeoutMillis
	}
	if req.ServerAssignor != nil {
		next.assignor = *req.ServerAssignor
	}
	if req.SubscribedTopicNames != nil {
		names := slices.Clone(req.SubscribedTopicNames)
		slices.Sort(names)
		next.topics = slices.Compact(names)
	}
	if req.SubscribedTopicRegex != nil {
		next.regex = *req.SubscribedTopicRegex
	}
	return &next
}

// bump raises the group epoch by one when the group needs a new target: the
// subscription or the topics behind it changed (KIP-848, "Group Epoch").
func (c *Coordinator) bump(g *group, old, next *member, regex regexChange) {
	need := g.epoch == 0 || // a new group must leave epoch 0
		!slices.Equal(old.topics, next.topics) ||
		regex == regexKnown ||
		regex == regexDropped && c.cfg.Version.heedsDroppedRegex() ||
		c.cfg.Version.bumpsForAssignor() && g.assignorUnrest(old, next)
	if c.refreshMetadata(g, need) {
		need = true
	}
	if need {
		g.epoch++
	}
}

// refreshMetadata recomputes what the group's topics look like if the cluster
// or the group's subscription changed, and says whether that is news.
func (c *Coordinator) refreshMetadata(g *group, force bool) bool {
	if !force && g.imageSeen == c.image.version {
		return false
	}
	g.imageSeen = c.image.version
	metadata := c.metadataOf(g)
	changed := metadata != g.metadata
	g.metadata = metadata
	return changed
}

// metadataOf describes every existing topic the group subscribes to: its ID
// and partition count. It plays the part of Kafka's metadata hash.
func (c *Coordinator) metadataOf(g *group) string {
	seen := make(map[string]bool)
	for _, m := range g.members {
		for _, name := range m.topics {
			seen[name] = true
		}
		for _, name := range g.regexes[m.regex].topics {
			seen[name] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		if c.image.byName[name] != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []byte
	for _, name := range names {
		t := c.image.byName[name]
		out = append(out, t.id[:]...)
		out = binary.BigEndian.AppendUint32(out, uint32(t.partitions))
	}
	return string(out)
}

// newMemberID makes the ID of a v0 member that brings none: 22 characters, as
// from a real broker, but counted instead of random.
func (c *Coordinator) newMemberID() string {
	raw := c.nextID("rollcall")
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

// nextID returns eight characters and a count.
func (c *Coordinator) nextID(prefix string) (id [16]byte) {
	c.made++
	copy(id[:8], prefix)
	binary.BigEndian.PutUint64(id[8:], c.made)
	return id
}

// wireAssignment encodes an assignment, in the order of topic IDs.
func wireAssignment(p partitions) *kmsg.ConsumerGroupHeartbeatResponseAssignment {
	out := &kmsg.ConsumerGroupHeartbeatResponseAssignment{Topics: []kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{}}
	for _, id := range p.sortedIDs() {
		out.Topics = append(out.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{
			TopicID:    id,
			Partitions: p.sorted(id),
		})
	}
	return out
}
