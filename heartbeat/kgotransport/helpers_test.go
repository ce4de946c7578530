package kgotransport

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a cluster, a user's client and its Transport inside a bubble.
type world struct {
	*kfake.Cluster
	cl   *kgo.Client
	tr   *Transport
	open atomic.Int32 // connections dialed and not closed
	hb   atomic.Int32 // heartbeats that a broker saw
	find atomic.Int32 // look-ups that a broker saw
}

type setup struct {
	nodes   int
	cluster []kfake.Opt
	client  []kgo.Opt
	wrap    func(net.Conn) net.Conn
}

type countedConn struct {
	net.Conn
	once  sync.Once
	close func()
}

func (c *countedConn) Close() error {
	c.once.Do(c.close)
	return c.Conn.Close()
}

// inWorld runs f in a bubble. Heartbeats are answered with success unless f adds
// a control of its own first in line.
func inWorld(t *testing.T, s setup, f func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var vnet kfake.VirtualNetwork
		ports := []int{9001, 9002, 9003}[:max(1, s.nodes)]
		w := &world{}
		w.Cluster = kfake.MustCluster(append([]kfake.Opt{kfake.Ports(ports...), kfake.ListenFn(vnet.Listen),
			kfake.SeedTopics(1, "orders")}, s.cluster...)...)
		defer w.Close()
		w.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			w.find.Add(1)
			return nil, nil, false
		})
		dial := func(ctx context.Context, network, host string) (net.Conn, error) {
			c, err := vnet.DialContext(ctx, network, host)
			if err != nil {
				return nil, err
			}
			w.open.Add(1)
			c = &countedConn{Conn: c, close: func() { w.open.Add(-1) }}
			if s.wrap != nil {
				c = s.wrap(c)
			}
			return c, nil
		}
		cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(w.ListenAddrs()...), kgo.Dialer(dial)}, s.client...)...)
		if err != nil {
			t.Fatal(err)
		}
		w.cl, w.tr = cl, New(cl)
		defer cl.Close()
		f(t, w)
	})
}

// onHeartbeat answers heartbeats: f says what is done with the n-th (from 1).
// A nil answer leaves it to the cluster.
func (w *world) onHeartbeat(f func(n int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error)) {
	w.ControlKey(int16(kmsg.ConsumerGroupHeartbeat), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		n := w.hb.Add(1)
		req := kreq.(*kmsg.ConsumerGroupHeartbeatRequest)
		resp, err := f(n, req)
		return resp, err, resp != nil || err != nil
	})
}

func (w *world) answerAll() {
	w.onHeartbeat(func(_ int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) { return ok(req, 0), nil })
}

func ok(req *kmsg.ConsumerGroupHeartbeatRequest, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
	resp.ErrorCode = code
	resp.HeartbeatIntervalMillis = 5000
	return resp
}

func beat(member string) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = "g", member, 1
	return req
}

func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

// do sends one heartbeat with a deadline and returns its code, connection, error.
func (w *world) do(member string, timeout time.Duration, avoid uint64) (code int16, conn uint64, err error) {
	ctx, cancel := within(timeout)
	defer cancel()
	trace := &heartbeat.Trace{Avoid: avoid}
	resp, err := w.tr.Do(heartbeat.WithTrace(ctx, trace), "g", beat(member))
	if err == nil {
		code = resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode
	}
	return code, trace.Conn(), err
}

func (w *world) mustDo(t *testing.T, member string, avoid uint64) (conn uint64) {
	t.Helper()
	code, conn, err := w.do(member, 5*time.Second, avoid)
	if err != nil || code != 0 || conn == 0 {
		t.Fatalf("heartbeat: code %d, connection %d, error %v", code, conn, err)
	}
	return conn
}

func wantNotSent(t *testing.T, err error, also error) {
	t.Helper()
	if !errors.Is(err, heartbeat.ErrNotSent) || also != nil && !errors.Is(err, also) {
		t.Fatalf("got error %v (not sent: %t), want it not sent, and %v", err, errors.Is(err, heartbeat.ErrNotSent), also)
	}
}

func wantMaybe(t *testing.T, err error) {
	t.Helper()
	if err == nil || errors.Is(err, heartbeat.ErrNotSent) {
		t.Fatalf("got error %v, want one that leaves the outcome open", err)
	}
}

var notCoordinator = kerr.NotCoordinator.Code
