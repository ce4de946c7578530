package member

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// simSeeds is how many seeds a plain run takes; ROLLCALL_SEEDS asks for more.
const simSeeds = 300

// TestModelRun runs members against the coordinator model: one seed, one group, five
// members or more, at least ten faults and three rebalances, and then rest.
//
//	ROLLCALL_SEEDS=20000 go test ./member -run TestModelRun -v   # more of them
//	ROLLCALL_SEED=123 go test ./member -run TestModelRun -v      # one, with its log
func TestModelRun(t *testing.T) {
	if seed := simEnv(t, "ROLLCALL_SEED", 0); seed != 0 {
		w := newSimWorld(newSimPlan(uint64(seed)), nil)
		w.log = &strings.Builder{}
		w.run()
		t.Log("\n" + w.log.String())
		if w.broken != "" {
			simReport(t, w)
		}
		return
	}
	seeds := simEnv(t, "ROLLCALL_SEEDS", simSeeds)
	cover, bad := simRunAll(seeds)
	t.Logf("\n%v", cover)
	if len(bad) > 0 {
		slices.SortFunc(bad, func(a, b *simWorld) int { return int(a.plan.seed) - int(b.plan.seed) })
		for _, w := range bad[1:] {
			t.Errorf("seed %d: %s", w.plan.seed, w.broken)
		}
		simReport(t, bad[0])
		return
	}
	if seeds >= simSeeds {
		cover.check(t)
	}
}

func simEnv(t *testing.T, name string, otherwise int) int {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// simRunAll runs the seeds from 1 on, on all processors. It ends early when ten are bad.
func simRunAll(seeds int) (*simCover, []*simWorld) {
	var (
		next  atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex
		cover simCover
		bad   []*simWorld
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var mine simCover
			for {
				seed := next.Add(1)
				if int(seed) > seeds {
					break
				}
				w := newSimWorld(newSimPlan(uint64(seed)), &mine).run()
				mine.runs++
				if w.settled > mine.rest {
					mine.rest, mine.restOf = w.settled, uint64(seed)
				}
				if w.broken != "" {
					mu.Lock()
					if bad = append(bad, w); len(bad) >= 10 {
						next.Store(int64(seeds))
					}
					mu.Unlock()
				}
			}
			mu.Lock()
			cover.add(&mine)
			mu.Unlock()
		})
	}
	wg.Wait()
	return &cover, bad
}

// simReport shrinks a bad run and tells it.
func simReport(t *testing.T, w *simWorld) {
	t.Helper()
	small := simShrink(w)
	var ops strings.Builder
	for _, op := range small.plan.ops {
		fmt.Fprintf(&ops, "  %v\n", op)
	}
	t.Errorf("seed %d: %s\nshrunk to %d of %d ops: %s\n%s\n%s\nROLLCALL_SEED=%d go test ./member -run TestModelRun -v",
		w.plan.seed, w.broken, len(small.plan.ops), len(w.plan.ops), small.broken, ops.String(), simTail(small.log.String(), 80), w.plan.seed)
}

// simShrink takes ops out of a plan for as long as it goes on to fail in the same
// way: halves, then smaller pieces, then single ones.
func simShrink(w *simWorld) *simWorld {
	p := w.plan
	for size := len(p.ops) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(p.ops); {
			try := p
			try.ops = slices.Delete(slices.Clone(p.ops), i, i+size)
			if got := newSimWorld(try, nil).run(); simAlike(got.broken, w.broken) {
				p = try
			} else {
				i += size
			}
		}
	}
	small := newSimWorld(p, nil)
	small.log = &strings.Builder{}
	return small.run()
}

// simAlike says whether two violations are of one kind: the texts are the same but
// for names and numbers.
func simAlike(a, b string) bool {
	kind := func(s string) string {
		if _, rest, ok := strings.Cut(s, "): "); ok {
			s = rest
		}
		return strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r == '.' {
				return -1
			}
			return r
		}, s)
	}
	ka, kb := kind(a), kind(b)
	n := min(len(ka), len(kb), 24)
	return a != "" && b != "" && ka[:n] == kb[:n]
}

// simTail is the last n lines of a log.
func simTail(log string, n int) string {
	lines := strings.Split(log, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// A member that does nothing must not pass: the checks at the end see it.
func TestModelRunSeesADeadMember(t *testing.T) {
	for seed := range uint64(10) {
		p := newSimPlan(seed + 1)
		dead := slices.IndexFunc(p.members, func(m simMember) bool { return !m.successor })
		p.ops = slices.DeleteFunc(p.ops, func(op simOp) bool {
			return op.who == dead && (op.kind == simLeave || op.kind == simKill)
		})
		w := newSimWorld(p, nil)
		w.stub = dead
		if w.run(); !strings.Contains(w.broken, "the coordinator does not know it") {
			t.Errorf("seed %d with m%d dead: %q", p.seed, dead, w.broken)
		}
	}
}

// The same plan must give the same run, or no seed could be replayed.
func TestModelRunRepeats(t *testing.T) {
	for seed := range uint64(5) {
		var logs [2]strings.Builder
		for i := range logs {
			w := newSimWorld(newSimPlan(seed+1), nil)
			w.log = &logs[i]
			w.run()
		}
		if logs[0].String() != logs[1].String() {
			t.Errorf("seed %d has two runs", seed+1)
		}
	}
}
