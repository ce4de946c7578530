package member_test

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fault says what becomes of a heartbeat: see brokers.HeartbeatHook. apply hands
// it to the coordinator.
type fault func(w *wire, q request, apply func() response) (response, error)

var errCut = errors.New("cut by the test")

// lost: applied, and the connection is cut before the answer.
func lost(_ *wire, _ request, apply func() response) (response, error) { apply(); return nil, errCut }

// dropped: cut before it was read.
func dropped(*wire, request, func() response) (response, error) { return nil, errCut }

// mute: applied and never answered.
func mute(_ *wire, _ request, apply func() response) (response, error) { apply(); return nil, nil }

// ignored: neither applied nor answered.
func ignored(*wire, request, func() response) (response, error) { return nil, nil }

// code refuses with an error code, and a text. It is not applied.
func code(n int16, texts ...string) fault {
	return func(*wire, request, func() response) (response, error) {
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = n
		if len(texts) > 0 {
			resp.ErrorMessage = &texts[0]
		}
		return resp, nil
	}
}

// appliedBut applies, and answers with an error code all the same.
func appliedBut(n int16) fault {
	return func(w *wire, q request, apply func() response) (response, error) {
		apply()
		return code(n)(w, q, apply)
	}
}

// mangled applies, and changes the answer.
func mangled(f func(response)) fault {
	return func(_ *wire, _ request, apply func() response) (response, error) {
		resp := apply()
		f(resp)
		return resp, nil
	}
}

// held applies at once and answers after d.
func held(d time.Duration) fault {
	return func(w *wire, _ request, apply func() response) (response, error) {
		resp := apply()
		w.sleep(d)
		return resp, nil
	}
}

// delayed applies after d.
func delayed(d time.Duration) fault {
	return func(w *wire, _ request, apply func() response) (response, error) {
		w.sleep(d)
		return apply(), nil
	}
}

// sleep holds a request of one connection up, and the ones behind it.
func (w *wire) sleep(d time.Duration) {
	w.asleep.Add(1)
	defer w.asleep.Add(-1)
	w.c.Kfake().SleepControl(func() { time.Sleep(d) })
}
