package topology_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rollcall-go/rollcall/topology"
)

// The IDs are frozen: CI systems and logs of years ago have them. A failure here means
// that the rule has changed, and then the prefix has to change as well. Do not edit the file.
func TestGoldenIDs(t *testing.T) {
	frozen := bufio.NewScanner(bytes.NewReader(readFile(t, "golden/ids.txt")))
	n := 0
	for frozen.Scan() {
		name, id, _ := strings.Cut(frozen.Text(), " ")
		equal(t, name, golden(t, name).ID(), topology.ID(id))
		n++
	}
	files, err := os.ReadDir("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "frozen IDs", n, len(files)-1)
}

func TestIDIsFitForLabels(t *testing.T) {
	id := golden(t, "everything").ID()
	if !regexp.MustCompile(`^t1-[a-z2-7]{32}$`).MatchString(string(id)) {
		t.Errorf("ID %q", id)
	}
}

// An ID must not depend on how a topology was put together: map order, list order, the
// road through JSON.
func TestIDIsBlindToConstruction(t *testing.T) {
	for seed := range uint64(200) {
		g := newGen(seed)
		a := g.topology()
		a.Order = topology.Canonical
		if err := a.Validate(); err != nil {
			t.Fatalf("seed %d: the generator makes an invalid one: %v", seed, err)
		}
		b := g.shuffled(a)
		before := clone(b)
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		again := load(t, text)
		for what, other := range map[string]topology.Topology{"shuffled": b, "canonical": a.Canonical(), "from JSON": again} {
			if other.ID() != a.ID() || !sameWire(other, a) || len(topology.Diff(a, other)) > 0 {
				t.Errorf("seed %d: %s: ID %s, want %s\n%s", seed, what, other.ID(), a.ID(), texts(topology.Diff(a, other)))
			}
		}
		if textA, _ := json.Marshal(a); !bytes.Equal(text, textA) {
			t.Errorf("seed %d: two JSON texts of one topology", seed)
		}
		before.Order = topology.AsGiven
		b.Order = topology.AsGiven
		if !sameWire(before, b) {
			t.Errorf("seed %d: a method changed its receiver", seed)
		}
	}
}

func TestAsGivenOrderIsKept(t *testing.T) {
	for seed := range uint64(200) {
		g := newGen(seed)
		a := g.topology()
		a.Order = topology.AsGiven
		w := a.Wire(7)
		var ids, sources []string
		for _, s := range w.Subtopologies {
			ids, sources = append(ids, s.SubtopologyID), append(sources, s.SourceTopics...)
		}
		var wantIDs, wantSources []string
		for _, s := range a.Subtopologies {
			wantIDs, wantSources = append(wantIDs, s.ID), append(wantSources, s.SourceTopics...)
		}
		if !slices.Equal(ids, wantIDs) || !slices.Equal(sources, wantSources) {
			t.Errorf("seed %d: %v %v, want %v %v", seed, ids, sources, wantIDs, wantSources)
		}
		text, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		back, epoch, err := topology.FromWire(w)
		if err != nil || epoch != 7 || !sameWire(back, a) || !sameWire(load(t, text), a) {
			t.Errorf("seed %d: order lost on the way", seed)
		}
	}
}

// pairs is how many pairs to try: ROLLCALL_PAIRS, or few enough for the plain tests.
func pairs(t *testing.T) uint64 {
	if s := os.Getenv("ROLLCALL_PAIRS"); s != "" {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return 20_000
}

var firstPair = flag.Uint64("pair", 0, "the first pair to try, to replay one")

// Same ID, same bytes on the wire, and no difference: three ways to say one thing. The
// bytes are those of a whole request, so that a fault in cutting them out would show.
func TestSameIDIsSameWire(t *testing.T) {
	n := pairs(t)
	var same, diffed atomic.Uint64
	var wg sync.WaitGroup
	workers := uint64(runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n && !t.Failed(); i += workers {
				seed := *firstPair + i
				a, b := newGen(seed).pair()
				ids, wire := a.ID() == b.ID(), sameWire(a, b)
				if ids != wire {
					t.Errorf("-pair %d: same ID %v, same wire %v\n%+v\n%+v", seed, ids, wire, a, b)
				}
				if ids {
					same.Add(1)
				}
				if a.Validate() != nil || b.Validate() != nil {
					continue
				}
				diffed.Add(1)
				if d := topology.Diff(a, b); (len(d) == 0) != wire {
					t.Errorf("-pair %d: same wire %v, differences:\n%s\n%+v\n%+v", seed, wire, texts(d), a, b)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d pairs, %d of them the same, %d compared field by field", n, same.Load(), diffed.Load())
	if !t.Failed() && n >= 1000 && (same.Load() < n/10 || same.Load() > n*9/10 || diffed.Load() < n/2) {
		t.Error("the pairs are too easy")
	}
}

// The bytes that are hashed, written out by hand: the rule can be followed without kmsg.
func TestIDRuleByHand(t *testing.T) {
	content := []byte{
		2,      // one subtopology
		2, '0', // its ID
		2, 2, 'a', // one source topic
		1,    // no source topic patterns
		1,    // no changelogs
		1,    // no repartition sinks
		1,    // no repartition sources
		1,    // no copartition groups
		0, 0, // no tagged fields, of the subtopology and of the topology
	}
	sum := sha256.Sum256(content)
	want := "t1-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:20]))
	equal(t, "ID", golden(t, "smallest").ID(), topology.ID(want))
}
