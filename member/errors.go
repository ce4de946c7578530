package member

import (
	"errors"
	"fmt"
	"strings"
)

// What a program decides on, by errors.Is, in an error of [Consumer.Run] or a
// hook. Everything else is kerr's, such as kerr.GroupMaxSizeReached.
var (
	// ErrUnsupported: the broker, or kgo.MaxVersions, does not have what is asked
	// for. The text names the version or the switch that is needed.
	ErrUnsupported = errors.New("not supported")
	// ErrOtherType: the group exists and is no consumer group.
	ErrOtherType = errors.New("group is of another type")
	// ErrInstanceHeld: the instance ID belongs to a live member, which is not us.
	ErrInstanceHeld = errors.New("instance ID is held by another live member")
	// ErrDisplaced: another member took our instance ID while we were joined.
	ErrDisplaced = errors.New("instance ID was taken by another member")
	// ErrClientClosed: the kgo client was closed before Run returned.
	ErrClientClosed = errors.New("the kgo client was closed before Run returned")
	// ErrLeave: no coordinator acknowledged the leave within LeaveTimeout.
	ErrLeave = errors.New("leave was not acknowledged")
	// ErrNotJoined: what was asked for needs a running member.
	ErrNotJoined = errors.New("member is not running")
	// ErrRunning: Run was called before. A member is used once.
	ErrRunning = errors.New("Run was called before")
)

// Causes (context.Cause) of the context of a callback that has ended early.
var (
	ErrLost     = errors.New("partitions are lost")                          // fenced: do not commit
	ErrRevoking = errors.New("rebalance timeout: the coordinator evicts us") // too slow for RebalanceTimeout
	ErrShutdown = errors.New("shutdown timeout")                             // too slow for ShutdownTimeout
)

// Error is the one type of run-time error of a member. errors.Is finds the
// sentinels above, the kerr error of Code, and the cause of a failed request in
// it.
type Error struct {
	Op          string // what failed: "join", "heartbeat", "leave", "run"
	Member      Identity
	MemberEpoch int32  // as last accepted; 0 when not in the group
	Code        int16  // the raw Kafka error code, also one that kerr does not know; 0: none
	Message     string // the broker's own text, if any
	Owner       string // the member ID that holds our instance ID, as far as the broker said so
	Advice      string // what to do about it
	errs        []error
}

func (e *Error) Error() string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s %s (member epoch %d): ", e.Op, e.Member, e.MemberEpoch)
	for i, err := range e.errs {
		if i > 0 {
			sb.WriteString(": ")
		}
		sb.WriteString(err.Error())
	}
	if e.Message != "" {
		fmt.Fprintf(&sb, " [broker: %s]", e.Message)
	}
	if e.Owner != "" {
		fmt.Fprintf(&sb, "; owner %s", e.Owner)
	}
	if e.Advice != "" {
		sb.WriteString("; ")
		sb.WriteString(e.Advice)
	}
	return sb.String()
}

// Unwrap gives the sentinels, the Kafka error and the cause.
func (e *Error) Unwrap() []error { return e.errs }

// CallbackError is what Run returns after a callback failed: it returned an
// error, it panicked, or it ignored the end of its context.
type CallbackError struct {
	Callback string // OnAssigned, OnRevoked or OnLost
	Err      error
	Stack    []byte // of a panic; else nil
}

func (e *CallbackError) Error() string { return e.Callback + ": " + e.Err.Error() }

// Unwrap gives the callback's own error.
func (e *CallbackError) Unwrap() error { return e.Err }

// ConfigError has every fault of a configuration, not just the first.
type ConfigError struct{ Faults []ConfigFault }

// ConfigFault is one fault: the field, its value, and what is wanted.
type ConfigFault struct {
	Field string
	Value any
	Want  string
	Err   error // the cause, if there is one
}

func (e *ConfigError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = fmt.Sprintf("%s = %s: want %s", f.Field, show(f.Value), f.Want)
	}
	return "invalid member configuration: " + strings.Join(parts, "; ")
}

func show(v any) string {
	switch v.(type) {
	case string, []string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%v", v)
}

// Unwrap gives the causes.
func (e *ConfigError) Unwrap() []error {
	var errs []error
	for _, f := range e.Faults {
		if f.Err != nil {
			errs = append(errs, f.Err)
		}
	}
	return errs
}
