package scenarios

import (
	"time"
)

// Section 8, go on: topics that come, grow and go.

func topicChanges() []Scenario {
	return []Scenario{
		{Name: "8 a topic is made after the subscription", Play: topicMade},
		{Name: "8 partitions are added", Play: partitionsAdded},
		{Name: "8 a topic is deleted", Play: topicDeleted},
		{Name: "8 a topic is deleted beside another member", Play: topicDeletedBeside},
		{Name: "8 a topic is made again, seen by a heartbeat", Play: topicAgainSeen},
		{Name: "8 a topic is made again before the acknowledgement", Play: topicAgainUnacked},
		{Name: "8 a topic is made again with no heartbeat in between", Play: topicAgainUnseen},
		{Name: "8 a topic is made again and a heartbeat owns nothing", Play: topicAgainAtOnce},
	}
}

func topicMade(p *Play) {
	e, late := p.first(), p.own("late")
	p.ok(p.join("A", topics("t12", late)), e, 12)
	p.check(p.CreateTopic(late, 3))
	p.ok(p.until("A", e), e+1, 15)
	p.check(p.CreateTopic(p.own("other"), 3)) // not subscribed
	p.quiet(time.Second, "A", e+1)
}

func partitionsAdded(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	p.ok(p.join("A", topics(own)), e, 6)
	p.check(p.AddPartitions(own, 9))
	p.ok(p.until("A", e), e+1, 9)
}

func topicDeleted(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 3))
	joined := p.join("A", topics("t12", own))
	p.ok(joined, e, 15)
	p.check(p.DeleteTopic(own))
	p.ok(p.until("A", e, owns(given(joined))), e, 12)
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, owns(given(joined))), e, none) // no acknowledgement
	p.ok(p.beat("A", e, owns(p.all("t12"))), e+1, none)
	p.quiet(time.Second, "A", e+1)
}

func topicDeletedBeside(p *Play) {
	own := p.own("t")
	p.check(p.CreateTopic(own, 4))
	e := p.first()
	p.ok(p.join("A", topics("t12", own)), e, 16)
	p.ok(p.join("B", topics("t12", own)), e+1, 0)
	a := p.beat("A", e)
	p.ok(a, e, 8)
	p.ok(p.beat("A", e, owns(given(a))), e+1, none)
	p.ok(p.beat("B", e+1), e+1, 8)
	p.check(p.DeleteTopic(own))
	e++
	for _, id := range []string{"A", "B"} { // who has how many of each is the assignor's
		a := p.until(id, e)
		p.accepted(a)
		p.accepted(p.beat(id, e, owns(given(a))))
	}
	for _, id := range []string{"A", "B"} {
		p.accepted(p.beat(id, e+1))
		if got := count(p.has(id)); got != 6 {
			p.Fatalf("%s has %d partitions", id, got)
		}
	}
	p.is("Stable", e+1, 2)
}

// again makes a topic anew and returns its ID.
func (p *Play) again(name string, partitions int32) [16]byte {
	p.Helper()
	p.check(p.CreateTopic(name, partitions))
	return p.id(name)
}

func topicAgainSeen(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	joined := p.join("A", topics(own))
	p.ok(joined, e, 6)
	p.check(p.DeleteTopic(own))
	p.ok(p.until("A", e), e, 0)
	p.ok(p.beat("A", e, owns()), e+1, none)
	e++
	fresh := p.again(own, 6)
	a := p.until("A", e)
	p.ok(a, e+1, 6)
	if a.Assignment.Topics[0].TopicID != fresh {
		p.Fatalf("got the old topic")
	}
	p.ok(p.beat("A", e+1, owns(given(joined))), e+1, none) // the old ID is harmless
}

// A deletion that a heartbeat has seen must be acknowledged, even if the topic
// is made again before that.
func topicAgainUnacked(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	p.ok(p.join("A", topics(own)), e, 6)
	p.check(p.DeleteTopic(own))
	p.ok(p.until("A", e), e, 0)
	p.again(own, 6)
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, owns()), e+2, 6)
}

// The old topic must be given up before the new one is given out.
func topicAgainUnseen(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	joined := p.join("A", topics(own))
	p.ok(joined, e, 6)
	p.check(p.DeleteTopic(own))
	fresh := p.again(own, 6)
	p.ok(p.beat("A", e, owns(given(joined))), e, 0)
	a := p.beat("A", e, owns())
	p.ok(a, e+1, 6)
	if a.Assignment.Topics[0].TopicID != fresh {
		p.Fatalf("got the old topic")
	}
	p.ok(p.beat("A", e+1, owns(given(joined))), e+1, none)
	p.is("Stable", e+1, 1)
}

// An owned list without the old topic is its acknowledgement in advance.
func topicAgainAtOnce(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	p.ok(p.join("A", topics(own)), e, 6)
	p.check(p.DeleteTopic(own))
	p.again(own, 6)
	p.ok(p.beat("A", e, owns()), e+1, 6)
}
