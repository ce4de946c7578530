package brokers

import (
	"net"
	"sync"
)

// connections tracks the brokers' side of all connections, to cut them.
type connections struct {
	mu   sync.Mutex
	open map[*connection]struct{}
}

type listenFunc = func(network, address string) (net.Listener, error)

// listener returns listen with its connections tracked.
func (c *connections) listener(listen listenFunc) listenFunc {
	return func(network, address string) (net.Listener, error) {
		l, err := listen(network, address)
		if err != nil {
			return nil, err
		}
		return &listener{l, c}, nil
	}
}

// cut closes every open connection.
func (c *connections) cut() {
	c.mu.Lock()
	open := c.open
	c.open = nil
	c.mu.Unlock()
	for conn := range open {
		conn.Conn.Close()
	}
}

type listener struct {
	net.Listener
	conns *connections
}

func (l *listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &connection{raw, l.conns}
	l.conns.mu.Lock()
	defer l.conns.mu.Unlock()
	if l.conns.open == nil {
		l.conns.open = make(map[*connection]struct{})
	}
	l.conns.open[conn] = struct{}{}
	return conn, nil
}

type connection struct {
	net.Conn
	conns *connections
}

func (c *connection) Close() error {
	c.conns.mu.Lock()
	delete(c.conns.open, c)
	c.conns.mu.Unlock()
	return c.Conn.Close()
}
