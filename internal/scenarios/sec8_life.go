package scenarios

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 8: life of members and groups.

func lives() []Scenario {
	return []Scenario{
		{Name: "8 the session ends", Play: sessionEnds},
		{Name: "8 the session ends beside others", Play: sessionEndsBeside},
		{Name: "8 a group is deleted", Play: groupDeleted},
		{Name: "8 a full group", Play: fullGroup},
		{Name: "8 a full group and unknown members at an epoch", Play: fullGroupUnknown},
		{Name: "8 the first epochs of groups", Play: firstEpochs},
		{Name: "8 the assignment epoch of an emptied group", Play: emptied},
	}
}

func sessionEnds(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.Sleep(4 * time.Second)
	p.ok(p.beat("A", e), e, none)
	p.Sleep(4 * time.Second)
	p.ok(p.beat("A", e), e, none)
	p.Sleep(SessionTimeout + 500*time.Millisecond)
	p.refused(p.beat("A", e), kerr.UnknownMemberID)
	p.refused(p.beat("A", e, whole, owns()), kerr.UnknownMemberID)
	p.refused(p.beat("A", -1), kerr.UnknownMemberID)
	p.is("Empty", e+1, 0)
	p.ok(p.join("A"), e+2, 12)
}

func sessionEndsBeside(p *Play) {
	e := p.pair()
	p.quiet(4*time.Second, "B", e)
	p.Sleep(2500 * time.Millisecond)
	p.ok(p.beat("B", e), e+1, 12)
	p.refused(p.beat("A", e), kerr.UnknownMemberID)
}

func groupDeleted(p *Play) {
	p.code(p.DeleteGroup(p.group))(kerr.GroupIDNotFound)
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.code(p.DeleteGroup(p.group))(kerr.NonEmptyGroup)
	p.ok(p.beat("A", -1), -1, none)
	p.code(p.DeleteGroup(p.group))(nil)
	p.refused(p.beat("A", e), kerr.GroupIDNotFound)
	p.refused(p.beat("A", e, whole, owns()), kerr.GroupIDNotFound)
	p.refused(p.beat("A", -1), kerr.GroupIDNotFound)
	p.refused(p.beat("A", -2, instance("i1")), kerr.GroupIDNotFound)
	g, err := p.Describe(p.group)
	p.code(g.ErrorCode, err)(kerr.GroupIDNotFound)
	p.ok(p.join("A"), e, 12) // epochs restart
}

// fill joins static members until the group has its maximum size.
func (p *Play) fill() {
	p.Helper()
	for i := range MaxGroupSize {
		id := fmt.Sprintf("m%02d", i)
		p.accepted(p.join(id, instance("i"+id)))
	}
}

func fullGroup(p *Play) {
	p.fill()
	p.refused(p.join("X"), kerr.GroupMaxSizeReached)
	p.refused(p.join("X", instance("iX")), kerr.GroupMaxSizeReached)
	p.accepted(p.beat("m03", p.member("m03").MemberEpoch))
	p.accepted(p.join("m13")) // known, and has not moved
	p.ok(p.beat("m01", -2, instance("im01")), -2, none)
	a := p.join("Y", instance("im01"))
	if p.V < v44 {
		p.refused(a, kerr.GroupMaxSizeReached)
		a = p.join("m01", instance("im01"))
	}
	p.accepted(a)
	p.ok(p.beat("m00", -1), -1, none)
	p.accepted(p.join("X"))
}

// What a full group says to those it would not know anyway.
func fullGroupUnknown(p *Play) {
	p.fill()
	p.refused(p.beat("X", 3), kerr.GroupMaxSizeReached)
	p.refused(p.beat("X", 3, instance("iX")), kerr.GroupMaxSizeReached)
	a := p.beat("X", 3, instance("im01"))
	if p.V < v44 {
		p.refused(a, kerr.GroupMaxSizeReached)
	} else {
		p.refused(a, kerr.FencedInstanceID)
	}
	p.refused(p.beat("X", -1), kerr.UnknownMemberID)
	p.refused(p.beat("X", -2, instance("im01")), kerr.FencedInstanceID)
}

func firstEpochs(p *Play) {
	p.ok(p.join("A"), p.first(), 12)
	p.ok(p.in("missing").join("A", topics(p.own("missing"))), p.first(), 0)
	p.ok(p.in("empty").join("A", noTopics), 1, 0)
	p.ok(p.in("regex").join("A", topics(), regex("t12")), 1, 0)
	p.ok(p.in("static").join("A", i1), p.first(), 12)
}

func emptied(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.ok(p.beat("A", -1), -1, none)
	want := e
	if p.V >= v44 {
		want++
	}
	if g := p.describe(); g.Epoch != e+1 || g.AssignmentEpoch != want {
		p.Fatalf("the group is at %d, its target at %d, want %d and %d", g.Epoch, g.AssignmentEpoch, e+1, want)
	}
}
