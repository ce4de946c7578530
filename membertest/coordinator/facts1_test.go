package coordinator

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// The tests are named after the sections of the measurements on real brokers.
// Section 1: what a join must bring and what it gets.

func TestFacts1Join(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A"), r.first(), 12)
		r.rest()
		r.ok(r.join("B"), r.first()+1, 0)
	})
}

func TestFacts1JoinRefused(t *testing.T) {
	cases := map[string]struct {
		mods []mod
		want *kerr.Error
	}{
		"owned nil":           {[]mod{ownsNil}, kerr.InvalidRequest},
		"owned not empty":     {[]mod{owns(all(t12))}, kerr.InvalidRequest},
		"no timeout":          {[]mod{timeout(-1)}, kerr.InvalidRequest},
		"no subscription":     {[]mod{topics()}, kerr.InvalidRequest},
		"regex does not end":  {[]mod{regex("[")}, kerr.InvalidRegularExpression},
		"regex looks ahead":   {[]mod{regex("(?=x)")}, kerr.InvalidRegularExpression},
		"assignor bogus":      {[]mod{assignor("bogus")}, kerr.UnsupportedAssignor},
		"assignor empty":      {[]mod{assignor("")}, kerr.UnsupportedAssignor},
		"rack empty":          {[]mod{rack("")}, kerr.InvalidRequest},
		"group empty":         {[]mod{inGroup("")}, kerr.InvalidRequest},
		"group blank":         {[]mod{inGroup(" ")}, kerr.InvalidRequest},
		"instance empty":      {[]mod{instance("")}, kerr.InvalidRequest},
		"instance blank":      {[]mod{instance(" ")}, kerr.InvalidRequest},
		"bogus with instance": {[]mod{instance("i1"), assignor("bogus")}, kerr.UnsupportedAssignor},
	}
	each(t, func(r *rig) {
		for what, c := range cases {
			r.Log(what)
			r.refused(r.join("A", c.mods...), c.want)
		}
		r.refused(r.join(""), kerr.InvalidRequest)
		r.refused(r.join(" "), kerr.InvalidRequest)
		r.refused(r.beat("", -1), kerr.InvalidRequest)
		r.refused(r.beat("A", -3), kerr.InvalidRequest)
		r.refused(r.beat("A", 5), kerr.GroupIDNotFound)
		if len(r.c.Groups()) != 0 {
			r.Fatalf("a refused join made a group")
		}
		r.ok(r.join("A"), r.first(), 12)
		r.refused(r.beat("B", 5), kerr.UnknownMemberID)
		r.refused(r.beat("A", 0), kerr.InvalidRequest) // bare, though known
	})
}

func TestFacts1JoinAccepted(t *testing.T) {
	each(t, func(r *rig) {
		for i, ms := range []int32{0, -2, math.MaxInt32} {
			r.ok(r.join("A", inGroup(string(rune('a'+i))), timeout(ms)), r.first(), 12)
		}
		for _, id := range []string{
			strings.Repeat("0", 22), "00000000-0000-0000-0000-000000000000", "hello world", "x", "-x", "é",
			"a\nb", strings.Repeat("x", 32767),
		} {
			r.ok(r.join(id, inGroup("ids "+id)), r.first(), 12)
		}
		for _, i := range []string{"a b", "a/b", "é", ".", "..", "a:b", "a\nb", strings.Repeat("i", 1000)} {
			r.ok(r.join("A", inGroup("instance "+i), instance(i)), r.first(), 12)
		}
		r.ok(r.join("A", inGroup("twice"), topics("t12", "t12", "missing", "", "no/topic")), r.first(), 12)
		r.ok(r.join("A", inGroup("rack"), rack("r1")), r.first(), 12)
		r.ok(r.join("A", inGroup("range"), assignor("range")), r.first(), 12)
		r.ok(r.join("A", inGroup("uniform"), assignor("uniform")), r.first(), 12)
		r.ok(r.join("A", inGroup("empty regex"), regex("")), r.first(), 12)
	})
}

func TestFacts1JoinWithoutTopics(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A", topics([]string{}...), regex("")), 1, 0)
	})
}

func TestFacts1Regex(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A", topics(), regex("t12.*")), 1, 0)
		r.ok(r.beat("A", 1), 2, 12)

		// A second regex on top of names: the names at once.
		r.ok(r.join("B", inGroup("h"), topics("u12"), regex("t12.*")), r.first(), 12)
		r.wait(time.Second)
		r.ok(r.beat("B", r.first(), inGroup("h")), r.first()+1, 24)

		// The match is a full one.
		r.ok(r.join("C", inGroup("i"), topics(), regex("12")), 1, 0)
		r.ok(r.beat("C", 1, inGroup("i")), 1, none)
		r.ok(r.join("D", inGroup("j"), topics(), regex("t|t12")), 1, 0)
		r.ok(r.beat("D", 1, inGroup("j")), 2, 12)

		// Refused while joined: the member stays as it was.
		r.refused(r.beat("A", 2, regex("[")), kerr.InvalidRegularExpression)
		r.ok(r.beat("A", 2), 2, none)
		if got := r.member("A").SubscribedRegex; got != "t12.*" {
			r.Fatalf("the regex became %q", got)
		}
	})
}

func TestFacts1RegexLaterTopic(t *testing.T) {
	each(t, func(r *rig) {
		r.join("A", topics(), regex(".*12"))
		r.ok(r.beat("A", 1), 2, 24)
		r.c.CreateTopic(r.now, "v12", [16]byte{'v'}, 12)
		for range 9 {
			r.wait(time.Second)
			r.ok(r.beat("A", 2), 2, none)
		}
		r.wait(time.Second) // ten seconds after the last resolution
		r.ok(r.beat("A", 2), 2, none)
		r.ok(r.beat("A", 2), 3, 36)
	})
}

func TestFacts1RegexDropped(t *testing.T) {
	each(t, func(r *rig) {
		r.join("A", topics(), regex("t12"))
		r.ok(r.beat("A", 1), 2, 12)
		r.rest()
		resp := r.beat("A", 2, regex(""))
		if r.v == V40 {
			r.ok(resp, 2, none)
			return
		}
		r.ok(resp, 2, 0)
		r.ok(r.beat("A", 2, owns()), 3, none)
	})
}

func TestFacts1V0MemberID(t *testing.T) {
	each(t, func(r *rig) {
		first, second := r.join("", version(0)), r.join("", version(0))
		if first.ErrorCode != 0 || second.ErrorCode != 0 || *first.MemberID == *second.MemberID || len(*first.MemberID) != 22 {
			r.Fatalf("got %s and %s", *first.MemberID, *second.MemberID)
		}
		if n := len(r.group().Members); n != 2 {
			r.Fatalf("got %d members, want a ghost beside the member", n)
		}
		if resp := r.join("mine", version(0)); *resp.MemberID != "mine" {
			r.Fatalf("got %s", *resp.MemberID)
		}
		r.refused(r.beat("", 1, version(0)), kerr.InvalidRequest)
		r.refused(r.beat("", -1, version(0)), kerr.InvalidRequest)
	})
}

func TestFacts1SubscriptionChange(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12)
		added := r.beat("A", e, topics("t12", "u12"))
		if r.v >= V43 {
			r.ok(added, e, none) // within the assignment interval
			r.wait(time.Second)
			added = r.beat("A", e)
		}
		r.ok(added, e+1, 24)
		e++
		r.ok(r.beat("A", e, owns(list(added)...)), e, none)

		// Removed topics go in the same answer, at an unchanged epoch.
		r.ok(r.beat("A", e, topics("t12")), e, 12)
		r.ok(r.beat("A", e), e, none)
		r.ok(r.beat("A", e, whole, owns(all(t12), all(u12))), e, 12)
		r.rest()
		r.ok(r.beat("A", e, whole, owns(all(t12))), e+1, 12)
	})
}

func TestFacts1AssignmentInterval(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12)
		joined := r.join("B")
		if r.v < V43 {
			r.ok(joined, e+1, 0)
			return
		}
		r.ok(joined, e, 0) // the old assignment epoch, and nothing
		r.wait(2 * time.Second)
		if state := r.group().State; state != "Assigning" {
			r.Fatalf("a target was made without a heartbeat: %s", state)
		}
		r.ok(r.beat("A", e), e, 6) // anyone's heartbeat makes it for all
		r.ok(r.beat("B", e), e+1, none)
	})
}

func TestFacts1AssignmentIntervalOff(t *testing.T) {
	c := New(Config{Version: V44, AssignmentInterval: -1})
	r := &rig{T: t, c: c, v: V44}
	c.CreateTopic(r.now, "t12", t12, 12)
	r.join("A")
	if resp := r.join("B"); resp.MemberEpoch != 3 {
		t.Fatalf("got epoch %d", resp.MemberEpoch)
	}
}

// The sole member leaves and comes back within the interval: 4.3 lets it wait,
// 4.4 does not.
func TestFacts1LeaveAndJoinAlone(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A"), e, 12)
		r.ok(r.beat("A", -1), -1, none)
		resp := r.join("A")
		if r.v == V43 {
			r.ok(resp, e, 0)
			r.wait(time.Second)
			r.ok(r.beat("A", e), e+2, 12)
			return
		}
		r.ok(resp, e+2, 12)
	})
}

// 4.4.0: a tie between assignors bumps the group epoch at each keepalive of
// the losing side.
func TestFacts1AssignorTie(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A", assignor("uniform")), r.first(), 12)
		r.join("B", assignor("range"))
		if got := r.group().Assignor; got != "uniform" {
			r.Fatalf("a tie went to %s", got)
		}
		before := r.epoch()
		r.beat("A", r.member("A").Epoch)
		if got := r.epoch(); got != before {
			r.Fatalf("the winning side bumped %d to %d", before, got)
		}
		r.beat("B", r.member("B").Epoch)
		r.beat("B", r.member("B").Epoch)
		want := before
		if r.v >= V44 {
			want += 2
		}
		if got := r.epoch(); got != want {
			r.Fatalf("got epoch %d, want %d", got, want)
		}
		r.join("C", assignor("range")) // a clear majority: steady
		before = r.epoch()
		for _, id := range []string{"A", "B", "C"} {
			r.beat(id, r.member(id).Epoch)
		}
		if got := r.epoch(); got != before || r.group().Assignor != "range" {
			r.Fatalf("got epoch %d, want %d, assignor %s", got, before, r.group().Assignor)
		}
	})
}

func TestFacts1UnsupportedAssignorWhileJoined(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A"), r.first(), 12)
		r.refused(r.beat("A", r.first(), assignor("bogus"), topics("u12")), kerr.UnsupportedAssignor)
		r.refused(r.beat("A", r.first(), rack("")), kerr.InvalidRequest)
		r.ok(r.beat("A", r.first()), r.first(), none)
		if got := r.member("A").SubscribedTopics; len(got) != 1 || got[0] != "t12" {
			r.Fatalf("a refused request changed the topics to %v", got)
		}
	})
}

// From 4.3: the acknowledgement of a dropped topic may come before the target
// that goes without it. The old target must not give the topic back.
func TestFacts1AckBeforeTheNewTarget(t *testing.T) {
	each(t, func(r *rig) {
		e := r.first()
		r.ok(r.join("A", topics("t12", "u12")), e, 24)
		r.ok(r.beat("A", e, topics("t12")), e, 12)
		resp := r.beat("A", e, owns(all(t12)))
		if r.v < V43 {
			r.ok(resp, e+1, none)
			return
		}
		r.ok(resp, e, none)
		r.rest()
		r.ok(r.beat("A", e), e+1, none)
	})
}

// A regex that is resolved already counts at once.
func TestFacts1RegexKnown(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A", topics(), regex("t12")), 1, 0)
		r.ok(r.beat("A", 1), 2, 12)
		r.rest()
		r.ok(r.join("B", topics(), regex("t12")), 3, 0)
		r.ok(r.beat("A", 2), 2, 6)
	})
}
