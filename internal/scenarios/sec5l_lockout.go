package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 5L: the static member whose join was applied and its answer lost.

func lockOuts() []Scenario {
	return []Scenario{
		{Name: "5L the lock-out", Play: lockOut},
		{Name: "5L the lock-out of a settled member", Play: lockOutSettled},
		{Name: "5L escape: -2, then a new ID", Play: escapeNewID},
		{Name: "5L escape: -1", Play: escapeLeave},
		{Name: "5L escape: without the instance ID after a lost join", Play: escapeWithout},
		{Name: "5L escape: full at the last epoch, or the described one", Play: escapeFull},
		{Name: "5L escape: LeaveGroup by the instance ID", Play: escapeAdmin},
		{Name: "5L escape: a guessed epoch", Play: escapeGuess},
		{Name: "5L escape: waiting", Play: escapeWait},
		{Name: "5L no escape: another holds the instance", Play: escapeNone},
	}
}

func lockOut(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12) // lost
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID)
	p.refused(p.join("A", i1, v0), kerr.UnreleasedInstanceID)
	p.refused(p.join("A2", i1), kerr.UnreleasedInstanceID)
	p.refused(p.beat("A2", -2, i1), kerr.FencedInstanceID)
	p.refused(p.beat("A", -2), kerr.InvalidRequest)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("A", i1), e, 12)
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID) // lost again: the same wall
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("A", i1), e, 12)
	p.is("Stable", e, 1)
}

func lockOutSettled(p *Play) {
	e := p.pair(i1)
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID)
	a := p.join("A") // without the instance ID
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch)
	} else {
		p.ok(a, e, 6)
	}
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("A", i1), e, 6)
	p.is("Stable", e, 2)
}

func escapeNewID(p *Play) {
	p.ok(p.join("A", i1), p.first(), 12)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("A2", i1), p.first(), 12)
	p.is("Stable", p.first(), 1)
}

func escapeLeave(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12)
	p.ok(p.beat("A", -1), -1, none)
	p.ok(p.join("A", i1), e+2, 12)
	p.ok(p.beat("A", -1, i1), -1, none)
	p.ok(p.join("A", i1), e+4, 12)
}

func escapeWithout(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12)
	p.ok(p.join("A"), e, 12)
	if got := p.instanceOf("A"); got != "i1" {
		p.Fatalf("the instance ID is %q", got)
	}
}

func escapeFull(p *Play) {
	e := p.pair(i1)
	mine := p.has("A")
	p.ok(p.beat("A", e, i1, whole, owns()), e, 6)
	p.ok(p.beat("A", e, i1, whole, owns(mine)), e, 6)
	p.ok(p.beat("A", e-1, i1, whole, owns(mine)), e, 6)
	p.ok(p.beat("A", p.member("A").MemberEpoch, i1, whole, owns()), e, 6)
}

func escapeAdmin(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12)
	id := "i1"
	p.code(p.LeaveGroup(p.group, "", &id))(nil)
	p.code(p.LeaveGroup(p.group, "", &id))(kerr.UnknownMemberID)
	p.ok(p.join("A", i1), e+2, 12)
	p.code(p.LeaveGroup(p.group, "X", &id))(kerr.FencedInstanceID)
	p.code(p.LeaveGroup(p.group, "A", &id))(nil)
	p.ok(p.join("A", i1), e+4, 12)
	p.code(p.LeaveGroup(p.group, "A", nil))(nil)
	p.code(p.LeaveGroup(p.group, "A", nil))(kerr.UnknownMemberID)
	p.refused(p.beat("A", e+4), kerr.UnknownMemberID)
}

func escapeGuess(p *Play) {
	p.ok(p.join("A", i1), p.first(), 12)
	a := p.beat("A", 1, whole, owns())
	if p.V >= v43 {
		p.refused(a, kerr.FencedMemberEpoch)
		return
	}
	p.ok(a, 1, 12)
}

func escapeWait(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12)
	p.Sleep(4 * time.Second)
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID)
	p.Sleep(2500 * time.Millisecond)
	p.ok(p.join("A", i1), e+2, 12)
}

func escapeNone(p *Play) {
	e := p.first()
	p.ok(p.join("B", i1), e, 12)
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID)
	p.refused(p.beat("A", -2, i1), kerr.FencedInstanceID)
	p.ok(p.join("A"), e+1, 0) // a dynamic member, and a rebalance
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID)
}
