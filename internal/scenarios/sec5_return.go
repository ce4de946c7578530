package scenarios

import (
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 5, go on: how a static member comes back after -2.

func staticReturns() []Scenario {
	back := func(id string) func(p *Play) { return func(p *Play) { staticBack(p, id) } }
	return []Scenario{
		{Name: "5 return with a new ID", Play: back("A2")},
		{Name: "5 return with the same ID", Play: back("A")},
		{Name: "5 the replaced ID", Play: replacedID},
		{Name: "5 of two rivals one gets the place", Play: twoRivals},
		{Name: "5 return with other topics", Play: backOtherTopics},
		{Name: "5 return without the instance ID under a new ID", Play: backWithoutInstance},
		{Name: "5 the same ID away and back without the instance ID", Play: backWithoutInstanceSameID},
		{Name: "5 the same ID away and back with another instance ID loses all", Play: backOtherInstance},
		{Name: "5 return under an instance ID that was given up", Play: backLeaked},
	}
}

func staticBack(p *Play, id string) {
	e := p.pair(i1)
	held := p.has("A")
	p.ok(p.beat("A", -2, i1), -2, none)
	a := p.join(id, i1)
	p.ok(a, e, 6)
	if got := given(a); !reflect.DeepEqual(got, held) {
		p.Fatalf("came back to %v, had %v", got, held)
	}
	p.is("Stable", e, 2)
	p.ok(p.beat("B", e), e, none)
	p.refused(p.join("rival", i1), kerr.UnreleasedInstanceID)
	p.ok(p.beat(id, e), e, none)
}

func replacedID(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("A2", i1), e, 6)
	p.refused(p.beat("A", e, i1), kerr.FencedInstanceID)
	p.refused(p.beat("A", -1, i1), kerr.FencedInstanceID)
	p.refused(p.beat("A", -2, i1), kerr.FencedInstanceID)
	p.refused(p.beat("A", e), kerr.UnknownMemberID)
	p.refused(p.beat("A", -1), kerr.UnknownMemberID)
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID)
	// The old ID's session timer is gone with it.
	p.Sleep(4500 * time.Millisecond)
	p.ok(p.beat("A2", e), e, none)
	p.Sleep(2500 * time.Millisecond)
	if got := p.instanceOf("A2"); got != "i1" {
		p.Fatalf("the instance ID is %q", got)
	}
}

func twoRivals(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("X", i1), e, 6)
	p.refused(p.join("Y", i1), kerr.UnreleasedInstanceID)
	p.refused(p.join("A", i1), kerr.UnreleasedInstanceID)
}

func backOtherTopics(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.accepted(p.join("A2", i1, topics("t12", "u12")))
	p.is("Reconciling", e+1, 2)
}

func backWithoutInstance(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("A2"), e+1, 0)
	told := p.beat("B", e)
	p.ok(told, e, 4)
	p.ok(p.beat("B", e, owns(given(told))), e+1, none)
	p.ok(p.beat("A2", e+1), e+1, 2) // the six stay with the one who is away
	p.Sleep(3 * time.Second)
	p.ok(p.beat("A2", e+1), e+1, none)
	p.ok(p.beat("B", e+1), e+1, none)
	p.Sleep(3500 * time.Millisecond)
	p.ok(p.beat("A2", e+1), e+2, 6)
	p.gone("A")
}

func backWithoutInstanceSameID(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	a := p.join("A")
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch)
		return
	}
	p.ok(a, e, 6)
	if got := p.instanceOf("A"); got != "i1" {
		p.Fatalf("the instance ID is %q", got)
	}
	p.is("Stable", e, 2)
}

// The broker looks for the target under the new instance ID, where there is
// none yet.

func backOtherInstance(p *Play) {
	e := p.pair(i1)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.ok(p.join("A", instance("i2")), e, 0)
	p.ok(p.beat("A", e, whole, owns()), e, 0) // stranded, though all is well
	p.is("Stable", e, 2)
	if got := p.instanceOf("A"); got != "i2" {
		p.Fatalf("the instance ID is %q", got)
	}
	a := p.join("B2", i1)
	if p.V < v44 {
		p.refused(a, kerr.UnreleasedInstanceID) // stays with A
	} else {
		p.ok(a, e+1, 2) // two of the six that nobody had
	}
}

// Until 4.3 an instance ID that a member has given up still leads to it.
func backLeaked(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12)
	p.ok(p.join("A", instance("i2")), e, 12)
	a := p.beat("A", -2, i1)
	if p.V >= v44 {
		p.refused(a, kerr.UnknownMemberID)
		return
	}
	p.ok(a, -2, none)
	p.ok(p.join("B", i1), e, 12)
	p.is("Stable", e, 1)
	p.refused(p.join("C", i1), kerr.UnreleasedInstanceID)
}
