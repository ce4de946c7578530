package member

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

var errTimeout = context.DeadlineExceeded

// errorf makes the Error of what just went wrong.
func (m *machine) errorf(op string, code int16, message string, errs ...error) *Error {
	return &Error{Op: op, Member: m.id, MemberEpoch: m.epoch, Code: code, Message: message, errs: errs}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// The broker's texts name the owner of an instance ID as "... owned by member X" or
// "... was fenced by member X". It is for people only: nothing is decided by it.
var owner = regexp.MustCompile(`(?i)(?:owned|fenced) by (?:another )?(?:member )?(?:with id )?['"]?([A-Za-z0-9_=+/-]{8,})`)

func ownerIn(message string) string {
	if g := owner.FindStringSubmatch(message); g != nil {
		return g[1]
	}
	return ""
}

// refusedError is the Error of an answer with a code: what it is, and what to do.
func (m *machine) refusedError(f flight, resp *kmsg.ConsumerGroupHeartbeatResponse) *Error {
	e := m.errorf(f.phase.String(), resp.ErrorCode, text(resp.ErrorMessage))
	switch resp.ErrorCode {
	case kerr.UnsupportedVersion.Code:
		e.errs = append(e.errs, ErrUnsupported)
		e.Advice = "the broker has consumer groups of KIP-848 switched off: it needs Kafka 4.0 or newer with feature group.version 1 and \"consumer\" in group.coordinator.rebalance.protocols"
	case kerr.GroupIDNotFound.Code:
		if f.phase == heartbeat.PhaseJoin {
			e.errs = append(e.errs, ErrOtherType)
			e.Advice = "the group ID is in use by a streams, share or other group: take another ID, or delete that group"
		}
	case kerr.GroupAuthorizationFailed.Code:
		e.Advice = "the principal needs READ on the group"
	case kerr.TopicAuthorizationFailed.Code:
		e.Advice = "the principal needs DESCRIBE on every subscribed topic (READ implies it)"
	case kerr.GroupMaxSizeReached.Code:
		e.Advice = "raise group.consumer.max.size, or run fewer members"
	case kerr.UnsupportedAssignor.Code:
		e.Advice = "Assignor \"" + m.cfg.Assignor + "\" is not in the broker's group.consumer.assignors"
	case kerr.InvalidRegularExpression.Code:
		e.Advice = "Regex has to be RE2 (no look-around, no back-references): " + text(m.vals.Regex)
	case kerr.InvalidRequest.Code:
		e.Advice = "the broker does not accept the request as it is: please report it"
	}
	if resp.ErrorCode == -1 || kerr.TypedErrorForCode(resp.ErrorCode) != kerr.UnknownServerError {
		e.errs = append(e.errs, kerr.ErrorForCode(resp.ErrorCode))
	} else {
		// kerr folds codes that it does not know into UNKNOWN_SERVER_ERROR; Code has the raw one.
		e.errs = append(e.errs, unknownCode(resp.ErrorCode))
	}
	return e
}

// unknownCode is a code that kerr does not know: it says which, and is UNKNOWN_SERVER_ERROR.
type unknownCode int16

func (c unknownCode) Error() string {
	return fmt.Sprintf("Kafka error code %d, which this client does not know", int16(c))
}
func (c unknownCode) Unwrap() error { return kerr.UnknownServerError }

// trouble is a run of attempts without an answer, or with none that says anything.
type trouble struct {
	told, toldAuth bool
	authSince      time.Time // TLS or authentication have failed since, and nothing else
	awaySince      time.Time // brokers have answered that they are not the coordinator, or not yet
}

// unavailable: a broker answers, and no coordinator does. When a coordinator moves or loads
// that is so for a moment; if it lasts for an interval it is as bad as no answer, and told.
func (m *machine) unavailable(now time.Time, err *Error) {
	t := &m.trust.trouble
	t.toldAuth, t.authSince = false, time.Time{}
	if t.awaySince.IsZero() {
		t.awaySince = now
	}
	if !t.told && now.Sub(t.awaySince) >= m.sched.Interval() {
		t.told = true
		m.notice(now, NoticeUnreachable, "no coordinator; trying on", err)
	}
}

// unreachable tells once per run of failures that nobody answers; the member
// keeps trying. TLS and authentication failures end it when they, and nothing
// else, have lasted for a session: a credential that is being rotated gets its chance, a
// wrong one does not retry for ever. A mere guess that it is one of them ends only
// a member that never got in.
func (m *machine) unreachable(now time.Time, f flight, err error) {
	t := &m.trust.trouble
	var auth, sure bool
	if m.aux.isAuth != nil {
		auth, sure = m.aux.isAuth(err)
	}
	e := m.errorf(f.phase.String(), codeOf(err), "", err)
	switch {
	case auth && !t.toldAuth:
		t.toldAuth = true
		m.notice(now, NoticeAuth, "TLS or authentication failed; trying on for the session timeout", e)
	case !auth && !t.told:
		t.told = true
		m.notice(now, NoticeUnreachable, "no answer from a coordinator; trying on", e)
	}
	switch {
	case errors.Is(err, kerr.GroupAuthorizationFailed):
		e.Advice = "the principal needs READ on the group"
		m.fail(now, e, true)
	case !auth:
		t.authSince = time.Time{}
	case t.authSince.IsZero():
		t.authSince = now
	case now.Sub(t.authSince) >= m.cfg.Timing.SessionTimeout && (sure || m.trust.last.IsZero()):
		e.Advice = "check the client's TLS and SASL options against the broker's listener"
		m.fail(now, e, true)
	}
}

func (m *machine) reachable() { m.trust.trouble = trouble{} }

func codeOf(err error) int16 {
	if ke, ok := errors.AsType[*kerr.Error](err); ok {
		return ke.Code
	}
	return 0
}
