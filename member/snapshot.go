package member

import (
	"fmt"
	"time"
)

// Snapshot is one consistent view of a member, free to take at any time and from
// any goroutine. Maps and slices in it are shared and read-only.
type Snapshot struct {
	Identity
	State State
	// MemberEpoch is the epoch of the last accepted heartbeat; 0 when not in the group.
	MemberEpoch int32
	// Assignment is what is owned: what OnAssigned was told of and neither OnRevoked has
	// returned for nor OnLost was told of. topic -> sorted partitions.
	Assignment Partitions
	// Unresolved counts topics that are assigned but have no name yet, because
	// metadata does not show their topic ID (just made, deleted, or no DESCRIBE).
	Unresolved int
	// LastHeartbeat is when the last accepted heartbeat was sent.
	LastHeartbeat time.Time
	// TrustedUntil is LastHeartbeat + SessionTimeout less a margin (a tenth of it, at most
	// 3 s), and no later than the end of the rebalance timeout while something is to be
	// given up: until then nobody else can own the assignment. Zero when not in the group.
	TrustedUntil time.Time
	// Err is what Run returns; set in StateFatal.
	Err error
}

// String is one line: who, in which state, and what is owned.
func (s Snapshot) String() string {
	return fmt.Sprintf("%v %v, member epoch %d, owns %v", s.Identity, s.State, s.MemberEpoch, s.Assignment)
}

// Trusted reports whether, at now, no other member can own the assignment.
// Look at it before something that must not happen twice. It looks at the wall
// clock too: a machine that was suspended stops its monotonic clock, but not the
// broker's session timer.
func (s Snapshot) Trusted(now time.Time) bool {
	return trusted(now, s.TrustedUntil)
}

func trusted(now, until time.Time) bool { return !until.IsZero() && remaining(now, until) > 0 }

// remaining is how long it is until then, by the clock that says less.
func remaining(now, then time.Time) time.Duration {
	return min(then.Sub(now), then.Round(0).Sub(now.Round(0)))
}
