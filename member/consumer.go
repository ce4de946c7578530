package member

import (
	"context"
	crand "crypto/rand"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
)

// Consumer is one member of a consumer group (KIP-848). Its methods are safe for
// concurrent use: before, during and after Run, and in callbacks.
type Consumer struct {
	cfg       ConsumerConfig // resolved
	id        Identity
	scope     *scope
	asker     *asker // while Run does
	transport heartbeat.Transport
	shared    *kgotransport.Transport // nil without a kgo client
	loop      *heartbeat.Loop
	relay     *relay
	runner    runner
	snapshot  atomic.Pointer[Snapshot]
	born      time.Time
	polled    atomic.Int64 // last Alive, since born
	key       uint64       // among siblings

	mu      sync.Mutex
	started bool
	ended   bool
	done    chan struct{}
	err     error
	changes map[uint64]chan error
	changeN uint64
}

// NewConsumer makes a member. It sends nothing and starts nothing; a member that
// is never run costs nothing.
//
// cl stands for the process: the members of one client share connections and
// look-ups, wake each other, and must not share a MemberID or an InstanceID in a
// group at a time. Membership has connections of its own, made from the client's
// connection options (seeds, dialer, TLS, SASL, client ID, versions), so that
// a blocked produce or fetch never delays a heartbeat. cl must not have a consumer
// group of its own, and must not be closed before Run has returned. It may be nil
// if cfg.Transport is set. The error is a [*ConfigError] with every fault.
func NewConsumer(cl *kgo.Client, cfg ConsumerConfig) (*Consumer, error) {
	return newConsumer(cl, cfg, crand.Reader)
}

type entropy interface{ Read([]byte) (int, error) }

func newConsumer(cl *kgo.Client, cfg ConsumerConfig, ids entropy) (*Consumer, error) {
	f := cfg.check()
	c := &Consumer{cfg: cfg.resolved(), born: time.Now(), done: make(chan struct{}), changes: map[uint64]chan error{}}
	c.id = Identity{Kind: KindConsumer, Group: cfg.Group, MemberID: cfg.MemberID, InstanceID: cfg.InstanceID}
	if cl != nil {
		c.shared = kgotransport.New(cl)
		c.transport = c.shared
		f.client(c.shared, &c.cfg)
	}
	if cfg.Transport != nil {
		c.transport = cfg.Transport
	}
	if c.transport == nil {
		f.add("cl", nil, "a kgo client, or Transport", nil)
	}
	if c.id.MemberID == "" {
		id, err := newMemberID(ids)
		if err != nil {
			// K1082-19: no weak fallback.
			f.add("MemberID", "", "a source of entropy for a UUID", err)
		}
		c.id.MemberID = id
	}
	if len(f) == 0 {
		c.scope = scopeOf(cl)
		f = append(f, c.scope.claim(c)...)
	}
	if len(f) > 0 {
		return nil, &ConfigError{Faults: f}
	}
	c.build(cfg)
	return c, nil
}

func (f *faults) client(t *kgotransport.Transport, cfg *ConsumerConfig) {
	if g := t.SDKGroup(); g != "" {
		f.add("cl", "kgo.ConsumerGroup("+g+")", "a kgo client without a group: membership is ours here", nil)
	}
	v, ok := t.MaxHeartbeatVersion()
	switch {
	case ok && v < 0:
		f.add("kgo.MaxVersions", "no ConsumerGroupHeartbeat", "versions that include ConsumerGroupHeartbeat (key 68, Kafka 4.0)", ErrUnsupported)
	case ok && v < 1 && cfg.Regex != "":
		f.add("Regex", cfg.Regex, "ConsumerGroupHeartbeat version 1, which kgo.MaxVersions excludes", ErrUnsupported)
	}
	if cfg.Rack == "" {
		cfg.Rack = t.Rack()
	}
}

func (c *Consumer) build(given ConsumerConfig) {
	src := given.Rand
	if src == nil {
		src = rand.NewPCG(rand.Uint64(), rand.Uint64())
	}
	c.relay = newRelay(c.cfg.Hooks, c.cfg.Logger)
	m := newMachine(c.cfg, c.id, machineAux{rand: rand.New(src), isAuth: authFailure, observeBeat: c.relay.wantsHeartbeats()})
	c.loop = heartbeat.NewLoop(m, c.transport, c.id.Group, c.host)
	c.snapshot.Store(&Snapshot{Identity: c.id, Assignment: Partitions{}})
	c.runner = runner{owner: c, cfg: &c.cfg}
}

// authFailure: did the set-up of a connection fail by TLS or authentication, and is
// that sure? Once a request was written, the connection was fine.
func authFailure(err error) (auth, sure bool) {
	auth = errors.Is(err, heartbeat.ErrNotSent) && kgotransport.IsAuth(err)
	return auth, auth && !kgotransport.IsAuthGuess(err)
}

// Run joins the group and stays in it. When ctx ends it lets go of what is owned
// (OnRevoked; OnLost if the session may have ended by the member's own clock), leaves as
// cfg.Leave says, and returns nil. Otherwise it returns a [*Error] or a [*CallbackError]; by
// then it has left, too. It may be called once: after that it is [ErrRunning].
//
// A broker that is not there is not an error: Run tries until ctx ends. When it
// returns, all its goroutines have ended, but for a callback or a hook that ignores
// its end. (Where a broker is slow with a join, the connection with that join and the leave behind it
// stays open until they are answered, their time is over, or the kgo client is closed.)
func (c *Consumer) Run(ctx context.Context) error {
	c.mu.Lock()
	if c.started {
		c.mu.Unlock()
		return ErrRunning
	}
	c.started = true
	skip := c.ended || ctx.Err() != nil
	c.mu.Unlock()
	var err error
	if !skip {
		err = c.run(ctx)
	}
	c.scope.release(c)
	c.mu.Lock()
	c.err = err
	c.ended = true
	close(c.done)
	c.mu.Unlock()
	c.failChanges() // those that came while nobody saw that this is the end
	return err
}

func (c *Consumer) run(ctx context.Context) error {
	c.polled.Store(int64(time.Since(c.born)))
	if c.shared != nil {
		defer c.shared.Acquire()()
		defer c.watchClient()()
	}
	c.relay.start()
	c.scope.join(c)
	c.runner.start(ctx)
	c.loop.Post(inStart{})
	err := c.loop.Run(ctx, inLeave{c.cfg.Leave})
	c.runner.stop()
	c.scope.leave(c)
	c.relay.stop()
	return err
}

// watchClient tells the machine when the user closes the kgo client too early.
func (c *Consumer) watchClient() (stop func()) {
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-c.shared.UserClosed():
			c.loop.Post(inClosed{})
		case <-over:
		}
	})
	return func() { close(over); wg.Wait() }
}

// host carries out what the machine asks for. It runs on the loop and does not block.
func (c *Consumer) host(now time.Time, what any) {
	o := what.(*output)
	switch o.kind {
	case outHeartbeat:
		c.relay.post(o.hb)
	case outEvent:
		c.relay.post(o.v)
	case outPublish:
		c.snapshot.Store(o.v.(*Snapshot))
	case outTrust:
		s := *c.snapshot.Load()
		s.LastHeartbeat, s.TrustedUntil = o.last, o.until
		c.snapshot.Store(&s)
	case outCallback:
		c.runner.call(o.v.(callbackCall))
	case outDeadline:
		c.runner.deadline(o.v.(callbackDeadline))
	case outLookup:
		ids := o.v.([]topicID)
		c.scope.lookupNames(c, ids, func(names map[topicID]string) { c.loop.Post(inNames{ids, names}) })
	case outTopicIDs:
		names := o.v.([]string)
		c.scope.lookupIDs(c, names, func(ids map[string]topicID) { c.loop.Post(inTopicIDs{names, ids}) })
	case outAlive:
		c.loop.Post(inAlive{c.lastAlive()})
	case outSibling:
		c.scope.tell(c, now, o.v.(siblingNews))
	case outChange:
		c.changed(o.v.(changeResult))
	}
}

// Snapshot is one consistent view of the member. It costs one atomic load.
func (c *Consumer) Snapshot() Snapshot { return *c.snapshot.Load() }

// Wake sends a heartbeat now, or as soon as the pace allows: for a pod watcher, a
// gossip layer, a test. It never blocks, and does nothing when not in the group.
func (c *Consumer) Wake() { c.loop.Post(inWake{}) }

// Alive says that the application makes progress, for Timing.MaxPollInterval. A
// member that is STALE joins again. It is cheap: call it in every poll.
func (c *Consumer) Alive() {
	c.polled.Store(int64(time.Since(c.born)))
	if c.snapshot.Load().State == StateStale {
		c.loop.Post(inAlive{c.lastAlive()})
	}
}

func (c *Consumer) lastAlive() time.Time { return c.born.Add(time.Duration(c.polled.Load())) }

// Leave makes Run end, as op says, waits for it or for the end of ctx, and returns
// Run's error, or ctx's. The leave itself is not bound to ctx but to
// Timing.ShutdownTimeout. With the context of a callback it does not wait. Before Run
// it makes Run return nil at once, and gives the member's names free; after Run it returns
// what Run did. The error is a [*ConfigError], and nothing happens, if op is none of the three.
func (c *Consumer) Leave(ctx context.Context, op LeaveOperation) error {
	if op > RemainInGroup {
		return &ConfigError{Faults: faults{{"op", uint8(op), wantLeave, nil}}}
	}
	c.mu.Lock()
	started := c.started
	c.ended = true
	c.mu.Unlock()
	if !started {
		c.scope.release(c)
		return nil
	}
	c.loop.Post(inLeave{op})
	if ctx.Value(callbackKey{}) == c {
		return nil
	}
	select {
	case <-c.done:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err
	case <-ctx.Done():
		return ctx.Err()
	}
}
