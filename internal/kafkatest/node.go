package kafkatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// errPortTaken is the start of a cluster failing because somebody else took
// one of its ports meanwhile.
var errPortTaken = errors.New("a port is taken")

type nodeState int

const (
	stopped nodeState = iota
	running
	paused
)

type node struct {
	id    int
	dir   string
	ports map[string]int // by listener
	proxy *Proxy         // nil without Config.Proxy
	proc  *process       // nil before the first launch
	state nodeState
}

func (n *node) propsFile() string { return filepath.Join(n.dir, "server.properties") }
func (n *node) logFile() string   { return filepath.Join(n.dir, "broker.log") }

func addr(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func newNodes(cfg Config, dir string) ([]*node, error) {
	nodes := make([]*node, cfg.Nodes)
	taken := map[int]bool{}
	for i := range nodes {
		n := &node{id: i + 1, dir: filepath.Join(dir, strconv.Itoa(i+1)), ports: map[string]int{}}
		nodes[i] = n
		if err := os.Mkdir(n.dir, 0o755); err != nil {
			return nodes[:i], err
		}
		for _, l := range cfg.listenerNames() {
			port, err := freePort(taken)
			if err != nil {
				return nodes[:i], err
			}
			n.ports[l] = port
		}
		if cfg.Proxy {
			var err error
			if n.proxy, err = NewProxy(addr(n.ports[proxiedListener])); err != nil {
				return nodes[:i], err
			}
		}
	}
	return nodes, nil
}

// freePort returns a port nobody listens on, below the ports that systems give
// to outgoing connections: a node that is down for a while must find its port
// free again, and a client that dials a node that is down must not by chance
// connect to itself.
func freePort(taken map[int]bool) (int, error) {
	var err error
	for range 100 {
		port := 15000 + rand.IntN(17000)
		if taken[port] {
			continue
		}
		var ln net.Listener
		if ln, err = net.Listen("tcp", addr(port)); err == nil {
			taken[port] = true
			return port, ln.Close()
		}
	}
	return 0, fmt.Errorf("no free port: %w", err)
}

// launch starts the node's process; it does not wait for anything.
func (c *Cluster) launch(n *node) error {
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own
	args := append(c.jvm(c.cfg.Heap), c.recording()...)
	cmd := exec.Command(c.java.path, append(args, "kafka.Kafka", n.propsFile())...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, log, log
	p, err := startProcess(cmd)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n.proc, n.state = p, running
	return nil
}

// node returns a node with the lock held, for a change of its state.
func (c *Cluster) node(id int, want nodeState) (*node, error) {
	if id < 1 || id > len(c.nodes) {
		return nil, fmt.Errorf("kafkatest: no node %d", id)
	}
	n := c.nodes[id-1]
	if n.state != want {
		return nil, fmt.Errorf("kafkatest: node %d is %s, not %s", id, n.state, want)
	}
	return n, nil
}

func (s nodeState) String() string { return [...]string{"stopped", "running", "paused"}[s] }

// Kill ends a running or paused node with SIGKILL.
func (c *Cluster) Kill(node int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(node, running)
	if err != nil {
		if n, err = c.node(node, paused); err != nil {
			return err
		}
	}
	n.proc.kill()
	n.state = stopped
	return nil
}

// StopNode ends a running node in good order, with SIGTERM. A node that does
// not end within 30 s is killed, and that is an error.
func (c *Cluster) StopNode(node int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(node, running)
	if err != nil {
		return err
	}
	n.state = stopped
	_ = n.proc.cmd.Process.Signal(termSignal)
	if n.proc.waitFor(30 * time.Second) {
		return nil
	}
	n.proc.kill()
	return fmt.Errorf("kafkatest: node %d did not end in 30 s", node)
}

// Pause stops a running node with SIGSTOP: its connections stay open, and it
// answers nothing.
func (c *Cluster) Pause(node int) error { return c.signal(node, running, paused, pauseSignal) }

// Resume continues a paused node.
func (c *Cluster) Resume(node int) error { return c.signal(node, paused, running, resumeSignal) }

func (c *Cluster) signal(id int, from, to nodeState, sig os.Signal) error {
	if pauseSignal == os.Interrupt {
		return errors.New("kafkatest: this system cannot pause a process")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.node(id, from)
	if err != nil {
		return err
	}
	n.state = to
	return n.proc.cmd.Process.Signal(sig)
}

// StartNode starts a node that was killed or stopped, with its data, and
// waits like [Cluster.WaitReady].
func (c *Cluster) StartNode(ctx context.Context, node int) error {
	c.mu.Lock()
	n, err := c.node(node, stopped)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err := c.launch(n); err != nil {
		return err
	}
	return c.WaitReady(ctx)
}

// logTail returns the end of a node's log.
func (n *node) logTail(lines int) string {
	b, err := os.ReadFile(n.logFile())
	if err != nil {
		return ""
	}
	return lastLines(bytes.TrimSpace(b), lines)
}

func (c *Cluster) logTails(lines int) string {
	var b bytes.Buffer
	for _, n := range c.nodes {
		if tail := n.logTail(lines); tail != "" {
			fmt.Fprintf(&b, "\n--- log of node %d ---\n%s", n.id, tail)
		}
	}
	return b.String()
}

// logOnFailure shows what the brokers had to say about a test that failed.
func (c *Cluster) logOnFailure(tb testing.TB) {
	if tail := c.logTails(30); tb.Failed() && tail != "" {
		tb.Logf("Kafka %s:%s", c.cfg.Version, tail)
	}
}
