package member

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// simCover counts what runs met: which fault hit which state, how members ended.
type simCover struct {
	hits    [simKinds][numStates]int
	ends    map[string]int
	runs    int
	maxRate int
	remade  int           // times that a topic was lost because it was made again
	rest    time.Duration // the longest time to rest after the last fault
	restOf  uint64        // the seed of it
}

func (c *simCover) hit(k simKind, s State) {
	if c != nil {
		c.hits[k][s]++
	}
}

func (c *simCover) lostTopics() {
	if c != nil {
		c.remade++
	}
}

func (c *simCover) rate(n int) {
	if c != nil {
		c.maxRate = max(c.maxRate, n)
	}
}

func (c *simCover) ended(err error) {
	if c == nil {
		return
	}
	key := "nil"
	var e *Error
	if errors.As(err, &e) {
		key = fmt.Sprintf("%s %v", e.Op, e.errs[0])
	} else if err != nil {
		key = reflect.TypeOf(err).String()
	}
	if c.ends == nil {
		c.ends = map[string]int{}
	}
	c.ends[key]++
}

// add takes over what one run, or another worker, counted.
func (c *simCover) add(o *simCover) {
	for k := range o.hits {
		for s := range o.hits[k] {
			c.hits[k][s] += o.hits[k][s]
		}
	}
	for k, n := range o.ends {
		if c.ends == nil {
			c.ends = map[string]int{}
		}
		c.ends[k] += n
	}
	c.runs += o.runs
	c.remade += o.remade
	c.maxRate = max(c.maxRate, o.maxRate)
	if o.rest > c.rest {
		c.rest, c.restOf = o.rest, o.restOf
	}
}

func (c *simCover) String() string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%d runs; at most %d requests of a member in 10s; rest at the latest %v after the last fault (seed %d); %d times topics were lost as they were made again\n",
		c.runs, c.maxRate, c.rest, c.restOf, c.remade)
	fmt.Fprintf(&sb, "%-15s", "")
	for s := range numStates {
		fmt.Fprintf(&sb, " %8.8s", s)
	}
	for k := range simKinds {
		fmt.Fprintf(&sb, "\n%-15s", k)
		for _, n := range c.hits[k] {
			fmt.Fprintf(&sb, " %8d", n)
		}
	}
	fmt.Fprintf(&sb, "\nends: %v", c.ends)
	return sb.String()
}

// check fails where an important cell is empty: a fault that never met a state in
// which it matters proves nothing.
func (c *simCover) check(t interface{ Errorf(string, ...any) }) {
	for k := range simFaults {
		for _, s := range []State{StateJoining, StateReconciling, StateAcknowledging, StateStable, StateLeaving} {
			if c.hits[k][s] == 0 {
				t.Errorf("no %q met a request in %v", k, s)
			}
		}
	}
}
