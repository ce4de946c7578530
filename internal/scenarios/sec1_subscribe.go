package scenarios

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 1, go on: subscriptions, regular expressions and assignors.

func subscriptions() []Scenario {
	return []Scenario{
		{Name: "1 topics added to a subscription", Play: topicsAdded},
		{Name: "1 topics taken out of a subscription go in the same answer", Play: topicsDropped},
		{Name: "1 a regex is resolved in the background", Play: regexResolved},
		{Name: "1 a regex beside names", Play: regexBesideNames},
		{Name: "1 a regex matches whole names", Play: regexFull},
		{Name: "1 a regex that does not compile is refused while joined", Play: regexRefused},
		{Name: "1 a regex that is resolved already counts at once", Play: regexKnownAlready},
		{Name: "1 a regex taken back", Play: regexTakenBack},
		{Name: "1 a regex finds a later topic after ten seconds", Play: regexLaterTopic},
		{Name: "1 the majority picks the assignor", Play: assignorMajority},
		{Name: "1 a tie between assignors", Play: assignorTie},
	}
}

func topicsAdded(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.ok(p.beat("A", e, topics("t12", "u12")), e+1, 24)
	p.ok(p.beat("A", e+1, topics("u12", "t12")), e+1, none) // the order is nothing
}

func topicsDropped(p *Play) {
	e := p.first()
	p.ok(p.join("A", topics("t12", "u12")), e, 24)
	p.ok(p.beat("A", e, topics("t12")), e, 12)
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, whole, owns(p.all("t12"), p.all("u12"))), e, 12)
	p.ok(p.beat("A", e, whole, owns(p.all("t12"))), e+1, 12)
	p.is("Stable", e+1, 1)
}

func regexResolved(p *Play) {
	p.ok(p.join("A", topics(), regex("t12.*")), 1, 0)
	p.ok(p.until("A", 1), 2, 12)
	p.ok(p.in("empty").join("A", noTopics, regex("t12.*")), 1, 0)
	p.ok(p.in("empty").until("A", 1), 2, 12)
	p.ok(p.in("nothing").join("A", topics(), regex(p.own("missing"))), 1, 0)
	p.in("nothing").quiet(time.Second, "A", 1)
}

func regexBesideNames(p *Play) {
	e := p.first()
	p.ok(p.join("A", topics("u12"), regex("t12.*")), e, 12)
	p.ok(p.until("A", e), e+1, 24)
}

func regexFull(p *Play) {
	p.ok(p.join("A", topics(), regex("12")), 1, 0)
	p.quiet(time.Second, "A", 1)
	p.ok(p.in("or").join("A", topics(), regex("t|t12")), 1, 0)
	p.ok(p.in("or").until("A", 1), 2, 12)
}

func regexRefused(p *Play) {
	p.ok(p.join("A", topics(), regex("t12.*")), 1, 0)
	p.ok(p.until("A", 1), 2, 12)
	p.refused(p.beat("A", 2, regex("[")), kerr.InvalidRegularExpression)
	p.ok(p.beat("A", 2), 2, none)
	if got := p.member("A").SubscribedTopicRegex; got == nil || *got != "t12.*" {
		p.Fatalf("the regex became %v", got)
	}
}

func regexKnownAlready(p *Play) {
	p.ok(p.join("A", topics(), regex("t12")), 1, 0)
	p.ok(p.until("A", 1), 2, 12)
	p.ok(p.join("B", topics(), regex("t12")), 3, 0)
	p.ok(p.beat("A", 2), 2, 6)
}

func regexTakenBack(p *Play) {
	p.ok(p.join("A", topics(), regex("t12")), 1, 0)
	p.ok(p.until("A", 1), 2, 12)
	a := p.beat("A", 2, regex(""))
	if p.V < v41 {
		p.ok(a, 2, none) // nothing is dropped
		p.quiet(time.Second, "A", 2)
		return
	}
	p.ok(a, 2, 0)
	p.ok(p.beat("A", 2, owns()), 3, none)
}

func regexLaterTopic(p *Play) {
	p.check(p.CreateTopic(p.own("one"), 3))
	p.ok(p.join("A", topics(), regex(p.own("[a-z]+"))), 1, 0)
	p.ok(p.until("A", 1), 2, 3)
	p.check(p.CreateTopic(p.own("two"), 3))
	p.quiet(7*time.Second, "A", 2)
	p.Sleep(2900 * time.Millisecond)
	p.ok(p.until("A", 2), 3, 6)
}

func assignorMajority(p *Play) {
	p.ok(p.join("A", assignor("uniform")), p.first(), 12)
	p.accepted(p.join("B", assignor("range")))
	p.accepted(p.join("C", assignor("range")))
	before := p.epoch()
	for _, id := range []string{"A", "B", "C"} {
		p.accepted(p.beat(id, p.member(id).MemberEpoch))
	}
	if g := p.describe(); g.Epoch != before || g.AssignorName != "range" {
		p.Fatalf("got epoch %d, assignor %s, want %d, range", g.Epoch, g.AssignorName, before)
	}
}

// A tie goes to uniform. 4.4.0 bumps the group epoch at each keepalive of the
// losing side.
func assignorTie(p *Play) {
	p.ok(p.join("A", assignor("uniform")), p.first(), 12)
	p.accepted(p.join("B", assignor("range")))
	if got := p.describe().AssignorName; got != "uniform" {
		p.Fatalf("a tie went to %s", got)
	}
	before := p.epoch()
	p.accepted(p.beat("A", p.member("A").MemberEpoch))
	if got := p.epoch(); got != before {
		p.Fatalf("the winning side bumped %d to %d", before, got)
	}
	p.accepted(p.beat("B", p.member("B").MemberEpoch))
	p.accepted(p.beat("B", p.member("B").MemberEpoch))
	want := before
	if p.V >= v44 {
		want += 2
	}
	if got := p.epoch(); got != want {
		p.Fatalf("got epoch %d, want %d", got, want)
	}
}
