package kgotransport

import (
	"context"
	"net"
	"time"
)

const (
	// redialAfter is when a dial that is neither done nor refused gets another one beside it. A
	// broker that is dialed by many at once drops what does not fit into its backlog (50 by
	// default: socket.listen.backlog.size), and a kernel tries again only after a second.
	redialAfter = 250 * time.Millisecond
	// mostDials is how many there may be: four in that second.
	mostDials = 4
)

// dialHedged is dial, and more of it beside it while it takes long. The first connection is taken.
func dialHedged(ctx context.Context, dial dialFunc, network, host string) (net.Conn, error) {
	return hedged(ctx, redialAfter, mostDials, func(ctx context.Context, _ int) (net.Conn, error) {
		return dial(ctx, network, host)
	}, func(c net.Conn) { _ = c.Close() })
}
