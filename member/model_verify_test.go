package member

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// simWire is what the requests of a member say, one after the other.
type simWire struct {
	epoch      int32 // of the last accepted answer; 0: not a member
	accepted   time.Duration
	lastSent   time.Time       // of a join or heartbeat
	unaccepted []time.Time     // send times since the last accepted answer
	recent     []time.Duration // send times of the last ten seconds
	unknown    bool            // the last outcome was not an answer
	refused    bool            // a refusal since the last full request that was accepted
	leaveOp    LeaveOperation
}

// checkSend looks at a request that goes out.
func (n *simNode) checkSend(t *simAttempt) {
	if len(n.net.flights) > 0 && !n.m.lv.sending {
		n.w.fail(n, "a second request while one is in flight")
	}
	if t.hb == nil {
		if _, ok := t.req.(*kmsg.OffsetFetchRequest); !ok || n.m.state != StateJoining {
			n.w.fail(n, "sends a %T", t.req)
		}
		n.rate()
		n.checkPace()
		return
	}
	q := t.hb
	if q.MemberID != n.m.id.MemberID || q.Group != simGroup || text(q.InstanceID) != n.spec.instance {
		n.w.fail(n, "says that it is %q (%q) in %q", q.MemberID, text(q.InstanceID), q.Group)
	}
	n.rate()
	switch {
	case q.MemberEpoch < 0:
		n.checkLeaveSent(q)
		if n.m.lv.sending {
			return
		}
	case q.MemberEpoch == 0:
		n.checkJoinSent(q)
	default:
		n.checkBeatSent(t, q)
	}
	n.checkPace()
}

func (n *simNode) checkLeaveSent(q *kmsg.ConsumerGroupHeartbeatRequest) {
	release := n.m.state == StateJoining
	static := n.spec.instance != ""
	want := heartbeat.EpochLeave
	if static && (release || n.m.lv.op != LeaveGroup) {
		want = heartbeat.EpochLeaveStatic
	}
	switch {
	case q.MemberEpoch != want:
		n.w.fail(n, "leaves with epoch %d, want %d", q.MemberEpoch, want)
	case !release && !static && n.m.lv.op == RemainInGroup:
		n.w.fail(n, "leaves, and was to remain")
	case q.RebalanceTimeoutMillis != -1 || q.Topics != nil || q.SubscribedTopicNames != nil:
		n.w.fail(n, "leaves with fields")
	}
}

// Rule 4.
func (n *simNode) checkJoinSent(q *kmsg.ConsumerGroupHeartbeatRequest) {
	switch {
	case n.m.state != StateJoining:
		n.w.fail(n, "sends epoch 0")
	case !heartbeat.IsFull(q) || q.SubscribedTopicNames == nil || len(q.Topics) > 0:
		n.w.fail(n, "joins without all fields: %+v", q)
	case text(q.SubscribedTopicRegex) != text(n.m.vals.Regex):
		n.w.fail(n, "joins without its regex")
	}
	n.wire.epoch = 0
}

func (n *simNode) checkBeatSent(t *simAttempt, q *kmsg.ConsumerGroupHeartbeatRequest) {
	wi := &n.wire
	if q.MemberEpoch != wi.epoch {
		n.w.fail(n, "heartbeat at epoch %d, the last accepted answer said %d", q.MemberEpoch, wi.epoch)
	}
	if n.m.state == StateJoining || n.m.state == StateFenced {
		n.w.fail(n, "heartbeat at epoch %d", q.MemberEpoch)
	}
	held := wi.refused || n.asked > 0
	if wi.unknown && !held && !t.full {
		n.w.fail(n, "rule 5: not full after an unknown outcome")
	}
	if n.own.owned.len() == 0 && n.own.cb == nil && !held && !t.full {
		n.w.fail(n, "rule 6: not full while it owns nothing")
	}
	if q.Topics == nil {
		return
	}
	wi.checkOwnedList(n, ownedList(q))
}

func ownedList(q *kmsg.ConsumerGroupHeartbeatRequest) (list topicSet) {
	for _, t := range q.Topics {
		list = append(list, topicParts{t.TopicID, t.Partitions})
	}
	return list
}

// checkOwnedList: nothing leaves the list before its callback has returned (rule 17),
// all that the application holds is in it, and nothing that was not assigned.
func (wi *simWire) checkOwnedList(n *simNode, list topicSet) {
	if !slices.IsSortedFunc(list, func(a, b topicParts) int { return slices.Compare(a.id[:], b.id[:]) }) {
		n.w.fail(n, "the owned list is not sorted")
	}
	if missing := n.own.owned.minus(list); missing.len() > 0 && !n.m.lv.sending { // then a callback may have been left behind
		n.w.fail(n, "%v is owned, and not in the owned list", n.w.names(missing))
	}
	if strange := list.minus(n.own.owned).minus(n.own.told); strange.len() > 0 {
		n.w.fail(n, "%v is in the owned list, and neither owned nor assigned", n.w.names(strange))
	}
	if early := list.minus(list.minus(n.own.unacked)); early.len() > 0 {
		n.w.fail(n, "%v is in the owned list that acknowledges its revocation", n.w.names(early))
	}
}

// checkPace: rule 15.
func (n *simNode) checkPace() {
	wi, now := &n.wire, n.local()
	if !wi.lastSent.IsZero() && now.Sub(wi.lastSent) < heartbeat.Floor && !n.m.lv.sending {
		n.w.fail(n, "only %v after the request before", now.Sub(wi.lastSent))
	}
	wi.lastSent = now
	wi.unaccepted = append(wi.unaccepted, now)
	if k := len(wi.unaccepted) - 1 - heartbeat.Budget; k >= 0 && now.Sub(wi.unaccepted[k]) < heartbeat.BudgetWindow {
		n.w.fail(n, "%d requests in %v without an accepted answer", heartbeat.Budget+1, now.Sub(wi.unaccepted[k]))
	}
}

// simRate is how many requests in ten seconds are too many, accepted or not: ten
// plain ones, a few early runs and acknowledgements.
const simRate = 60

func (n *simNode) rate() {
	wi := &n.wire
	wi.recent = append(wi.recent, n.w.now)
	for n.w.now-wi.recent[0] > 10*time.Second {
		wi.recent = wi.recent[1:]
	}
	n.w.cover.rate(len(wi.recent))
	if len(wi.recent) > simRate {
		n.w.fail(n, "%d requests in 10s", len(wi.recent))
	}
}

// see looks at an input before the machine does.
func (n *simNode) see(in simInput) {
	t := in.at
	if t == nil {
		return
	}
	if !t.unchanged() {
		n.w.fail(n, "request %d was changed before its attempt ended", t.seq)
	}
	if t.hb == nil {
		return
	}
	resp, _ := in.Resp.(*kmsg.ConsumerGroupHeartbeatResponse)
	if resp == nil {
		n.wire.unknown = n.wire.unknown || t.written
		return
	}
	switch resp.ErrorCode {
	case 0:
		if t.hb.MemberEpoch >= 0 {
			n.seeAccepted(t, resp)
		}
	case 14, 15, 16:
		n.wire.unknown = true
	case 29, 89, -1, 999:
		n.wire.refused = true
	case 25, 110:
		n.wire.epoch = 0
	}
}

func (n *simNode) seeAccepted(t *simAttempt, resp *kmsg.ConsumerGroupHeartbeatResponse) {
	wi := &n.wire
	wi.accepted, wi.unaccepted, wi.unknown = n.w.now, nil, false
	wi.epoch = resp.MemberEpoch
	if t.full {
		wi.refused = false
	}
	if resp.Assignment != nil {
		n.own.told = normalize(resp.Assignment.Topics)
	}
	// What it cost is given up like anything that is revoked; only then is all as it was.
	if t.arrived > n.own.exemptOn && n.own.owned.minus(n.own.told).len() == 0 {
		n.own.exempt = false
	}
	if list := ownedList(t.hb); t.hb.Topics != nil && list.minus(n.own.unacked).len() == list.len() {
		n.own.unacked = nil
	}
}
