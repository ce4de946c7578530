package kgotransport

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var errCut = errors.New("cut")

func TestConnectionNumberChangesWithTheConnection(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.onHeartbeat(func(n int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
			if n == 3 {
				return nil, errCut
			}
			return ok(req, 0), nil
		})
		first, second := w.mustDo(t, "m", 0), w.mustDo(t, "n", 0)
		if first != second {
			t.Fatalf("two requests on one connection: numbers %d and %d", first, second)
		}
		_, third, err := w.do("m", time.Second, 0)
		wantMaybe(t, err)
		if third != first {
			t.Fatalf("the request that was cut names connection %d, want %d", third, first)
		}
		if fourth := w.mustDo(t, "m", first); fourth == first {
			t.Fatalf("connection %d again after the cut", fourth)
		}
		if w.tr.clients[1] != nil {
			t.Error("a second client only to avoid a connection that is closed")
		}
	})
}

func TestAvoidTakesAnotherConnection(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.answerAll()
		first := w.mustDo(t, "m", 0)
		second := w.mustDo(t, "m", first)
		if second == first {
			t.Fatal("the connection to avoid was taken")
		}
		if again := w.mustDo(t, "m", first); again != second {
			t.Fatalf("avoiding twice: connections %d and %d", second, again)
		}
		if third := w.mustDo(t, "m", 0); third != first {
			t.Fatalf("without a wish: connection %d, want %d", third, first)
		}
		if back := w.mustDo(t, "m", second); back != first {
			t.Fatalf("avoiding %d: connection %d, want %d", second, back, first)
		}
	})
}

func TestHungConnectionIsLeftOnce(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.onHeartbeat(func(n int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
			if n == 2 {
				w.SleepControl(func() { time.Sleep(8 * time.Second) })
			}
			return ok(req, 0), nil
		})
		first := w.mustDo(t, "m", 0)
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				_, conn, err := w.do(string(rune('a'+i)), 2*time.Second, 0)
				// Behind the first one the pipe is full: those are not written.
				if !errors.Is(err, context.DeadlineExceeded) || conn != first && conn != 0 {
					t.Errorf("connection %d, error %v", conn, err)
				}
			})
		}
		wg.Wait()
		if slot := w.tr.active[0]; slot != 1 {
			t.Errorf("the active client is number %d", slot)
		}
		start := time.Now()
		second := w.mustDo(t, "m", 0)
		if second == first || time.Since(start) > time.Second {
			t.Fatalf("still on connection %d, after %v", second, time.Since(start))
		}
		time.Sleep(10 * time.Second) // the hung one recovers
		if third := w.mustDo(t, "m", 0); third != second {
			t.Fatalf("moved back from connection %d to %d", second, third)
		}
	})
}

func TestHangBeforeTheWriteMovesToTheOtherClient(t *testing.T) {
	var dials int
	wrap := func(c net.Conn) net.Conn {
		if dials++; dials == 2 { // the coordinator's; the first is the seed's
			server, client := net.Pipe()
			c.Close()
			go func() {
				for buf := make([]byte, 1024); ; {
					if _, err := server.Read(buf); err != nil {
						return
					}
				}
			}()
			return client
		}
		return c
	}
	inWorld(t, setup{wrap: wrap, cluster: nil}, func(t *testing.T, w *world) {
		w.answerAll()
		_, conn, err := w.do("m", 2*time.Second, 0)
		wantNotSent(t, err, context.DeadlineExceeded)
		if conn != 0 {
			t.Errorf("connection %d for a request that was not written", conn)
		}
		w.mustDo(t, "m", 0)
	})
}

// blockedConn blocks big writes.
type blockedConn struct {
	net.Conn
	free chan struct{}
}

func (c *blockedConn) Write(b []byte) (int, error) {
	if len(b) > 100_000 {
		<-c.free
	}
	return c.Conn.Write(b)
}

func TestBlockedProduceDoesNotDelay(t *testing.T) {
	var free chan struct{}
	wrap := func(c net.Conn) net.Conn { return &blockedConn{c, free} }
	opts := []kgo.Opt{kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DefaultProduceTopic("orders")}
	inWorld(t, setup{client: opts, wrap: wrap}, func(t *testing.T, w *world) {
		free = make(chan struct{})
		defer close(free)
		w.answerAll()
		w.cl.Produce(context.Background(), &kgo.Record{Value: make([]byte, 500_000)}, nil)
		time.Sleep(time.Second)
		ctx, cancel := within(time.Second)
		defer cancel()
		if _, err := w.cl.Broker(0).Request(ctx, kmsg.NewPtrMetadataRequest()); err == nil {
			t.Fatal("the application's client is not blocked: the test tests nothing")
		}
		start := time.Now()
		w.mustDo(t, "m", 0)
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Fatalf("the heartbeat took %v", d)
		}
	})
}

func TestRequestsWithATimeoutKeepIt(t *testing.T) {
	for key := range int16(100) {
		req := kmsg.RequestForKey(key)
		if req == nil || opaque(key) {
			continue
		}
		_, before := req.(kmsg.TimeoutRequest)
		if side := sideCall(req); side != (before && key != 2 || key == 79) {
			t.Errorf("%s: side %t, timeout %t", kmsg.NameForKey(key), side, before)
		}
	}
	for _, req := range []kmsg.Request{beat("m"), kmsg.NewPtrFindCoordinatorRequest(), kmsg.NewPtrMetadataRequest(),
		kmsg.NewPtrOffsetFetchRequest(), kmsg.NewPtrConsumerGroupDescribeRequest(), kmsg.NewPtrStreamsGroupHeartbeatRequest()} {
		if sideCall(req) || opaque(req.Key()) {
			t.Errorf("%T is not on the normal connection", req)
		}
	}
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.answerAll()
		w.ControlKey(int16(kmsg.CreateTopics), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			w.SleepControl(func() { time.Sleep(14 * time.Second) }) // more than kgo's 10 s
			return kreq.ResponseKind(), nil, true
		})
		first := w.mustDo(t, "m", 0)
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = 15_000
		trace := &heartbeat.Trace{}
		ctx, cancel := within(30 * time.Second)
		defer cancel()
		if _, err := w.tr.Do(heartbeat.WithTrace(ctx, trace), "g", req); err != nil || trace.Conn() != 0 {
			t.Fatalf("connection %d, error %v", trace.Conn(), err)
		}
		if again := w.mustDo(t, "m", 0); again != first {
			t.Fatalf("the connection of another request changed the number from %d to %d", first, again)
		}
	})
}

func TestVersionIsReadableAndRequestsCanBeSentAgain(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.answerAll()
		req := beat("m")
		for range 2 {
			resp, err := w.tr.Do(context.Background(), "g", req)
			if err != nil || req.GetVersion() != 1 || resp.GetVersion() != 1 {
				t.Fatalf("request version %d, error %v", req.GetVersion(), err)
			}
		}
		if n := w.hb.Load(); n != 2 {
			t.Fatalf("%d heartbeats arrived", n)
		}
	})
}
