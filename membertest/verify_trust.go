package membertest

import (
	"time"

	"github.com/rollcall-go/rollcall/member"
)

// The rules between members, and of what ends a membership.

// overlap is a partition that another member got while this one had it.
type overlap struct {
	p     partition
	since time.Time // this one had it
	at    time.Time // the other got it
	other *watch
	over  bool // OnRevoked for it has returned since, too late
}

// ruleOneOwner: rule 17, what a member gets, no other trusted member has. The
// hooks of the other one may be late with the news that it has let go, so this is
// only noted here; letGo, or Finish, judges it.
func (w *watch) ruleOneOwner(parts []partition) {
	for _, o := range w.v.others(w) {
		for _, p := range parts {
			theirs, has := o.own[p]
			if !has || !w.sameTopic(o, p.topic) {
				continue
			}
			switch mine := w.own[p]; { // at the same time: nobody knows who was first
			case mine.Before(theirs):
				w.overlap(overlap{p: p, since: mine, at: theirs, other: o})
			case theirs.Before(mine):
				o.overlap(overlap{p: p, since: theirs, at: mine, other: w})
			}
		}
	}
}

func (w *watch) overlap(o overlap) {
	if w.trusted(o) {
		w.overlaps = append(w.overlaps, o)
	}
}

// sameTopic reports whether two members mean the same topic by a name: a topic that
// was deleted and made again is another one.
func (w *watch) sameTopic(o *watch, name string) bool {
	mine, one := w.topicID(name)
	theirs, another := o.topicID(name)
	return one && another && mine == theirs
}

// topicID is the ID that assignments since the last join had for a topic; ok is false
// if there were several, or none that the verifier has seen.
func (w *watch) topicID(name string) (id [16]byte, ok bool) {
	for g := range w.granted {
		if w.v.names[g.topic] == name {
			if ok && id != g.topic {
				return id, false
			}
			id, ok = g.topic, true
		}
	}
	return id, ok
}

// trusted reports whether the member had the right to believe that the partition
// was its own when the other one got it: its trust had not run out (rule 20), it
// had not left, and no coordinator had thrown it out, or has since then.
func (w *watch) trusted(o overlap) bool {
	switch {
	case !w.trustOut.IsZero() && !w.trustOut.After(o.at):
	case !w.leftAt.Before(o.since) && !w.leftAt.After(o.at) && !w.leftAt.IsZero():
	case w.fencedAt.After(o.since), w.state == member.StateFenced:
	default:
		return true
	}
	return false
}

// letGo takes the return of OnRevoked or OnLost for a partition. What is lost was
// taken away by the coordinator, which may have given it to another already.
func (w *watch) letGo(p partition, at time.Time, what member.Ownership) {
	kept := w.overlaps[:0]
	for _, o := range w.overlaps {
		switch {
		case o.p != p:
			kept = append(kept, o)
		case what == member.Revoked && at.After(o.at):
			o.over = true
			kept = append(kept, o)
		}
	}
	w.overlaps = kept
}

// proven reports whether the coordinator counted both members in after the other one
// got the partition. Otherwise one of them may have been out without knowing: removed by
// an operator, say.
func (w *watch) proven(o overlap) bool {
	return w.alive.After(o.at) && o.other.alive.After(o.at) && !o.other.fencedAt.After(o.at) && w.trusted(o)
}

// overlapsEnd takes an answer. If it is a fence, the coordinator had taken everything
// away before.
func (w *watch) overlapsEnd(a *attempt) {
	if a.outcome == accepted && a.at.After(w.alive) {
		w.alive = a.at
	}
	kept := w.overlaps[:0]
	for _, o := range w.overlaps {
		switch {
		case a.fenced(), a.code == 69:
		case o.over && w.proven(o):
			w.twoOwners(o)
		default:
			kept = append(kept, o)
		}
	}
	w.overlaps = kept
}

func (w *watch) twoOwners(o overlap) {
	w.fail(17, "%s/%d was owned since %s when %v got it at %s", o.p.topic, o.p.num, o.since.Format(clock), o.other.who, o.at.Format(clock))
}

// finish makes the checks at the end of life.
func (w *watch) finish() {
	w.confirm()
	w.ruleLeaveIsOwed()
	for _, o := range w.overlaps {
		if w.proven(o) {
			w.twoOwners(o)
		}
	}
	w.overlaps = nil
}

func (w *watch) onState(i member.StateInfo) {
	w.state = i.To
	switch i.To {
	case member.StateFenced:
		w.ruleFenceHasReason(i)
		w.overlaps, w.out = nil, true
	case member.StateReconciling:
		if i.From == member.StateJoining {
			w.trustOut, w.out = time.Time{}, false
		}
	case member.StateUnsubscribed:
		w.ended, w.endedAt = true, i.At
	case member.StateFatal:
		w.fatal = true
	}
}

// ruleFenceHasReason: rule 13, errors, load and a moved coordinator take nothing
// away. Only a fence does, or trust that ran out for a member that fences itself.
func (w *watch) ruleFenceHasReason(i member.StateInfo) {
	if w.seen && !w.fence && w.trustOut.IsZero() {
		w.fail(13, "FENCED at %s, though no answer said so and trust has not run out", i.At.Format(clock))
	}
	w.fence = false
}

func (w *watch) onTrust(i member.TrustInfo) {
	w.trustOut = time.Time{}
	if i.Until.IsZero() {
		w.trustOut = i.At
	}
}

func (w *watch) onHeartbeat(i member.HeartbeatInfo) { w.ruleEarly(i) }
