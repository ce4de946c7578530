package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 7: revocation.

func revocations() []Scenario {
	return []Scenario{
		{Name: "7 what is no acknowledgement", Play: notAnAck},
		{Name: "7 what is an acknowledgement", Play: acks},
		{Name: "7 the rebalance timeout", Play: rebalanceTimeout},
		{Name: "7 a leave is an acknowledgement", Play: leaveIsAck},
		{Name: "7 the reason for a revocation goes away", Play: reasonGone},
		{Name: "7 no acknowledgement, alone in the group", Play: reasonGoneTimeout},
		{Name: "7 three members, one is silent", Play: threeMembers},
		{Name: "7 more to revoke when the acknowledgement comes", Play: moreToRevoke},
		{Name: "7 topics taken out while a revocation is open", Play: dropWhileRevoking},
		{Name: "7 a describe while revoking", Play: describeRevoking},
	}
}

func notAnAck(p *Play) {
	e, keep := p.told()
	gave := owned{}
	for _, n := range p.all("t12")[0].Partitions {
		if !has(keep, n) {
			gave = append(gave, part(keep[0].TopicID, n)...)
		}
	}
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, owns(p.all("t12"))), e, none)
	p.ok(p.beat("A", e, whole, owns(p.all("t12"))), e, 6)
	p.ok(p.beat("A", e, owns(keep, gave[:3])), e, none)
	p.ok(p.beat("B", e+1), e+1, none)
	p.is("Reconciling", e+1, 2)
}

func acks(p *Play) {
	strange := part([16]byte{7}, 99)
	for what, list := range map[string]func(keep owned) []owned{
		"six":       func(k owned) []owned { return []owned{k} },
		"none":      func(owned) []owned { return nil },
		"twice":     func(k owned) []owned { return []owned{k, k} },
		"strangers": func(k owned) []owned { return []owned{k, strange, part(k[0].TopicID, 99)} },
		"four":      func(k owned) []owned { return []owned{take(k, 4)} },
	} {
		p.Log(what)
		q := p.in(what)
		e, keep := q.told()
		q.ok(q.beat("A", e, owns(list(keep)...)), e+1, none)
		q.ok(q.beat("B", e+1), e+1, 6)
	}
}

func rebalanceTimeout(p *Play) {
	e, _ := p.told(timeout(2000))
	p.ok(p.beat("A", e, timeout(500)), e, none) // too late for the running timer
	p.Sleep(time.Second)
	p.ok(p.beat("A", e), e, none)
	p.Sleep(1500 * time.Millisecond)
	p.refused(p.beat("A", e), kerr.UnknownMemberID)
	p.ok(p.beat("B", e+1), e+2, 12)
}

func leaveIsAck(p *Play) {
	e, _ := p.told()
	p.ok(p.beat("A", -1), -1, none)
	p.ok(p.beat("B", e+1), e+2, 12)
}

func reasonGone(p *Play) {
	e, keep := p.told()
	p.ok(p.beat("B", -1), -1, none)
	p.quiet(time.Second, "A", e)
	p.ok(p.beat("A", e, owns(keep)), e+2, 12)
}

func reasonGoneTimeout(p *Play) {
	e, _ := p.told(timeout(2000))
	p.ok(p.beat("B", -1), -1, none)
	p.quiet(time.Second, "A", e)
	p.Sleep(1500 * time.Millisecond)
	p.refused(p.beat("A", e), kerr.UnknownMemberID)
	p.is("Empty", e+3, 0)
}

func threeMembers(p *Play) {
	e := p.pair()
	p.ok(p.join("N"), e+1, 0)
	told := p.beat("A", e)
	p.ok(told, e, 4)
	p.ok(p.beat("A", e, owns(given(told))), e+1, none)
	p.ok(p.beat("N", e+1), e+1, 2)
	told = p.beat("B", e)
	p.ok(told, e, 4)
	p.ok(p.beat("B", e, owns(given(told))), e+1, none)
	p.ok(p.beat("N", e+1), e+1, 4)
	p.is("Stable", e+1, 3)
}

func describeRevoking(p *Play) {
	p.told()
	want := 6
	if p.V >= v43 {
		want = 12 // with what it must still give up
	}
	m := p.member("A")
	if got := count(p.has("A")); got != want {
		p.Fatalf("the describe shows %d partitions, want %d", got, want)
	}
	if got := len(m.TargetAssignment.TopicPartitions[0].Partitions); got != 6 {
		p.Fatalf("the describe shows a target of %d", got)
	}
}

// Until 4.1 the member enters an epoch in between.
func moreToRevoke(p *Play) {
	e, keep := p.told()
	p.ok(p.join("C"), e+2, 0)
	a := p.beat("A", e, owns(keep))
	between := e
	if p.V < v42 {
		between++
	}
	p.ok(a, between, 4)
	p.ok(p.beat("A", between, owns(given(a))), e+2, none)
}

func dropWhileRevoking(p *Play) {
	e, keep := p.told()
	a := p.beat("A", e, topics("u12"))
	if p.V < v42 {
		p.ok(a, e, none) // not before the acknowledgement
		a = p.beat("A", e, owns(keep))
		p.ok(a, e+1, 0)
		p.ok(p.beat("A", e+1, owns()), e+2, 12)
		return
	}
	p.ok(a, e, 0)
	p.ok(p.beat("A", e, owns(keep)), e, none)
	p.ok(p.beat("A", e, owns()), e+2, 12)
}
