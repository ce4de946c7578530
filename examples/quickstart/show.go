package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

const (
	patience = 8 * time.Second // for the group to settle after a step
	pollGap  = 10 * time.Millisecond
)

// show runs the steps, prints them and checks them.
type show struct {
	out      io.Writer
	cluster  *brokers.Cluster
	crew     []*actor // who is in the group, in the order of joining
	clients  []*kgo.Client
	book     book
	step     int
	began    time.Time        // of the step
	took     time.Duration    // from there until every partition had its owner
	owners   map[int32]string // after the last step
	failures int
}

func (s *show) title(format string, args ...any) {
	s.step++
	s.began = time.Now()
	fmt.Fprintf(s.out, "\n%d. %s\n", s.step, fmt.Sprintf(format, args...))
}

// expect prints what should be so, and counts what is not.
func (s *show) expect(ok bool, format string, args ...any) {
	mark := "ok  "
	if !ok {
		mark = "FAIL"
		s.failures++
	}
	fmt.Fprintf(s.out, "   %s  %s\n", mark, fmt.Sprintf(format, args...))
}

// owned is who owns what, by the members' own snapshots.
func (s *show) owned() map[int32]string {
	out := map[int32]string{}
	for _, a := range s.crew {
		for _, p := range a.m.Snapshot().Assignment[topic] {
			out[p] = a.name
		}
	}
	return out
}

// fair says that every partition has an owner, and no two members differ by more
// than one.
func (s *show) fair() bool {
	owned, shares := s.owned(), map[string]int{}
	for _, name := range owned {
		shares[name]++
	}
	least, most := partitions, 0
	for _, a := range s.crew {
		least, most = min(least, shares[a.name]), max(most, shares[a.name])
	}
	return len(owned) == partitions && most-least <= 1
}

// stable says that members and coordinator agree, and that it knows nobody else.
func (s *show) stable() bool {
	g := s.cluster.Group(group)
	for _, a := range s.crew {
		if snap := a.m.Snapshot(); snap.State != member.StateStable || snap.MemberEpoch != g.Epoch {
			return false
		}
	}
	return g.State == "Stable" && len(g.Members) == len(s.crew)
}

// settle waits until the members share the partitions and the coordinator agrees,
// and prints the result.
func (s *show) settle(ctx context.Context) bool {
	fair := s.wait(ctx, s.fair)
	s.took = time.Since(s.began)
	settled := fair && s.wait(ctx, s.stable)
	if ctx.Err() != nil {
		s.expect(false, "interrupted")
		return false
	}
	if !settled {
		s.table()
		s.expect(false, "the group did not settle in %v: it is %s with %d members", patience,
			s.cluster.Group(group).State, len(s.cluster.Group(group).Members))
		return false
	}
	before := s.owners
	s.owners = s.owned()
	s.table()
	fmt.Fprintf(s.out, "   moved: %s\n", moves(before, s.owners))
	fmt.Fprintf(s.out, "   took %.2f s\n", s.took.Seconds())
	return true
}

func (s *show) wait(ctx context.Context, until func() bool) bool {
	for end := time.Now().Add(patience); !until(); {
		if ctx.Err() != nil || time.Now().After(end) {
			return false
		}
		time.Sleep(pollGap)
	}
	return true
}

func (s *show) table() {
	const row = "   %-6s  %12v  %s\n"
	fmt.Fprintf(s.out, row, "member", "member epoch", "assignment")
	for _, a := range s.crew {
		snap := a.m.Snapshot()
		fmt.Fprintf(s.out, row, a.name, snap.MemberEpoch, snap.Assignment)
	}
}

// moves says which partitions changed their owner.
func moves(before, after map[int32]string) string {
	type way struct{ from, to string }
	moved := map[way]member.Partitions{}
	for _, p := range slices.Sorted(maps.Keys(after)) {
		w := way{before[p], after[p]}
		if w.from == w.to {
			continue
		}
		if w.from == "" {
			w.from = "nobody"
		}
		if moved[w] == nil {
			moved[w] = member.Partitions{}
		}
		moved[w][topic] = append(moved[w][topic], p)
	}
	var parts []string
	for w, p := range moved {
		parts = append(parts, fmt.Sprintf("%s -> %s %v", w.from, w.to, p))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
