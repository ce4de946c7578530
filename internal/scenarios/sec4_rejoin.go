package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 4: epoch 0 by a member the group knows, and the way back after
// FENCED_MEMBER_EPOCH.

func epochZero() []Scenario {
	return []Scenario{
		{Name: "4 epoch 0 by a settled member", Play: zeroSettled},
		{Name: "4 epoch 0 by a sole member whose epoch never moved", Play: zeroUnmoved},
		{Name: "4 epoch 0 with another subscription", Play: zeroOtherTopics},
		{Name: "4 epoch 0 instead of an acknowledgement", Play: zeroForAck},
		{Name: "4 epoch 0 while waiting for others", Play: zeroWaiting},
		{Name: "4 the ways back", Play: waysBack},
		{Name: "4 a new ID leaves a ghost", Play: newID},
	}
}

func zeroSettled(p *Play) {
	e := p.pair()
	for range 3 {
		a := p.join("A")
		if p.V < v42 {
			p.refused(a, kerr.FencedMemberEpoch)
		} else {
			p.ok(a, e, 6)
		}
	}
	p.is("Stable", e, 2)
	p.ok(p.beat("B", e), e, none)
	p.refused(p.join("A", ownsNil), kerr.InvalidRequest)
	p.refused(p.join("A", owns(p.all("t12"))), kerr.InvalidRequest)
}

func zeroUnmoved(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, whole, owns(p.all("t12"))), e, 12)
	p.ok(p.join("A"), e, 12)
	p.is("Stable", e, 1)
}

func zeroOtherTopics(p *Play) {
	e := p.pair()
	a := p.join("A", topics("t12", "u12"))
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch)
		p.is("Stable", e, 2)
		return
	}
	p.accepted(a)
	p.is("Reconciling", e+1, 2)
}

func zeroForAck(p *Play) {
	e, _ := p.told()
	a := p.join("A")
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch)
		p.ok(p.beat("B", e+1), e+1, none)
		return
	}
	p.ok(a, e+1, 6)
	p.ok(p.beat("B", e+1), e+1, 6)
}

func zeroWaiting(p *Play) {
	e, _ := p.told()
	p.ok(p.beat("B", e+1), e+1, none)
	a := p.join("B")
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch)
		return
	}
	p.ok(a, e+1, 0)
}

func waysBack(p *Play) {
	e := p.pair()
	// Full at the remembered, previous epoch, and at the described one.
	p.ok(p.beat("A", e-1, whole, owns()), e, 6)
	p.ok(p.beat("A", p.member("A").MemberEpoch, whole, owns()), e, 6)
	// Leave and join with the same ID: two bumps.
	p.ok(p.beat("A", -1), -1, none)
	p.accepted(p.join("A"))
	p.bumped(e + 2)
}

func newID(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.ok(p.join("A2"), e+1, 0)
	p.quiet(4*time.Second, "A2", e+1)
	p.Sleep(2500 * time.Millisecond)
	p.ok(p.beat("A2", e+1), e+2, 12) // the old ID's session has ended
}
