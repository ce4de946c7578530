package kgotransport

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
)

func TestReleaseClosesEverything(t *testing.T) {
	inWorld(t, setup{nodes: 2}, func(t *testing.T, w *world) {
		w.answerAll()
		one, two := w.tr.Acquire(), w.tr.Acquire()
		first := w.mustDo(t, "m", 0)
		w.mustDo(t, "m", first)
		one()
		one()
		if w.mustDo(t, "m", 0) != first {
			t.Error("connections were closed while a member runs")
		}
		two()
		synctest.Wait()
		if n := w.open.Load(); n != 0 {
			t.Fatalf("%d connections left open", n)
		}
		if w.mustDo(t, "m", 0) == first { // made again on demand
			t.Error("a number was used twice")
		}
	})
}

func TestReleaseLetsACallEnd(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.onHeartbeat(func(_ int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
			w.SleepControl(func() { time.Sleep(2 * time.Second) })
			return ok(req, 0), nil
		})
		release := w.tr.Acquire()
		time.AfterFunc(time.Second, release)
		w.mustDo(t, "m", 0)
		synctest.Wait()
		if n := w.open.Load(); n != 0 {
			t.Fatalf("%d connections left open", n)
		}
	})
}

func TestUserCloseDoesNotStopAMember(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.answerAll()
		release := w.tr.Acquire()
		w.mustDo(t, "m", 0)
		w.cl.Close()
		select {
		case <-w.tr.UserClosed():
		default:
			t.Error("UserClosed does not say so")
		}
		w.mustDo(t, "m", 0)
		release()
		_, _, err := w.do("m", time.Second, 0)
		wantNotSent(t, err, kgo.ErrClientClosed)
		defer New(w.cl).Acquire()()
		w.mustDo(t, "m", 0)
	})
}

func TestUserCloseEndsWhatNobodyHolds(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.answerAll()
		w.mustDo(t, "m", 0)
		w.cl.Close()
		synctest.Wait()
		if n := w.open.Load(); n != 0 {
			t.Fatalf("%d connections left open", n)
		}
	})
}

func TestOneTransportPerClient(t *testing.T) {
	a, b := testClient(t), testClient(t)
	if first := New(a); New(a) != first || New(b) == first {
		t.Fatal("not one Transport per client")
	}
}

func testClient(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func TestOpenClientKeepsItsTransport(t *testing.T) {
	cl := testClient(t)
	held := weak.Make(New(cl))
	for range 3 {
		runtime.GC()
	}
	if held.Value() == nil {
		t.Fatal("the shared state of an open client was dropped")
	}
	runtime.KeepAlive(cl)
}

type selfHook struct{ cl *kgo.Client }

func (h *selfHook) OnNewClient(cl *kgo.Client) { h.cl = cl }

func TestDroppedClientLeaksNothing(t *testing.T) {
	base := registered()
	func() {
		// A TLS dialer of kgo holds all options, and so a hook that holds the client.
		cl, err := kgo.NewClient(kgo.DialTLS(), kgo.WithHooks(&selfHook{}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := within(50 * time.Millisecond)
		defer cancel()
		New(cl).Do(ctx, "g", beat("m"))
		cl.Close()
	}()
	for range 100 {
		runtime.GC()
		if registered() <= base {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d clients registered, %d before", registered(), base)
}

func registered() int {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return len(registry.m)
}

type closingMechanism struct{ closed bool }

func (*closingMechanism) Name() string { return "TEST" }
func (m *closingMechanism) Close()     { m.closed = true }
func (*closingMechanism) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	return nil, nil, errCut
}

func TestOptionsAreTakenOver(t *testing.T) {
	m := &closingMechanism{}
	cl := testClient(t, kgo.SeedBrokers("a:1", "b:2"), kgo.Rack("r1"), kgo.ConsumerGroup("sdk"), kgo.SASL(m),
		kgo.ClientID("me"), kgo.SoftwareNameAndVersion("soft", "1"), kgo.BrokerMaxReadBytes(1<<20), kgo.FetchMaxBytes(1<<20),
		kgo.ConnIdleTimeout(time.Minute), kgo.RequestTimeoutOverhead(20*time.Second), kgo.MaxVersions(nil),
		kgo.ConsumeTopics("orders"))
	tr := New(cl)
	if _, limited := tr.MaxHeartbeatVersion(); limited || tr.Rack() != "r1" || tr.SDKGroup() != "sdk" {
		t.Errorf("rack %q, group %q, limited %t", tr.Rack(), tr.SDKGroup(), limited)
	}
	c, err := newClient(&tr.settings)
	if err != nil {
		t.Fatal(err)
	}
	for opt, want := range map[string]any{
		"ClientID": "me", "SoftwareNameAndVersion": "soft", "BrokerMaxReadBytes": int32(1 << 20),
		"ConnIdleTimeout": time.Minute, "RequestTimeoutOverhead": 10 * time.Second, "ConsumerGroup": "", "Rack": "",
		"DisableClientMetrics": true,
	} {
		if got := c.kc.OptValue(opt); got != want {
			t.Errorf("%s is %v, want %v", opt, got, want)
		}
	}
	c.kc.Close()
	if m.closed {
		t.Error("the application's SASL mechanism was closed")
	}
}
