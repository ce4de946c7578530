package member

import (
	"fmt"
	"log/slog"
	"time"
)

// Hooks observe a member. Any of the functions may be nil. For one member they
// are called in order, one at a time, none dropped or merged, from a relay
// goroutine of their own: one that blocks delays later hooks, never a heartbeat
// and never a callback. One that panics is logged, and the next is called. Run waits for the
// last of them, up to RelayTimeout after the member has left. A value shared by several members must be safe for
// concurrent use.
//
// Callbacks (OnAssigned and so on) are where ownership is acted on; hooks are for
// logs, metrics, tests.
type Hooks struct {
	State     func(StateInfo)     // the state changed
	Heartbeat func(HeartbeatInfo) // an attempt has ended
	Ownership func(OwnershipInfo) // a callback has returned, set or not
	Trust     func(TrustInfo)     // trust ran out, or came back
	Notice    func(NoticeInfo)    // odd, and survived
}

// RelayTimeout is how long Run waits for hooks that still run when the member
// has left.
const RelayTimeout = 2 * time.Second

// JoinHooks calls each of hs in turn.
func JoinHooks(hs ...Hooks) Hooks {
	return Hooks{
		State:     each(hs, func(h Hooks) func(StateInfo) { return h.State }),
		Heartbeat: each(hs, func(h Hooks) func(HeartbeatInfo) { return h.Heartbeat }),
		Ownership: each(hs, func(h Hooks) func(OwnershipInfo) { return h.Ownership }),
		Trust:     each(hs, func(h Hooks) func(TrustInfo) { return h.Trust }),
		Notice:    each(hs, func(h Hooks) func(NoticeInfo) { return h.Notice }),
	}
}

func each[T any](hs []Hooks, pick func(Hooks) func(T)) func(T) {
	var fs []func(T)
	for _, h := range hs {
		if f := pick(h); f != nil {
			fs = append(fs, f)
		}
	}
	if len(fs) == 0 {
		return nil
	}
	return func(v T) {
		for _, f := range fs {
			f(v)
		}
	}
}

// Event is what all Infos have.
type Event struct {
	Member      Identity
	At          time.Time // when it happened, not when the hook runs
	State       State     // of the member then
	MemberEpoch int32     // of the member then; 0 when not in the group
}

// StateInfo is a change of state.
type StateInfo struct {
	Event
	From, To State
	Err      error // why, for FENCED and FATAL
}

// Reason is why a heartbeat was sent.
type Reason uint8

const (
	ReasonInterval Reason = iota // the coordinator's interval was over
	ReasonJoin                   // to join, or to repeat a join
	ReasonAck                    // to acknowledge a round of callbacks
	ReasonEarly                  // before the interval was over, as something is likely to wait
	ReasonWake                   // Wake was called
	ReasonRetry                  // the attempt before failed
	ReasonChange                 // the subscription changed
	ReasonLeave                  // to leave
	numReasons
)

var reasonNames = [numReasons]string{"interval", "join", "ack", "early", "wake", "retry", "change", "leave"}

// String is a lower-case word, such as "interval".
func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// MarshalText is String.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// HeartbeatInfo is one attempt that has ended.
type HeartbeatInfo struct {
	Event
	Reason        Reason
	Epoch         int32 // of the request: 0 joins, -1 and -2 leave
	AnsweredEpoch int32 // of an accepted answer
	Full          bool  // it carried all that the coordinator keeps
	RTT           time.Duration
	Interval      time.Duration // the interval in force after it
	Code          int16         // the raw Kafka error code; 0: accepted, or no answer (Err)
	Err           error         // no answer: the outcome is unknown, unless errors.Is(Err, heartbeat.ErrNotSent)
}

// Ownership is what happened to partitions.
type Ownership uint8

const (
	Assigned Ownership = iota // OnAssigned returned
	Revoked                   // OnRevoked returned
	Lost                      // OnLost returned
)

// String is "assigned", "revoked" or "lost".
func (o Ownership) String() string {
	switch o {
	case Assigned:
		return "assigned"
	case Revoked:
		return "revoked"
	case Lost:
		return "lost"
	}
	return fmt.Sprintf("Ownership(%d)", uint8(o))
}

// MarshalText is String.
func (o Ownership) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// OwnershipInfo is a callback that has returned (or would have, where none is set).
type OwnershipInfo struct {
	Event
	What         Ownership
	Delta, Owned Partitions // what came or went, and all that is owned after it
	Took         time.Duration
	Err          error // what the callback returned
}

// TrustInfo says until when nobody else can own the assignment.
type TrustInfo struct {
	Event
	Until time.Time // zero: trust ran out
	Last  time.Time // when the last accepted heartbeat was sent
}

// Notice is the kind of a [NoticeInfo].
type Notice uint8

const (
	NoticeOther       Notice = iota // see its text
	NoticeUnreachable               // no coordinator answers; told once until one does
	NoticeRefused                   // a right or quota is missing; the member goes on
	NoticeWaiting                   // the instance ID is held by another, or its group is full; waiting for it
	NoticeForeignID                 // an answer named another member ID; ours stays
	NoticeBadAnswer                 // an answer that makes no sense was ignored, or partly so
	NoticeAuth                      // TLS or authentication failed; retried within the session
	NoticeSlow                      // a callback still runs a second after the end of its context
	numNotices
)

var noticeNames = [numNotices]string{"other", "unreachable", "refused", "waiting", "foreign member ID", "bad answer", "authentication", "slow callback"}

// String is a lower-case phrase, such as "bad answer".
func (n Notice) String() string {
	if n < numNotices {
		return noticeNames[n]
	}
	return fmt.Sprintf("Notice(%d)", uint8(n))
}

// MarshalText is String.
func (n Notice) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// NoticeInfo is something odd that the member survives.
type NoticeInfo struct {
	Event
	What Notice
	Text string
	Err  error // often an *Error
}

// LogValue implements slog.LogValuer.
func (i StateInfo) LogValue() slog.Value {
	return eventValue(i.Event, slog.Any("from", i.From), slog.Any("to", i.To), errAttr(i.Err))
}

// LogValue implements slog.LogValuer.
func (i HeartbeatInfo) LogValue() slog.Value {
	return eventValue(i.Event, slog.Any("reason", i.Reason), slog.Int("epoch", int(i.Epoch)), slog.Int("answered_epoch", int(i.AnsweredEpoch)),
		slog.Bool("full", i.Full), slog.Duration("rtt", i.RTT), slog.Duration("interval", i.Interval), slog.Int("code", int(i.Code)), errAttr(i.Err))
}

// LogValue implements slog.LogValuer.
func (i OwnershipInfo) LogValue() slog.Value {
	return eventValue(i.Event, slog.Any("what", i.What), slog.String("delta", i.Delta.String()),
		slog.String("owned", i.Owned.String()), slog.Duration("took", i.Took), errAttr(i.Err))
}

// LogValue implements slog.LogValuer.
func (i TrustInfo) LogValue() slog.Value {
	return eventValue(i.Event, slog.Time("until", i.Until), slog.Time("last", i.Last))
}

// LogValue implements slog.LogValuer.
func (i NoticeInfo) LogValue() slog.Value {
	return eventValue(i.Event, slog.Any("what", i.What), slog.String("text", i.Text), errAttr(i.Err))
}

func errAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.String("error", err.Error())
}

func eventValue(e Event, attrs ...slog.Attr) slog.Value {
	all := []slog.Attr{slog.String("group", e.Member.Group), slog.String("member_id", e.Member.MemberID)}
	if e.Member.InstanceID != "" {
		all = append(all, slog.String("instance_id", e.Member.InstanceID))
	}
	all = append(all, slog.Any("state", e.State), slog.Int("member_epoch", int(e.MemberEpoch)))
	return slog.GroupValue(append(all, attrs...)...)
}
