package membertest

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

type answer struct {
	resp kmsg.Response
	err  error
}

// hold delivers a copy of req when wait says so, and waits for the answer until
// ctx ends.
func hold(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request, wait func(life context.Context) bool) (kmsg.Response, error) {
	got, sent := deliver(ctx, next, group, req, wait)
	select {
	case a := <-got:
		req.SetVersion(sent.GetVersion()) // as a Transport underneath would have
		return a.resp, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// deliver sends a copy of req on a goroutine of its own once wait has returned
// true. The context has the values of ctx, so that a heartbeat.Trace still works,
// but not its end.
func deliver(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request, wait func(life context.Context) bool) (<-chan answer, kmsg.Request) {
	got := make(chan answer, 1)
	sent := copyRequest(req)
	err := detach(next, func(life context.Context) {
		if !wait(life) {
			got <- answer{err: fmt.Errorf("%w: request lost, held to the end of the test", ErrFault)}
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliverWithin)
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		resp, err := guarded(ctx, next, group, sent)
		got <- answer{resp, err}
	})
	if err != nil {
		got <- answer{err: err}
	}
	return got, sent
}

// guarded makes a panic an error: nobody above would catch it.
func guarded(ctx context.Context, next heartbeat.Transport, group string, req kmsg.Request) (resp kmsg.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, fmt.Errorf("transport panicked: %v", p)
		}
	}()
	return next.Do(ctx, group, req)
}

// detach finds a home for a delivery that may outlive its caller. An Action that
// is called without a FaultTransport has none; its deliveries end by themselves.
func detach(next heartbeat.Transport, f func(life context.Context)) error {
	if w, ok := next.(*wire); ok {
		return w.detach(f)
	}
	if next == nil {
		return errors.New("membertest: an Action without a next Transport")
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), heldAtMost)
		defer cancel()
		f(ctx)
	}()
	return nil
}

// copyRequest is a copy of req that shares nothing with it that its owner may
// change.
func copyRequest(req kmsg.Request) kmsg.Request {
	return deepCopy(reflect.ValueOf(req)).Interface().(kmsg.Request)
}

func deepCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deepCopy(v.Index(i)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
	}
	return out
}
