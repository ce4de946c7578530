package membertest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/member"
)

// Verifier checks all members that share it, on the wire and at their callbacks,
// against the rules in docs/protocol.md. It knows nothing of the
// members' insides and nothing of the coordinator: only what is asked, what is
// answered, and what hooks tell. It reports only what is surely wrong.
//
// The rules, by their numbers, and 0 for what docs/design.md says of the loop:
//
//	 0  one heartbeat in flight (a leave may follow it); legal state transitions
//	 1  form and constancy of the member ID and the instance ID
//	 2  a leave behind every join that may have been written; silence after the end
//	 3  leave epochs; a heartbeat within a second before -2; none after FENCED_INSTANCE_ID
//	 4  a join is full, with an empty owned list
//	 5  what the coordinator may not hold is sent; after an unknown outcome that is everything
//	 6  full heartbeats while nothing is owned
//	 8  an owned list in whatever follows an unknown outcome
//	11  after a fence: OnLost, then a join, and nothing else
//	12  -2 only from who may be a member
//	13  no loss without a fence: what is owned stays through errors
//	15  50 ms between heartbeats, 20 of them in 10 s without success, only epochs that were accepted
//	17  the owned list follows the callbacks; no partition has two trusted owners
//	18  a round of callbacks is acknowledged before the next one
//	21  at most 10 early heartbeats per change
//
// It needs both [Verifier.Transport] and [Verifier.Hooks]; with one of them it
// checks what it can.
//
// What cannot be seen from here is not checked: whether a leave reached the
// coordinator behind its join (look at brokers.Cluster.Group), how many early
// heartbeats a whole process sends, what is left out while a refusal is pending,
// deadlines of callbacks, and whether partitions that are lost without a fence are
// those of a topic that was made again. Rule 21 takes the member's word for which
// heartbeats are early; a Timing.EarlyBeats above 10 breaks it.
//
// One Verifier serves one cluster. Its methods are safe for concurrent use.
type Verifier struct {
	report func(Violation)
	exact  bool // virtual time: code takes none

	// mu is never held across a send or a report.
	mu      sync.Mutex
	members map[memberKey]*watch
	names   map[[16]byte]string // topics, as Metadata answers named them
	found   []Violation
}

type memberKey struct{ group, id string }

// Violation is a rule that a member broke.
type Violation struct {
	Rule   int // its number in docs/protocol.md
	Member member.Identity
	Detail string
}

// String is "rule 17: group/member: what is wrong".
func (v Violation) String() string {
	return fmt.Sprintf("rule %d: %v: %s", v.Rule, v.Member, v.Detail)
}

// NewVerifier returns a Verifier that calls report for each violation, one at a
// time for one member, from the goroutines of the members: t.Error will do.
// In a synctest bubble make it inside; then it allows for no delays.
func NewVerifier(report func(Violation)) *Verifier {
	return &Verifier{
		report: report,
		// The clock of a bubble starts in the year 2000.
		exact:   time.Now().Year() < 2010,
		members: map[memberKey]*watch{},
		names:   map[[16]byte]string{},
	}
}

// Transport returns a Transport to set as Transport of one member; next is what
// carries its requests. It has to be the outermost wrapper, so that it sees what
// the member sees. Each member needs one of its own: two members on one would be
// a member that changes its ID.
func (v *Verifier) Transport(next heartbeat.Transport) heartbeat.Transport {
	return &tap{v: v, next: next}
}

// Hooks are what to set as, or to join to, the hooks of the same members. They may
// be shared by all of them.
func (v *Verifier) Hooks() member.Hooks {
	return member.Hooks{
		State:     func(i member.StateInfo) { v.hooked(i.Event, func(w *watch) { w.onState(i) }) },
		Heartbeat: func(i member.HeartbeatInfo) { v.hooked(i.Event, func(w *watch) { w.onHeartbeat(i) }) },
		Ownership: func(i member.OwnershipInfo) { v.hooked(i.Event, func(w *watch) { w.onOwnership(i) }) },
		Trust:     func(i member.TrustInfo) { v.hooked(i.Event, func(w *watch) { w.onTrust(i) }) },
		Notice:    func(i member.NoticeInfo) { v.hooked(i.Event, func(w *watch) { w.onNotice(i) }) },
	}
}

// Stays says that a member ends without a leave on purpose: member.RemainInGroup,
// or a test that kills it. Call it before Finish.
func (v *Verifier) Stays(m member.Identity) {
	v.locked(func() { v.watch(m.Group, m.MemberID).stays = true })
}

// Finish makes the checks that can be made at the end of life only. Call it once,
// when Run of all members has returned.
func (v *Verifier) Finish() {
	v.locked(func() {
		for _, w := range v.members {
			w.settle(time.Time{})
		}
		for _, w := range v.members {
			w.finish()
		}
	})
}

// locked runs f with the lock held, and then reports what it found without it.
func (v *Verifier) locked(f func()) {
	v.mu.Lock()
	f()
	found := v.found
	v.found = nil
	v.mu.Unlock()
	for _, f := range found {
		v.report(f)
	}
}

func (v *Verifier) watch(group, id string) *watch {
	key := memberKey{group, id}
	w := v.members[key]
	if w == nil {
		w = newWatch(v, member.Identity{Group: group, MemberID: id})
		v.members[key] = w
	}
	return w
}

func (v *Verifier) hooked(e member.Event, f func(w *watch)) {
	v.locked(func() {
		w := v.watch(e.Member.Group, e.Member.MemberID)
		w.who, w.hooked = e.Member, true
		w.settle(e.At)
		f(w)
	})
}

// lag is how much later than it was decided a request may be seen to start.
func (v *Verifier) lag() time.Duration {
	if v.exact {
		return 0
	}
	return 100 * time.Millisecond
}

// tap is the wire of one member.
type tap struct {
	v    *Verifier
	next heartbeat.Transport
	last *watch // whose requests it carries; guarded by v.mu
}

// Do implements heartbeat.Transport.
func (t *tap) Do(ctx context.Context, group string, req kmsg.Request) (resp kmsg.Response, err error) {
	hb, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest)
	if !ok {
		resp, err = t.next.Do(ctx, group, req)
		t.v.learn(resp)
		return resp, err
	}
	var w *watch
	a := newAttempt(group, hb, time.Now())
	t.v.locked(func() {
		w = t.v.watch(a.call.Group, a.call.MemberID)
		w.oneMember(t)
		t.last = w
		w.sending(a)
	})
	ended := false
	end := func(resp kmsg.Response, err error) {
		t.v.locked(func() { w.answered(a, time.Now(), resp, err) })
	}
	defer func() {
		if !ended { // a Transport that panics
			end(nil, fmt.Errorf("%w: panic", ErrFault))
		}
	}()
	resp, err = t.next.Do(ctx, group, req)
	ended = true
	end(resp, err)
	return resp, err
}

// learn takes topic names from answers to Metadata.
func (v *Verifier) learn(resp kmsg.Response) {
	m, ok := resp.(*kmsg.MetadataResponse)
	if !ok || m == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, t := range m.Topics {
		if t.ErrorCode == 0 && t.Topic != nil {
			v.names[t.TopicID] = *t.Topic
		}
	}
}

// others are the other members of a group.
func (v *Verifier) others(w *watch) []*watch {
	var all []*watch
	for _, o := range v.members {
		if o != w && o.who.Group == w.who.Group {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *watch) int { return a.n - b.n })
	return all
}
