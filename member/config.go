package member

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// Defaults of [Timing].
const (
	DefaultRebalanceTimeout = 5 * time.Minute
	DefaultSessionTimeout   = 45 * time.Second
	DefaultLeaveTimeout     = 20 * time.Second
	DefaultShutdownTimeout  = 25 * time.Second
	DefaultEarlyBeats       = 10
)

// Timing has the durations of a member. Zero is the default; negative is off
// where that is said, and an error elsewhere. Nothing is clamped: what makes no
// sense is a [ConfigError].
type Timing struct {
	// RebalanceTimeout is how long callbacks may take before the coordinator
	// evicts the member. The coordinator is told. Default 5 min. Java:
	// max.poll.interval.ms, in its role as the rebalance timeout of KIP-848.
	RebalanceTimeout time.Duration
	// SessionTimeout is what the group's session timeout is set to. It is not on
	// the wire, so it has to be stated: broker group.consumer.session.timeout.ms or
	// group config consumer.session.timeout.ms. It has to be longer than the broker's heartbeat
	// interval, 5 s by default: an answer with a longer interval is not obeyed. It drives TrustedUntil, the
	// timeout of an attempt (a third of it) and how long authentication
	// failures are retried. Default 45 s, as the broker's.
	SessionTimeout time.Duration
	// LeaveTimeout bounds the sending and repeating of the leave. A leave is
	// answered in milliseconds; the rest of the time is used only where a join of
	// unknown fate may still arrive at the coordinator after the leave. Default 20 s.
	LeaveTimeout time.Duration
	// ShutdownTimeout bounds the last callbacks and the leave together, from the
	// end of Run's context (or the call of Leave) to the return of Run. Default
	// 25 s: Kubernetes gives a pod 30 s. The contexts of the last callbacks end a quarter of it,
	// or 5 s, before, so that the leave has its time. Run may return up to [RelayTimeout] later
	// if a hook or the logger still runs.
	ShutdownTimeout time.Duration
	// MaxPollInterval is the longest time between two calls of Alive; past it the
	// member leaves, then OnLost runs, and it is STALE until the next one. Default: off,
	// as is a negative one. Java: max.poll.interval.ms, in its role as the application's liveness.
	MaxPollInterval time.Duration
	// EarlyBeats is how many extra heartbeats a member may send per target change
	// that it takes part in, so as not to wait for its interval when
	// something is likely to be ready. Default 10, which is also the most; negative: none.
	EarlyBeats int
}

// ConsumerConfig configures a consumer member. Only Group and a subscription are
// required. It is copied; the member never changes it.
//
// The callbacks run one at a time, on a goroutine of their own, only while Run
// does, and heartbeats go on meanwhile. Their context carries the values of Run's
// context but not its end: it ends, with a cause ([ErrRevoking], [ErrShutdown],
// [ErrLost]), when the rebalance timeout or the shutdown timeout is over or the
// partitions are lost; slow is fine until then. A callback owns its argument and may
// call any method of the member. An error or a panic ends the member: OnLost for
// all that it holds, a leave, and Run returns a [CallbackError]. To retry, retry
// inside the callback.
type ConsumerConfig struct {
	// Group is group.id. Required.
	Group string
	// Topics are the names to subscribe to (SubscribedTopicNames). Topics that do
	// not exist yet are assigned when they do.
	Topics []string
	// Regex subscribes to all topics whose whole name matches, on top of Topics. The
	// broker evaluates it (RE2 syntax; Java: SubscriptionPattern). It needs version
	// 1 of ConsumerGroupHeartbeat, in brokers from 4.0 on.
	Regex string
	// Rack is client.rack: brokers use it to assign partitions with a replica near
	// by. Default: the kgo client's Rack option.
	Rack string
	// Assignor is group.remote.assignor: "uniform" or "range". Default: the group's.
	// Name the same one in all members, or none: on 4.4.0 a tie between members that
	// name different ones moves the group epoch at every heartbeat.
	Assignor string

	// OnAssigned is told of partitions that are owned from now on; it also runs once
	// after each join, with none if there are none.
	OnAssigned func(ctx context.Context, added Partitions) error
	// OnRevoked is told of partitions to give up. They are owned, and their offsets
	// can be committed, until it returns.
	OnRevoked func(ctx context.Context, removed Partitions) error
	// OnLost is told of partitions that are owned no more, and may be owned by another
	// member already: do not commit. A topic that was deleted and made again under its
	// name by the time the member hears of it is lost, and then assigned: a commit by
	// name would be one for the new topic. One that is only gone is revoked.
	OnLost func(ctx context.Context, removed Partitions) error

	// InstanceID is group.instance.id: a static member (KIP-345). Letters, digits,
	// '.', '_' and '-', up to 249 of them. Unique in the group, and in this client.
	InstanceID string
	// InstanceWait is how long to wait for an InstanceID that another member
	// holds, asking every 5 s. Default: SessionTimeout + 10 s, which outlasts the
	// session of a predecessor that crashed. Negative: fail at once with [ErrInstanceHeld].
	InstanceWait time.Duration
	// Leave is how the member leaves when Run's context ends. Default: LeaveDefault.
	Leave LeaveOperation
	// SelfFence runs OnLost and joins again when TrustedUntil has passed, though no
	// broker said that the member is out. Default: only Hooks.Trust and the Snapshot tell.
	SelfFence bool

	Timing Timing
	Hooks  Hooks
	// Logger gets what hooks get: state changes and ownership at Info, heartbeats at
	// Debug, trouble at Warn. nil: slog.Default(). slog.New(slog.DiscardHandler) is silent.
	Logger *slog.Logger

	// Transport carries all requests. nil: one that belongs to the kgo client. Wrappers
	// for tests go around kgotransport.New(cl).
	Transport heartbeat.Transport
	// MemberID is for tests: the ID to use, checked as our own are. "": made by NewConsumer.
	MemberID string
	// Rand spreads backoff and early heartbeats. nil: seeded at random. One per member.
	Rand rand.Source
}

// resolved is a configuration with its defaults filled in.
func (c ConsumerConfig) resolved() ConsumerConfig {
	c.Topics = slices.Compact(slices.Sorted(slices.Values(c.Topics)))
	def(&c.Timing.RebalanceTimeout, DefaultRebalanceTimeout)
	def(&c.Timing.SessionTimeout, DefaultSessionTimeout)
	def(&c.Timing.LeaveTimeout, DefaultLeaveTimeout)
	def(&c.Timing.ShutdownTimeout, DefaultShutdownTimeout)
	def(&c.InstanceWait, c.Timing.SessionTimeout+10*time.Second)
	def(&c.Timing.EarlyBeats, DefaultEarlyBeats)
	c.Timing.EarlyBeats = max(0, c.Timing.EarlyBeats)
	c.Timing.MaxPollInterval = max(0, c.Timing.MaxPollInterval)
	return c
}

func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

const wantLeave = "LeaveDefault, LeaveGroup or RemainInGroup"

type faults []ConfigFault

func (f *faults) add(field string, value any, want string, err error) {
	*f = append(*f, ConfigFault{field, value, want, err})
}

func (f *faults) blank(field, v string) {
	if v != "" && strings.TrimSpace(v) == "" {
		f.add(field, v, "not just blanks", nil)
	}
}

// The wire has milliseconds in an int32: 24.8 days. A longer one would wrap.
func (f *faults) duration(field string, d, least time.Duration) {
	switch {
	case d == 0:
	case d < least:
		f.add(field, d, fmt.Sprintf("0 for the default, or at least %v", least), nil)
	case d > math.MaxInt32*time.Millisecond:
		f.add(field, d, fmt.Sprintf("at most %v, which is what the protocol can carry", math.MaxInt32*time.Millisecond), nil)
	}
}

// Validate checks the configuration without making a member, as [NewConsumer] does
// with what can be seen without a client. The error is a [*ConfigError] with every fault.
func (c ConsumerConfig) Validate() error {
	if f := c.check(); len(f) > 0 {
		return &ConfigError{Faults: f}
	}
	return nil
}

// check returns every fault of c, as its caller wrote it.
func (c ConsumerConfig) check() faults {
	var f faults
	if c.Group == "" {
		f.add("Group", c.Group, "the group ID", nil)
	}
	f.blank("Group", c.Group)
	if len(c.Topics) == 0 && c.Regex == "" {
		f.add("Topics", c.Topics, "at least one topic, or a Regex", nil)
	}
	f.topics(c.Topics)
	f.blank("Rack", c.Rack)
	f.blank("Assignor", c.Assignor)
	if c.InstanceID != "" {
		if want := instanceIDFault(c.InstanceID); want != "" {
			f.add("InstanceID", c.InstanceID, want, nil)
		}
	}
	if c.MemberID != "" && !validMemberID(c.MemberID) {
		f.add("MemberID", c.MemberID, "a version 4 UUID as 22 characters of base64url, without a '-'", nil)
	}
	if c.Leave > RemainInGroup {
		f.add("Leave", uint8(c.Leave), wantLeave, nil)
	}
	f.timing(c.Timing)
	return f
}

func (f *faults) timing(t Timing) {
	f.duration("Timing.RebalanceTimeout", t.RebalanceTimeout, time.Millisecond)
	f.duration("Timing.SessionTimeout", t.SessionTimeout, 100*time.Millisecond)
	f.duration("Timing.LeaveTimeout", t.LeaveTimeout, time.Millisecond)
	f.duration("Timing.ShutdownTimeout", t.ShutdownTimeout, time.Millisecond)
	if t.MaxPollInterval > 0 {
		f.duration("Timing.MaxPollInterval", t.MaxPollInterval, time.Millisecond)
	}
	if t.EarlyBeats > DefaultEarlyBeats {
		f.add("Timing.EarlyBeats", t.EarlyBeats, "at most 10", nil)
	}
}

func (f *faults) topics(names []string) {
	for _, t := range names {
		// Source: Topic.validate, Kafka 4.x. The broker accepts illegal names in a
		// subscription and then never assigns anything for them.
		if len(t) == 0 || len(t) > 249 || t == "." || t == ".." || !legalName.MatchString(t) {
			f.add("Topics", t, "a legal topic name: [A-Za-z0-9._-], 1 to 249 characters, not \".\" or \"..\"", nil)
		}
	}
}

var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// Source: JoinGroupRequest.validateGroupInstanceId, Kafka 4.x. The broker of a
// consumer group checks only that it is not blank.
func instanceIDFault(id string) string {
	if len(id) > 249 || id == "." || id == ".." || !legalName.MatchString(id) {
		return "[A-Za-z0-9._-], 1 to 249 characters, not \".\" or \"..\""
	}
	return ""
}
