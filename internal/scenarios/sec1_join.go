package scenarios

import (
	"fmt"
	"math"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Section 1: what a join must bring and what it gets.

func joins() []Scenario {
	return []Scenario{
		{Name: "1 the answer to a join always has an assignment", Play: joinAnswer},
		{Name: "1 joins that are refused", Play: joinRefused},
		{Name: "1 joins that are accepted", Play: joinAccepted},
		{Name: "1 member IDs and instance IDs that are accepted", Play: joinIDs},
		{Name: "1 a join without topics starts in epoch 1", Play: joinWithoutTopics},
		{Name: "1 epochs above 0 without group or member", Play: joinUnknown},
		{Name: "1 version 0 makes member IDs", Play: joinV0},
		{Name: "1 a refused request changes nothing", Play: joinedRefused},
	}
}

func joinAnswer(p *Play) {
	p.ok(p.join("A"), p.first(), 12)
	p.ok(p.join("B"), p.first()+1, 0)
	p.is("Reconciling", p.first()+1, 2)
}

func joinRefused(p *Play) {
	for _, c := range []struct {
		what   string
		fields []field
		want   *kerr.Error
	}{
		{"owned nil", []field{ownsNil}, kerr.InvalidRequest},
		{"owned not empty", []field{owns(p.all("t12"))}, kerr.InvalidRequest},
		{"no timeout", []field{timeout(-1)}, kerr.InvalidRequest},
		{"no subscription", []field{topics()}, kerr.InvalidRequest},
		{"regex does not end", []field{regex("[")}, kerr.InvalidRegularExpression},
		{"regex looks ahead", []field{regex("(?=x)")}, kerr.InvalidRegularExpression},
		{"assignor bogus", []field{assignor("bogus")}, kerr.UnsupportedAssignor},
		{"assignor empty", []field{assignor("")}, kerr.UnsupportedAssignor},
		{"rack empty", []field{rack("")}, kerr.InvalidRequest},
		{"group empty", []field{inGroup("")}, kerr.InvalidRequest},
		{"group blank", []field{inGroup(" ")}, kerr.InvalidRequest},
		{"instance empty", []field{instance("")}, kerr.InvalidRequest},
		{"instance blank", []field{instance(" ")}, kerr.InvalidRequest},
		{"bogus with instance", []field{instance("i1"), assignor("bogus")}, kerr.UnsupportedAssignor},
	} {
		p.Log(c.what)
		p.refused(p.join("A", c.fields...), c.want)
	}
	p.refused(p.join(""), kerr.InvalidRequest)
	p.refused(p.join(" "), kerr.InvalidRequest)
	p.refused(p.beat("", -1), kerr.InvalidRequest)
	p.refused(p.beat("A", -3), kerr.InvalidRequest)
	p.refused(p.beat("A", 1), kerr.GroupIDNotFound) // no refusal made a group
}

func joinAccepted(p *Play) {
	for i, ms := range []int32{0, -2, math.MaxInt32} {
		p.ok(p.in(fmt.Sprint("rt", i)).join("A", timeout(ms)), p.first(), 12)
	}
	p.ok(p.in("twice").join("A", topics("t12", "t12", p.own("missing"), "", "no/topic")), p.first(), 12)
	p.ok(p.in("rack").join("A", rack("r1")), p.first(), 12)
	p.ok(p.in("range").join("A", assignor("range")), p.first(), 12)
	p.ok(p.in("uniform").join("A", assignor("uniform")), p.first(), 12)
	p.ok(p.in("no-regex").join("A", regex("")), p.first(), 12)
}

func joinIDs(p *Play) {
	for i, id := range []string{
		strings.Repeat("A", 22), "AAAAAAAAAAAAAAAAAAAAAQ", "00000000-0000-0000-0000-000000000000",
		"hello world", "x", "-x", "é", "a\nb", strings.Repeat("x", 32767),
	} {
		p.ok(p.in(fmt.Sprint("m", i)).join(id), p.first(), 12)
	}
	for i, id := range []string{"a b", "a/b", "é", ".", "..", "a:b", "a\nb", strings.Repeat("i", 1000)} {
		p.ok(p.in(fmt.Sprint("i", i)).join("A", instance(id)), p.first(), 12)
	}
}

func joinWithoutTopics(p *Play) {
	p.ok(p.join("A", noTopics, regex("")), 1, 0)
	p.ok(p.in("missing").join("A", topics(p.own("missing"))), p.first(), 0)
}

func joinUnknown(p *Play) {
	p.refused(p.beat("A", 5), kerr.GroupIDNotFound)
	p.ok(p.join("A"), p.first(), 12)
	p.refused(p.beat("B", 5), kerr.UnknownMemberID)
	p.refused(p.beat("B", 5, instance("i1")), kerr.UnknownMemberID)
	p.refused(p.beat("A", 0), kerr.InvalidRequest) // bare, though known
}

func joinV0(p *Play) {
	first, second := p.join("", v0), p.join("", v0)
	p.accepted(first)
	p.accepted(second)
	if *first.MemberID == *second.MemberID || len(*first.MemberID) != 22 {
		p.Fatalf("got the IDs %s and %s", *first.MemberID, *second.MemberID)
	}
	if n := len(p.describe().Members); n != 2 {
		p.Fatalf("got %d members, want a ghost beside the member", n)
	}
	if a := p.join("mine", v0); a.MemberID == nil || *a.MemberID != "mine" {
		p.Fatalf("got another ID than the given one: %s", show(a))
	}
	p.refused(p.beat("", 1, v0), kerr.InvalidRequest)
	p.refused(p.beat("", -1, v0), kerr.InvalidRequest)
}

func joinedRefused(p *Play) {
	e := p.first()
	p.ok(p.join("A"), e, 12)
	p.refused(p.beat("A", e, assignor("bogus"), topics("u12")), kerr.UnsupportedAssignor)
	p.refused(p.beat("A", e, rack(""), topics("u12")), kerr.InvalidRequest)
	p.refused(p.beat("A", e, regex("["), topics("u12")), kerr.InvalidRegularExpression)
	p.ok(p.beat("A", e), e, none)
	if got := p.member("A").SubscribedTopics; len(got) != 1 || got[0] != "t12" {
		p.Fatalf("a refused request changed the topics to %v", got)
	}
	p.is("Stable", e, 1)
}
