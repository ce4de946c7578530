package kgotransport

import (
	"context"
	"net"
	"time"
)

// redialAfter is when a dial that is neither done nor refused gets a second one beside it. A
// broker that is dialed by many at once drops what does not fit into its backlog (50 by
// default: socket.listen.backlog.size), and a kernel tries again only after a second.
const redialAfter = 250 * time.Millisecond

type dialed struct {
	conn net.Conn
	err  error
}

// dialTwice is dial, and once more beside it if it takes long. The first connection is taken.
func dialTwice(ctx context.Context, dial dialFunc, network, host string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the one that lost
	results := make(chan dialed, 2)
	try := func() {
		conn, err := dial(ctx, network, host)
		results <- dialed{conn, err}
	}
	go try()
	again := time.NewTimer(redialAfter)
	defer again.Stop()
	for open := 1; ; {
		select {
		case <-again.C:
			open++
			go try()
		case r := <-results:
			if open--; r.err != nil && open > 0 {
				continue // the other one may do
			}
			if open > 0 {
				go closeLate(results)
			}
			return r.conn, r.err
		}
	}
}

// closeLate closes the connection of a dial that was not needed.
func closeLate(results <-chan dialed) {
	if r := <-results; r.conn != nil {
		_ = r.conn.Close()
	}
}
