package membertest

import (
	"encoding/base64"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rollcall-go/rollcall/member"
)

// The rules of a member's identity, of its leave, and of the epochs it sends.

// oneMember: rule 1, the same ID on every request of a member. A Transport is one
// member's, so another ID on it is another member only if the first one is over.
func (w *watch) oneMember(t *tap) {
	if o := t.last; o != nil && o != w && !o.over() {
		w.fail(1, "its Transport has carried requests of %v, which has not left: a changed ID, or two members on one Transport", o.who)
	}
}

func (w *watch) over() bool { return w.ended || w.fatal || w.leaveDone || w.stays }

// ruleIDs: rule 1, the form of the member ID (KIP-1082: a version 4 UUID;
// org.apache.kafka.common.Uuid prints it so), and both IDs as in the first request.
func (w *watch) ruleIDs(a *attempt) {
	if !w.seen {
		w.seen, w.instance = true, a.call.InstanceID
		if w.who.InstanceID == "" {
			w.who.InstanceID = w.instance
		}
		if why := idFault(a.call.MemberID); why != "" {
			w.fail(1, "member ID %q: %s", a.call.MemberID, why)
		}
	}
	if a.call.InstanceID != w.instance {
		w.fail(1, "a %v names instance ID %q, and the first request named %q", a.call.Kind, a.call.InstanceID, w.instance)
	}
}

func idFault(id string) string {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(id)
	switch {
	case err != nil || len(raw) != 16:
		return "not 16 bytes as 22 characters of base64url without padding"
	case strings.Contains(id, "-"):
		return "has a '-', which some tools take for an option"
	}
	u, _ := uuid.FromBytes(raw)
	if u.Version() != 4 || u.Variant() != uuid.RFC4122 {
		return "not a version 4 UUID"
	}
	return ""
}

// ruleSilence: rule 2, whoever has left sends nothing any more.
func (w *watch) ruleSilence(a *attempt) {
	if w.ended && a.at.Sub(w.endedAt) > w.v.lag() {
		w.fail(2, "a %v was sent when the member had been UNSUBSCRIBED for %v", a.call.Kind, a.at.Sub(w.endedAt))
	}
}

// ruleLeaveIsOwed: rule 2, at the end, every join that may have been written has a
// leave behind it. The coordinator's word that the member is not there, or that the
// instance ID is another's, does as well.
func (w *watch) ruleLeaveIsOwed() {
	owed := w.owedSince
	for _, a := range w.flying {
		if a.call.Kind == CallJoin {
			owed = a.at
		}
	}
	if !w.stays && !owed.IsZero() && w.leftAt.Before(owed) {
		w.fail(2, "a join at %s may have been applied, and no leave followed it", owed.Format(clock))
	}
}

// ruleLeaveEpoch: rule 3, -1, or -2 with an instance ID, and no leave at all once
// FENCED_INSTANCE_ID was answered (KIP-345), unless a join of unknown fate may still
// need one (rule 2).
func (w *watch) ruleLeaveEpoch(a *attempt) {
	switch {
	case a.call.Epoch < -2:
		w.fail(3, "a leave with member epoch %d", a.call.Epoch)
	case a.call.Epoch == -2 && a.call.InstanceID == "":
		w.fail(3, "a leave with member epoch -2 and no instance ID")
	}
	if !w.noName.IsZero() && a.at.Sub(w.noName) > w.v.lag() {
		w.fail(3, "a leave, %v after FENCED_INSTANCE_ID", a.at.Sub(w.noName))
	}
}

// beatIsFresh is the second of rule 3, with some time for a join that is called
// back in between.
const beatIsFresh = 1250 * time.Millisecond

// ruleBeatBeforeLeave: rule 3, -2 does not restart the session, so a heartbeat goes
// just before it. A member that has failed or fenced itself, or whose heartbeats are
// refused, need not try.
func (w *watch) ruleBeatBeforeLeave(a *attempt) {
	if a.stale > beatIsFresh+10*w.v.lag() && w.state != member.StateFatal && !w.out {
		w.fail(3, "a leave with member epoch -2 at %s, %v after the last heartbeat: too little is left of the session", a.at.Format(clock), a.stale)
	}
}

// beatAge is the age of the last heartbeat when a -2 ends a membership.
func (w *watch) beatAge(a *attempt) time.Duration {
	if a.call.Epoch != -2 || w.instance == "" || w.epoch <= 0 || w.lastSaid == refused || w.lastSaid == vague {
		return 0
	}
	return a.at.Sub(w.beat.at)
}

// ruleMayLeave: rule 12, -2 frees an instance ID of one's own, so it needs an
// earlier join that was applied, or may have been.
func (w *watch) ruleMayLeave(a *attempt) {
	joining := false
	for _, f := range w.flying {
		joining = joining || f.call.Kind == CallJoin
	}
	if a.call.Epoch == -2 && !w.maybe && !joining {
		w.fail(12, "a leave with member epoch -2, though no join of this member can have been applied")
	}
}

// ruleEpoch: rule 15, only an accepted answer brings an epoch, and rule 11, a fence
// takes it away. (KIP-848: the member epoch is the coordinator's.)
func (w *watch) ruleEpoch(a *attempt) {
	switch {
	case a.call.Epoch == w.epoch:
	case a.call.Epoch == w.epochWas && (a.at.Sub(w.epochAt) <= w.v.lag() || a.at.Sub(w.leftAt) <= w.v.lag()):
		// The answer may have come while this one was on its way, and a leave that
		// was sent after it may have been faster.
	case w.epoch == 0 && w.fencedAt.Equal(w.epochAt) && !w.fencedAt.IsZero():
		w.fail(11, "a heartbeat with member epoch %d after a fence", a.call.Epoch)
	default:
		w.fail(15, "a heartbeat with member epoch %d; the last accepted one is %d", a.call.Epoch, w.epoch)
	}
}
