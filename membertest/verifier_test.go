package membertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
)

// history is a story and the rules that it breaks, in order.
type history struct {
	name  string
	want  []int
	steps []step
}

func check(t *testing.T, histories []history) {
	t.Helper()
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			found := tell(t, h.steps...)
			var got []int
			for _, v := range found {
				got = append(got, v.Rule)
				if v.Member.Group != "g" || v.Member.MemberID == "" || v.Detail == "" {
					t.Errorf("incomplete: %+v", v)
				}
			}
			if !slices.Equal(got, h.want) {
				t.Errorf("got rules %v, want %v:", got, h.want)
				for _, v := range found {
					t.Log(v)
				}
			}
		})
	}
}

func TestGoodLives(t *testing.T) {
	check(t, []history{
		{"short", nil, []step{joined(0, 1), gone(0, 1)}},
		{"never ran", nil, nil},
		{"nothing to own", nil, []step{
			to(member.StateJoining), join(ok(3)), state(member.StateJoining, member.StateReconciling), callback(member.Assigned),
			to(member.StateStable), beat(3, ok(3), full()), beat(3, ok(4), full()), beat(4, ok(4), full()), gone(),
		}},
		{"lost join, look, join again", nil, []step{
			to(member.StateJoining), join(lost), join(ok(3)), gone(),
		}},
		{"lost beat, full one", nil, []step{joined(0), beat(3, lost), beat(3, ok(3), full(0)), beat(3, ok(3)), gone(0)}},
		{"coordinator moves", nil, []step{joined(0), beat(3, code(16)), beat(3, ok(3), full(0)), gone(0)}},
		{"panic below", nil, []step{joined(0), beat(3, panics), beat(3, ok(3), full(0)), gone(0)}},
		{"fenced", nil, []step{
			joined(0), beat(3, code(110)), to(member.StateFenced), callback(member.Lost, 0), joined(0, 1), gone(0, 1),
		}},
		{"fences itself", nil, []step{joined(0), trustEnds, to(member.StateFenced), callback(member.Lost, 0), joined(0), gone(0)}},
		{"gives up, then takes", nil, []step{
			joined(0, 1), beat(3, ok(3, 0)), callback(member.Revoked, 1), beat(3, ok(4, 0, 2), owning(0)),
			callback(member.Assigned, 2), beat(4, ok(4), owning(0, 2)), gone(0, 2),
		}},
		{"claims what is assigned while OnAssigned runs", nil, []step{
			to(member.StateJoining), join(ok(3, 0)), state(member.StateJoining, member.StateReconciling),
			beat(3, ok(3), full(0)), callback(member.Assigned, 0), beat(3, ok(3), owning(0)), gone(0),
		}},
		{"a right is missing for a while", nil, []step{
			joined(0), beat(3, lost), beat(3, code(29), full(0)), beat(3, ok(3), owning(0)), beat(3, ok(3)), beat(3, ok(3), full(0)), gone(0),
		}},
		{"static", nil, []step{
			named("i"), joined(0), beat(3, ok(3)), to(member.StatePrepareLeaving), callback(member.Revoked, 0), every(10 * time.Millisecond),
			to(member.StateLeaving), beat(3, ok(3)), leave(-2, ok(-2)),
		}},
		{"hands over", nil, []step{
			joined(0, 1), by("B", to(member.StateJoining), join(ok(4)), state(member.StateJoining, member.StateReconciling), callback(member.Assigned)),
			beat(3, ok(3, 0)), callback(member.Revoked, 1), beat(3, ok(4), owning(0)),
			by("B", beat(4, ok(4, 1), full()), callback(member.Assigned, 1), beat(4, ok(4), owning(1)), gone(1)), gone(0),
		}},
		{"a hung beat, then the leave of a static member", nil, []step{
			named("i"), joined(0), inAir(beat(3, hanging(lost))), beat(3, ok(3)), leave(-2, ok(-2)), land,
		}},
		{"two leaves in flight over a join", nil, []step{
			to(member.StateJoining), inAir(join(hanging(ok(3)))), inAir(leave(-1, hanging(ok(-1)))), inAir(leave(-1, hanging(ok(-1)))), land,
		}},
	})
}

func TestRulesOfIdentity(t *testing.T) {
	id := func(id string) step { return func(s *story) { s.me.id = id } }
	check(t, []history{
		{"rule 1: UUID of version 1", []int{1}, []step{id("AAAAAAAAEQCAAAAAAAAAAQ"), join(unsent)}},
		{"rule 1: UUID as usual text", []int{1}, []step{id("6ba7b810-9dad-41d1-80b4-00c04fd430c8"), join(unsent)}},
		{"rule 1: padding", []int{1}, []step{id(idA + "=="), join(unsent)}},
		{"rule 1: zero", []int{1}, []step{id(strings.Repeat("A", 22)), join(unsent)}},
		{"rule 1: dash", []int{1}, []step{id("-6lSKPNgT2WeChcaCa41oA"), join(unsent)}},
		{"rule 1: a new ID for the rejoin", []int{1}, []step{
			joined(0), beat(3, code(25)), to(member.StateFenced), callback(member.Lost, 0), send(0, unsent, full(), as(idB, "")),
		}},
		{"rule 1: the next member on the same Transport", nil, []step{joined(0), gone(0), send(0, unsent, full(), as(idB, ""))}},
		{"rule 1: instance ID forgotten", []int{1}, []step{named("i"), joined(0), beat(3, ok(3), as(idA, "")), leave(-1, ok(-1))}},
		{"rule 2: no leave", []int{2}, []step{joined(0)}},
		{"rule 2: stays on purpose", nil, []step{joined(0), func(s *story) { s.v.Stays(s.event().Member) }}},
		{"rule 2: no leave after a lost join", []int{2}, []step{join(lost)}},
		{"rule 2: no leave after a join with code 15", []int{2}, []step{join(code(15))}},
		{"rule 2: none needed after a refused join", nil, []step{join(code(81))}},
		{"rule 2: none needed after a join that was not sent", nil, []step{join(unsent)}},
		{"rule 2: none needed by whom the coordinator does not know", nil, []step{joined(0), beat(3, code(25))}},
		{"rule 2: the leave came before the second join", []int{2}, []step{join(lost), leave(-1, code(25)), join(lost)}},
		{"rule 2: a heartbeat after the end", []int{2, 15}, []step{joined(0), gone(0), beat(3, ok(3), full(0))}},
		{"rule 3: -3", []int{3}, []step{joined(0), leave(-3, ok(-3))}},
		{"rule 3: -2 of a dynamic member", []int{3}, []step{joined(0), leave(-2, ok(-2))}},
		{"rule 3: -1 of a static member", nil, []step{named("i"), joined(0), leave(-1, ok(-1))}},
		{"rule 3: no heartbeat before -2", []int{3}, []step{named("i"), joined(0), after(5 * time.Second), leave(-2, ok(-2))}},
		{"rule 3: none needed by who failed", nil, []step{named("i"), joined(0), after(5 * time.Second), to(member.StateFatal), leave(-2, ok(-2))}},
		{"rule 3: a leave after FENCED_INSTANCE_ID", []int{3}, []step{named("i"), joined(0), beat(3, code(82)), leave(-2, code(82))}},
		{"rule 12: -2 before any join", []int{12}, []step{named("i"), leave(-2, code(25))}},
		{"rule 12: -2 after a refused join", []int{12}, []step{named("i"), join(code(111)), leave(-2, code(82))}},
		{"rule 12: -2 after a lost join", nil, []step{named("i"), join(lost), join(code(111)), leave(-2, ok(-2)), join(code(111))}},
	})
}

func TestRulesOfRequests(t *testing.T) {
	check(t, []history{
		{"rule 4: no timeout", []int{4}, []step{join(unsent, without(fieldTimeout))}},
		{"rule 4: no subscription", []int{4}, []step{join(unsent, without(fieldNames))}},
		{"rule 4: null owned list", []int{4}, []step{join(unsent, without(fieldOwned))}},
		{"rule 4: owned partitions", []int{4}, []step{join(unsent, owning(1))}},
		{"rule 5: not full after a lost one", []int{5}, []step{joined(0), beat(3, lost), beat(3, ok(3), owning(0)), gone(0)}},
		{"rule 5: rack forgotten after code 14", []int{5}, []step{
			join(ok(3, 0), rack), beat(3, ok(3), owning(0)), beat(3, code(14)), beat(3, ok(3), full(0)), leave(-1, ok(-1)),
		}},
		{"rule 5: still not full after a full one that was lost", []int{5}, []step{
			joined(0), beat(3, lost), beat(3, lost, full(0)), beat(3, unsent, full(0)), beat(3, ok(3), full(0), without(fieldTimeout)), gone(0),
		}},
		{"rule 5: nothing is forgotten when nothing was sent", nil, []step{joined(0), beat(3, unsent), beat(3, ok(3)), gone(0)}},
		{"rule 5: nothing is forgotten after a refusal", nil, []step{joined(0), beat(3, code(-1)), beat(3, ok(3)), gone(0)}},
		{"rule 6: bare with nothing owned", []int{6}, []step{
			to(member.StateJoining), join(ok(3)), state(member.StateJoining, member.StateReconciling), callback(member.Assigned),
			to(member.StateStable), beat(3, ok(3), full()), beat(3, ok(3)), gone(),
		}},
		{"rule 6: bare after all was given up", []int{6}, []step{
			joined(0), beat(3, ok(3)), callback(member.Revoked, 0), beat(3, ok(4), full()), beat(4, ok(4)), gone(),
		}},
		{"rule 6: bare while leaving", nil, []step{
			joined(0), to(member.StatePrepareLeaving), callback(member.Revoked, 0), beat(3, ok(3)), beat(3, ok(3)), leave(-1, ok(-1)),
		}},
		{"rule 8: null list after a lost one", []int{8}, []step{joined(0), beat(3, lost), beat(3, ok(3), full(), without(fieldOwned)), gone(0)}},
		{"rule 8: null list while a refusal is pending", []int{8}, []step{
			joined(0), beat(3, code(29), full(0)), beat(3, lost), beat(3, ok(3)), gone(0),
		}},
		{"rule 15: an epoch from nowhere", []int{15}, []step{joined(0), beat(4, ok(4)), gone(0)}},
		{"rule 15: an epoch from an error", []int{15}, []step{joined(0), beat(3, func(a *actor) (r *kmsg.ConsumerGroupHeartbeatResponse, err error) {
			r, err = ok(9)(a)
			r.ErrorCode = 14
			return r, err
		}), beat(9, ok(9), full(0)), gone(0)}},
		{"rule 15: an old epoch", []int{15}, []step{joined(0), beat(3, ok(4)), beat(3, ok(4)), gone(0)}},
		{"rule 15: a success without an epoch brings none", nil, []step{joined(0), beat(3, ok(0)), beat(3, ok(3), full(0)), gone(0)}},
		{"rule 11: a heartbeat after a fence", []int{11}, []step{joined(0), beat(3, code(110)), beat(3, code(110)), leave(-1, ok(-1))}},
		{"rule 11: a join before OnLost returned", []int{11}, []step{
			joined(0), beat(3, code(110)), to(member.StateFenced), join(ok(5)), callback(member.Lost, 0), gone(),
		}},
		{"rule 13: lost for a timeout", []int{13}, []step{
			joined(0), beat(3, lost), to(member.StateFenced), callback(member.Lost, 0), joined(0), gone(0),
		}},
	})
}

func TestRulesOfPace(t *testing.T) {
	var many []step
	for range 20 {
		many = append(many, beat(3, lost, full(0)))
	}
	check(t, []history{
		{"rule 0: two in flight", []int{0}, []step{joined(0), inAir(beat(3, hanging(ok(3)))), beat(3, ok(3)), land, gone(0)}},
		{"rule 0: two joins in flight", []int{0}, []step{inAir(join(hanging(ok(3)))), join(ok(3)), land, leave(-1, ok(-1))}},
		{"rule 0: two in flight of a static member that stays", []int{0}, []step{
			named("i"), joined(0), inAir(beat(3, hanging(ok(3)))), beat(3, ok(3)), land, beat(3, ok(3)), leave(-1, ok(-1)),
		}},
		{"rule 0: illegal transition", []int{0}, []step{joined(0), func(s *story) {
			s.v.Hooks().Notice(member.NoticeInfo{Event: s.event(), Text: "illegal transition STABLE -> JOINING"})
		}, gone(0)}},
		{"rule 15: 49 ms", []int{15}, []step{joined(0), every(49 * time.Millisecond), beat(3, ok(3)), beat(3, ok(3)), gone(0)}},
		{"rule 15: 50 ms", nil, []step{joined(0), every(50 * time.Millisecond), beat(3, ok(3)), beat(3, ok(3)), gone(0)}},
		{"rule 15: 21 in less than 10 s", []int{15}, []step{
			joined(0), every(499 * time.Millisecond), all(many...), beat(3, ok(3), full(0)), gone(0),
		}},
		{"rule 15: 21 in 10 s", nil, []step{joined(0), every(500 * time.Millisecond), all(many...), beat(3, ok(3), full(0)), gone(0)}},
		{"rule 15: with success in between", nil, []step{
			joined(0), every(400 * time.Millisecond), all(many[:15]...), beat(3, ok(3), full(0)), all(many[:15]...), gone(0),
		}},
		{"rule 21: 11 early ones", []int{21}, []step{joined(0), earlyBeats(1, 0, 3), earlyBeats(11, 3, 3), gone(0)}},
		{"rule 21: 10, a change, 10", nil, []step{joined(0), earlyBeats(9, 3, 3), earlyBeats(1, 3, 4), earlyBeats(10, 4, 4), gone(0)}},
		{"rule 21: 10, an assignment, 10", nil, []step{
			joined(0), earlyBeats(1, 0, 3), earlyBeats(10, 3, 3), beat(3, ok(3, 0, 1)), beats(member.ReasonInterval, 1, 3, 3), earlyBeats(10, 3, 3), gone(0),
		}},
		{"rule 21: the same assignment again is no change", []int{21}, []step{
			joined(0), earlyBeats(1, 0, 3), earlyBeats(10, 3, 3), beat(3, ok(3, 0)), earlyBeats(1, 3, 3), gone(0),
		}},
	})
}

func TestRulesOfOwnership(t *testing.T) {
	take := func(s *story) { // B takes partition 1, whoever has it
		by("B", to(member.StateJoining), join(ok(4, 1)), state(member.StateJoining, member.StateReconciling),
			callback(member.Assigned, 1), beat(4, ok(4), owning(1)), gone(1))(s)
	}
	check(t, []history{
		{"rule 17: given up before OnRevoked returned", []int{17}, []step{
			joined(0, 1), beat(3, ok(3, 0)), beat(3, ok(3), owning(0)), callback(member.Revoked, 1), gone(0),
		}},
		{"rule 17: claims what nobody assigned", []int{17}, []step{joined(0), beat(3, ok(3), owning(0, 7)), gone(0)}},
		{"rule 17: claims what was assigned before the last join", []int{17}, []step{
			joined(0), beat(3, code(110)), to(member.StateFenced), callback(member.Lost, 0), join(ok(4)), beat(4, ok(4), full(0)), gone(),
		}},
		{"rule 17: two owners", []int{17}, []step{joined(0, 1), take, gone(0, 1)}},
		{"rule 17: two owners, and the first never lets go", []int{17}, []step{joined(0, 1), take, leave(-1, ok(-1))}},
		{"rule 17: the first has lost its trust", nil, []step{joined(0, 1), trustEnds, take, gone(0, 1)}},
		{"rule 17: the first is fenced later", nil, []step{
			joined(0, 1), take, beat(3, code(25)), to(member.StateFenced), callback(member.Lost, 0, 1), to(member.StateUnsubscribed),
		}},
		{"rule 17: the first has left", nil, []step{
			joined(0, 1), to(member.StatePrepareLeaving), leave(-1, ok(-1)), take, callback(member.Lost, 0, 1), to(member.StateUnsubscribed),
		}},
		{"rule 17: the second was out without knowing", nil, []step{joined(0, 1),
			by("B", to(member.StateJoining), join(ok(4, 1)), state(member.StateJoining, member.StateReconciling), callback(member.Assigned, 1),
				beat(4, code(25)), to(member.StateFenced), callback(member.Lost, 1), to(member.StateUnsubscribed)),
			gone(0, 1),
		}},
		{"rule 17: a callback is left behind", nil, []step{
			joined(0), to(member.StatePrepareLeaving), to(member.StateLeaving), beat(3, ok(3), full()), leave(-1, ok(-1)), to(member.StateUnsubscribed),
		}},
		{"rule 18: told long ago", nil, []step{
			joined(0, 1), beat(3, ok(3, 0, 2)), callback(member.Revoked, 1), all(slices.Repeat([]step{beat(3, ok(3), owning(0))}, 50)...),
			callback(member.Assigned, 2), beat(3, ok(3), owning(0, 2)), gone(0, 2),
		}},
		{"rule 18: takes before it has told", []int{18}, []step{
			joined(0, 1), beat(3, ok(3, 0, 2)), callback(member.Revoked, 1), callback(member.Assigned, 2), beat(3, ok(3), owning(0, 2)), gone(0, 2),
		}},
		{"rule 18: takes when telling was refused", []int{18}, []step{
			joined(0, 1), beat(3, ok(3, 0, 2)), callback(member.Revoked, 1), beat(3, code(-1), owning(0)),
			callback(member.Assigned, 2), beat(3, ok(3), owning(0, 2)), gone(0, 2),
		}},
		{"rule 18: tells something else", []int{18}, []step{
			joined(0, 1), beat(3, ok(3, 0, 2)), callback(member.Revoked, 1), beat(3, ok(3), owning(0, 1)),
			callback(member.Assigned, 2), beat(3, ok(3), owning(0, 2)), gone(0, 2),
		}},
		{"rule 18: gives up before it has told what it took", []int{18}, []step{
			to(member.StateJoining), join(ok(3, 0)), state(member.StateJoining, member.StateReconciling), callback(member.Assigned, 0),
			callback(member.Revoked, 0), beat(3, ok(3), full()), gone(),
		}},
		{"rule 18: lost and revoked are one round", nil, []step{
			joined(0, 1), beat(3, ok(3, 2)), callback(member.Lost, 0), callback(member.Revoked, 1), beat(3, ok(3), full()),
			callback(member.Assigned, 2), beat(3, ok(3), owning(2)), gone(2),
		}},
	})
}

// TestVerifierWithHalfTheNews: without hooks, or without the wire, nothing is made up.
func TestVerifierWithHalfTheNews(t *testing.T) {
	check(t, []history{
		{"wire only", nil, []step{
			join(ok(3, 0)), beat(3, ok(3), owning(0)), beat(3, ok(3)), beat(3, ok(3), full()), beat(3, ok(3)), leave(-1, ok(-1)),
		}},
		{"hooks only", nil, []step{
			to(member.StateJoining), state(member.StateJoining, member.StateReconciling), callback(member.Assigned, 0), callback(member.Revoked, 0),
			callback(member.Assigned, 1), to(member.StateFenced), callback(member.Lost, 1), to(member.StateUnsubscribed),
		}},
	})
}
