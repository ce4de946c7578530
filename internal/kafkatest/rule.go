package kafkatest

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is a request as it arrives at a [Proxy].
type Request struct {
	Conn      int // the number of the connection, from 1
	Key       int16
	Version   int16
	ClientID  string
	Heartbeat *kmsg.ConsumerGroupHeartbeatRequest // nil for other requests
}

// full says whether the request has all that a member says on joining.
func (r Request) full() bool {
	h := r.Heartbeat
	return h != nil && h.RebalanceTimeoutMillis != -1 && (h.SubscribedTopicNames != nil || h.SubscribedTopicRegex != nil)
}

// Match picks requests. It runs with the proxy's lock held and must not call
// the proxy.
type Match func(Request) bool

// And picks what both pick.
func (m Match) And(o Match) Match { return func(r Request) bool { return m(r) && o(r) } }

// IsHeartbeat picks consumer group heartbeats.
func IsHeartbeat(r Request) bool { return r.Heartbeat != nil }

// IsJoin picks heartbeats that join: those with epoch 0.
func IsJoin(r Request) bool { return IsHeartbeat(r) && r.Heartbeat.MemberEpoch == 0 }

// IsLeave picks heartbeats that leave, for good (epoch -1) or not (-2).
func IsLeave(r Request) bool { return IsHeartbeat(r) && r.Heartbeat.MemberEpoch < 0 }

// IsFull picks heartbeats that carry the rebalance timeout and a subscription.
func IsFull(r Request) bool { return r.full() }

// ByKey picks requests by API key.
func ByKey(key int16) Match { return func(r Request) bool { return r.Key == key } }

// ByClient picks requests by client id.
func ByClient(id string) Match { return func(r Request) bool { return r.ClientID == id } }

// ByGroup picks the heartbeats of a group.
func ByGroup(group string) Match {
	return func(r Request) bool { return IsHeartbeat(r) && r.Heartbeat.Group == group }
}

// ByMember picks the heartbeats of a member.
func ByMember(id string) Match {
	return func(r Request) bool { return IsHeartbeat(r) && r.Heartbeat.MemberID == id }
}

type actionKind int

const (
	dropRequest actionKind = iota
	loseAnswer
	swallowAnswer
	holdAnswer
	holdRequest
	stall
)

// Action is what a [Rule] does to a request.
type Action struct {
	kind  actionKind
	d     time.Duration
	flags HoldFlag
}

// DropRequest cuts the connection instead of forwarding the request.
func DropRequest() Action { return Action{kind: dropRequest} }

// LoseAnswer forwards the request, waits for the answer, and cuts the
// connection instead of passing the answer on.
func LoseAnswer() Action { return Action{kind: loseAnswer} }

// SwallowAnswer forwards the request and takes its answer; from then on
// nothing passes the connection in any direction, but it stays open.
func SwallowAnswer() Action { return Action{kind: swallowAnswer} }

// HoldAnswer forwards the request and holds its answer for a time, or until
// [Rule.Release]. Later answers of the connection wait behind it.
func HoldAnswer(d time.Duration) Action { return Action{kind: holdAnswer, d: d} }

// HoldRequest holds the request for a time, or until [Rule.Release], before it
// forwards it. Later requests of the connection wait behind it. If the client
// closes the connection meanwhile, the request is dropped, unless a flag says
// otherwise.
func HoldRequest(d time.Duration, flags ...HoldFlag) Action {
	a := Action{kind: holdRequest, d: d}
	for _, f := range flags {
		a.flags |= f
	}
	return a
}

// HoldFlag modifies [HoldRequest].
type HoldFlag int

const (
	// EvenIfGone forwards the held request also if the client has closed its
	// connection meanwhile.
	EvenIfGone HoldFlag = 1 << iota
	// CutNow cuts the client's connection when the request arrives; the broker
	// still gets the request after the hold.
	CutNow
)

// Stall lets nothing pass the connection any more, from this request on, but
// leaves it open.
func Stall() Action { return Action{kind: stall} }

func (a Action) outlives() bool { return a.kind == holdRequest && a.flags&(EvenIfGone|CutNow) != 0 }

// Rule is an action for the requests that a match picks.
type Rule struct {
	p       *Proxy
	match   Match
	act     Action
	release chan struct{} // closed: no hold any more

	// Guarded by the proxy's lock.
	left     int // how many requests it still takes; negative: all
	matched  int
	done     int
	released bool
}

// On adds a rule for the next count requests that match picks; a negative
// count is all. The oldest rule that picks a request has it alone.
func (p *Proxy) On(match Match, count int, act Action) *Rule {
	r := &Rule{p: p, match: match, act: act, left: count, release: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
	return r
}

// Remove ends the rule for requests that have not arrived yet.
func (r *Rule) Remove() {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.left = 0
}

// Release ends the holds of the rule, also those of requests to come.
func (r *Rule) Release() {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	if !r.released {
		r.released = true
		close(r.release)
	}
}

// Matched returns how many requests the rule has taken.
func (r *Rule) Matched() int {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	return r.matched
}

// WaitMatched waits until the rule has taken n requests in all.
func (r *Rule) WaitMatched(ctx context.Context, n int) error {
	return r.p.wait(ctx, func() bool { return r.matched >= n })
}

// Wait waits until the rule has done its work on n requests in all. With
// actions that forward the request that is when the broker has answered and
// the proxy has dealt with the answer.
func (r *Rule) Wait(ctx context.Context, n int) error {
	return r.p.wait(ctx, func() bool { return r.done >= n })
}

// complete counts a request that the rule is through with.
func (r *Rule) complete() {
	if r == nil {
		return
	}
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.done++
	r.p.notify()
}
