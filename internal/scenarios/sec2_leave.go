package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 2: lost joins, and leaving.

func leaves() []Scenario {
	return []Scenario{
		{Name: "2 a lost join is sent again", Play: joinLost},
		{Name: "2 a lost join while another joins", Play: joinLostBesideJoin},
		{Name: "2 a lost join into a full group", Play: joinLostFull},
		{Name: "2 leaving", Play: leaving},
		{Name: "2 a leave moves the partitions", Play: leaveMoves},
		{Name: "2 leaving without ever having read an answer", Play: leaveUnread},
		{Name: "2 a leave before its join makes a ghost", Play: leaveFirst},
	}
}

func joinLost(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12) // lost
	p.ok(p.join("A"), e, 12)
	p.Sleep(time.Second)
	p.ok(p.join("A"), e, 12)
	p.is("Stable", e, 1)
}

func joinLostBesideJoin(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12) // lost
	p.ok(p.join("B"), e+1, 0)
	p.ok(p.join("A"), e+1, 6) // gives up by joining with nothing; lost as well
	a := p.join("A")
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch)
	} else {
		p.ok(a, e+1, 6)
	}
	p.ok(p.beat("B", e+1), e+1, 6)
}

func joinLostFull(p *Play) {
	e := p.first()
	p.ok(p.join("B"), e, 12)
	p.ok(p.join("A"), e+1, 0) // lost
	told := p.beat("B", e)
	p.ok(p.beat("B", e, owns(given(told))), e+1, none)
	p.ok(p.join("A"), e+1, 6) // B has given way meanwhile; lost as well
	a := p.join("A")
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch) // waiting for B has moved A on
	} else {
		p.ok(a, e+1, 6)
	}
}

func leaving(p *Play) {
	p.refused(p.beat("A", -1), kerr.GroupIDNotFound)
	p.refused(p.beat("A", -2, instance("i1")), kerr.GroupIDNotFound)
	p.ok(p.join("A"), p.first(), 12)
	p.refused(p.beat("A", -2), kerr.InvalidRequest)
	p.refused(p.beat("B", -1), kerr.UnknownMemberID)
	p.ok(p.beat("A", -1), -1, none)
	p.is("Empty", p.first()+1, 0)
	p.refused(p.beat("A", -1), kerr.UnknownMemberID)
	p.refused(p.beat("A", p.first()), kerr.UnknownMemberID)
	p.ok(p.join("A"), p.first()+2, 12) // epochs go on
}

func leaveMoves(p *Play) {
	e := p.pair()
	p.ok(p.beat("B", -1), -1, none)
	p.ok(p.beat("A", e), e+1, 12)
}

func leaveUnread(p *Play) {
	p.ok(p.join("A"), p.first(), 12) // lost
	p.ok(p.beat("A", -1), -1, none)
	p.is("Empty", p.first()+1, 0)
}

func leaveFirst(p *Play) {
	p.refused(p.beat("A", -1), kerr.GroupIDNotFound)
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.Sleep(SessionTimeout + 500*time.Millisecond)
	p.is("Empty", e+1, 0)
}
