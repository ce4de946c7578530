package brokers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// ErrClosed is returned by methods of a cluster that is closed.
var ErrClosed = errors.New("brokers: the cluster is closed")

// Config describes a cluster. The zero value is three brokers of Kafka 4.4 on
// an in-memory network, without topics.
type Config struct {
	// Version is the Kafka release whose group coordinator to play, and whose
	// request versions to offer. Zero: coordinator.V44.
	Version coordinator.Version

	// Brokers is the number of brokers. Zero or negative: 3.
	Brokers int

	// HeartbeatInterval, SessionTimeout, AssignmentInterval,
	// RegexRefreshInterval and MaxGroupSize are passed to the coordinator;
	// see coordinator.Config for their defaults.
	HeartbeatInterval    time.Duration
	SessionTimeout       time.Duration
	AssignmentInterval   time.Duration
	RegexRefreshInterval time.Duration
	MaxGroupSize         int

	// Listen makes the brokers listen on free ports of 127.0.0.1 instead of
	// an in-memory network.
	Listen bool

	// Topics are made at the start, with their partition counts.
	Topics map[string]int32

	// NoConsumerProtocol makes the brokers not know ConsumerGroupHeartbeat
	// and ConsumerGroupDescribe, as before Kafka 4.0.
	NoConsumerProtocol bool

	// HeartbeatV0 makes the brokers know only version 0 of these two.
	HeartbeatV0 bool

	// Options are further options for kfake, such as TLS or a logger. They
	// must not seed topics (use Topics) or set listeners and versions.
	Options []kfake.Opt
}

// Cluster is a running cluster. Its methods are safe for concurrent use.
type Cluster struct {
	cfg   Config
	kafka *kfake.Cluster
	addrs []string
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	conns connections

	calls sync.WaitGroup // calls into kafka that Close must wait for

	// mu guards what follows. It is held for computing only, never while
	// waiting for anything.
	mu     sync.Mutex
	closed bool
	model  *coordinator.Coordinator
	names  map[[16]byte]string // topics by ID
	dirty  []string            // topics to compare with kafka's
	hook   HeartbeatHook
}

// New starts a cluster.
func New(cfg Config) (*Cluster, error) {
	if cfg.Brokers <= 0 {
		cfg.Brokers = 3
	}
	c := &Cluster{
		cfg:   cfg,
		names: make(map[[16]byte]string),
		model: coordinator.New(coordinator.Config{
			Version:              cfg.Version,
			HeartbeatInterval:    cfg.HeartbeatInterval,
			SessionTimeout:       cfg.SessionTimeout,
			AssignmentInterval:   cfg.AssignmentInterval,
			RegexRefreshInterval: cfg.RegexRefreshInterval,
			MaxGroupSize:         cfg.MaxGroupSize,
		}),
	}
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	if c.kafka, err = kfake.NewCluster(opts...); err != nil {
		return nil, fmt.Errorf("brokers: %w", err)
	}
	c.addrs = c.kafka.ListenAddrs()
	for name := range cfg.Topics {
		c.mark(name)
	}
	slices.Sort(c.dirty)
	c.syncTopics()
	c.control()
	return c, nil
}

// options translates the config for kfake.
func (c *Cluster) options() ([]kfake.Opt, error) {
	versions := kversion.FromString(c.model.Version().String())
	if versions == nil {
		return nil, fmt.Errorf("brokers: no request versions are known for Kafka %v", c.cfg.Version)
	}
	for _, key := range []int16{keyHeartbeat, keyDescribe} {
		switch {
		case c.cfg.NoConsumerProtocol:
			versions.SetMaxKeyVersion(key, -1)
		case c.cfg.HeartbeatV0:
			versions.SetMaxKeyVersion(key, 0)
		}
	}
	listen := net.Listen
	opts := []kfake.Opt{kfake.MaxVersions(versions), kfake.NumBrokers(c.cfg.Brokers)}
	if c.cfg.Listen {
		c.dial = new(net.Dialer).DialContext
	} else {
		network := new(kfake.VirtualNetwork)
		listen, c.dial = network.Listen, network.DialContext
		ports := make([]int, c.cfg.Brokers)
		for i := range ports {
			ports[i] = 9092 + i
		}
		opts = append(opts, kfake.Ports(ports...))
	}
	opts = append(opts, kfake.ListenFn(c.conns.listener(listen)))
	for name, partitions := range c.cfg.Topics {
		opts = append(opts, kfake.SeedTopics(partitions, name))
	}
	return append(opts, c.cfg.Options...), nil
}

// Close stops the cluster and cuts all connections. It may be called more than
// once. Close clients first if their errors matter.
func (c *Cluster) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	// A call into kfake never returns once kfake is closed.
	c.calls.Wait()
	c.kafka.Close()
	c.conns.cut()
}

// enter begins a call into kfake from outside its own goroutines. If it
// returns true, the caller must call c.calls.Done.
func (c *Cluster) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.calls.Add(1)
	return true
}

// Addrs returns the addresses of the brokers. On the in-memory network only
// the dialer that Opts sets reaches them.
func (c *Cluster) Addrs() []string { return slices.Clone(c.addrs) }

// Opts returns the options a client needs to reach the cluster: its seed
// brokers and its dialer.
func (c *Cluster) Opts() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(c.addrs...), kgo.Dialer(c.dial)}
}

// DialContext connects to a broker of the cluster.
func (c *Cluster) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return c.dial(ctx, network, address)
}

// Kfake returns the cluster underneath, for its faults, controls and topic
// data. Make and delete topics with this package's methods, and do not close
// it. A fault on ConsumerGroupHeartbeat has no effect, because the request is
// answered before faults are looked at: use OnHeartbeat.
func (c *Cluster) Kfake() *kfake.Cluster { return c.kafka }

// CutConnections closes every connection. Clients may connect again at once.
func (c *Cluster) CutConnections() { c.conns.cut() }

// MoveCoordinator moves a group's coordinator to another broker: the old one
// answers NOT_COORDINATOR from then on. It returns the new broker's ID. Other
// groups' coordinators move as well.
func (c *Cluster) MoveCoordinator(group string) (int32, error) {
	if !c.enter() {
		return -1, ErrClosed
	}
	defer c.calls.Done()
	before := c.kafka.CoordinatorFor(group)
	for range 100 * c.cfg.Brokers { // each try has a chance of 1 - 1/Brokers
		c.kafka.RehashCoordinators()
		if node := c.kafka.CoordinatorFor(group); node != before {
			return node, nil
		}
	}
	return before, fmt.Errorf("brokers: the coordinator of %q cannot move: %d brokers", group, c.cfg.Brokers)
}

// Coordinator returns the ID of the broker that coordinates a group, or -1 if
// the cluster is closed.
func (c *Cluster) Coordinator(group string) int32 {
	if !c.enter() {
		return -1
	}
	defer c.calls.Done()
	return c.kafka.CoordinatorFor(group)
}

// Group returns the truth about a consumer group now, or a zero Group without
// a name if there is none.
func (c *Cluster) Group(name string) coordinator.Group {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model.Advance(time.Now())
	g, _ := c.model.Group(name)
	return g
}

// Expire removes a member as if its session had ended. It returns false if
// there is no such member.
func (c *Cluster) Expire(group, memberID string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.model.Expire(time.Now(), group, memberID)
}
