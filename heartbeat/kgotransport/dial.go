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

// dialTwice is dial, and once more beside it if it takes long. The first connection is taken.
func dialTwice(ctx context.Context, dial dialFunc, network, host string) (net.Conn, error) {
	return twice(ctx, redialAfter, func(ctx context.Context, _ bool) (net.Conn, error) {
		return dial(ctx, network, host)
	}, func(c net.Conn) { _ = c.Close() })
}
