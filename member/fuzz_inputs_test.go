package member

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// fuzzBytes reads numbers from what the fuzzer has; zeros when it is used up.
type fuzzBytes []byte

func (b *fuzzBytes) next() byte {
	if len(*b) == 0 {
		return 0
	}
	v := (*b)[0]
	*b = (*b)[1:]
	return v
}

var fuzzCodes = []int16{0, 0, 0, 0, -1, 7, 14, 15, 16, 24, 25, 29, 30, 69, 81, 82, 89, 110, 111, 112, 113, 128, 999}

// FuzzInputs feeds a machine any sequence of steps, those that no host would make
// among them.
func FuzzInputs(f *testing.F) {
	f.Add([]byte{0, 0, 0, 5, 17, 1, 2, 0, 3, 0, 10, 40, 10, 80, 0, 1, 5, 3})
	f.Add([]byte{1, 1, 10, 90, 0, 0, 9, 33, 1, 2, 4, 0, 12, 10, 200, 5, 1, 10, 200, 1, 0})
	f.Add([]byte{14, 0, 0, 5, 17, 1, 2, 3, 7, 1, 1, 10, 9, 0, 17, 10, 100, 3, 10, 255, 10, 255, 6, 0, 0, 3})
	f.Add([]byte{3, 0, 0, 5, 34, 1, 2, 0, 8, 2, 10, 20, 0, 12, 0, 0, 10, 100, 5, 0, 3, 0, 0, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		b := fuzzBytes(data)
		h := newFuzzHost(t, b.next())
		for i := 0; len(b) > 0 && !h.done && i < 400; i++ {
			h.fuzzStep(&b)
		}
		h.end()
	})
}

func (h *fuzzHost) fuzzStep(b *fuzzBytes) {
	switch b.next() % 14 {
	case 0, 1:
		code := fuzzCodes[int(b.next())%len(fuzzCodes)]
		epoch, n := int32(int8(b.next())), min(int(b.next()%8), len(*b))
		h.answer(int(b.next()), fuzzResponse(code, epoch, int32(int8(b.next()))*200, int32(int8(b.next())), "", (*b)[:min(n, len(*b))]), nil, uint64(b.next()%4))
		*b = (*b)[min(n, len(*b)):]
	case 2:
		errs := []error{io.EOF, context.DeadlineExceeded, heartbeat.NotSent(io.EOF), context.Canceled}
		h.answer(int(b.next()), nil, errs[b.next()%4], uint64(b.next()%4))
	case 3:
		h.names()
	case 4:
		h.host(inNames{[]topicID{{b.next()}}, map[topicID]string{{b.next()}: "n"}})
	case 5:
		h.host(inLeave{LeaveOperation(b.next() % 3)})
	case 6:
		var err error
		if b.next()%8 == 7 {
			err = &CallbackError{Callback: "fuzz", Err: errors.New("told to fail")}
		}
		h.returns(err)
	case 7:
		h.host(inChange{uint64(b.next()), []string{string('a' + rune(b.next()%4))}, []string{"", "r", "s"}[b.next()%3]})
	case 8:
		id := uint64(b.next())
		if h.cb != nil && h.cb.id == id {
			h.cb = nil
		}
		h.host(inCallback{id: id})
	case 9:
		if kind := heartbeat.InputKind(b.next() % 4); kind == heartbeat.InReply {
			h.reply(uint64(b.next()), kmsg.NewPtrOffsetFetchResponse(), nil, uint64(b.next()))
		} else {
			h.step(heartbeat.Input{Kind: kind, Seq: uint64(b.next()), Conn: uint64(b.next())})
		}
	case 10:
		h.pass(time.Duration(b.next()) * 100 * time.Millisecond)
	case 11:
		h.host([]any{inWake{}, inKick{}, inCrowd{true}, inCrowd{false}, inClosed{}, nil}[b.next()%6])
	case 12:
		h.host(inAlive{h.time().Add(-time.Duration(b.next()) * time.Second / 4)})
	case 13:
		h.answer(int(b.next()), kmsg.NewPtrOffsetFetchResponse(), nil, uint64(b.next()%4))
	}
}

// end leaves, with a broker that answers: that must come to an end.
func (h *fuzzHost) end() {
	h.host(inLeave{LeaveGroup})
	for i := 0; i < 2000 && !h.done; i++ {
		h.answer(0, fuzzResponse(0, -1, 0, 0, "", nil), nil, 1)
		h.returns(nil)
		h.pass(100 * time.Millisecond)
	}
	if !h.done {
		h.t.Fatalf("%v: does not end", h.m.state)
	}
}
