package member

import "fmt"

// Kind is the kind of group that a member is in.
type Kind uint8

const (
	KindConsumer Kind = iota // a consumer group, KIP-848
)

func (k Kind) String() string {
	if k == KindConsumer {
		return "consumer"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// MarshalText is String, for JSON and logs.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Identity is who a member is. It does not change during the member's life.
type Identity struct {
	Kind  Kind
	Group string
	// MemberID is the version 4 UUID, as 22 characters of base64url text, that
	// the client made before its first join (KIP-1082).
	MemberID string
	// InstanceID is group.instance.id (KIP-345); "" is a dynamic member.
	InstanceID string
}

// String is "group/memberID", with the instance ID in parentheses if there is one.
func (i Identity) String() string {
	if i.InstanceID != "" {
		return i.Group + "/" + i.MemberID + " (" + i.InstanceID + ")"
	}
	return i.Group + "/" + i.MemberID
}

// State is the state of a member, in the words of the Java client
// (org.apache.kafka.clients.consumer.internals.MemberState, Kafka 4.x). More may
// come: have a default case.
type State uint8

const (
	StateUnsubscribed   State = iota // not in the group: before Run, and after a clean leave
	StateJoining                     // sends member epoch 0 until it is accepted
	StateReconciling                 // the assignment differs from what is owned; callbacks may be running
	StateAcknowledging               // a round of callbacks is over, the coordinator is being told
	StateStable                      // owns what it is assigned, and the coordinator knows
	StateFenced                      // thrown out: OnLost runs, then it joins again
	StatePrepareLeaving              // leaving: the last callbacks run, heartbeats go on
	StateLeaving                     // the leave is being sent
	StateStale                       // has left, as Alive was not called in time
	StateFatal                       // ended by an error, which Run returns
	numStates
)

var stateNames = [numStates]string{
	"UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE",
	"FENCED", "PREPARE_LEAVING", "LEAVING", "STALE", "FATAL",
}

// String is the state's name as the Java client prints it, such as "JOINING".
func (s State) String() string {
	if s < numStates {
		return stateNames[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// MarshalText is String, for JSON and logs.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// InGroup reports whether a member in this state holds a place in the group:
// not before it joined, nor once it was fenced, has left or has failed.
func (s State) InGroup() bool {
	switch s {
	case StateReconciling, StateAcknowledging, StateStable, StatePrepareLeaving:
		return true
	}
	return false
}

// LeaveOperation is how a member leaves its group, as the Java client's
// CloseOptions.GroupMembershipOperation (KIP-1092). It implements
// encoding.TextUnmarshaler with the texts "default", "leave" and "remain".
type LeaveOperation uint8

const (
	// LeaveDefault: a dynamic member is gone. A static member is away: its
	// partitions stay reserved for the rest of its session (member epoch -2).
	LeaveDefault LeaveOperation = iota
	// LeaveGroup: gone for good, static or not (member epoch -1).
	LeaveGroup
	// RemainInGroup: as LeaveDefault for a static member. A dynamic one sends
	// nothing, and its partitions wait for its session to run out.
	RemainInGroup
)

// String is "default", "leave" or "remain".
func (o LeaveOperation) String() string {
	switch o {
	case LeaveDefault:
		return "default"
	case LeaveGroup:
		return "leave"
	case RemainInGroup:
		return "remain"
	}
	return fmt.Sprintf("LeaveOperation(%d)", uint8(o))
}

// MarshalText is String.
func (o LeaveOperation) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what String writes.
func (o *LeaveOperation) UnmarshalText(text []byte) error {
	for _, v := range []LeaveOperation{LeaveDefault, LeaveGroup, RemainInGroup} {
		if v.String() == string(text) {
			*o = v
			return nil
		}
	}
	return fmt.Errorf("%q is none of default, leave, remain", text)
}
