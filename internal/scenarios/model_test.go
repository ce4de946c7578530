package scenarios

import (
	"os"
	"testing"
	"testing/synctest"

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
			cfg := brokers.Config{
				Version:              v,
				Brokers:              1,
				HeartbeatInterval:    HeartbeatInterval,
				SessionTimeout:       SessionTimeout,
				AssignmentInterval:   s.Interval,
				RegexRefreshInterval: RegexRefresh,
				MaxGroupSize:         MaxGroupSize,
				Topics:               Topics,
			}
			if s.Interval == 0 {
				cfg.AssignmentInterval = -1
			}
			c, err := brokers.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			peer, stop, err := NewWire(t.Context(), v, c.Opts()...)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
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
