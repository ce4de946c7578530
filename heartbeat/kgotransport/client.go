package kgotransport

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lastConn is the last connection number given out in this process.
var lastConn atomic.Uint64

// client is one of our own kgo clients and what is known of its connections.
type client struct {
	kc *kgo.Client

	// Guarded by the mutex of the Transport.
	refs    int  // calls that use it now
	retired bool // no new call uses it; the last one closes it

	mu    sync.Mutex // a leaf: kgo's hooks take it
	links map[int32]*link
}

// link is the normal connection of a client to one node. The node may be a seed:
// kgo numbers those with very negative IDs and connects to them separately.
type link struct {
	num  uint64
	conn *conn // nil once closed
	hung bool  // a call on it got no answer until its deadline
}

// conn is a connection that kgo dialed through us.
type conn struct {
	net.Conn
	side   bool // not the normal connection of its node: see sideCall
	closed bool // guarded by client.mu
}

// dialError marks an error as a failure to open a connection.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

type sideKey struct{}

func newClient(s *settings) (*client, error) {
	c := &client{links: make(map[int32]*link)}
	opts := append(s.opts[:len(s.opts):len(s.opts)], kgo.WithHooks(c), kgo.Dialer(dialer(s.dial)))
	kc, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	c.kc = kc
	return c, nil
}

// dialer wraps the user's dial function. kgo passes it the context of the
// request that needs the connection, so it can tell normal connections from the
// ones that kgo keeps for slow requests.
func dialer(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, host string) (net.Conn, error) {
		nc, err := dialHedged(ctx, dial, network, host)
		if err != nil {
			return nil, &dialError{err}
		}
		return &conn{Conn: nc, side: ctx.Value(sideKey{}) != nil}, nil
	}
}

// OnBrokerConnect numbers a new connection. kgo calls it when the connection is
// ready (loadConnection in kgo's broker.go), on the goroutine that then writes
// the request that the connection was made for. It is also called for a
// connection that failed in its set-up, after OnBrokerDisconnect.
func (c *client) OnBrokerConnect(meta kgo.BrokerMetadata, _ time.Duration, nc net.Conn, err error) {
	cn, ok := nc.(*conn)
	if err != nil || !ok || cn.side {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cn.closed {
		return
	}
	c.links[meta.NodeID] = &link{num: lastConn.Add(1), conn: cn}
}

// OnBrokerDisconnect marks a connection as closed. Its number stays: a request
// may be on its way into it right now.
func (c *client) OnBrokerDisconnect(meta kgo.BrokerMetadata, nc net.Conn) {
	cn, ok := nc.(*conn)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cn.closed = true
	if l := c.links[meta.NodeID]; l != nil && l.conn == cn {
		l.conn, l.hung = nil, false
	}
}

// current is the number of the last normal connection to node, 0 if there was
// none, and whether it is open.
func (c *client) current(node int32) (num uint64, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.links[node]
	if l == nil {
		return 0, false
	}
	return l.num, l.conn != nil
}

// usable says how a call to node would fare: whether it would go on the
// connection avoid, and whether it would go on one that hangs.
func (c *client) usable(node int32, avoid uint64) (avoided, hung bool) {
	if c == nil {
		return false, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.links[node]
	if l == nil || l.conn == nil {
		return false, false
	}
	return avoid != 0 && l.num == avoid, l.hung
}

// setHung notes whether connection num to node hangs, if it is still the one.
func (c *client) setHung(node int32, num uint64, hung bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.links[node]; l != nil && l.num == num && l.conn != nil {
		l.hung = hung
	}
}
