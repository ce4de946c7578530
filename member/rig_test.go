package member_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

const (
	interval    = 5 * time.Second  // of the cluster's heartbeats, unless a test changes it
	specSession = 45 * time.Second // of the cluster, unless a test changes it
)

// rig is a cluster on an in-memory network, one kgo client, and the members that
// a test starts, in virtual time. It records every heartbeat that reaches a
// broker and all that the members tell.
type rig struct {
	*testing.T
	c    *brokers.Cluster
	cl   *kgo.Client
	net  *network
	wire *wire
	t0   time.Time

	v       coordinator.Version
	rules   *membertest.Verifier
	members []*mem
	ghosts  bool // members may be left in the group at the end
}

// spec runs a test in a bubble. At its end all members are stopped; each must
// leave cleanly, nobody may be left in a group, and the wire must have kept the
// rules that hold always (see check).
func spec(t *testing.T, cfg brokers.Config, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, cfg)
		test(r)
		r.end()
	})
}

// specAll is spec for each version of the coordinator.
func specAll(t *testing.T, cfg brokers.Config, test func(r *rig)) {
	for _, v := range coordinator.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			cfg.Version = v
			spec(t, cfg, test)
		})
	}
}

func newRig(t *testing.T, cfg brokers.Config) *rig {
	if cfg.Topics == nil {
		cfg.Topics = map[string]int32{"orders": 12}
	}
	c, err := brokers.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r := &rig{T: t, c: c, t0: time.Now(), wire: &wire{}, v: cfg.Version}
	r.rules = membertest.NewVerifier(func(v membertest.Violation) { r.Errorf("%v\n%s", v, r.log()) })
	r.net = &network{dial: c.DialContext, open: map[*wireConn]bool{}}
	c.OnHeartbeat(r.wire.heartbeat)
	r.wire.watch(c)
	r.cl = r.client()
	r.Cleanup(func() { // of a test that failed: nothing may outlive the bubble
		for _, m := range r.members {
			m.cancel()
		}
		for _, m := range r.members {
			<-m.done
		}
		for r.wire.asleep.Load() > 0 {
			time.Sleep(time.Second)
		}
	})
	return r
}

// bare is a cluster and a client of it, without the rig.
func bare(t *testing.T, cfg brokers.Config) (*brokers.Cluster, *kgo.Client) {
	c, err := brokers.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addrs()...), kgo.Dialer(c.DialContext))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return c, cl
}

// client makes a kgo client that reaches the cluster through the rig's network.
func (r *rig) client(opts ...kgo.Opt) *kgo.Client { return r.clientOn(r.net, opts...) }

// elsewhere is a client with a network of its own: another process.
func (r *rig) elsewhere(opts ...kgo.Opt) (*kgo.Client, *network) {
	n := &network{dial: r.c.DialContext, open: map[*wireConn]bool{}}
	return r.clientOn(n, opts...), n
}

func (r *rig) clientOn(n *network, opts ...kgo.Opt) *kgo.Client {
	opts = append([]kgo.Opt{kgo.SeedBrokers(r.c.Addrs()...), kgo.Dialer(n.DialContext)}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(cl.Close)
	return cl
}

// mem is one member and the record of what it told.
type mem struct {
	*member.Consumer
	r      *rig
	id     string
	began  time.Time
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run; read it after done

	mu sync.Mutex
	record
}

// record is what callbacks and hooks told, each in its order.
type record struct {
	calls   []call
	states  []member.StateInfo
	beats   []member.HeartbeatInfo
	owned   []member.OwnershipInfo
	trust   []member.TrustInfo
	notices []member.NoticeInfo
}

// call is one callback.
type call struct {
	what  string // assigned, revoked, lost
	parts member.Partitions
	at    time.Duration // since the rig began
	ctx   context.Context
	left  time.Duration // until its deadline
}

type option func(*member.ConsumerConfig)

// build makes a member of group "g" that wants the topic "orders".
func (r *rig) build(opts ...option) (*mem, error) { return r.buildOn(r.cl, opts...) }

func (r *rig) buildOn(cl *kgo.Client, opts ...option) (*mem, error) {
	m := &mem{r: r, done: make(chan struct{})}
	cfg := member.ConsumerConfig{
		Group: "g", Topics: []string{"orders"}, Logger: slog.New(slog.DiscardHandler),
		Rand: rand.NewPCG(1, uint64(len(r.members))),
	}
	for _, o := range opts {
		o(&cfg)
	}
	m.listen(&cfg)
	if cl != nil {
		if cfg.Transport == nil {
			cfg.Transport = kgotransport.New(cl)
		}
		cfg.Transport, cfg.Hooks = r.rules.Transport(cfg.Transport), member.JoinHooks(cfg.Hooks, r.rules.Hooks())
	}
	c, err := member.NewConsumer(cl, cfg)
	if err != nil {
		return nil, err
	}
	m.Consumer, m.id = c, c.Snapshot().MemberID
	return m, nil
}

// make is build for tests that need it to work.
func (r *rig) make(opts ...option) *mem {
	r.Helper()
	m, err := r.build(opts...)
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// start makes a member and runs it.
func (r *rig) start(opts ...option) *mem {
	r.Helper()
	return r.make(opts...).run()
}

func (r *rig) startOn(cl *kgo.Client, opts ...option) *mem {
	r.Helper()
	m, err := r.buildOn(cl, opts...)
	if err != nil {
		r.Fatal(err)
	}
	return m.run()
}

func (m *mem) run() *mem { return m.runIn(context.Background()) }

func (m *mem) runIn(ctx context.Context) *mem {
	ctx, cancel := context.WithCancel(ctx)
	m.cancel, m.began = cancel, time.Now()
	m.r.members = append(m.r.members, m)
	go func() {
		defer close(m.done)
		m.err = m.Run(ctx)
	}()
	return m
}

// listen puts the recorder in front of the callbacks and hooks of cfg.
func (m *mem) listen(cfg *member.ConsumerConfig) {
	on := func(what string, fn func(context.Context, member.Partitions) error) func(context.Context, member.Partitions) error {
		return func(ctx context.Context, p member.Partitions) error {
			by, _ := ctx.Deadline()
			m.note(func(r *record) {
				r.calls = append(r.calls, call{what, p, m.r.now(), ctx, time.Until(by)})
			})
			if fn == nil {
				return nil
			}
			return fn(ctx, p)
		}
	}
	cfg.OnAssigned, cfg.OnRevoked, cfg.OnLost = on("assigned", cfg.OnAssigned), on("revoked", cfg.OnRevoked), on("lost", cfg.OnLost)
	cfg.Hooks = member.JoinHooks(member.Hooks{
		State:     func(i member.StateInfo) { m.note(func(r *record) { r.states = append(r.states, i) }) },
		Heartbeat: func(i member.HeartbeatInfo) { m.note(func(r *record) { r.beats = append(r.beats, i) }) },
		Ownership: func(i member.OwnershipInfo) { m.note(func(r *record) { r.owned = append(r.owned, i) }) },
		Trust:     func(i member.TrustInfo) { m.note(func(r *record) { r.trust = append(r.trust, i) }) },
		Notice:    func(i member.NoticeInfo) { m.note(func(r *record) { r.notices = append(r.notices, i) }) },
	}, cfg.Hooks)
}

func (m *mem) note(f func(*record)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.record)
}

// told is a copy of the record so far.
func (m *mem) told() record {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.record
	r.calls, r.states, r.beats = slices.Clone(r.calls), slices.Clone(r.states), slices.Clone(r.beats)
	r.owned, r.trust, r.notices = slices.Clone(r.owned), slices.Clone(r.trust), slices.Clone(r.notices)
	return r
}

// history is the callbacks so far, such as "assigned orders[0-11]; lost orders[0-11]".
func (m *mem) history() string {
	var out []string
	for _, c := range m.told().calls {
		out = append(out, c.what+" "+c.parts.String())
	}
	return strings.Join(out, "; ")
}

// now is the virtual time since the rig began.
func (r *rig) now() time.Duration { return time.Since(r.t0) }

// sleep lets virtual time pass, and all that is due at its end happen.
func (r *rig) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
