package kgotransport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// closedPort is an address that refuses connections.
func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestRefusedDialIsNotSent(t *testing.T) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(closedPort(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, group := range []string{"", "g"} {
		_, err = New(cl).Do(context.Background(), group, beat("m"))
		wantNotSent(t, err, syscall.ECONNREFUSED)
		if IsAuth(err) {
			t.Error("taken for an authentication failure")
		}
	}
}

func TestRefusedDialOfTheCoordinatorIsNotSent(t *testing.T) {
	inWorld(t, setup{nodes: 2}, func(t *testing.T, w *world) {
		w.answerAll()
		w.mustDo(t, "m", 0)
		w.tr.forget("g", w.CoordinatorFor("g"))
		w.ControlKey(int16(kmsg.FindCoordinator), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			resp := kreq.ResponseKind().(*kmsg.FindCoordinatorResponse)
			c := kmsg.NewFindCoordinatorResponseCoordinator()
			c.Key, c.NodeID = "g", 77
			resp.Coordinators = append(resp.Coordinators, c)
			return resp, nil, true
		})
		_, _, err := w.do("m", time.Second, 0)
		wantNotSent(t, err, nil)
		w.mustDo(t, "m", 0) // the wrong coordinator was forgotten
	})
}

func TestDeadFirstSeedIsPassedOver(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1))
	defer c.Close()
	c.ControlKey(int16(kmsg.ConsumerGroupHeartbeat), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		return ok(kreq.(*kmsg.ConsumerGroupHeartbeatRequest), 0), nil, true
	})
	cl, err := kgo.NewClient(kgo.SeedBrokers(closedPort(t), closedPort(t), c.ListenAddrs()[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := within(5 * time.Second)
	defer cancel()
	for range 4 {
		if _, err = New(cl).Do(ctx, "g", beat("m")); err == nil {
			return
		}
		wantNotSent(t, err, nil)
	}
	t.Fatalf("no success in four attempts: %v", err)
}

func TestEndedContextIsNotSent(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.answerAll()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := w.tr.Do(ctx, "g", beat("m"))
		wantNotSent(t, err, context.Canceled)

		w.mustDo(t, "m", 0)
		// A slow dial: the context ends while kgo has not taken the request up.
		w.tr.clients[0].kc.Close()
		w.tr.clients[0] = nil
		before := w.hb.Load()
		dial := w.tr.dial
		w.tr.dial = func(ctx context.Context, network, host string) (net.Conn, error) {
			time.Sleep(3 * time.Second) // and it does not look at the context
			return dial(ctx, network, host)
		}
		start := time.Now()
		_, _, err = w.do("m", time.Second, 0)
		wantNotSent(t, err, context.DeadlineExceeded)
		if d := time.Since(start); d != time.Second {
			t.Errorf("returned after %v", d)
		}
		time.Sleep(10 * time.Second)
		if n := w.hb.Load(); n != before {
			t.Fatal("the request was written after all")
		}
	})
}

func TestCutAfterTheWriteMayBeApplied(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.onHeartbeat(func(n int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
			if n == 1 {
				return nil, errCut
			}
			return ok(req, 0), nil
		})
		_, conn, err := w.do("m", time.Second, 0)
		wantMaybe(t, err)
		if conn == 0 {
			t.Error("no connection named")
		}
		w.mustDo(t, "m", 0)
		if n := w.find.Load(); n != 2 {
			t.Errorf("%d look-ups: the coordinator is not forgotten after a cut", n)
		}
	})
}

func TestCancelAfterTheWriteMayBeAppliedAndKeepsTheCoordinator(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.onHeartbeat(func(n int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
			if n == 1 {
				w.SleepControl(func() { time.Sleep(2 * time.Second) })
			}
			return ok(req, 0), nil
		})
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		_, err := w.tr.Do(ctx, "g", beat("m"))
		wantMaybe(t, err)
		w.mustDo(t, "m", 0)
		if n := w.find.Load(); n != 1 {
			t.Errorf("%d look-ups, want 1", n)
		}
	})
}

func TestBrokerWithoutTheAPIIsUnsupported(t *testing.T) {
	without := kversion.Stable()
	without.SetMaxKeyVersion(int16(kmsg.ConsumerGroupHeartbeat), -1)
	inWorld(t, setup{cluster: []kfake.Opt{kfake.MaxVersions(without)}}, func(t *testing.T, w *world) {
		w.answerAll()
		_, _, err := w.do("m", time.Second, 0)
		wantNotSent(t, err, kerr.UnsupportedVersion)
		var u *UnsupportedError
		if !errors.As(err, &u) || u.Key != 68 || u.Node != 0 || u.BrokerMax != -1 || u.ClientMax != 1 ||
			!strings.Contains(u.Error(), "Kafka 4.0") || !strings.Contains(u.Error(), "at broker 0") {
			t.Fatalf("got %#v: %v", u, err)
		}
	})
}

func TestExcludedByMaxVersionsIsUnsupported(t *testing.T) {
	inWorld(t, setup{client: []kgo.Opt{kgo.MaxVersions(kversion.V3_3_0())}}, func(t *testing.T, w *world) {
		_, _, err := w.do("m", time.Second, 0)
		wantNotSent(t, err, kerr.UnsupportedVersion)
		var u *UnsupportedError
		if !errors.As(err, &u) || u.ClientMax != -1 || !strings.Contains(u.Error(), "kgo.MaxVersions") {
			t.Fatalf("got %v", err)
		}
		if v, limited := w.tr.MaxHeartbeatVersion(); v != -1 || !limited {
			t.Errorf("highest version %d, %t", v, limited)
		}
	})
}

func TestMinVersionsAboveTheBrokerIsUnsupported(t *testing.T) {
	low, high := kversion.Stable(), kversion.Stable()
	low.SetMaxKeyVersion(int16(kmsg.ConsumerGroupHeartbeat), 0)
	for _, k := range []kmsg.Key{kmsg.Metadata, kmsg.FindCoordinator} {
		high.SetMaxKeyVersion(int16(k), -1)
	}
	s := setup{cluster: []kfake.Opt{kfake.MaxVersions(low)}, client: []kgo.Opt{kgo.MinVersions(high)}}
	inWorld(t, s, func(t *testing.T, w *world) {
		_, _, err := w.do("m", time.Second, 0)
		wantNotSent(t, err, kerr.UnsupportedVersion)
		if !strings.Contains(err.Error(), "kgo.MinVersions") {
			t.Fatalf("got %v", err)
		}
	})
}

func TestRegexNeverGoesToVersion0(t *testing.T) {
	low := kversion.Stable()
	low.SetMaxKeyVersion(int16(kmsg.ConsumerGroupHeartbeat), 0)
	for name, s := range map[string]setup{
		"is 0":            {cluster: []kfake.Opt{kfake.MaxVersions(low)}},
		"kgo.MaxVersions": {client: []kgo.Opt{kgo.MaxVersions(low)}},
	} {
		inWorld(t, s, func(t *testing.T, w *world) {
			w.answerAll()
			first := w.mustDo(t, "m", 0)
			req := beat("m")
			req.SubscribedTopicRegex = kmsg.StringPtr("orders.*")
			_, err := w.tr.Do(context.Background(), "g", req)
			wantNotSent(t, err, kerr.UnsupportedVersion)
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: got %v", name, err)
			}
			time.Sleep(time.Second)
			// Without the regex it goes, on the connection that saw no byte of the other.
			if conn := w.mustDo(t, "m", 0); conn != first || w.hb.Load() != 2 {
				t.Fatalf("%s: connection %d after %d; %d heartbeats", name, conn, first, w.hb.Load())
			}
		})
	}
}

func TestAuthenticationFailureIsNotSent(t *testing.T) {
	wrong := kgo.SASL(plain.Auth{User: "a", Pass: "wrong"}.AsMechanism())
	s := setup{cluster: []kfake.Opt{kfake.EnableSASL(), kfake.Superuser("PLAIN", "a", "b")}, client: []kgo.Opt{wrong}}
	inWorld(t, s, func(t *testing.T, w *world) {
		w.ControlKey(int16(kmsg.SASLAuthenticate), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.SASLAuthenticateResponse)
			resp.ErrorCode = kerr.SaslAuthenticationFailed.Code
			return resp, nil, true
		})
		_, _, err := w.do("m", time.Second, 0)
		wantNotSent(t, err, kerr.SaslAuthenticationFailed)
		if !IsAuth(err) {
			t.Error("not recognised")
		}
	})
}

func TestTLSFailureIsNotSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // answers, but not in TLS
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			c.Close()
		}
	}()
	cl, err := kgo.NewClient(kgo.SeedBrokers(l.Addr().String()), kgo.DialTLSConfig(&tls.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	_, err = New(cl).Do(context.Background(), "g", beat("m"))
	wantNotSent(t, err, nil)
	if !IsAuth(err) {
		t.Errorf("not recognised: %v", err)
	}
}

func TestIsAuth(t *testing.T) {
	for _, err := range []error{
		kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState,
		&tls.CertificateVerificationError{Err: errCut}, x509.UnknownAuthorityError{}, x509.HostnameError{Certificate: &x509.Certificate{}},
		tls.AlertError(42), tls.RecordHeaderError{}, &kgo.ErrFirstReadEOF{},
		&net.OpError{Op: "remote error", Err: errCut},
	} {
		if !IsAuth(fmt.Errorf("wrapped: %w", err)) {
			t.Errorf("%T not recognised", err)
		}
	}
	for _, err := range []error{nil, errCut, context.Canceled, kerr.NotCoordinator, &net.OpError{Op: "dial", Err: errCut}} {
		if IsAuth(err) {
			t.Errorf("%v recognised", err)
		}
	}
}
