//go:build kafka

package scenarios

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// side is how many scenarios run side by side. Most of them wait most of the
// time.
const side = 12

// props are the settings of the real brokers. Those of a later version are
// nothing to an earlier one.
var props = map[string]string{
	"group.consumer.heartbeat.interval.ms":     strconv.Itoa(int(HeartbeatInterval.Milliseconds())),
	"group.consumer.min.heartbeat.interval.ms": "500",
	"group.consumer.session.timeout.ms":        strconv.Itoa(int(SessionTimeout.Milliseconds())),
	"group.consumer.min.session.timeout.ms":    "1000",
	"group.consumer.max.size":                  strconv.Itoa(MaxGroupSize),
	"group.consumer.assignment.interval.ms":    "0",
	"offsets.topic.num.partitions":             "1", // see wire.seen
}

// start returns the shared broker of a version, with the topics made.
func start(t *testing.T, c *kafkatest.Cluster) coordinator.Version {
	t.Helper()
	v, err := coordinator.ParseVersion(c.Version())
	if err != nil {
		t.Fatal(err)
	}
	peer := real(t, c, v).(*wire)
	for name, n := range Topics {
		if topic, err := peer.topic(name); err == nil && topic.ErrorCode == 0 {
			continue // another test of this process made it
		}
		if err := peer.CreateTopic(name, n); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// real returns the broker as a peer for one scenario.
func real(t *testing.T, c *kafkatest.Cluster, v coordinator.Version) Peer {
	t.Helper()
	peer, stop, err := NewWire(t.Context(), v, c.ClientOpts("")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return peer
}

// configure sets a group's settings, which reach the coordinator a moment after
// the answer.
func configure(t *testing.T, c *kafkatest.Cluster, group string, settings map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.SetGroupConfig(ctx, group, settings); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
}

var (
	firstSeed = flag.Uint64("seed", 1, "the first seed of TestDifferential")
	seeds     = flag.Int("seeds", 24, "the number of seeds of TestDifferential")
)

// TestDifferential plays random requests on real brokers and on the model.
func TestDifferential(t *testing.T) {
	kafkatest.EachConfig(t, kafkatest.Config{Props: props}, func(t *testing.T, c *kafkatest.Cluster) {
		v := start(t, c)
		began := time.Now()
		t.Cleanup(func() { t.Logf("%s took %v", c.Version(), time.Since(began).Round(100*time.Millisecond)) })
		var g errgroup.Group
		g.SetLimit(8)
		for n := range *seeds {
			seed := *firstSeed + uint64(n)
			g.Go(func() error {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					prefix := unique()
					configure(t, c, prefix, map[string]string{
						"consumer.session.timeout.ms": strconv.Itoa(int(diffSession.Milliseconds())),
					})
					Differ(t, real(t, c, v), prefix, seed, 150)
				})
				return nil
			})
		}
		_ = g.Wait()
	})
}

// unique is a prefix for the groups and topics of one run.
func unique() string { return "s" + strings.ReplaceAll(uuid.NewString(), "-", "")[:12] }

// TestReal plays the scenarios on real brokers.
func TestReal(t *testing.T) {
	kafkatest.EachConfig(t, kafkatest.Config{Props: props}, func(t *testing.T, c *kafkatest.Cluster) {
		v := start(t, c)
		began := time.Now()
		t.Cleanup(func() { t.Logf("%s took %v", c.Version(), time.Since(began).Round(100*time.Millisecond)) })
		var g errgroup.Group
		g.SetLimit(side)
		for _, s := range All() {
			// Not t.Parallel: go test -parallel limits it to the number of CPUs.
			g.Go(func() error {
				t.Run(s.Name, func(t *testing.T) { playReal(t, c, v, s) })
				return nil
			})
		}
		_ = g.Wait()
	})
}

func playReal(t *testing.T, c *kafkatest.Cluster, v coordinator.Version, s Scenario) {
	prefix := unique()
	if s.Interval != 0 && v >= v43 {
		configure(t, c, prefix, map[string]string{
			"consumer.assignment.interval.ms": strconv.Itoa(int(s.Interval.Milliseconds())),
		})
	}
	Run(t, s, real(t, c, v), prefix)
}
