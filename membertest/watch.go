package membertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/member"
)

// watch is what a Verifier knows of one member. All of it belongs to Verifier.mu.
type watch struct {
	v      *Verifier
	n      int
	who    member.Identity
	stays  bool
	hooked bool // its hooks tell us something

	wireLife
	fieldLife
	paceLife
	hookLife
	ownerLife
}

func newWatch(v *Verifier, who member.Identity) *watch {
	w := &watch{v: v, n: len(v.members), who: who}
	w.own = map[partition]time.Time{}
	w.claimed = map[partition]bool{}
	w.granted = map[granted]bool{}
	return w
}

func (w *watch) fail(rule int, format string, args ...any) {
	w.v.found = append(w.v.found, Violation{Rule: rule, Member: w.who, Detail: fmt.Sprintf(format, args...)})
}

// outcome is what the end of an attempt tells its sender.
type outcome uint8

const (
	inFlight outcome = iota
	notSent          // no byte of it was written
	accepted
	refused // a known outcome: not applied
	vague   // nobody can say much, and the rules do not: 7, 13, 129, success with an epoch below 1
	unknown // may have been applied
)

// maybe reports whether the attempt may have been applied.
func (o outcome) maybe() bool { return o != notSent && o != refused }

// attempt is one heartbeat. The member uses its requests again, so this is a copy.
type attempt struct {
	call  Call
	at    time.Time
	has   fieldSet // carried
	empty fieldSet // carried, and empty
	owned []topicPartitions
	bare  bool          // a refusal was pending when it was sent
	stale time.Duration // a -2: since the last heartbeat, if there has to be one

	done    time.Time // zero: in flight
	before  time.Time // when the attempt before it was done
	outcome outcome
	code    int16
	epoch   int32 // of an accepted answer
}

type topicPartitions struct {
	id         [16]byte
	partitions []int32
}

func newAttempt(group string, req *kmsg.ConsumerGroupHeartbeatRequest, now time.Time) *attempt {
	a := &attempt{call: CallOf(group, req), at: now}
	set := func(f field, has, empty bool) {
		a.has[f], a.empty[f] = has, has && empty
	}
	set(fieldTimeout, req.RebalanceTimeoutMillis != -1, false)
	set(fieldNames, req.SubscribedTopicNames != nil, len(req.SubscribedTopicNames) == 0)
	set(fieldRegex, req.SubscribedTopicRegex != nil, text(req.SubscribedTopicRegex) == "")
	set(fieldAssignor, req.ServerAssignor != nil, text(req.ServerAssignor) == "")
	set(fieldRack, req.RackID != nil, text(req.RackID) == "")
	set(fieldOwned, req.Topics != nil, len(req.Topics) == 0)
	for _, t := range req.Topics {
		a.owned = append(a.owned, topicPartitions{t.TopicID, append([]int32(nil), t.Partitions...)})
	}
	return a
}

// end says what the end of the attempt tells.
func (a *attempt) end(now time.Time, kresp kmsg.Response, err error) {
	a.done = now
	resp, _ := kresp.(*kmsg.ConsumerGroupHeartbeatResponse)
	switch {
	case errors.Is(err, heartbeat.ErrNotSent):
		a.outcome = notSent
	case err != nil || resp == nil:
		a.outcome = unknown
	default:
		a.code = resp.ErrorCode
		a.outcome = outcomeOf(a.call, resp)
		if a.outcome == accepted {
			a.epoch = resp.MemberEpoch
		}
	}
}

func outcomeOf(c Call, resp *kmsg.ConsumerGroupHeartbeatResponse) outcome {
	switch resp.ErrorCode {
	case 0:
		if c.Kind != CallLeave && resp.MemberEpoch < 1 {
			return vague
		}
		return accepted
	case 14, 15, 16: // COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR
		return unknown
	case 7, 13, 129: // REQUEST_TIMED_OUT, NETWORK_EXCEPTION, REBOOTSTRAP_REQUIRED
		return vague
	}
	return refused
}

// fenced reports whether the answer says that the member is no member any more.
func (a *attempt) fenced() bool {
	switch a.code {
	case 25, 110: // UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH
		return true
	case 69, 113: // GROUP_ID_NOT_FOUND, STALE_MEMBER_EPOCH
		return a.call.Kind == CallBeat
	}
	return false
}

// mayBePending reports whether the answer is a refusal of what the request
// carried, which may pass; until then bare heartbeats are right (rule 5).
func (a *attempt) mayBePending() bool {
	switch a.code {
	case 29, 89, 112, 128: // TOPIC_AUTHORIZATION_FAILED, THROTTLING_QUOTA_EXCEEDED, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION
		return true
	}
	return false
}

// wireLife is what requests and answers tell of a member's life.
type wireLife struct {
	seen      bool
	instance  string
	beat      *attempt    // the last join or beat that was sent
	flying    []*attempt  // joins and beats without an answer
	doubts    []Violation // by a beat of a static member, unless its leave follows at once: rule 3
	epoch     int32       // of the last accepted heartbeat; 0: not in the group
	epochWas  int32       // before that
	epochAt   time.Time   // when it was answered
	lastEnd   time.Time   // the last end of a join or beat
	fencedAt  time.Time   // the last fence
	fence     bool        // one that no StateInfo told of so far
	maybe     bool        // some join may have been applied
	owedSince time.Time   // a join that may have been applied was sent; zero: no leave is owed
	leftAt    time.Time   // the last leave was sent
	leaveDone bool        // the last leave was taken, and no join was sent since
	lastSaid  outcome     // of the last join or beat that ended
	doubtful  bool        // a join of unknown fate, and nothing was accepted since
	noName    time.Time   // FENCED_INSTANCE_ID was answered, and no join was sent since
}

// sending takes a heartbeat that goes out.
func (w *watch) sending(a *attempt) {
	a.before = w.lastEnd
	w.ruleIDs(a)
	w.ruleSilence(a)
	switch a.call.Kind {
	case CallLeave:
		w.ruleLeaveEpoch(a)
		w.ruleMayLeave(a)
		a.stale = w.beatAge(a)
		w.queue(a)
		w.leftAt, w.epochWas, w.epoch = a.at, w.epoch, 0
		w.doubts = nil // (a -1, too: LeaveGroup may have been asked for since)
		return
	case CallJoin:
		w.ruleJoinIsFull(a)
		w.noName, w.leaveDone = time.Time{}, false
	case CallBeat:
		w.ruleEpoch(a)
		w.ruleFields(a)
		w.ruleGranted(a)
	}
	w.confirm()
	w.ruleOneInFlight(a)
	w.ruleFloor(a)
	w.ruleBudget(a)
	a.bare = w.refusal
	w.beat = a
	w.flying = append(w.flying, a)
	w.queue(a)
}

// confirm reports what only a leave right behind it would have excused.
func (w *watch) confirm() {
	w.v.found = append(w.v.found, w.doubts...)
	w.doubts = nil
}

// answered takes the end of a heartbeat.
func (w *watch) answered(a *attempt, now time.Time, resp kmsg.Response, err error) {
	a.end(now, resp, err)
	if a.code == 82 { // FENCED_INSTANCE_ID
		w.owedSince = time.Time{}
		if !w.doubtful {
			w.noName = now
		}
	}
	w.overlapsEnd(a)
	if a.code == 25 || a.code == 69 {
		w.owedSince = time.Time{}
	}
	if a.call.Kind == CallLeave {
		w.leaveDone = w.leaveDone || a.outcome == accepted || a.fenced() || a.code == 69
		return
	}
	w.lastEnd, w.lastSaid = now, a.outcome
	for i, f := range w.flying {
		if f == a {
			w.flying = append(w.flying[:i:i], w.flying[i+1:]...)
			break
		}
	}
	w.doubtful = a.outcome != accepted && (w.doubtful || a.call.Kind == CallJoin && a.outcome.maybe())
	if a.call.Kind == CallJoin && a.outcome.maybe() {
		w.maybe = true
		if a.at.After(w.owedSince) {
			w.owedSince = a.at
		}
	}
	switch {
	case a.at.Before(w.leftAt), a.call.Kind == CallBeat && a.at.Equal(w.leftAt): // it was given up for the leave
	case a.outcome == accepted:
		w.epochWas, w.epoch, w.epochAt = w.epoch, a.epoch, now
	case a.fenced():
		w.epochWas, w.epoch, w.epochAt = w.epoch, 0, now
		w.fencedAt, w.fence = now, true
	case a.call.Kind == CallJoin:
		w.epoch = 0
	}
	w.fieldsEnd(a)
	w.paceEnd(a, resp)
	w.ackEnd(a)
	w.grant(a, resp)
}
