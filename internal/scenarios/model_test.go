package scenarios

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }

// each runs f for every version and every scenario that a peer can play.
func each(t *testing.T, most Needs, f func(t *testing.T, v coordinator.Version, s Scenario)) {
	for _, v := range coordinator.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			for _, s := range All() {
				if s.Needs <= most {
					t.Run(s.Name, func(t *testing.T) { f(t, v, s) })
				}
			}
		})
	}
}

// TestModel plays the scenarios on the pure model.
func TestModel(t *testing.T) {
	each(t, Anything, func(t *testing.T, v coordinator.Version, s Scenario) {
		Run(t, s, NewModel(v, s.Interval), "g")
	})
}

// TestBrokers plays the scenarios on the model inside kfake: through a client,
// the wire encoding and the brokers' own handling of requests.
func TestBrokers(t *testing.T) {
	each(t, Wire, func(t *testing.T, v coordinator.Version, s Scenario) {
		synctest.Test(t, func(t *testing.T) {
			peer := embedded(t, v, s.Interval, SessionTimeout)
			Run(t, s, peer, "g")
		})
	})
}

// Names are what a failure is found by.
func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.Name] {
			t.Errorf("two scenarios are named %q", s.Name)
		}
		seen[s.Name] = true
	}
}

// embedded returns kfake with the model, as a peer of the bubble it is in.
func embedded(t *testing.T, v coordinator.Version, interval, session time.Duration) Peer {
	t.Helper()
	cfg := config(v, interval)
	c, err := brokers.New(brokers.Config{
		Version:              v,
		Brokers:              1,
		HeartbeatInterval:    cfg.HeartbeatInterval,
		SessionTimeout:       session,
		AssignmentInterval:   cfg.AssignmentInterval,
		RegexRefreshInterval: cfg.RegexRefreshInterval,
		MaxGroupSize:         cfg.MaxGroupSize,
		Topics:               Topics,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	peer, stop, err := NewWire(t.Context(), v, c.Opts()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return peer
}

// TestDifferentialBrokers plays random requests on the model inside kfake and
// on the pure one: whatever the wire or kfake changes is a difference.
func TestDifferentialBrokers(t *testing.T) {
	for _, v := range coordinator.Versions() {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%v/%d", v, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					Differ(t, embedded(t, v, 0, diffSession), "g", seed, 200)
				})
			})
		}
	}
}
