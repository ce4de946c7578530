package kafkatest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// clusters are the running clusters of this process.
type clusters struct {
	mu  sync.Mutex
	set map[*Cluster]bool
}

var opened clusters

func (cs *clusters) add(c *Cluster) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.set == nil {
		cs.set = map[*Cluster]bool{}
	}
	cs.set[c] = true
}

func (cs *clusters) remove(c *Cluster) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.set, c)
}

func (cs *clusters) all() []*Cluster {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return slices.Collect(maps.Keys(cs.set))
}

type sharedCluster struct {
	once sync.Once
	c    *Cluster
	err  error
}

var shared struct {
	mu sync.Mutex
	m  map[string]*sharedCluster
}

// Shared returns the cluster that all tests of this process with this config
// share; the first one starts it. Tests keep apart by the names of their
// groups and topics, and leave all nodes running. [Main] stops it.
func Shared(tb testing.TB, cfg Config) *Cluster {
	tb.Helper()
	cfg, err := cfg.withDefaults()
	if err != nil {
		tb.Fatal(err)
	}
	key := fmt.Sprintf("%+v", cfg) // maps print in the order of their keys
	shared.mu.Lock()
	s := shared.m[key]
	if s == nil {
		if shared.m == nil {
			shared.m = map[string]*sharedCluster{}
		}
		s = &sharedCluster{}
		shared.m[key] = s
	}
	shared.mu.Unlock()

	// Not the test's context: the next test has the same cluster.
	s.once.Do(func() { s.c, s.err = Open(context.Background(), cfg) })
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.c
}

// Each runs f as a subtest for each of [Versions], on a shared single node
// that also has a proxy.
func Each(t *testing.T, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	EachConfig(t, Config{Proxy: true}, f)
}

// EachConfig is [Each] with a config, whose version it sets.
func EachConfig(t *testing.T, cfg Config, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	for _, v := range Versions() {
		t.Run(v, func(t *testing.T) {
			cfg := cfg
			cfg.Version = v
			f(t, Shared(t, cfg))
		})
	}
}

// StopAll stops all clusters of this process.
func StopAll() {
	var wg sync.WaitGroup
	for _, c := range opened.all() {
		wg.Go(c.Stop)
	}
	wg.Wait()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.m = nil
}

// Main runs the tests of a package, stops all clusters and fails the tests if
// a goroutine is left over. TestMain passes the result to os.Exit.
func Main(m interface{ Run() int }, opts ...goleak.Option) int {
	defer StopAll() // for a panic
	code := m.Run()
	StopAll()
	if code == 0 {
		if err := goleak.Find(opts...); err != nil {
			fmt.Fprintf(os.Stderr, "kafkatest: %v\n", err)
			return 1
		}
	}
	return code
}
