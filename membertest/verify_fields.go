package membertest

import "strings"

// The rules of what a heartbeat carries.

// field is one of the values that a coordinator keeps. The list is the verifier's
// own, so that it does not share the member's mistakes.
type field int

const (
	fieldTimeout field = iota
	fieldNames
	fieldRegex
	fieldAssignor
	fieldRack
	fieldOwned
	numFields
)

var fieldNameOf = [numFields]string{"rebalance timeout", "topic names", "regex", "assignor", "rack", "owned list"}

type fieldSet [numFields]bool

// fieldLife is what the coordinator holds of a member, as far as the member can know.
type fieldLife struct {
	session fieldSet // what the member has a value of, since its last accepted join
	known   fieldSet // what the coordinator surely holds
	lost    bool     // an unknown outcome, and no full heartbeat was accepted since
	refusal bool     // something was refused that may pass
}

// ruleJoinIsFull: rule 4. GroupMetadataManager.throwIfConsumerGroupHeartbeatRequestIsInvalid,
// Kafka 4.x, refuses a join without a timeout, a subscription or an empty list.
func (w *watch) ruleJoinIsFull(a *attempt) {
	if !a.has[fieldTimeout] {
		w.fail(4, "a join without a rebalance timeout")
	}
	if !a.has[fieldNames] && !a.has[fieldRegex] {
		w.fail(4, "a join without a subscription")
	}
	if !a.has[fieldOwned] || !a.empty[fieldOwned] {
		w.fail(4, "a join whose owned list is not an empty one")
	}
}

// ruleFields: rule 5, a field is left out only while the coordinator is known to
// hold it, and rule 8, what may name a previous epoch carries the owned list. While
// a refusal is pending bare heartbeats keep the member alive.
func (w *watch) ruleFields(a *attempt) {
	var missing []string
	for f, has := range a.has {
		switch f := field(f); {
		case has || !w.session[f] || w.known[f]:
		case f == fieldOwned && w.lost:
			w.fail(8, "a heartbeat without an owned list after an unknown outcome")
		case !w.refusal || f == fieldOwned:
			missing = append(missing, fieldNameOf[f])
		}
	}
	if len(missing) > 0 {
		w.fail(5, "a heartbeat leaves out what the coordinator may not hold: %s", strings.Join(missing, ", "))
	}
}

// fieldsEnd takes the outcome of a join or beat.
func (w *watch) fieldsEnd(a *attempt) {
	switch {
	case a.outcome == unknown:
		w.known, w.lost = fieldSet{}, true
	case a.mayBePending():
		w.refusal = true
	case a.outcome == accepted:
		if a.call.Kind == CallJoin {
			w.session, w.known = fieldSet{}, fieldSet{}
		}
		for f, has := range a.has {
			if has {
				w.known[f], w.session[f] = true, !a.empty[f] || field(f) == fieldOwned || field(f) == fieldNames
			}
		}
		if a.call.Full {
			w.lost, w.refusal = false, false
		}
	}
}

// ruleFullWhileEmpty: rule 6, a lost assignment comes again only to a full request
// (isFullRequest in GroupMetadataManager, Kafka 4.x), so who owns nothing sends
// nothing else. It may have been on its way when the last partition went, hence the
// answer in between. On the way out it does not matter.
func (w *watch) ruleFullWhileEmpty(a *attempt) {
	if a.call.Kind != CallBeat || a.call.Full || a.bare || len(w.own) > 0 || w.leaving() {
		return
	}
	if w.emptySince.Before(a.before) {
		w.fail(6, "at %s a heartbeat that is not full, while nothing is owned", a.at.Format(clock))
	}
}
