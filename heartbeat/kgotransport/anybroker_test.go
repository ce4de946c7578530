package kgotransport

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestRequestsToAnyBrokerLeaveABadOne(t *testing.T) {
	inWorld(t, setup{nodes: 3}, func(t *testing.T, w *world) {
		bad := int32(-1)
		var asked []int32
		w.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			asked = append(asked, w.CurrentNode())
			if w.CurrentNode() == bad {
				return nil, errCut, true
			}
			return nil, nil, false
		})
		metadata := func() error {
			_, err := w.tr.Do(context.Background(), "", kmsg.NewPtrMetadataRequest())
			return err
		}
		for range 2 {
			if err := metadata(); err != nil {
				t.Fatal(err)
			}
		}
		if asked[0] != asked[1] {
			t.Fatalf("asked %v: a good broker was left", asked)
		}
		bad = asked[0]
		wantMaybe(t, metadata())
		if err := metadata(); err != nil {
			t.Fatalf("asked %v: %v", asked, err)
		}
		if n := w.find.Load(); n != 0 {
			t.Errorf("%d look-ups", n)
		}
	})
}

func TestRotationReachesEveryBroker(t *testing.T) {
	tr := &Transport{settings: settings{seeds: 2}, nodes: map[int32]struct{}{5: {}, 1: {}}}
	want := []int32{math.MinInt32, math.MinInt32 + 1, 1, 5, math.MinInt32}
	for i, node := range want {
		if got := tr.pickAny(); got != node {
			t.Fatalf("pick %d is %d, want %d", i, got, node)
		}
		tr.any.failed = &node
	}
}

func TestBrokerWithANewAddressIsFound(t *testing.T) {
	inWorld(t, setup{nodes: 2}, func(t *testing.T, w *world) {
		w.answerAll()
		w.mustDo(t, "m", 0)
		moved := w.CoordinatorFor("g")
		if err := w.RemoveNode(moved); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.AddNode(moved, 9009); err != nil {
			t.Fatal(err)
		}
		for w.CoordinatorFor("g") != moved {
			w.RehashCoordinators()
		}
		time.Sleep(time.Minute) // the old connection is idle and closed
		for range 5 {
			_, _, err := w.do("m", time.Second, 0)
			if err == nil {
				return
			}
			t.Log(err)
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatal("the broker was not found at its new address")
	})
}

func TestStreamsHeartbeatsAreCarried(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.ControlKey(int16(kmsg.ApiVersions), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.ApiVersionsResponse)
			for key := range int16(100) {
				if req := kmsg.RequestForKey(key); req != nil {
					k := kmsg.NewApiVersionsResponseApiKey()
					k.ApiKey, k.MaxVersion = key, req.MaxVersion()
					resp.ApiKeys = append(resp.ApiKeys, k)
				}
			}
			return resp, nil, true
		})
		var code int16
		w.ControlKey(int16(kmsg.StreamsGroupHeartbeat), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			resp := kreq.ResponseKind().(*kmsg.StreamsGroupHeartbeatResponse)
			resp.ErrorCode = code
			return resp, nil, true
		})
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Group, req.MemberID = "g", "m"
		for _, code = range []int16{0, notCoordinator, 0} {
			resp, err := w.tr.Do(context.Background(), "g", req)
			if err != nil || resp.(*kmsg.StreamsGroupHeartbeatResponse).ErrorCode != code {
				t.Fatalf("answer %v, error %v", resp, err)
			}
		}
		if n := w.find.Load(); n != 2 {
			t.Errorf("%d look-ups, want 2", n)
		}
	})
}
