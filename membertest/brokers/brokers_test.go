package brokers

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

func TestRebalanceInMemory(t *testing.T) {
	for _, v := range coordinator.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			bubble(t, Config{Version: v, AssignmentInterval: -1}, rebalance)
		})
	}
}

func TestRebalanceListen(t *testing.T) {
	r := newRig(t, Config{Listen: true, AssignmentInterval: -1})
	if host, _, _ := net.SplitHostPort(r.c.Addrs()[0]); host != "127.0.0.1" {
		t.Fatalf("listening on %s", r.c.Addrs()[0])
	}
	rebalance(r)
}

// Timers need nothing but the clock, and are exact.
func TestSessionInVirtualTime(t *testing.T) {
	bubble(t, Config{SessionTimeout: 6 * time.Second}, func(r *rig) {
		r.want(r.join("A", "t12"), 2, 12)
		time.Sleep(6*time.Second - time.Millisecond)
		if n := len(r.c.Group("g").Members); n != 1 {
			r.Fatalf("%d members before the session ends", n)
		}
		time.Sleep(time.Millisecond)
		if n := len(r.c.Group("g").Members); n != 0 {
			r.Fatalf("%d members after the session", n)
		}
		r.code(r.beat("A", 2).ErrorCode, kerr.UnknownMemberID)
	})
}

func TestAssignmentInterval(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.want(r.join("A", "t12"), 2, 12)
		r.want(r.join("B", "t12"), 2, 0)
		time.Sleep(time.Second)
		r.want(r.beat("B", 2), 3, -1)
	})
}

func TestSoak(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		start := time.Now()
		r.want(r.join("A", "t12"), 2, 12)
		for range 1000 {
			time.Sleep(5 * time.Second)
			r.want(r.beat("A", 2), 2, -1)
		}
		if d := time.Since(start); d != 5000*time.Second {
			r.Fatalf("took %v of virtual time", d)
		}
	})
}

func TestMoveCoordinator(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.want(r.join("A", "t12"), 2, 12)
		old := r.find("g")
		node, err := r.c.MoveCoordinator("g")
		if err != nil || int(node) == old || r.find("g") != int(node) || r.c.Coordinator("g") != node {
			r.Fatalf("moved from %d to %d, found %d: %v", old, node, r.find("g"), err)
		}
		resp, err := r.cl.Broker(old).Request(r.Context(), heartbeat("A", 2))
		if err != nil {
			r.Fatal(err)
		}
		r.code(resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode, kerr.NotCoordinator)
		describe := kmsg.NewPtrConsumerGroupDescribeRequest()
		describe.Groups = []string{"g"}
		resp, err = r.cl.Broker(old).Request(r.Context(), describe)
		if err != nil {
			r.Fatal(err)
		}
		r.code(resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0].ErrorCode, kerr.NotCoordinator)
		r.want(r.beat("A", 2), 2, -1) // the group is as it was
	})
}

func TestMoveCoordinatorAlone(t *testing.T) {
	bubble(t, Config{Brokers: 1}, func(r *rig) {
		if _, err := r.c.MoveCoordinator("g"); err == nil {
			r.Fatal("moved to nowhere")
		}
	})
}

func TestDescribe(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.join("A", "t12")
		groups, err := kadm.NewClient(r.cl).DescribeConsumerGroups(r.Context(), "g")
		if err != nil || groups["g"].State != "Stable" || len(groups["g"].Members) != 1 {
			r.Fatalf("got %+v, %v", groups, err)
		}
	})
}

// What clients do to topics reaches the groups.
func TestTopicsOfClients(t *testing.T) {
	bubble(t, Config{AssignmentInterval: -1}, func(r *rig) {
		admin, ctx := kadm.NewClient(r.cl), r.Context()
		r.want(r.join("A", "t12", "late"), 2, 12)
		if _, err := admin.CreateTopic(ctx, 3, 1, nil, "late"); err != nil {
			r.Fatal(err)
		}
		resp := r.beat("A", 2)
		r.want(resp, 3, 15)
		list, err := admin.ListTopics(ctx)
		if err != nil || list["t12"].ID == (kadm.TopicID{}) {
			r.Fatalf("got %+v, %v", list, err)
		}
		for _, tp := range resp.Assignment.Topics {
			if id := kadm.TopicID(tp.TopicID); id != list["t12"].ID && id != list["late"].ID {
				r.Fatalf("the metadata does not know topic %s", id)
			}
		}
		if _, err := admin.UpdatePartitions(ctx, 5, "late"); err != nil {
			r.Fatal(err)
		}
		r.want(r.beat("A", 3), 4, 17)
		if _, err := admin.DeleteTopics(ctx, "t12"); err != nil {
			r.Fatal(err)
		}
		resp = r.beat("A", 4)
		r.want(resp, 4, 5)
		r.want(r.ack("A", resp), 5, -1)
		if err := r.c.CreateTopic("t12", 2); err != nil {
			r.Fatal(err)
		}
		resp = r.beat("A", 5)
		r.want(resp, 6, 7)
		if err := r.c.DeleteTopic("late"); err != nil {
			r.Fatal(err)
		}
		r.want(r.beat("A", 6), 6, 2)
	})
}

func TestHookLosesAnswers(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		lost := errors.New("lost")
		node := r.find("g")
		r.c.OnHeartbeat(func(broker int32, _ *kmsg.ConsumerGroupHeartbeatRequest, apply func() *kmsg.ConsumerGroupHeartbeatResponse) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
			if int(broker) != node {
				r.Errorf("asked broker %d, not %d", broker, node)
			}
			apply()
			return nil, lost
		})
		if _, err := r.cl.Broker(node).Request(r.Context(), joinRequest("A", "t12")); err == nil {
			r.Fatal("the answer was not lost")
		}
		if n := len(r.c.Group("g").Members); n != 1 {
			r.Fatalf("the join was not applied: %d members", n)
		}
		r.c.OnHeartbeat(func(_ int32, req *kmsg.ConsumerGroupHeartbeatRequest, _ func() *kmsg.ConsumerGroupHeartbeatResponse) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
			resp := req.ResponseKind().(*kmsg.ConsumerGroupHeartbeatResponse)
			resp.ErrorCode = kerr.CoordinatorLoadInProgress.Code
			return resp, nil
		})
		r.code(r.beat("A", 2).ErrorCode, kerr.CoordinatorLoadInProgress)
		// Never answered: only the client's own deadline ends it.
		r.c.OnHeartbeat(func(int32, *kmsg.ConsumerGroupHeartbeatRequest, func() *kmsg.ConsumerGroupHeartbeatResponse) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
			return nil, nil
		})
		ctx, cancel := context.WithTimeout(r.Context(), 3*time.Second)
		defer cancel()
		if _, err := r.cl.Broker(node).Request(ctx, heartbeat("A", 2)); !errors.Is(err, context.DeadlineExceeded) {
			r.Fatalf("got %v", err)
		}
		r.c.OnHeartbeat(nil)
		r.c.CutConnections()
		r.want(r.beat("A", 2), 2, -1)
	})
}

func TestCutConnections(t *testing.T) {
	r := newRig(t, Config{Listen: true})
	var d net.Dialer
	conn, err := d.DialContext(within(t, 5*time.Second), "tcp", r.c.Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := r.cl.Ping(within(t, 5*time.Second)); err != nil { // accepted in order
		t.Fatal(err)
	}
	r.c.CutConnections()
	if _, err := conn.Read(make([]byte, 1)); errors.Is(err, context.DeadlineExceeded) || err == nil {
		t.Fatalf("the connection lives: %v", err)
	}
	if err := r.cl.Ping(within(t, 5*time.Second)); err != nil {
		t.Fatal(err)
	}
}

func TestHeartbeatVersions(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		want int16
	}{
		"as it is": {Config{}, 1},
		"v0":       {Config{HeartbeatV0: true}, 0},
		"none":     {Config{NoConsumerProtocol: true}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.cfg, func(r *rig) {
				resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(r.Context(), r.cl)
				if err != nil {
					r.Fatal(err)
				}
				for _, key := range []kmsg.Key{kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupDescribe} {
					got := int16(-1)
					for _, k := range resp.ApiKeys {
						if k.ApiKey == int16(key) {
							got = k.MaxVersion
						}
					}
					if got != c.want {
						r.Errorf("%v is offered up to v%d, want v%d", key, got, c.want)
					}
				}
				if c.want != 0 {
					return
				}
				resp2 := r.join("", "t12")
				r.want(resp2, 2, 12)
				if resp2.Version != 0 || len(*resp2.MemberID) != 22 {
					r.Fatalf("got v%d, member %q", resp2.Version, *resp2.MemberID)
				}
			})
		})
	}
}

func TestExpire(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.join("A", "t12")
		if r.c.Expire("g", "B") || !r.c.Expire("g", "A") {
			r.Fatal("Expire does not know who is there")
		}
		r.code(r.beat("A", 2).ErrorCode, kerr.UnknownMemberID)
	})
}

// Close may be called at any time and more than once, and afterwards nothing
// blocks.
func TestClosed(t *testing.T) {
	bubble(t, Config{}, func(r *rig) {
		r.join("A", "t12")
		go r.c.Close()
		r.c.Close()
		r.c.Close()
		if err := r.c.CreateTopic("x", 1); !errors.Is(err, ErrClosed) {
			r.Errorf("CreateTopic: %v", err)
		}
		if err := r.c.DeleteTopic("t12"); !errors.Is(err, ErrClosed) {
			r.Errorf("DeleteTopic: %v", err)
		}
		if _, err := r.c.MoveCoordinator("g"); !errors.Is(err, ErrClosed) {
			r.Errorf("MoveCoordinator: %v", err)
		}
		if r.c.Coordinator("g") != -1 || len(r.c.Addrs()) != 3 || r.c.Group("g").Name != "g" {
			r.Error("a closed cluster has forgotten what it knew")
		}
		r.c.Expire("g", "A")
		r.c.CutConnections()
		if _, err := r.c.DialContext(r.Context(), "tcp", r.c.Addrs()[0]); err == nil {
			r.Error("a closed cluster accepts connections")
		}
	})
}
