package member_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing/synctest"
)

// network is what lies between the clients and the brokers.
type network struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	down  bool              // nobody can connect
	stall func([]byte) bool // writes that block until their connection is closed
	open  map[*wireConn]bool
	dials int
}

var errDown = errors.New("network is down")

func (n *network) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	down := n.down
	n.mu.Unlock()
	if down {
		return nil, errDown
	}
	nc, err := n.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &wireConn{Conn: nc, n: n, closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open[c] = true
	return c, nil
}

// cut closes all connections; with down, nobody can connect any more.
func (n *network) cut(down bool) {
	n.mu.Lock()
	n.down = down
	open := make([]*wireConn, 0, len(n.open))
	for c := range n.open {
		open = append(open, c)
	}
	n.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}

func (n *network) up() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
}

// conns is how many connections are open.
func (n *network) conns() int {
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.open)
}

type wireConn struct {
	net.Conn
	n      *network
	once   sync.Once
	closed chan struct{}
}

func (c *wireConn) Write(b []byte) (int, error) {
	c.n.mu.Lock()
	stall := c.n.stall
	c.n.mu.Unlock()
	if stall != nil && stall(b) {
		<-c.closed
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *wireConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	c.n.mu.Lock()
	delete(c.n.open, c)
	c.n.mu.Unlock()
	return c.Conn.Close()
}

// set changes how connections are made.
func (n *network) set(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dial = dial
}
