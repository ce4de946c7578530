package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 3: keepalives and lost answers.

func lostAnswers() []Scenario {
	return []Scenario{
		{Name: "3 only a full heartbeat brings the assignment back", Play: keepalives},
		{Name: "3 wrong and previous epochs", Play: epochs},
		{Name: "3 two epochs back", Play: twoEpochsBack},
		{Name: "3 refused heartbeats do not feed the session", Play: refusedSession},
		{Name: "3 lost: a revocation", Play: lostRevocation},
		{Name: "3 lost: partitions at an unchanged epoch", Play: lostGrant},
		{Name: "3 lost: partitions with a new epoch", Play: lostGrantNewEpoch},
		{Name: "3 lost: the answer to an acknowledgement", Play: lostAck},
		{Name: "3 lost: a smaller subscription", Play: lostDrop},
	}
}

func keepalives(p *Play) {
	e := p.pair()
	mine, other := p.has("A"), p.has("B")
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, owns(mine)), e, none)
	p.ok(p.beat("A", e, owns(mine), timeout(3000)), e, none)
	p.ok(p.beat("A", e, owns(mine), topics("t12")), e, none)
	p.ok(p.beat("A", e, topics("t12"), timeout(3000)), e, none)
	p.ok(p.beat("A", e, whole, owns(mine)), e, 6)
	p.ok(p.beat("A", e, whole, owns()), e, 6)
	p.ok(p.beat("A", e, owns(other)), e, none)
	p.ok(p.beat("A", e, owns(part([16]byte{9}, 0))), e, none)
	for range 20 {
		p.ok(p.beat("A", e, whole, owns(mine)), e, 6)
	}
	p.is("Stable", e, 2)
}

func epochs(p *Play) {
	e := p.pair()
	mine := p.has("A")
	p.refused(p.beat("A", e+1), kerr.FencedMemberEpoch)
	p.refused(p.beat("A", e-1), kerr.FencedMemberEpoch)
	p.ok(p.beat("A", e-1, owns(mine)), e, none)
	p.ok(p.beat("A", e-1, owns()), e, none)
	p.ok(p.beat("A", e-1, whole, owns(mine)), e, 6)
	p.refused(p.beat("A", e-1, owns(p.all("t12"))), kerr.FencedMemberEpoch)
	p.ok(p.beat("A", e), e, none) // fencing throws nobody out
}

func twoEpochsBack(p *Play) {
	e := p.pair()
	p.ok(p.beat("B", -1), -1, none)
	p.ok(p.beat("A", e), e+1, 12)
	p.ok(p.beat("A", e, owns()), e+1, none)
	p.refused(p.beat("A", e-1, owns()), kerr.FencedMemberEpoch)
	p.refused(p.beat("A", e-1, whole, owns()), kerr.FencedMemberEpoch)
}

func refusedSession(p *Play) {
	p.ok(p.join("A"), p.first(), 12)
	for range 4 {
		p.Sleep(time.Second)
		p.refused(p.beat("A", 99), kerr.FencedMemberEpoch)
	}
	p.Sleep(2500 * time.Millisecond)
	p.refused(p.beat("A", p.first()), kerr.UnknownMemberID)
}

func lostRevocation(p *Play) {
	e, keep := p.told(timeout(2000)) // lost
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, owns(p.all("t12"))), e, none)
	p.ok(p.beat("A", e, topics("t12"), timeout(2000)), e, none)
	a := p.beat("A", e, whole, owns(p.all("t12")))
	p.ok(a, e, count(keep))
	p.Sleep(2500 * time.Millisecond)
	p.refused(p.beat("A", e), kerr.UnknownMemberID)
}

func lostGrant(p *Play) {
	e, keep := p.told()
	p.ok(p.beat("A", e, owns(keep)), e+1, none)
	p.ok(p.beat("B", e+1), e+1, 6) // lost
	for range 3 {
		p.ok(p.beat("B", e+1), e+1, none)
		p.ok(p.beat("B", e+1, owns()), e+1, none)
	}
	p.ok(p.beat("B", e+1, whole, owns()), e+1, 6)
}

func lostGrantNewEpoch(p *Play) {
	e := p.pair()
	mine := p.has("A")
	p.ok(p.beat("B", -1), -1, none)
	p.ok(p.beat("A", e), e+1, 12) // lost
	p.refused(p.beat("A", e), kerr.FencedMemberEpoch)
	p.ok(p.beat("A", e, owns(mine)), e+1, none) // stranded
	p.ok(p.beat("A", e, owns()), e+1, none)
	p.ok(p.beat("A", e, whole, owns(mine)), e+1, 12)
	a := p.join("A")
	if p.V < v42 {
		p.refused(a, kerr.FencedMemberEpoch)
		return
	}
	p.ok(a, e+1, 12)
}

// The answer to an acknowledgement also gives new partitions, and is lost.
func lostAck(p *Play) {
	e, keep := p.told()
	p.ok(p.beat("B", -1), -1, none)
	p.ok(p.beat("A", e), e, none) // hears nothing of it until the ack
	p.ok(p.beat("A", e, owns(keep)), e+2, 12)
	p.refused(p.beat("A", e), kerr.FencedMemberEpoch)
	p.ok(p.beat("A", e, owns(keep)), e+2, none)
	p.ok(p.beat("A", e, whole, owns(keep)), e+2, 12)
}

func lostDrop(p *Play) {
	e := p.first()
	p.ok(p.join("A", topics("t12", "u12")), e, 24)
	p.ok(p.beat("A", e, topics("t12")), e, 12) // lost
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, whole, owns(p.all("t12"), p.all("u12"))), e, 12)
	p.ok(p.beat("A", e, whole, owns(p.all("t12"))), e+1, 12)
}
