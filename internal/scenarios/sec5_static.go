package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 5: static members.

var i1 = instance("i1")

func statics() []Scenario {
	return []Scenario{
		{Name: "5 keepalives with and without the instance ID", Play: staticKeepalives},
		{Name: "5 a rival is refused", Play: staticRival},
		{Name: "5 leaving for good", Play: staticLeave},
		{Name: "5 leaving with -2 keeps the place", Play: staticAway},
		{Name: "5 -2 and then -1", Play: awayThenGone},
		{Name: "5 -2 is an acknowledgement", Play: awayIsAck},
		{Name: "5 a join while a static member is away", Play: joinWhileAway},
		{Name: "5 -2 does not restart the session", Play: awaySession},
		{Name: "5 a crash holds the instance for a session", Play: staticCrash},
		{Name: "5 a dynamic member becomes static", Play: becomesStatic},
		{Name: "5 a settled dynamic member becomes static", Play: settledBecomesStatic},
		{Name: "5 a dynamic member that is behind becomes static and loses all", Play: behindBecomesStatic},
	}
}

func staticKeepalives(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, i1), e, none)
	p.ok(p.beat("A", e, whole, owns()), e, 6)
	if got := p.instanceOf("A"); got != "i1" {
		p.Fatalf("the instance ID became %q", got)
	}
	p.refused(p.beat("A", e, instance("i9")), kerr.UnknownMemberID)
	p.refused(p.beat("B", e, i1), kerr.FencedInstanceID)
	p.ok(p.beat("A", e), e, none)
}

func staticRival(p *Play) {
	e := p.pair(i1)
	p.refused(p.join("X", i1), kerr.UnreleasedInstanceID)
	p.refused(p.beat("X", e, i1), kerr.FencedInstanceID)
	p.refused(p.beat("X", -1, i1), kerr.FencedInstanceID)
	p.refused(p.beat("X", -2, i1), kerr.FencedInstanceID)
	p.ok(p.beat("A", e), e, none)
	p.is("Stable", e, 2)
}

func staticLeave(p *Play) {
	for _, fields := range [][]field{{i1}, {}} { // the instance ID may be missing
		q := p.in("x")
		if len(fields) > 0 {
			q = p
		}
		e := q.pair(i1)
		q.ok(q.beat("A", -1, fields...), -1, none)
		q.ok(q.beat("B", e), e+1, 12)
		q.refused(q.beat("A", e, i1), kerr.UnknownMemberID)
	}
}

func staticAway(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.beat("A", -2, i1), -2, none) // again: the same
	p.ok(p.beat("B", e), e, none)       // nobody sees it
	p.refused(p.beat("A", e), kerr.FencedMemberEpoch)
	p.refused(p.beat("A", e, i1), kerr.FencedMemberEpoch)
	p.refused(p.beat("A", e, whole, owns()), kerr.FencedMemberEpoch)
	m := p.member("A")
	if m.MemberEpoch != -2 || count(p.has("A")) != 6 {
		p.Fatalf("the member that is away has epoch %d and %d partitions", m.MemberEpoch, count(p.has("A")))
	}
	if got := p.epoch(); got != e {
		p.Fatalf("the group epoch moved from %d to %d", e, got)
	}
}

func awayThenGone(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.beat("A", -1, i1), -1, none)
	p.gone("A")
	p.ok(p.beat("B", e), e+1, 12)
}

func awayIsAck(p *Play) {
	e, keep := p.told(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.beat("B", e+1), e+1, 6)
	p.ok(p.join("A", i1), e+1, count(keep))
}

func joinWhileAway(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("E"), e+1, 0)
	told := p.beat("B", e)
	p.ok(told, e, 4)
	p.ok(p.beat("B", e, owns(given(told))), e+1, none)
	p.ok(p.beat("E", e+1), e+1, 2)
	p.ok(p.beat("E", e+1), e+1, none)
	p.ok(p.join("A2", i1), e+1, 4) // at once, already trimmed
	p.ok(p.beat("E", e+1), e+1, 4)
}

func awaySession(p *Play) {
	p.ok(p.join("A", i1), p.first(), 12)
	p.Sleep(2500 * time.Millisecond)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.Sleep(1500 * time.Millisecond)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.Sleep(2500 * time.Millisecond)
	p.refused(p.beat("A", -2, i1), kerr.UnknownMemberID)
	p.is("Empty", p.first()+1, 0)
}

func staticCrash(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12)
	for range 4 {
		p.Sleep(time.Second)
		p.refused(p.join("A2", i1), kerr.UnreleasedInstanceID)
	}
	p.Sleep(2500 * time.Millisecond)
	p.ok(p.join("A2", i1), e+2, 12)
	p.refused(p.beat("A", e, i1), kerr.FencedInstanceID)
}

func becomesStatic(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.ok(p.join("A", i1), e, 12)
	p.refused(p.join("B", i1), kerr.UnreleasedInstanceID)
	p.ok(p.join("A"), e, 12) // keeps i1
	p.ok(p.join("A", instance("i2")), e, 12)
	p.refused(p.join("B", instance("i2")), kerr.UnreleasedInstanceID)
	a := p.join("B", i1)
	if p.V >= v44 {
		p.ok(a, e+1, 0)
		return
	}
	// The given up instance ID stays with A, and goes down with it.
	p.refused(a, kerr.UnreleasedInstanceID)
	p.ok(p.beat("A", -1), -1, none)
	for _, epoch := range []int32{1, -1, -2} {
		p.refused(p.beat("A", epoch, i1), kerr.UnknownMemberID)
	}
	p.refused(p.join("B", i1), kerr.UnknownMemberID)
	p.accepted(p.join("B", instance("i2")))
}

func settledBecomesStatic(p *Play) {
	e := p.pair()
	p.ok(p.join("A", i1), e, 6)
	if got := p.instanceOf("A"); got != "i1" {
		p.Fatalf("the instance ID is %q", got)
	}
	p.refused(p.join("X", i1), kerr.UnreleasedInstanceID)
	p.ok(p.join("A", instance("i2")), e, 6)
	p.is("Stable", e, 2)
}

// The broker looks for the target under the new instance ID, where there is
// none yet.
func behindBecomesStatic(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.ok(p.join("B"), e+1, 0)
	p.ok(p.join("A", i1), e+1, 0)
	p.ok(p.beat("B", e+1), e+1, 6)
	p.ok(p.beat("A", e+1), e+1, none)
	p.ok(p.beat("A", e+1, whole, owns()), e+1, 0) // stranded, though all is well
	p.is("Stable", e+1, 2)
}
