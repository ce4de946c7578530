package membertest

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// sink is a Transport that accepts everything and remembers it.
type sink struct {
	mu   sync.Mutex
	got  []int32 // member epochs
	at   []time.Time
	body [][]byte // as they were delivered
	fail error
}

func (s *sink) Do(ctx context.Context, _ string, req kmsg.Request) (kmsg.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.fail != nil {
		return nil, s.fail
	}
	if tr := heartbeat.ContextTrace(ctx); tr != nil {
		tr.Wrote(7)
	}
	resp := req.ResponseKind()
	if hb, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest); ok {
		req.SetVersion(1)
		s.got, s.at, s.body = append(s.got, hb.MemberEpoch), append(s.at, time.Now()), append(s.body, hb.AppendTo(nil))
		resp.(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch = int32(len(s.got))
	}
	return resp, nil
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.got)
}

func heartbeatAt(epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = "g", "m", epoch
	regex, topic := "a.*", kmsg.NewConsumerGroupHeartbeatRequestTopic()
	topic.Partitions = []int32{1, 2}
	req.SubscribedTopicRegex, req.Topics = &regex, []kmsg.ConsumerGroupHeartbeatRequestTopic{topic}
	req.SubscribedTopicNames = []string{"t"}
	return req
}

// faulty runs f in a bubble with a FaultTransport around a sink.
func faulty(t *testing.T, f func(t *testing.T, ft *FaultTransport, s *sink)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := new(sink)
		ft := NewFaultTransport(s)
		t.Cleanup(ft.Close)
		f(t, ft, s)
	})
}

// do sends one heartbeat and says how long that took and what came.
func do(t *testing.T, ft *FaultTransport, timeout time.Duration) (time.Duration, *kmsg.ConsumerGroupHeartbeatResponse, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	began := time.Now()
	resp, err := ft.Do(ctx, "g", heartbeatAt(5))
	hb, _ := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
	return time.Since(began), hb, err
}

func TestActions(t *testing.T) {
	never := func() chan struct{} { return make(chan struct{}) } // in the bubble
	open := func() chan struct{} { ch := make(chan struct{}); close(ch); return ch }
	for _, tt := range []struct {
		name      string
		do        func() Action
		took      time.Duration
		delivered int
		err       error // nil: an answer
		not       error
		epoch     int32 // of the answer
		code      int16
	}{
		{name: "none", do: func() Action { return nil }, delivered: 1, epoch: 1},
		{name: "DropRequest", do: DropRequest, err: ErrFault, not: heartbeat.ErrNotSent},
		{name: "NotSent", do: NotSent, err: heartbeat.ErrNotSent},
		{name: "LoseAnswer", do: LoseAnswer, delivered: 1, err: ErrFault, not: heartbeat.ErrNotSent},
		{name: "Cut", do: Cut, delivered: 1, err: io.ErrUnexpectedEOF, not: heartbeat.ErrNotSent},
		{name: "Delay", do: func() Action { return Delay(3 * time.Second) }, took: 3 * time.Second, delivered: 1, epoch: 1},
		{name: "Delay, too long", do: func() Action { return Delay(time.Minute) }, took: 10 * time.Second, err: context.DeadlineExceeded},
		{name: "HoldRequest", do: func() Action { return HoldRequest(never()) }, took: 10 * time.Second, err: context.DeadlineExceeded},
		{name: "HoldRequest, open", do: func() Action { return HoldRequest(open()) }, delivered: 1, epoch: 1},
		{name: "HoldRequest, for ever", do: func() Action { return HoldRequest(nil) }, took: 10 * time.Second, err: context.DeadlineExceeded},
		{name: "HoldAnswer", do: func() Action { return HoldAnswer(never()) }, took: 10 * time.Second, delivered: 1, err: context.DeadlineExceeded, not: heartbeat.ErrNotSent},
		{name: "HoldAnswer, open", do: func() Action { return HoldAnswer(open()) }, delivered: 1, epoch: 1},
		{name: "HoldAnswer, for ever", do: func() Action { return HoldAnswer(nil) }, took: 10 * time.Second, delivered: 1, err: context.DeadlineExceeded},
		{name: "Duplicate", do: Duplicate, delivered: 2, epoch: 2},
		{name: "Answer", do: func() Action { return Answer(110) }, code: 110},
		{name: "Answer, unknown code", do: func() Action { return Answer(9999) }, code: 9999},
		{name: "AnswerWith", do: func() Action {
			return AnswerWith(func(r *kmsg.ConsumerGroupHeartbeatResponse) kmsg.Response {
				r.MemberEpoch = -7
				return r
			})
		}, delivered: 1, epoch: -7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			faulty(t, func(t *testing.T, ft *FaultTransport, s *sink) {
				in := ft.Inject(Fault{Do: tt.do()})
				took, resp, err := do(t, ft, 10*time.Second)
				synctest.Wait()
				if took != tt.took || s.count() != tt.delivered || !errors.Is(err, tt.err) || tt.not != nil && errors.Is(err, tt.not) {
					t.Errorf("took %v, delivered %d, error %v", took, s.count(), err)
				}
				if tt.err == nil && (resp == nil || resp.MemberEpoch != tt.epoch || resp.ErrorCode != tt.code) {
					t.Errorf("answer %+v", resp)
				}
				if in.Hits() != 1 {
					t.Errorf("%d hits", in.Hits())
				}
				// The fault is used up.
				if took, _, err := do(t, ft, time.Second); took != 0 || err != nil {
					t.Errorf("the next one took %v, error %v", took, err)
				}
			})
		})
	}
}

func TestHeldRequestsArriveLate(t *testing.T) {
	faulty(t, func(t *testing.T, ft *FaultTransport, s *sink) {
		release := make(chan struct{})
		ft.Inject(Fault{Do: HoldRequest(release)})
		ft.Inject(Fault{Do: Delay(30 * time.Second)})
		began, ctx := time.Now(), heartbeat.WithTrace(t.Context(), new(heartbeat.Trace))
		var bodies [][]byte
		for range 2 {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			req := heartbeatAt(5)
			req.SetVersion(1)
			bodies = append(bodies, req.AppendTo(nil))
			if _, err := ft.Do(ctx, "g", req); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			cancel()
			// The owner uses the request again, as members do.
			req.MemberEpoch, *req.SubscribedTopicRegex, req.SubscribedTopicNames[0], req.Topics[0].Partitions[0] = 99, "b", "u", 77
		}
		time.Sleep(time.Minute)
		close(release)
		synctest.Wait()
		if s.count() != 2 || s.at[0].Sub(began) != 31*time.Second || s.at[1].Sub(began) != 62*time.Second {
			t.Fatalf("delivered at %v", s.at)
		}
		for i, b := range s.body {
			if string(b) != string(bodies[i]) {
				t.Errorf("request %d arrived changed", i)
			}
		}
	})
}

func TestHeldRequestAnswersItsCaller(t *testing.T) {
	faulty(t, func(t *testing.T, ft *FaultTransport, s *sink) {
		release := make(chan struct{})
		ft.Inject(Fault{Do: HoldRequest(release)})
		trace := new(heartbeat.Trace)
		ctx, cancel := context.WithTimeout(heartbeat.WithTrace(t.Context(), trace), time.Minute)
		defer cancel()
		time.AfterFunc(time.Second, func() { release <- struct{}{} })
		req := heartbeatAt(5)
		resp, err := ft.Do(ctx, "g", req)
		if err != nil || resp.(*kmsg.ConsumerGroupHeartbeatResponse).MemberEpoch != 1 {
			t.Errorf("got %v, %v", resp, err)
		}
		if trace.Conn() != 7 || req.GetVersion() != 1 {
			t.Errorf("connection %d, version %d", trace.Conn(), req.GetVersion())
		}
	})
}

func TestCloseDropsWhatIsHeld(t *testing.T) {
	faulty(t, func(t *testing.T, ft *FaultTransport, s *sink) {
		ft.Inject(Fault{Do: HoldRequest(make(chan struct{})), Times: -1})
		if _, _, err := do(t, ft, time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		done := make(chan error)
		go func() {
			_, _, err := do(t, ft, time.Hour)
			done <- err
		}()
		synctest.Wait()
		ft.Close()
		if err := <-done; !errors.Is(err, ErrFault) || errors.Is(err, heartbeat.ErrNotSent) {
			t.Errorf("the waiting caller got %v", err)
		}
		if took, _, err := do(t, ft, time.Hour); took != 0 || !errors.Is(err, ErrFault) {
			t.Errorf("after Close: %v, %v", took, err)
		}
		if s.count() != 0 {
			t.Errorf("%d were delivered", s.count())
		}
	})
}

func TestHeldRequestsEndByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no Close
		s := new(sink)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := NewFaultTransport(s).Do(ctx, "g", heartbeatAt(1))
		ft := NewFaultTransport(s)
		ft.Inject(Fault{Do: HoldRequest(make(chan struct{}))})
		_, err2 := ft.Do(ctx, "g", heartbeatAt(1))
		_, err3 := HoldRequest(make(chan struct{}))(ctx, s, "g", heartbeatAt(1))
		if err != nil || !errors.Is(err2, context.DeadlineExceeded) || !errors.Is(err3, context.DeadlineExceeded) {
			t.Error(err, err2, err3)
		}
		time.Sleep(heldAtMost) // a bubble whose goroutines have not ended then panics
	})
}

func TestPanicAndErrorsBelow(t *testing.T) {
	faulty(t, func(t *testing.T, ft *FaultTransport, s *sink) {
		ft.Inject(Fault{Do: Panic()})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _, _ = do(t, ft, time.Second)
		}()
		s.fail = heartbeat.NotSent(errors.New("refused"))
		for _, a := range []Action{LoseAnswer(), Duplicate(), HoldAnswer(nil), Delay(0), AnswerWith(func(r kmsg.Response) kmsg.Response { return nil })} {
			ft.Inject(Fault{Do: a})
			if _, _, err := do(t, ft, time.Second); !errors.Is(err, heartbeat.ErrNotSent) {
				t.Errorf("got %v, want what the Transport said", err)
			}
		}
	})
}

func TestWhichFaultActs(t *testing.T) {
	faulty(t, func(t *testing.T, ft *FaultTransport, s *sink) {
		code := func(want int16) {
			t.Helper()
			if _, resp, err := do(t, ft, time.Second); err != nil || resp.ErrorCode != want {
				t.Errorf("got %+v, %v, want code %d", resp, err, want)
			}
		}
		joins := ft.Inject(Fault{Match: Call.IsJoin, Do: Answer(1)})
		twice := ft.Inject(Fault{Times: 2, Do: Answer(2)})
		always := ft.Inject(Fault{Times: -1, Match: Call.IsBeat, Do: Answer(3)})
		for _, want := range []int16{2, 2, 3, 3} {
			code(want)
		}
		always.Remove()
		always.Remove()
		code(0)
		if _, err := ft.Do(t.Context(), "", kmsg.NewPtrMetadataRequest()); err != nil {
			t.Error(err)
		}
		if joins.Hits() != 0 || twice.Hits() != 2 || always.Hits() != 2 {
			t.Errorf("hits: %d, %d, %d", joins.Hits(), twice.Hits(), always.Hits())
		}
	})
}

func TestCallOf(t *testing.T) {
	name := "i-1"
	join, beat, leave := heartbeatAt(0), heartbeatAt(3), heartbeatAt(-2)
	join.RebalanceTimeoutMillis, leave.InstanceID = 5, &name
	fetch := kmsg.NewPtrOffsetFetchRequest()
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group, group.MemberID = "g", &name
	fetch.Groups = append(fetch.Groups, group)
	commit := kmsg.NewPtrOffsetCommitRequest()
	commit.Group, commit.MemberID, commit.Generation = "g", "m", 4
	for _, tt := range []struct {
		req  kmsg.Request
		want Call
	}{
		{join, Call{Key: 68, Kind: CallJoin, Group: "g", MemberID: "m", Full: true}},
		{beat, Call{Key: 68, Kind: CallBeat, Group: "g", MemberID: "m", Epoch: 3}},
		{leave, Call{Key: 68, Kind: CallLeave, Group: "g", MemberID: "m", InstanceID: "i-1", Epoch: -2}},
		{fetch, Call{Key: 9, Group: "g", MemberID: "i-1", Epoch: group.MemberEpoch}},
		{commit, Call{Key: 8, Group: "g", MemberID: "m", Epoch: 4}},
		{kmsg.NewPtrMetadataRequest(), Call{Key: 3, Group: "x"}},
	} {
		if got := CallOf("x", tt.req); got != tt.want {
			t.Errorf("got %+v, want %+v", got, tt.want)
		}
	}
	if k := []string{CallJoin.String(), CallBeat.String(), CallLeave.String(), CallOther.String(), CallKind(9).String()}; k[4] != "CallKind(9)" || k[0] != "join" {
		t.Error(k)
	}
}

func TestAnswerFitsOtherRequests(t *testing.T) {
	faulty(t, func(t *testing.T, ft *FaultTransport, s *sink) {
		ft.Inject(Fault{Match: func(c Call) bool { return true }, Times: -1, Do: Answer(25)})
		resp, err := ft.Do(t.Context(), "g", kmsg.NewPtrOffsetFetchRequest())
		if r, ok := resp.(*kmsg.OffsetFetchResponse); err != nil || !ok || r.ErrorCode != 25 || r.Groups[0].ErrorCode != 25 {
			t.Errorf("got %+v, %v", resp, err)
		}
		if _, err := ft.Do(t.Context(), "g", kmsg.NewPtrOffsetCommitRequest()); !errors.Is(err, heartbeat.ErrNotSent) {
			t.Errorf("got %v, want a clear word", err)
		}
	})
}
