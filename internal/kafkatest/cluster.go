package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

const (
	startTries   = 3
	startTimeout = 2 * time.Minute
	clusterID    = "a2Fma2F0ZXN0LWNsdXN0ZQ"
)

// Cluster is a running Kafka cluster. Nodes have the numbers 1 to
// [Config.Nodes], which are also Kafka's node ids.
type Cluster struct {
	cfg   Config
	libs  string
	java  jdk
	dir   string
	nodes []*node
	cl    *kgo.Client
	adm   *kadm.Client

	mu       sync.Mutex // guards the state of the nodes
	stopOnce sync.Once
}

// Start starts a cluster for one test, which ends with it. It fails the test
// if that does not work.
func Start(tb testing.TB, cfg Config) *Cluster {
	tb.Helper()
	c, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.logOnFailure(tb)
		c.Stop()
	})
	return c
}

// Open starts a cluster and returns when it is ready: every node knows all
// others, and every group has a coordinator. ctx limits the start alone. Use
// it where there is no test; [Cluster.Stop] is then up to the caller.
func Open(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	libs, err := Libs(ctx, cfg.Version)
	if err != nil {
		return nil, err
	}
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	if err := takeSlot(ctx); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		c := &Cluster{cfg: cfg, libs: libs, java: java}
		if err = c.start(ctx); err == nil {
			opened.add(c)
			return c, nil
		}
		err = fmt.Errorf("kafkatest: starting Kafka %s: %w%s", cfg.Version, err, c.logTails(30))
		c.tearDown()
		if try == startTries || !errors.Is(err, errPortTaken) {
			leaveSlot()
			return nil, err
		}
	}
}

func (c *Cluster) start(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if c.dir, err = makeDataDir(); err != nil {
		return err
	}
	if c.nodes, err = newNodes(c.cfg, c.dir); err != nil {
		return err
	}
	c.cl, err = kgo.NewClient(append(c.ClientOpts(Admin), kgo.ClientID("kafkatest"),
		kgo.DialTimeout(2*time.Second), kgo.RequestTimeoutOverhead(5*time.Second), kgo.RetryTimeout(20*time.Second))...)
	if err != nil {
		return err
	}
	c.adm = kadm.NewClient(c.cl)
	if err := c.format(ctx); err != nil {
		return err
	}
	for _, n := range c.nodes {
		if err := c.launch(n); err != nil {
			return err
		}
	}
	return c.WaitReady(ctx)
}

// format writes the nodes' settings and prepares their data folders.
func (c *Cluster) format(ctx context.Context) error {
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, n := range c.nodes {
		wg.Go(func() { errs[i] = c.formatNode(ctx, n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *Cluster) formatNode(ctx context.Context, n *node) error {
	if err := os.WriteFile(n.propsFile(), []byte(c.cfg.properties(n, c.nodes)), 0o644); err != nil {
		return err
	}
	args := append(c.jvm("128m"), "kafka.tools.StorageTool", "format", "-t", clusterID, "-c", n.propsFile())
	out, err := runProcess(exec.CommandContext(ctx, c.java.path, append(args, c.cfg.features()...)...))
	if err != nil {
		return fmt.Errorf("formatting: %w\n%s", err, lastLines(out, 30))
	}
	return nil
}

// jvm returns the arguments of every JVM up to the name of the main class.
// They shorten its start: on a small machine the second compiler and a
// parallel collector cost more than they bring to a broker this young.
func (c *Cluster) jvm(heap string) []string {
	args := []string{
		"-Xmx" + heap, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", filepath.Join(c.libs, "*"),
	}
	if hasFile(c.archive()) {
		args = append(args, "-XX:SharedArchiveFile="+c.archive())
	}
	return args
}

// Stop ends all nodes at once and removes their data. It may be called more
// than once.
func (c *Cluster) Stop() {
	c.stopOnce.Do(func() {
		c.tearDown()
		opened.remove(c)
		leaveSlot()
	})
}

// tearDown also copes with a cluster that did not get far.
func (c *Cluster) tearDown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saveArchive()
	for _, n := range c.nodes {
		if n.proc != nil {
			n.proc.kill()
		}
		if n.proxy != nil {
			n.proxy.Close()
		}
	}
	if c.cl != nil {
		c.cl.Close()
	}
	if c.dir != "" {
		_ = os.RemoveAll(c.dir)
	}
}

// Version returns the cluster's Kafka version.
func (c *Cluster) Version() string { return c.cfg.Version }

// Addrs returns the addresses of the nodes, in their order.
func (c *Cluster) Addrs() []string {
	as := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		as[i] = addr(n.ports[clientListener])
	}
	return as
}

// ProxyAddrs returns the addresses of the nodes' proxies: a client that starts
// with these talks to all nodes through their proxies. Needs [Config.Proxy].
func (c *Cluster) ProxyAddrs() []string {
	as := make([]string, len(c.nodes))
	for i := range c.nodes {
		as[i] = c.Proxy(i + 1).Addr()
	}
	return as
}

// Proxy returns the proxy in front of a node. Needs [Config.Proxy].
func (c *Cluster) Proxy(node int) *Proxy {
	p := c.nodes[node-1].proxy
	if p == nil {
		panic("kafkatest: the cluster was started without Config.Proxy")
	}
	return p
}

// ClientOpts returns the options that connect a client to the cluster,
// as the given user if the cluster has [Config.ACL].
func (c *Cluster) ClientOpts(user string) []kgo.Opt {
	opts := []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}
	if c.cfg.ACL {
		opts = append(opts, kgo.SASL(plain.Auth{User: user, Pass: password(user)}.AsMechanism()))
	}
	return opts
}

// ClientAs returns a client that logs in as a user; closing it is up to the
// caller. The options may replace the ones of [Cluster.ClientOpts].
func (c *Cluster) ClientAs(user string, opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append(c.ClientOpts(user), opts...)...)
	if err != nil {
		panic(fmt.Sprintf("kafkatest: client options: %v", err))
	}
	return cl
}

// Client returns a client, with [Config.ACL] that of [Admin]; closing it is up
// to the caller.
func (c *Cluster) Client(opts ...kgo.Opt) *kgo.Client { return c.ClientAs(Admin, opts...) }

// Admin returns an admin client that lasts as long as the cluster; do not
// close it.
func (c *Cluster) Admin() *kadm.Client { return c.adm }
