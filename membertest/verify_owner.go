package membertest

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/member"
)

// The rules of ownership: hooks and wire together. A hook runs some time after the
// event, so a request is judged when all events up to its time are known, and what
// happened at the very same time gets the benefit of the doubt.

// hookLife is what the hooks tell of a member's life.
type hookLife struct {
	state    member.State
	ended    bool
	endedAt  time.Time
	fatal    bool
	out      bool       // FENCED, by a coordinator or by itself, and not joined again
	trustOut time.Time  // trust ran out; zero: it has not
	pending  []*attempt // joins and beats that are not judged yet
}

// ownerLife is what a member owns, by its hooks, and claims to own, by its requests.
type ownerLife struct {
	own        map[partition]time.Time // owned, since when
	emptySince time.Time
	claimed    map[partition]bool // in the last owned list that was sent
	granted    map[granted]bool   // in the assignment of some answer since the last accepted join
	round      *round             // of callbacks; nil: acknowledged, or none
	acks       []*attempt         // the last accepted ones with an owned list
	alive      time.Time          // the last accepted heartbeat or leave was sent
	overlaps   []overlap          // this member is the one that should have let go
}

type partition struct {
	topic string
	num   int32
}

type granted struct {
	topic [16]byte
	num   int32
}

// round is a callback that has returned.
type round struct {
	at    time.Time
	what  member.Ownership
	parts []partition
	told  time.Time // the first heartbeat that told of it was accepted
}

func partitionsOf(p member.Partitions) []partition {
	var all []partition
	for t, n := range p.All() {
		all = append(all, partition{t, n})
	}
	return all
}

// list gives names to the owned list of a request. complete is false if the
// verifier has not seen the name of some topic.
func (w *watch) list(a *attempt) (list map[partition]bool, complete bool) {
	list, complete = map[partition]bool{}, true
	for _, t := range a.owned {
		name, ok := w.v.names[t.id]
		complete = complete && ok
		for _, n := range t.partitions {
			if ok {
				list[partition{name, n}] = true
			}
		}
	}
	return list, complete
}

const maxPending = 1024

func (w *watch) queue(a *attempt) {
	if w.pending = append(w.pending, a); len(w.pending) > maxPending {
		w.pending = w.pending[1:] // its hooks are not ours
	}
}

// settle judges the requests that were sent before t; zero: all.
func (w *watch) settle(t time.Time) {
	n := 0
	for _, a := range w.pending {
		if !t.IsZero() && !a.at.Before(t) {
			break
		}
		n++
		if w.hooked {
			w.judge(a)
		}
	}
	w.pending = slices.Delete(w.pending, 0, n)
}

func (w *watch) judge(a *attempt) {
	if a.call.Kind == CallJoin {
		w.ruleJoinOwnsNothing(a)
		clear(w.claimed)
		return
	}
	if a.call.Kind == CallLeave {
		w.ruleBeatBeforeLeave(a)
		return
	}
	w.ruleFullWhileEmpty(a)
	if a.has[fieldOwned] {
		w.ruleOwnedList(a)
	}
}

// ruleJoinOwnsNothing: rule 11, the join waits until OnLost has returned (KIP-848,
// "Fenced members").
func (w *watch) ruleJoinOwnsNothing(a *attempt) {
	for p, since := range w.own {
		if since.Before(a.at) {
			w.fail(11, "a join was sent at %s while %s/%d was owned: OnLost has not returned", a.at.Format(clock), p.topic, p.num)
			return
		}
	}
}

// ruleOwnedList: rule 17, nothing that was owned leaves the owned list before the
// callback that gives it up has returned. (From LEAVING on a callback may have been
// left behind: rule 19.)
func (w *watch) ruleOwnedList(a *attempt) {
	list, complete := w.list(a)
	left := w.leaving() && w.state != member.StatePrepareLeaving
	for p := range w.claimed {
		if since, owned := w.own[p]; !left && owned && since.Before(a.at) && !list[p] && complete {
			w.fail(17, "at %s %s/%d left the owned list, and no callback for it has returned", a.at.Format(clock), p.topic, p.num)
		}
	}
	w.claimed = list
}

// ruleGranted: rule 17, nothing is in the owned list that no answer has assigned. It
// may be there before OnAssigned returned, and has to be if the list says anything: a
// list without it is the word that the member does not have it.
func (w *watch) ruleGranted(a *attempt) {
	for _, t := range a.owned {
		for _, n := range t.partitions {
			if !w.granted[granted{t.id, n}] {
				w.fail(17, "partition %d of topic ID %x is in the owned list, and was not assigned since the last join", n, t.id)
			}
		}
	}
}

func (w *watch) grant(a *attempt, kresp kmsg.Response) {
	if a.outcome != accepted {
		return
	}
	if a.call.Kind == CallJoin {
		clear(w.granted)
	}
	if resp := kresp.(*kmsg.ConsumerGroupHeartbeatResponse); resp.Assignment != nil {
		for _, t := range resp.Assignment.Topics {
			for _, n := range t.Partitions {
				w.granted[granted{t.TopicID, n}] = true
			}
		}
	}
}

func (w *watch) onOwnership(i member.OwnershipInfo) {
	parts := partitionsOf(i.Delta)
	switch i.What {
	case member.Assigned:
		w.ruleRoundIsAcknowledged(i)
		for _, p := range parts {
			w.own[p] = i.At.Add(-i.Took)
		}
		w.ruleOneOwner(parts)
	case member.Revoked:
		if i.Err != nil {
			return // it ends the member, and OnLost follows
		}
		w.ruleRoundIsAcknowledged(i)
		w.release(i, parts)
	case member.Lost:
		w.release(i, parts)
	}
	if len(parts) > 0 {
		w.round = &round{at: i.At, what: i.What, parts: parts}
		for _, a := range w.acks { // the hook may have come after the acknowledgement
			w.acknowledge(a)
		}
	}
	if i.What == member.Lost && (w.state == member.StateFenced || w.leaving()) {
		w.round = nil
	}
}

func (w *watch) release(i member.OwnershipInfo, parts []partition) {
	for _, p := range parts {
		w.letGo(p, i.At, i.What)
		delete(w.own, p)
	}
	if len(w.own) == 0 {
		w.emptySince = i.At
	}
}

// leaving reports whether the member is on its way out.
func (w *watch) leaving() bool {
	switch w.state {
	case member.StatePrepareLeaving, member.StateLeaving, member.StateStale, member.StateFatal, member.StateUnsubscribed:
		return true
	}
	return false
}

// ruleRoundIsAcknowledged: rule 17, revoke, acknowledge, assign, and rule 18, the
// round that ran is acknowledged as it is before the next begins. Topics that were
// made again are lost first and share the round of what is revoked with them.
func (w *watch) ruleRoundIsAcknowledged(i member.OwnershipInfo) {
	r := w.round
	if r == nil || !w.seen || w.leaving() || w.state == member.StateFenced || r.what == member.Lost && i.What == member.Revoked {
		return
	}
	began := i.At.Add(-i.Took)
	if !r.told.IsZero() && !r.told.After(began) {
		w.round = nil
		return
	}
	w.fail(18, "the callback (%v) that returned at %s was not acknowledged when the next (%v) began at %s",
		r.what, r.at.Format(clock), i.What, began.Format(clock))
}

// tells reports whether an owned list has what a round assigned, or has not what it
// took. A join has nothing: all that was is over.
func (w *watch) tells(a *attempt, r *round) bool {
	list, complete := w.list(a)
	if a.call.Kind == CallJoin {
		return true
	}
	for _, p := range r.parts {
		if has := list[p]; has != (r.what == member.Assigned) && (has || complete) {
			return false
		}
	}
	return true
}

const maxAcks = 32

func (w *watch) ackEnd(a *attempt) {
	if a.outcome != accepted || !a.has[fieldOwned] {
		return
	}
	if w.acks = append(w.acks, a); len(w.acks) > maxAcks {
		w.acks = w.acks[1:]
	}
	w.acknowledge(a)
}

// acknowledge takes an accepted owned list as the word on the round that is over, if it
// is that.
func (w *watch) acknowledge(a *attempt) {
	if r := w.round; r != nil && r.told.IsZero() && !a.at.Before(r.at) && w.tells(a, r) {
		r.told = a.done
	}
}
