package kgotransport

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func TestCoordinatorMoveIsFollowed(t *testing.T) {
	inWorld(t, setup{nodes: 3}, func(t *testing.T, w *world) {
		w.onHeartbeat(func(_ int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
			if w.CurrentNode() != w.CoordinatorFor("g") {
				return ok(req, notCoordinator), nil
			}
			return ok(req, 0), nil
		})
		w.mustDo(t, "m", 0)
		for before := w.CoordinatorFor("g"); w.CoordinatorFor("g") == before; {
			w.RehashCoordinators()
		}
		if code, _, err := w.do("m", time.Second, 0); err != nil || code != notCoordinator {
			t.Fatalf("first heartbeat after the move: code %d, error %v", code, err)
		}
		w.mustDo(t, "m", 0)
		if n := w.find.Load(); n != 2 {
			t.Fatalf("%d look-ups, want 2", n)
		}
	})
}

func TestCodesThatForgetTheCoordinator(t *testing.T) {
	for code, lookups := range map[int16]int32{14: 1, 15: 2, 16: 2, 25: 1} {
		inWorld(t, setup{}, func(t *testing.T, w *world) {
			w.onHeartbeat(func(_ int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
				return ok(req, code), nil
			})
			for range 2 {
				if got, _, err := w.do("m", time.Second, 0); err != nil || got != code {
					t.Fatalf("code %d, error %v", got, err)
				}
			}
			if n := w.find.Load(); n != lookups {
				t.Errorf("code %d: %d look-ups, want %d", code, n, lookups)
			}
		})
	}
}

func TestMovedIsSeenInGroupLists(t *testing.T) {
	describe := kmsg.NewPtrConsumerGroupDescribeResponse()
	describe.Groups = append(describe.Groups, kmsg.ConsumerGroupDescribeResponseGroup{ErrorCode: 16})
	fetch := kmsg.NewPtrOffsetFetchResponse()
	fetch.Groups = append(fetch.Groups, kmsg.OffsetFetchResponseGroup{ErrorCode: 15})
	old := kmsg.NewPtrOffsetFetchResponse()
	old.ErrorCode = 16
	commit := kmsg.NewPtrOffsetCommitResponse()
	commit.Topics = append(commit.Topics, kmsg.OffsetCommitResponseTopic{
		Partitions: []kmsg.OffsetCommitResponseTopicPartition{{ErrorCode: 16}}})
	for _, r := range []kmsg.Response{describe, fetch, old, commit} {
		if !moved(r) {
			t.Errorf("%T: not seen as moved", r)
		}
	}
	if moved(kmsg.NewPtrMetadataResponse()) {
		t.Error("metadata seen as moved")
	}
}

func TestConcurrentLookupsAreOneRequest(t *testing.T) {
	inWorld(t, setup{nodes: 3}, func(t *testing.T, w *world) {
		w.answerAll()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { w.mustDo(t, string(rune('a'+i)), 0) })
		}
		wg.Wait()
		if n := w.find.Load(); n != 1 {
			t.Fatalf("%d look-ups, want 1", n)
		}
	})
}

func TestLookupGoesOnWithoutACallerThatLeft(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		w.answerAll()
		w.slowLookup(400 * time.Millisecond)
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { w.mustDo(t, "patient", 0) })
		_, conn, err := w.do("hasty", 200*time.Millisecond, 0)
		wantNotSent(t, err, context.DeadlineExceeded)
		if d := time.Since(start); d != 200*time.Millisecond || conn != 0 {
			t.Errorf("the caller left after %v, connection %d", d, conn)
		}
		wg.Wait()
		if n := w.find.Load(); n != 1 {
			t.Fatalf("%d look-ups, want 1", n)
		}
	})
}

// A look-up that hangs is asked again beside it: of another broker, or on another connection.
func TestLookupThatHangsIsAskedAgain(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		inWorld(t, setup{nodes: nodes}, func(t *testing.T, w *world) {
			w.answerAll()
			w.mustDo(t, "m", 0)
			clear(w.tr.coords)
			w.slowLookup(9 * time.Second)
			start := time.Now()
			w.mustDo(t, "m", 0)
			if d := time.Since(start); d > time.Second {
				t.Errorf("%d brokers: took %v", nodes, d)
			}
			if n := w.find.Load(); n != 3 {
				t.Errorf("%d brokers: %d look-ups, want 3", nodes, n)
			}
			time.Sleep(10 * time.Second) // the slow one ends
		})
	}
}

// slowLookup delays the next FindCoordinator.
func (w *world) slowLookup(d time.Duration) {
	slow := true
	w.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		if slow {
			slow = false
			w.SleepControl(func() { time.Sleep(d) })
		}
		return nil, nil, false
	})
}

func TestLookupRefusedIsNotSent(t *testing.T) {
	old := kversion.Stable()
	old.SetMaxKeyVersion(int16(kmsg.FindCoordinator), 3)
	for _, opts := range [][]kgo.Opt{nil, {kgo.MaxVersions(old)}} {
		for _, want := range []*kerr.Error{kerr.GroupAuthorizationFailed, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress} {
			inWorld(t, setup{client: opts}, func(t *testing.T, w *world) {
				w.answerAll()
				w.ControlKey(int16(kmsg.FindCoordinator), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
					resp := kreq.ResponseKind().(*kmsg.FindCoordinatorResponse)
					resp.ErrorCode = want.Code
					c := kmsg.NewFindCoordinatorResponseCoordinator()
					c.Key, c.ErrorCode = "g", want.Code
					resp.Coordinators = append(resp.Coordinators, c)
					return resp, nil, true
				})
				_, _, err := w.do("m", time.Second, 0)
				wantNotSent(t, err, want)
				var le *LookupError
				if !errors.As(err, &le) || le.Code != want.Code || le.Group != "g" {
					t.Errorf("got %v", err)
				}
				w.mustDo(t, "m", 0) // nothing wrong was kept
			})
		}
	}
}

func TestLeaveDoesNotOvertakeItsJoin(t *testing.T) {
	inWorld(t, setup{}, func(t *testing.T, w *world) {
		var order []int32
		w.onHeartbeat(func(_ int32, req *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
			order = append(order, req.MemberEpoch)
			return ok(req, 0), nil
		})
		w.slowLookup(time.Second)
		var wg sync.WaitGroup
		for _, epoch := range []int32{0, 1, -1} {
			wg.Go(func() {
				req := beat("m")
				req.MemberEpoch = epoch
				ctx, cancel := within(5 * time.Second)
				if epoch == 1 {
					ctx, cancel = within(time.Second / 2) // gives up while it waits for the join
				}
				defer cancel()
				_, err := w.tr.Do(ctx, "g", req)
				if (err != nil) != (epoch == 1) {
					t.Errorf("epoch %d: %v", epoch, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if len(order) != 2 || order[0] != 0 || order[1] != -1 {
			t.Fatalf("epochs arrived as %v", order)
		}
		if n := len(w.tr.lanes); n != 0 {
			t.Fatalf("%d calls left in line", n)
		}
	})
}

func TestLineOfAMemberKeepsItsOrderWhenOneGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := &Transport{lanes: make(map[memberKey]*lane)}
		first, _ := tr.enter(context.Background(), beat("m"))
		ctx, cancel := within(time.Second)
		defer cancel()
		go tr.enter(ctx, beat("m"))
		synctest.Wait()
		var through bool
		go func() {
			third, _ := tr.enter(context.Background(), beat("m"))
			through = true
			third.leave()
		}()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if through {
			t.Fatal("overtook the first call")
		}
		first.pass()
		synctest.Wait()
		if !through {
			t.Fatal("did not follow the first call")
		}
		first.leave()
		if n := len(tr.lanes); n != 0 {
			t.Fatalf("%d calls left in line", n)
		}
	})
}
