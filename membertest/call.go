package membertest

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// CallKind is what a request is to the life of a member.
type CallKind uint8

const (
	CallOther CallKind = iota // not a heartbeat: a look-up, an offset fetch
	CallJoin                  // a heartbeat with member epoch 0
	CallBeat                  // a heartbeat with a real member epoch, 1 or more
	CallLeave                 // a heartbeat with a negative member epoch
)

// String is "join", "beat", "leave" or "other".
func (k CallKind) String() string {
	switch k {
	case CallOther:
		return "other"
	case CallJoin:
		return "join"
	case CallBeat:
		return "beat"
	case CallLeave:
		return "leave"
	}
	return fmt.Sprintf("CallKind(%d)", uint8(k))
}

// Call says what a request is, in plain values. What a request does not have is
// zero.
type Call struct {
	Key        int16 // of the request: 68 is ConsumerGroupHeartbeat
	Kind       CallKind
	Group      string
	MemberID   string
	InstanceID string
	Epoch      int32
	Full       bool // it has all that makes the coordinator repeat the assignment
}

// IsJoin reports whether the request is a join. As a method expression,
// membertest.Call.IsJoin, it is a [Fault]'s Match; the same holds for IsBeat,
// IsLeave and IsHeartbeat.
func (c Call) IsJoin() bool { return c.Kind == CallJoin }

// IsBeat reports whether the request is a heartbeat of a member that has joined.
func (c Call) IsBeat() bool { return c.Kind == CallBeat }

// IsLeave reports whether the request is a leave.
func (c Call) IsLeave() bool { return c.Kind == CallLeave }

// IsHeartbeat reports whether the request is a join, a beat or a leave.
func (c Call) IsHeartbeat() bool { return c.Kind != CallOther }

// CallOf describes a request to the coordinator of group, for wrappers of one's
// own. It keeps nothing of req.
func CallOf(group string, req kmsg.Request) Call {
	c := Call{Key: req.Key(), Group: group}
	switch r := req.(type) {
	case *kmsg.ConsumerGroupHeartbeatRequest:
		c.Group, c.MemberID, c.Epoch = r.Group, r.MemberID, r.MemberEpoch
		c.InstanceID, c.Full = text(r.InstanceID), heartbeat.IsFull(r)
		switch {
		case r.MemberEpoch == 0:
			c.Kind = CallJoin
		case r.MemberEpoch > 0:
			c.Kind = CallBeat
		default:
			c.Kind = CallLeave
		}
	case *kmsg.OffsetFetchRequest:
		if len(r.Groups) == 1 {
			g := &r.Groups[0]
			c.Group, c.MemberID, c.Epoch = g.Group, text(g.MemberID), g.MemberEpoch
		}
	case *kmsg.OffsetCommitRequest:
		c.Group, c.MemberID, c.Epoch, c.InstanceID = r.Group, r.MemberID, r.Generation, text(r.InstanceID)
	}
	return c
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
