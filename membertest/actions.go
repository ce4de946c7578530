package membertest

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// Action stands in for one call of next.Do. One of your own must keep the rules of
// [heartbeat.Transport]: return soon after ctx ends, and not keep req. Those of this
// package copy a request that outlives its caller.
type Action func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error)

func pass(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
	return next.Do(ctx, group, req)
}

// DropRequest loses the request: it is not delivered, and the caller gets, at
// once, an error that leaves the outcome open. For a network that says nothing
// until the attempt times out, take HoldRequest(nil).
func DropRequest() Action {
	return func(context.Context, heartbeat.Transport, string, kmsg.Request) (kmsg.Response, error) {
		return nil, fmt.Errorf("%w: request lost", ErrFault)
	}
}

// NotSent fails as a dial does: the request is not delivered, and the error says
// that it never will be ([heartbeat.ErrNotSent]).
func NotSent() Action {
	return func(context.Context, heartbeat.Transport, string, kmsg.Request) (kmsg.Response, error) {
		return nil, heartbeat.NotSent(fmt.Errorf("%w: no connection", ErrFault))
	}
}

// LoseAnswer delivers the request, waits for the answer, and drops it: the
// request was applied, and the caller gets an error that leaves that open.
func LoseAnswer() Action {
	return func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		if _, err := next.Do(ctx, group, req); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: answer lost", ErrFault)
	}
}

// Cut fails as a connection that is cut after the request was written: the caller
// gets an error at once, and the request is delivered, at the same time or a
// little later. An answer to it is not looked at.
func Cut() Action {
	return func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		deliver(ctx, next, group, req, func(context.Context) bool { return true })
		return nil, fmt.Errorf("%w: connection cut: %w", ErrFault, io.ErrUnexpectedEOF)
	}
}

// Delay delivers the request after d. If ctx ends before, the caller gets its
// error at once, and the request is delivered all the same when its time has come:
// a network does not take back what it has.
func Delay(d time.Duration) Action {
	return func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		due := time.NewTimer(d)
		return hold(ctx, next, group, req, func(life context.Context) bool {
			defer due.Stop()
			select {
			case <-due.C:
				return true
			case <-life.Done():
				return false
			}
		})
	}
}

// HoldRequest delivers the request when release is closed, or has a value. If ctx
// ends before, the caller gets its error at once, and the request is delivered all
// the same: so a join can arrive after the leave that followed it. Requests are
// held for ten minutes at most. With a nil channel nothing is ever delivered.
func HoldRequest(release <-chan struct{}) Action {
	return func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		if release == nil {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return hold(ctx, next, group, req, func(life context.Context) bool {
			select {
			case <-release:
				return true
			case <-life.Done():
				return false
			}
		})
	}
}

// HoldAnswer delivers the request and keeps the answer until release is closed, or
// has a value, or ctx ends; then the answer is lost. With a nil channel it always is.
func HoldAnswer(release <-chan struct{}) Action {
	return func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		resp, err := next.Do(ctx, group, req)
		if err != nil {
			return nil, err
		}
		select {
		case <-release:
			return resp, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Duplicate delivers the request twice, the second time when the first was
// answered, and returns the second answer: what a client sees whose network
// repeats requests, and loses the answers to the first ones.
func Duplicate() Action {
	return func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		if resp, err := next.Do(ctx, group, req); err != nil {
			return resp, err
		}
		return next.Do(ctx, group, req)
	}
}

// Answer does not deliver the request, and answers it with a Kafka error code, as
// a coordinator would: no assignment, interval 0, member epoch 0. Answer(0) is
// the success that makes no sense.
func Answer(code int16) Action {
	return func(_ context.Context, _ heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		resp := req.ResponseKind()
		resp.SetVersion(req.GetVersion())
		if r, ok := resp.(*kmsg.OffsetFetchResponse); ok {
			g := kmsg.NewOffsetFetchResponseGroup()
			g.Group, g.ErrorCode = group, code
			r.Groups = append(r.Groups, g)
		}
		if f := reflect.ValueOf(resp).Elem().FieldByName("ErrorCode"); f.IsValid() {
			f.SetInt(int64(code))
		} else if code != 0 {
			return nil, heartbeat.NotSent(fmt.Errorf("%w: membertest.Answer knows no place for an error code in a %T", ErrFault, resp))
		}
		return resp, nil
	}
}

// AnswerWith delivers the request and lets change alter the answer, or replace it
// by anything, nil included:
//
//	membertest.AnswerWith(func(r *kmsg.ConsumerGroupHeartbeatResponse) kmsg.Response {
//		r.HeartbeatIntervalMillis = -1
//		return r
//	})
//
// An answer of another type than R stays as it is.
func AnswerWith[R kmsg.Response](change func(R) kmsg.Response) Action {
	return func(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (kmsg.Response, error) {
		resp, err := next.Do(ctx, group, req)
		if r, ok := resp.(R); ok && err == nil {
			return change(r), nil
		}
		return resp, err
	}
}

// Panic panics before anything is delivered, as a wrapper with a bug does.
func Panic() Action {
	return func(context.Context, heartbeat.Transport, string, kmsg.Request) (kmsg.Response, error) {
		panic("membertest: injected panic in a Transport")
	}
}
