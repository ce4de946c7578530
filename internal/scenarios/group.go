package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// describe returns the group as a describe shows it.
func (p *Play) describe() kmsg.ConsumerGroupDescribeResponseGroup {
	p.Helper()
	g, err := p.Describe(p.group)
	p.check(err)
	if g.ErrorCode != 0 {
		p.Fatalf("describe: %s", code(g.ErrorCode))
	}
	return g
}

// epoch is the group epoch.
func (p *Play) epoch() int32 {
	p.Helper()
	return p.describe().Epoch
}

// is wants the group in a state, at an epoch, with a number of members.
func (p *Play) is(state string, epoch int32, members int) {
	p.Helper()
	g := p.describe()
	if g.State != state || g.Epoch != epoch || len(g.Members) != members {
		p.Fatalf("the group is %s at %d with %d members, want %s at %d with %d",
			g.State, g.Epoch, len(g.Members), state, epoch, members)
	}
}

// bumped waits until the group epoch is what it should be.
func (p *Play) bumped(epoch int32) {
	p.Helper()
	for range 100 {
		if p.epoch() == epoch {
			return
		}
		p.Sleep(20 * time.Millisecond)
	}
	p.Fatalf("the group epoch is %d, want %d", p.epoch(), epoch)
}

// member returns a member as a describe shows it.
func (p *Play) member(id string) kmsg.ConsumerGroupDescribeResponseGroupMember {
	p.Helper()
	for _, m := range p.describe().Members {
		if m.MemberID == id {
			return m
		}
	}
	p.Fatalf("there is no member %s", id)
	panic("unreachable")
}

// gone wants a member not to be in the group.
func (p *Play) gone(id string) {
	p.Helper()
	for _, m := range p.describe().Members {
		if m.MemberID == id {
			p.Fatalf("%s is still there", id)
		}
	}
}

// instanceOf is a member's instance ID, "" without.
func (p *Play) instanceOf(id string) string {
	p.Helper()
	if i := p.member(id).InstanceID; i != nil {
		return *i
	}
	return ""
}

// has is what a describe says a member has.
func (p *Play) has(id string) (out owned) {
	p.Helper()
	for _, t := range p.member(id).Assignment.TopicPartitions {
		out = append(out, part(t.TopicID, t.Partitions...)...)
	}
	return out
}

// all is all twelve partitions of t12 or u12.
func (p *Play) all(topic string) owned {
	p.Helper()
	return part(p.id(topic), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
}

// id is a topic's ID.
func (p *Play) id(topic string) [16]byte {
	p.Helper()
	id, err := p.TopicID(topic)
	p.check(err)
	return id
}

// pair makes a settled group: A, with fields, and B have six partitions each.
// It returns their epoch.
func (p *Play) pair(fields ...field) int32 {
	p.Helper()
	e, keep := p.told(fields...)
	p.ok(p.beat("A", e, owns(keep)), e+1, none)
	p.ok(p.beat("B", e+1), e+1, 6)
	p.ok(p.beat("A", e+1), e+1, none)
	p.is("Stable", e+1, 2)
	return e + 1
}

// told makes a group in which A has twelve partitions, must give up six for B,
// and has just been told. It returns A's old epoch and what it may keep.
func (p *Play) told(fields ...field) (int32, owned) {
	p.Helper()
	e := p.first()
	p.ok(p.join("A", fields...), e, 12)
	p.ok(p.beat("A", e), e, none)
	p.ok(p.join("B"), e+1, 0)
	a := p.beat("A", e)
	p.ok(a, e, 6)
	return e, given(a)
}
