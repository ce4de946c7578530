package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Proxy stands between clients and one broker. It reads what passes, keeps a
// record of the consumer group heartbeats, and does to requests what its rules
// say. Without rules it only passes on.
type Proxy struct {
	ln     net.Listener
	target string
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced on every change of what wait looks at
	conns      map[*proxyConn]bool
	lastConn   int
	stalled    bool
	rules      []*Rule
	heartbeats []*Heartbeat
	requests   map[requestKind]int
}

type requestKind struct {
	client string
	key    int16
}

// Heartbeat is a consumer group heartbeat that arrived at a [Proxy], with its
// answer.
type Heartbeat struct {
	At         time.Time
	Conn       int // the number of the connection, from 1
	Version    int16
	ClientID   string
	Group      string
	MemberID   string
	InstanceID string
	Epoch      int32
	Full       bool // carries the rebalance timeout and a subscription
	Bytes      int
	Request    *kmsg.ConsumerGroupHeartbeatRequest

	Forwarded   bool      // it went to the broker
	AnsweredAt  time.Time // when the broker's answer came; zero: it did not
	ErrorCode   int16
	AnswerEpoch int32
	Interval    time.Duration
	AnswerBytes int
	Answer      *kmsg.ConsumerGroupHeartbeatResponse
	Lost        bool // the answer came, but did not go to the client
}

// NewProxy starts a proxy in front of a broker's address on a free port of
// 127.0.0.1. The broker must advertise that address on a listener of its own:
// clients connect to what it advertises.
func NewProxy(target string) (*Proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("kafkatest: proxy: %w", err)
	}
	p := &Proxy{
		ln: ln, target: target, changed: make(chan struct{}),
		conns: map[*proxyConn]bool{}, requests: map[requestKind]int{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Go(p.accept)
	return p, nil
}

func (p *Proxy) accept() {
	for {
		cl, err := p.ln.Accept()
		switch {
		case err == nil:
			p.wg.Go(func() { p.serve(cl) })
		case errors.Is(err, net.ErrClosed):
			return
		default: // such as too many open files: others may close theirs
			sleep(p.ctx, 10*time.Millisecond)
		}
	}
}

// Addr returns the address to connect to.
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close cuts all connections, drops what is held, and returns when nothing of
// the proxy runs any more.
func (p *Proxy) Close() {
	p.cancel()
	p.ln.Close()
	for _, c := range p.open() {
		c.cut()
	}
	p.wg.Wait()
}

// CutAll cuts all connections there are. Requests held with [EvenIfGone] or
// [CutNow] still go to the broker.
func (p *Proxy) CutAll() {
	for _, c := range p.open() {
		if c.outlive.Load() > 0 {
			c.cl.Close()
		} else {
			c.cut()
		}
	}
}

// Stall makes the proxy a black hole until [Proxy.Unstall]: it accepts
// connections and requests, and nothing passes in any direction.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = true
}

// Unstall ends Stall. Connections that lost something to it are cut; the
// requests are lost.
func (p *Proxy) Unstall() {
	p.mu.Lock()
	p.stalled = false
	p.mu.Unlock()
	for _, c := range p.open() {
		if c.stalled.Load() {
			c.cut()
		}
	}
}

func (p *Proxy) open() []*proxyConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	cs := make([]*proxyConn, 0, len(p.conns))
	for c := range p.conns {
		cs = append(cs, c)
	}
	return cs
}

// Heartbeats returns the heartbeats that keep picks, nil for all, in the order
// of their arrival.
func (p *Proxy) Heartbeats(keep func(Heartbeat) bool) []Heartbeat {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.kept(keep)
}

func (p *Proxy) kept(keep func(Heartbeat) bool) []Heartbeat {
	var hs []Heartbeat
	for _, h := range p.heartbeats {
		if keep == nil || keep(*h) {
			hs = append(hs, *h)
		}
	}
	return hs
}

// WaitHeartbeat waits for a heartbeat that keep picks and returns the first
// one. keep sees a heartbeat again when its answer comes.
func (p *Proxy) WaitHeartbeat(ctx context.Context, keep func(Heartbeat) bool) (Heartbeat, error) {
	var h Heartbeat
	err := p.wait(ctx, func() bool {
		i := slices.IndexFunc(p.heartbeats, func(h *Heartbeat) bool { return keep(*h) })
		if i >= 0 {
			h = *p.heartbeats[i]
		}
		return i >= 0
	})
	return h, err
}

// Requests returns how many requests with an API key came from a client id;
// the empty id is all clients.
func (p *Proxy) Requests(clientID string, key int16) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for k, count := range p.requests {
		if k.key == key && (clientID == "" || k.client == clientID) {
			n += count
		}
	}
	return n
}

// Conns returns how many connections there have been, and how many of them are
// still open.
func (p *Proxy) Conns() (all, open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastConn, len(p.conns)
}

// notify wakes wait; the lock is held.
func (p *Proxy) notify() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits until cond, which runs with the lock held, is true.
func (p *Proxy) wait(ctx context.Context, cond func() bool) error {
	for {
		p.mu.Lock()
		ok, changed := cond(), p.changed
		p.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("kafkatest: proxy: %w", ctx.Err())
		case <-p.ctx.Done():
			return errors.New("kafkatest: the proxy is closed")
		}
	}
}
