package scenarios

import (
	"time"
)

// Section 1T: from 4.3 a target is made at most once per assignment interval,
// inside a heartbeat.

func intervals() []Scenario {
	return []Scenario{
		{Name: "1T the second join waits for the interval", Play: intervalJoin, Interval: time.Second},
		{Name: "1T the sole member leaves and joins", Play: intervalAlone, Interval: time.Second},
		{Name: "1T leave and join beside others", Play: intervalBeside, Interval: time.Second},
		{Name: "1T a subscription change inside the interval", Play: intervalSubscription, Interval: time.Second},
		{Name: "1T an acknowledgement before the new target", Play: intervalAck, Interval: time.Second},
	}
}

func intervalJoin(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	a := p.join("B")
	if p.V < v43 {
		p.ok(a, e+1, 0)
		return
	}
	p.ok(a, e, 0) // the old assignment epoch, and nothing
	p.Sleep(2 * time.Second)
	p.is("Assigning", e+1, 2)  // no target without a heartbeat
	p.ok(p.beat("A", e), e, 6) // anyone's heartbeat makes it for all
	p.ok(p.beat("B", e), e+1, none)
}

func intervalAlone(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.ok(p.beat("A", -1), -1, none)
	a := p.join("A")
	if p.V != v43 {
		p.ok(a, e+2, 12)
		return
	}
	p.ok(a, e, 0)
	p.Sleep(1100 * time.Millisecond)
	p.ok(p.beat("A", e), e+2, 12)
}

func intervalBeside(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.Sleep(1100 * time.Millisecond)
	p.ok(p.join("B"), e+1, 0)
	p.ok(p.beat("B", -1), -1, none)
	a := p.beat("A", e)
	if p.V < v43 {
		p.ok(a, e+2, none)
		return
	}
	p.ok(a, e, 6) // the target with B is still in force
	p.ok(p.beat("A", e, owns(given(a))), e+1, none)
	p.Sleep(1100 * time.Millisecond)
	p.ok(p.beat("A", e+1), e+2, 12)
}

func intervalSubscription(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	a := p.beat("A", e, topics("t12", "u12"))
	if p.V >= v43 {
		p.ok(a, e, none)
		p.Sleep(1100 * time.Millisecond)
		a = p.beat("A", e)
	}
	p.ok(a, e+1, 24)
}

// The acknowledgement of a dropped topic comes before the target that goes
// without it. The old target must not give the topic back.
func intervalAck(p *Play) {
	e := p.first()
	p.ok(p.join("A", topics("t12", "u12")), e, 24)
	p.ok(p.beat("A", e, topics("t12")), e, 12)
	a := p.beat("A", e, owns(p.all("t12")))
	if p.V < v43 {
		p.ok(a, e+1, none)
		return
	}
	p.ok(a, e, none)
	p.Sleep(1100 * time.Millisecond)
	p.ok(p.beat("A", e), e+1, none)
}
