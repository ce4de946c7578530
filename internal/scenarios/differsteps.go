package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// step does one random thing.
func (d *differ) step() {
	d.model.now = d.model.now.Add(10 * time.Millisecond)
	c := d.clients[d.rnd.IntN(len(d.clients))]
	switch n := d.rnd.IntN(100); {
	case n < 15:
		d.believe(c, d.send(d.joinOf(c)))
	case n < 20:
		d.changeTopics()
	case n < 25:
		d.askOffsets(c)
	case n < 28:
		d.admin(c)
	case n < 37:
		d.leave(c)
	case n < 55: // what a good client sends
		q := d.request(c, c.epoch)
		q.Topics = slices.Clone(c.owned)
		if q.Topics == nil {
			q.Topics = owned{}
		}
		if d.rnd.IntN(2) == 0 {
			full(q, c)
		}
		d.believe(c, d.send(q))
	default:
		d.believe(c, d.send(d.strange(c)))
	}
}

// request is a bare heartbeat of a client.
func (d *differ) request(c *client, epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version = 1
	q.Group, q.MemberID, q.MemberEpoch = d.group, c.id, epoch
	if c.instance != "" && d.rnd.IntN(4) > 0 {
		i := c.instance
		q.InstanceID = &i
	}
	return q
}

// full adds all that makes a request full, but for the owned list.
func full(q *kmsg.ConsumerGroupHeartbeatRequest, c *client) {
	q.RebalanceTimeoutMillis = int32(diffSession.Milliseconds())
	q.SubscribedTopicNames = append([]string{}, c.topics...)
}

// joinOf is a join, mostly a valid one, now and then with other topics than
// before.
func (d *differ) joinOf(c *client) *kmsg.ConsumerGroupHeartbeatRequest {
	q := d.request(c, 0)
	if c.topics == nil || d.rnd.IntN(4) == 0 {
		c.topics = d.subscription()
	}
	full(q, c)
	q.Topics = owned{}
	switch d.rnd.IntN(12) {
	case 0:
		q.Topics = slices.Clone(c.owned)
	case 1:
		q.SubscribedTopicNames = nil
	case 2:
		d.otherInstance(q)
	}
	return q
}

// strange is a heartbeat with a random choice of everything.
func (d *differ) strange(c *client) *kmsg.ConsumerGroupHeartbeatRequest {
	epochs := []int32{c.epoch, c.epoch, c.epoch, c.epoch, c.epoch - 1, c.epoch - 1, c.epoch - 2, c.epoch + 1, 1, -3}
	q := d.request(c, epochs[d.rnd.IntN(len(epochs))])
	if q.MemberEpoch == -1 || q.MemberEpoch == -2 {
		q.MemberEpoch = 1
	}
	if d.rnd.IntN(3) == 0 {
		q.RebalanceTimeoutMillis = int32(diffSession.Milliseconds())
	}
	switch d.rnd.IntN(8) {
	case 0:
		c.topics = d.subscription()
		q.SubscribedTopicNames = append([]string{}, c.topics...)
	case 1, 2, 3:
		q.SubscribedTopicNames = append([]string{}, c.topics...)
	}
	switch d.rnd.IntN(6) {
	case 0:
		q.Topics = owned{}
	case 1:
		q.Topics = slices.Clone(c.owned)
	case 2: // a part of it
		if len(c.owned) > 0 {
			n := d.rnd.IntN(len(c.owned[0].Partitions) + 1)
			q.Topics = append(take(c.owned, n), c.owned[1:]...)
		}
	case 3: // another's
		q.Topics = slices.Clone(d.clients[d.rnd.IntN(len(d.clients))].owned)
	}
	switch d.rnd.IntN(20) {
	case 0:
		q.ServerAssignor = []*string{ptr("uniform"), ptr("range"), ptr("bogus")}[d.rnd.IntN(3)]
	case 1:
		d.otherInstance(q)
	case 2:
		q.RackID = []*string{ptr("r1"), ptr("")}[d.rnd.IntN(2)]
	}
	return q
}

func ptr[T any](v T) *T { return &v }

// muddles says whether a member of the group asks for the place of another one
// that is away. A broker then mixes up the targets of the two, in a way that
// depends on what each of them had before; the model does not follow it there.
func (d *differ) muddles(q *kmsg.ConsumerGroupHeartbeatRequest) bool {
	known, away := false, false
	for _, m := range d.real.Members {
		known = known || m.MemberID == q.MemberID
		away = away || m.MemberID != q.MemberID && m.MemberEpoch == -2
	}
	return q.MemberEpoch == 0 && q.InstanceID != nil && known && away
}

func (d *differ) otherInstance(q *kmsg.ConsumerGroupHeartbeatRequest) {
	q.InstanceID = ptr(fmt.Sprint("i", d.rnd.IntN(5)))
}

// subscription is a random choice of topics, some of which may not exist.
func (d *differ) subscription() []string {
	all := []string{"t12", "u12", d.prefix + ".a", d.prefix + ".b"}
	var out []string
	for _, name := range all {
		if d.rnd.IntN(2) == 0 {
			out = append(out, name)
		}
	}
	return out
}

// believe has a client take an answer, unless it gets lost.
func (d *differ) believe(c *client, a answer) {
	if a.ErrorCode != 0 || d.rnd.IntN(6) == 0 {
		return
	}
	c.epoch = a.MemberEpoch
	if a.Assignment != nil {
		c.owned = given(a)
	}
}

// leave sends -1 or -2. Some clients come back under another ID.
func (d *differ) leave(c *client) {
	q := d.request(c, -1)
	if d.rnd.IntN(3) > 0 {
		q.MemberEpoch = -2
	}
	if d.rnd.IntN(10) == 0 {
		d.otherInstance(q)
	}
	if a := d.send(q); a.ErrorCode == 0 {
		c.epoch, c.owned = 0, nil
		if d.rnd.IntN(2) == 0 {
			c.id = fmt.Sprintf("%.2s-%d", c.id, d.rnd.IntN(3))
		}
		if d.rnd.IntN(2) == 0 {
			d.believe(c, d.send(d.joinOf(c)))
		}
	}
}

// changeTopics makes, grows or deletes a topic of this run.
func (d *differ) changeTopics() {
	name := d.prefix + []string{".a", ".b"}[d.rnd.IntN(2)]
	n := d.topics[name]
	switch {
	case n == 0:
		n = int32(1 + d.rnd.IntN(5))
		d.log("topic %s is made with %d partitions", name, n)
		d.check(d.peer.CreateTopic(name, n))
		d.adopt(name, n)
		d.topics[name] = n
	case d.rnd.IntN(2) == 0 && n < 12:
		n += 2
		d.log("topic %s grows to %d partitions", name, n)
		d.check(d.peer.AddPartitions(name, n))
		d.check(d.model.AddPartitions(name, n))
		d.topics[name] = n
	default:
		d.log("topic %s is deleted", name)
		d.check(d.peer.DeleteTopic(name))
		d.check(d.model.DeleteTopic(name))
		delete(d.topics, name)
	}
	d.look()
	d.compare()
}

// askOffsets looks at a member through OffsetFetch and OffsetCommit.
func (d *differ) askOffsets(c *client) {
	epoch := []int32{c.epoch, c.epoch - 1, 0, -1, -2}[d.rnd.IntN(5)]
	if d.rnd.IntN(2) == 0 {
		d.same(fmt.Sprintf("fetch by %s at %d", c.id, epoch), func(p Peer) (int16, error) { return p.OffsetFetch(d.group, &c.id, epoch) })
		return
	}
	if epoch < 0 && d.real.ErrorCode != 0 {
		return // it would make a group of nothing but offsets, which the pure model does not keep
	}
	topics := append(slices.Sorted(maps.Keys(d.topics)), "t12")
	topic, partition := topics[d.rnd.IntN(len(topics))], int32(0)
	d.same(fmt.Sprintf("commit by %s at %d to %s", c.id, epoch, topic), func(p Peer) (int16, error) {
		return p.OffsetCommit(d.group, c.id, epoch, topic, partition)
	})
}

// admin does what admin tools do.
func (d *differ) admin(c *client) {
	switch d.rnd.IntN(3) {
	case 0:
		d.same("delete the group", func(p Peer) (int16, error) { return p.DeleteGroup(d.group) })
	case 1:
		d.same("remove "+c.id, func(p Peer) (int16, error) { return p.LeaveGroup(d.group, c.id, nil) })
	default:
		i := fmt.Sprint("i", d.rnd.IntN(5))
		d.same("remove instance "+i, func(p Peer) (int16, error) { return p.LeaveGroup(d.group, "", &i) })
	}
	d.look()
	d.compare()
}

// same wants both sides to return the same code.
func (d *differ) same(what string, ask func(Peer) (int16, error)) {
	d.Helper()
	real, err := ask(d.peer)
	d.check(err)
	d.log("%s: %s", what, code(real))
	model, err := ask(d.model)
	d.check(err)
	if real != model {
		d.fail("the model says %s", code(model))
	}
}
