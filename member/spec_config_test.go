package member_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Every fault of a configuration is reported, at once and by name, and nothing is sent.
func TestConfigEveryFault(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		_, err := r.build(func(c *member.ConsumerConfig) {
			*c = member.ConsumerConfig{
				Group: " ", Topics: []string{"", "a/b", ".."}, Rack: " ", Assignor: "\t", InstanceID: "a b", MemberID: "me", Leave: 7,
				Timing: member.Timing{
					RebalanceTimeout: -1, SessionTimeout: time.Millisecond, LeaveTimeout: -time.Second, ShutdownTimeout: 50 * 24 * time.Hour,
					MaxPollInterval: time.Microsecond, EarlyBeats: 21,
				},
			}
		})
		wantFaults(r, err, "Group", "Topics", "Topics", "Topics", "Rack", "Assignor", "InstanceID", "MemberID", "Leave", "Timing.RebalanceTimeout",
			"Timing.SessionTimeout", "Timing.LeaveTimeout", "Timing.ShutdownTimeout", "Timing.MaxPollInterval", "Timing.EarlyBeats")
		for _, field := range []string{"Group", "Topics", "InstanceID", "Timing.EarlyBeats"} {
			r.that(strings.Contains(err.Error(), field+" = "), "%s in %q", field, err)
		}
		_, err = r.build(func(c *member.ConsumerConfig) { *c = member.ConsumerConfig{} })
		wantFaults(r, err, "Group", "Topics")
		r.equal("connections", r.net.dials, 0)
		r.join()
	})
}

// What the kgo client lacks is a fault, too.
func TestConfigClient(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		grouped := r.client(kgo.ConsumerGroup("theirs"), kgo.ConsumeTopics("orders"), kgo.DisableAutoCommit())
		_, err := r.buildOn(grouped)
		wantFaults(r, err, "cl")
		_, err = r.buildOn(nil)
		wantFaults(r, err, "cl")
		old := r.client(kgo.MaxVersions(kversion.V3_5_0()))
		_, err = r.buildOn(old)
		wantFaults(r, err, "kgo.MaxVersions")
		r.that(errors.Is(err, member.ErrUnsupported), "ErrUnsupported, got %v", err)
		r.startOn(r.client(kgo.Rack("r1")))
		r.settled(r.members...)
		r.equal("rack of the client", r.c.Group("g").Members[0].RackID, "r1")
	})
}

// A zero value is the documented default, and the caller's values are not touched.
func TestConfigDefaults(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		given := []string{"orders", "a", "orders"}
		m := r.start(topics(given...))
		r.sleep(time.Second)
		join := m.sent(joins)[0].req
		r.equal("topics sent", join.SubscribedTopicNames, []string{"a", "orders"})
		r.equal("the caller's", given, []string{"orders", "a", "orders"})
		r.equal("rebalance timeout", join.RebalanceTimeoutMillis, int32(member.DefaultRebalanceTimeout.Milliseconds()))
		r.that(join.ServerAssignor == nil && join.RackID == nil && join.SubscribedTopicRegex == nil && join.InstanceID == nil, "nothing that was not set")
		s := m.Snapshot()
		r.equal("trust", s.TrustedUntil.Sub(s.LastHeartbeat), member.DefaultSessionTimeout-3*time.Second)
	})
}

// An error of the entropy source is in the ConfigError. (See TestK1082_19 for the source itself.)
func TestConfigErrorUnwraps(t *testing.T) {
	err := error(&member.ConfigError{Faults: []member.ConfigFault{{Field: "MemberID", Err: io.ErrUnexpectedEOF}, {Field: "Group"}}})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v does not unwrap", err)
	}
}
