package member_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// until waits for cond and says how long it took. It fails the test after limit.
func (r *rig) until(what string, limit time.Duration, cond func() bool) time.Duration {
	r.Helper()
	start := time.Now()
	for {
		synctest.Wait()
		if cond() {
			return time.Since(start)
		}
		if time.Since(start) >= limit {
			r.Fatalf("not within %v: %s\n%s", limit, what, r.dump())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// equal fails the test if got is not want.
func (r *rig) equal(what string, got, want any) {
	r.Helper()
	if !reflect.DeepEqual(got, want) {
		r.Fatalf("%s: got %v, want %v\n%s", what, got, want, r.dump())
	}
}

// that fails the test if ok is false.
func (r *rig) that(ok bool, format string, args ...any) {
	r.Helper()
	if !ok {
		r.Fatalf("want %s\n%s", fmt.Sprintf(format, args...), r.dump())
	}
}

// settled waits until each of ms owns what the coordinator assigned to it, knows that it
// does, and all partitions of the group's topics have an owner.
func (r *rig) settled(ms ...*mem) time.Duration {
	r.Helper()
	return r.settledIn(time.Minute, ms...)
}

func (r *rig) settledIn(limit time.Duration, ms ...*mem) time.Duration {
	r.Helper()
	return r.until("settled", limit, func() bool { return r.rests(ms...) })
}

func (r *rig) rests(ms ...*mem) bool {
	groups := map[string]coordinator.Group{}
	for _, m := range ms {
		s := m.Snapshot()
		if s.State != member.StateStable {
			return false
		}
		g, ok := groups[s.Group]
		if !ok {
			g = r.c.Group(s.Group)
			groups[s.Group] = g
		}
		at, ok := g.Member(m.id)
		if !ok || g.State != "Stable" || s.MemberEpoch != at.Epoch || s.Assignment.Len() != count(at.Owned) {
			return false
		}
	}
	return true
}

func count(ts []coordinator.TopicPartitions) int {
	n := 0
	for _, t := range ts {
		n += len(t.Partitions)
	}
	return n
}

// join starts a member and waits until it rests.
func (r *rig) join(opts ...option) *mem {
	r.Helper()
	m := r.start(opts...)
	r.settled(m)
	return m
}

// in waits until the member is in a state.
func (m *mem) in(s member.State) time.Duration {
	m.r.Helper()
	return m.r.until("state "+s.String(), 2*time.Minute, func() bool { return m.Snapshot().State == s })
}

// leaves ends the member's context, and says how long Run took to return. It
// must return nil.
func (m *mem) leaves() time.Duration {
	m.r.Helper()
	start := time.Now()
	m.cancel()
	if err := m.ended(time.Minute); err != nil {
		m.r.Fatalf("Run: %v\n%s", err, m.r.dump())
	}
	return time.Since(start)
}

// ended waits for Run to return, and returns its error.
func (m *mem) ended(limit time.Duration) error {
	m.r.Helper()
	select {
	case <-m.done:
		return m.err
	case <-time.After(limit):
		m.r.Fatalf("Run did not return within %v; state %v\n%s", limit, m.Snapshot().State, m.r.dump())
	}
	return nil
}

// failed waits for Run to return a *member.Error that is all of the targets.
func (m *mem) failed(limit time.Duration, targets ...error) *member.Error {
	m.r.Helper()
	err := m.ended(limit)
	e, ok := errors.AsType[*member.Error](err)
	if !ok {
		m.r.Fatalf("Run returned %v (%T), want a *member.Error\n%s", err, err, m.r.dump())
	}
	for _, target := range targets {
		if !errors.Is(err, target) {
			m.r.Fatalf("Run returned %v, want it to be %v", err, target)
		}
	}
	return e
}

// calls fails the test unless the member's callbacks so far are these.
func (m *mem) called(want string) {
	m.r.Helper()
	m.r.equal("callbacks", m.history(), want)
}

// noticed counts the notices of a kind.
func (m *mem) noticed(what member.Notice) int {
	n := 0
	for _, i := range m.told().notices {
		if i.What == what {
			n++
		}
	}
	return n
}

// alone reports whether the group has just these members.
func (r *rig) alone(ms ...*mem) bool {
	g := r.c.Group("g")
	for _, m := range ms {
		if _, ok := g.Member(m.id); !ok {
			return false
		}
	}
	return len(g.Members) == len(ms)
}

// end stops what still runs, and checks what is true of every test.
func (r *rig) end() {
	r.Helper()
	r.calm()
	for _, m := range r.members {
		select {
		case <-m.done:
		default:
			m.leaves()
		}
	}
	if n := len(r.c.Group("g").Members); n > 0 && !r.ghosts {
		r.Errorf("%d members left behind\n%s", n, r.dump())
	}
	r.rules.Finish()
	for _, m := range r.members {
		r.checkWire(m)
		for _, n := range m.told().notices {
			if n.What == member.NoticeOther {
				r.Errorf("notice: %s: %v", n.Text, n.Err)
			}
		}
	}
	r.checkOwners()
}

// checkWire holds a member's heartbeats against the rules that have no exception.
func (r *rig) checkWire(m *mem) {
	r.Helper()
	s := m.Snapshot()
	var paced []beat // all but the leaves at the end, which go out side by side
	for _, b := range m.sent(every) {
		withName := b.req.InstanceID != nil && *b.req.InstanceID == s.InstanceID
		switch {
		case withName != (s.InstanceID != ""):
			r.Errorf("K345-11: instance ID missing, or wrong: %v", b)
		case b.req.MemberEpoch == 0 && !(b.full() && len(b.req.Topics) == 0):
			r.Errorf("rule 4: a join that is not full, or owns something: %v", b)
		case b.req.MemberEpoch < 0 && (b.req.Topics != nil || b.req.SubscribedTopicNames != nil || b.req.RebalanceTimeoutMillis != -1):
			r.Errorf("a leave with fields: %v", b)
		case b.req.MemberEpoch == -2 && s.InstanceID == "":
			r.Errorf("rule 3: -2 by a dynamic member: %v", b)
		}
		if b.req.MemberEpoch >= 0 {
			paced = append(paced, b)
		}
	}
	// Rule 15. Of a burst that goes on for ever one report is enough.
	for i, b := range paced {
		if i > 0 && b.at-paced[i-1].at < 50*time.Millisecond && b.at-paced[i-1].at > 0 {
			r.Errorf("rule 15: %v after the one before: %v", b.at-paced[i-1].at, b)
			return
		}
		if i >= 20 && b.at-paced[i-20].at < 10*time.Second && !slices.ContainsFunc(paced[i-20:i], beat.ok) {
			r.Errorf("rule 15: 21 requests in %v without an accepted answer: %v", b.at-paced[i-20].at, b)
			return
		}
	}
}

// checkOwners: no partition has two owners, but for one that did not know yet that
// it was thrown out, and was then told that it lost it.
func (r *rig) checkOwners() {
	r.Helper()
	type hold struct {
		m        *mem
		from, to time.Time
		lost     bool
	}
	holds := map[string][]*hold{}
	for _, m := range r.members {
		open := map[string]*hold{}
		for _, o := range m.told().owned {
			for topic, p := range o.Delta.All() {
				key := fmt.Sprintf("%s/%s-%d", o.Member.Group, topic, p)
				if o.What == member.Assigned {
					open[key] = &hold{m: m, from: o.At.Add(-o.Took)}
					holds[key] = append(holds[key], open[key])
				} else if h := open[key]; h != nil {
					h.to, h.lost = o.At, o.What == member.Lost
				}
			}
		}
	}
	for key, hs := range holds {
		slices.SortFunc(hs, func(a, b *hold) int { return a.from.Compare(b.from) })
		for i := 1; i < len(hs); i++ {
			if a, b := hs[i-1], hs[i]; a.m != b.m && !a.lost && (a.to.IsZero() || a.to.After(b.from)) {
				r.Errorf("%s is owned by %s until %v and by %s from %v", key, a.m.id, a.to.Sub(r.t0), b.m.id, b.from.Sub(r.t0))
			}
		}
	}
}

// wantFaults fails the test unless err is a *member.ConfigError about just these fields.
func wantFaults(r *rig, err error, fields ...string) {
	r.Helper()
	e, ok := errors.AsType[*member.ConfigError](err)
	if !ok {
		r.Fatalf("got %v (%T), want a *member.ConfigError", err, err)
	}
	var got []string
	for _, f := range e.Faults {
		got = append(got, f.Field)
	}
	slices.Sort(got)
	slices.Sort(fields)
	r.equal("fields with faults", got, fields)
}
