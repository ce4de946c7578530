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
	a := p.until("A", e, owns(given(joined)))
	if p.V < v43 {
		p.ok(a, e, 12)
		p.ok(p.beat("A", e), e, none)
		p.ok(p.beat("A", e, owns(p.all("t12"))), e+1, none)
		p.quiet(time.Second, "A", e+1)
		return
	}
	p.ok(a, e+2, none) // never told
	p.quiet(time.Second, "A", e+2)
	p.ok(p.beat("A", e+2, whole, topics("t12", own), owns(given(joined))), e+2, 12)
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
	p.Sleep(300 * time.Millisecond)
	p.accepted(p.beat("A", e+1))
	want := e + 2
	if p.V >= v43 {
		want = e + 3
	}
	p.bumped(want)
}

// again makes a topic anew and returns its ID.
func (p *Play) again(name string, partitions int32) [16]byte {
	p.Helper()
	p.check(p.CreateTopic(name, partitions))
	p.Sleep(300 * time.Millisecond) // a broker's coordinator gets to know
	return p.id(name)
}

func topicAgainSeen(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	joined := p.join("A", topics(own))
	p.ok(joined, e, 6)
	p.check(p.DeleteTopic(own))
	if p.V >= v43 {
		p.ok(p.until("A", e), e+2, none)
		e += 2
	} else {
		p.ok(p.until("A", e), e, 0)
		p.ok(p.beat("A", e, owns()), e+1, none)
		e++
	}
	fresh := p.again(own, 6)
	a := p.until("A", e)
	p.ok(a, e+1, 6)
	if a.Assignment.Topics[0].TopicID != fresh {
		p.Fatalf("got the old topic")
	}
	p.ok(p.beat("A", e+1, owns(given(joined))), e+1, none) // the old ID is harmless
}

// Until 4.2 a deletion that a heartbeat has seen must be acknowledged, even if
// the topic is made again before that.
func topicAgainUnacked(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	p.ok(p.join("A", topics(own)), e, 6)
	p.check(p.DeleteTopic(own))
	a := p.until("A", e)
	if p.V >= v43 {
		p.ok(a, e+2, none)
		p.again(own, 6)
		p.ok(p.until("A", e+2), e+3, 6)
		return
	}
	p.ok(a, e, 0)
	p.again(own, 6)
	p.ok(p.beat("A", e), e, none)
	p.ok(p.beat("A", e, owns()), e+2, 6)
}

// Members go straight from the old ID to the new one.
func topicAgainUnseen(p *Play) {
	e, own := p.first(), p.own("t")
	p.check(p.CreateTopic(own, 6))
	joined := p.join("A", topics(own))
	p.ok(joined, e, 6)
	p.check(p.DeleteTopic(own))
	fresh := p.again(own, 6)
	a := p.beat("A", e, owns(given(joined)))
	if size(a) != 6 || a.Assignment.Topics[0].TopicID != fresh {
		p.Fatalf("got %s", show(a))
	}
	want := e + 1
	if p.V >= v43 {
		want = e + 2
	}
	p.ok(a, want, 6)
	p.ok(p.beat("A", want, owns(given(joined))), want, none)
	p.is("Stable", want, 1)
}
