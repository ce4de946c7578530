package topology

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// What a guard, or a broker, refuses; by errors.Is in a [GuardError].
var (
	// ErrMismatch: the group has the same epoch with other content.
	ErrMismatch = errors.New("same epoch, other content")
	// ErrRollback: the own epoch is older than the group's.
	ErrRollback = errors.New("older than the group's topology")
	// ErrUpdate: the own epoch is newer than the group's, and that is not allowed, or not
	// possible on this broker.
	ErrUpdate = errors.New("newer than the group's topology")
	// ErrCannotTell: the group's topology is not shown, or the group could not be
	// described. It is a [Finding]'s Notice, and no reason to refuse.
	ErrCannotTell = errors.New("cannot tell the group's topology")
	// ErrOtherType: there is a group of that name, and it is no streams group.
	ErrOtherType = errors.New("group is of another type")
)

// Guard decides before a join whether the own topology may go to the group. It keeps an
// old program from coming back by accident, and two programs from sharing an epoch.
//
// The zero value enforces: the same epoch with the same content passes, and so does
// what cannot be told. Who joins first does not decide, and nothing has to be switched
// off again after a rollout: a rejoin has the epoch and content that the process began with.
type Guard struct {
	// Mode is what [Guard.Ask] does with a refusal. Default: [Enforce].
	Mode Mode
	// AllowUpdate lets an epoch pass that is newer by exactly one. Default: no update.
	AllowUpdate bool
	// AllowSkip lets an epoch pass that is newer by any number, one too. Default: no.
	AllowSkip bool
	// AllowRollback lets an older epoch pass: the member is then stale (STALE_TOPOLOGY),
	// and brokers up to 4.4 give it tasks of the group's topology all the same. Default: no.
	// To go back to old content on purpose, give it a new epoch instead.
	AllowRollback bool
}

// Mode is what becomes of a refusal.
type Mode uint8

const (
	Enforce Mode = iota // it is an error: do not join
	Warn                // it is a notice
	Off                 // the group is not asked
)

// String is "enforce", "warn" or "off".
func (m Mode) String() string {
	switch m {
	case Enforce:
		return "enforce"
	case Warn:
		return "warn"
	case Off:
		return "off"
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// GuardError says why a topology must not go to a group, and what to do about it.
type GuardError struct {
	// Err is [ErrMismatch], [ErrRollback] or [ErrUpdate].
	Err error
	// OwnID and GroupID are the two contents; GroupID is as in [Comparison], "" if not shown.
	OwnID, GroupID ID
	// OwnEpoch and GroupEpoch; GroupEpoch may be [EpochUnknown] if a broker refused.
	OwnEpoch, GroupEpoch Epoch
	// Changes from the group's topology to the own one, as far as they can be seen.
	Changes []Change
	// Hidden is what may differ unseen, as in [Comparison].
	Hidden []string
	// Way is what an operator can do here.
	Way string
}

// Unwrap gives Err.
func (e *GuardError) Unwrap() error { return e.Err }

func (e *GuardError) Error() string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "topology %s: %v: own epoch %v, group epoch %v", e.OwnID, e.Err, e.OwnEpoch, e.GroupEpoch)
	if e.GroupID != "" && e.GroupID != e.OwnID {
		fmt.Fprintf(&sb, " (%s)", e.GroupID)
	}
	const most = 5 // a topology may be another one altogether
	for i, c := range e.Changes {
		if i == most {
			fmt.Fprintf(&sb, "; and %d more", len(e.Changes)-most)
			break
		}
		sb.WriteString("; " + c.String())
	}
	if e.Way != "" {
		sb.WriteString("; " + e.Way)
	}
	return sb.String()
}

// Check is the rule itself, whatever Mode is: nil, or why own must not go to the group
// with epoch e. That is a [GuardError], or an [InvalidError] for a negative e. Nothing is
// refused that cannot be told. own is a topology that Validate accepts.
//
// By epoch: older is [ErrRollback] unless AllowRollback; equal is [ErrMismatch] if the
// content is different; newer is [ErrUpdate] unless it is allowed, and d.Updatable.
func (g Guard) Check(own Topology, e Epoch, d Deployed) error {
	// Source: measured on 4.1.2 to 4.4.0: a negative epoch is UNKNOWN_SERVER_ERROR.
	if e < 0 {
		return &InvalidError{"topology", []Fault{{"epoch", fmt.Sprintf("%d: want 0 or more", int32(e))}}}
	}
	if !d.known() {
		return nil
	}
	c := Compare(own, d)
	switch {
	case e < d.Epoch && !g.AllowRollback:
		return refusal(ErrRollback, own, e, d, c, wayBack(d))
	case e == d.Epoch && c.Verdict == Different:
		return refusal(ErrMismatch, own, e, d, c, wayOn(d, c))
	case e > d.Epoch:
		if way := g.update(e, d, c); way != "" {
			return refusal(ErrUpdate, own, e, d, c, way)
		}
	}
	return nil
}

// update is "" if the update may go on, else what to do instead.
//
// Source of the rules: KIP-1071 leaves exactly one or any greater open; KAFKA-20170
// plans exactly one. Measured on 4.1.2 to 4.4.0: any higher epoch is refused, even with
// the same content, and even when the group is empty.
func (g Guard) update(e Epoch, d Deployed, c Comparison) string {
	next := int64(d.Epoch) + 1
	switch {
	case c.Verdict == Same && !d.Updatable:
		return fmt.Sprintf("no bump is due: nothing that is shown differs; set the epoch to %v", d.Epoch)
	case !d.Updatable:
		return wayOn(d, c)
	case !g.AllowUpdate && !g.AllowSkip:
		return "allow the update (Guard.AllowUpdate) where a rollout is meant"
	case !g.AllowSkip && int64(e) != next:
		return fmt.Sprintf("the next epoch is %d; to skip some, set Guard.AllowSkip", next)
	}
	return ""
}

func refusal(why error, own Topology, e Epoch, d Deployed, c Comparison, way string) *GuardError {
	return &GuardError{Err: why, OwnID: own.ID(), GroupID: c.GroupID, OwnEpoch: e, GroupEpoch: d.Epoch,
		Changes: c.Changes, Hidden: c.Hidden, Way: way}
}

const migrate = "this broker keeps a group's topology until the group is deleted: use a new group, or stop all members, " +
	"save the committed offsets, delete the group, restore them, start again (docs/topology.md)"

// wayOn is how new content gets into the group.
func wayOn(d Deployed, c Comparison) string {
	switch {
	case !d.Updatable || d.Epoch == math.MaxInt32:
		return migrate
	case hasClash(c.Changes):
		return "old and new members cannot run side by side: use a new group, or stop all members before the update"
	}
	return fmt.Sprintf("give the new content epoch %d", d.Epoch+1)
}

// wayBack is how old content gets into the group.
func wayBack(d Deployed) string {
	if d.Updatable && d.Epoch < math.MaxInt32 {
		return fmt.Sprintf("deploy what the group runs, or, to go back on purpose, give the old content epoch %d", d.Epoch+1)
	}
	return "deploy what the group runs; to go back on purpose: " + migrate
}

func hasClash(cs []Change) bool {
	for _, c := range cs {
		if c.Clash {
			return true
		}
	}
	return false
}
