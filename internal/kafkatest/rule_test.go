package kafkatest

import (
	"net"
	"testing"
	"time"
)

func TestProxyDropRequest(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c")
	r := p.On(IsJoin, 1, DropRequest())
	p.noBeat(cl, "m", 0)
	p.wait(r.Wait(t.Context(), 1))
	if h := p.records("m", 1)[0]; h.Forwarded || !h.AnsweredAt.IsZero() || h.Lost {
		t.Errorf("%+v", h)
	}
	p.mustBeat(cl, "m", 0)
	if h := p.records("m", 2)[1]; h.Conn != 2 {
		t.Errorf("connection %d", h.Conn)
	}
}

func TestProxyLoseAnswer(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c")
	r := p.On(IsJoin, 1, LoseAnswer())
	if !p.cutBeat(cl, "m", 0) {
		t.Error("not cut")
	}
	p.wait(r.Wait(t.Context(), 1))
	h := p.records("m", 1)[0]
	if !h.Forwarded || !h.Lost || h.AnswerEpoch == 0 {
		t.Errorf("%+v", h)
	}
	p.mustBeat(cl, "m", h.AnswerEpoch) // the broker knows the member
}

func TestProxySwallowAnswer(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c")
	r := p.On(IsJoin, 1, SwallowAnswer())
	if p.noBeat(cl, "m", 0) {
		t.Error("cut")
	}
	p.wait(r.Wait(t.Context(), 1))
	h := p.records("m", 1)[0]
	if !h.Lost {
		t.Errorf("%+v", h)
	}
	p.mustBeat(p.client("other"), "m", h.AnswerEpoch)
}

func TestProxyHoldAnswer(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c")
	p.On(IsJoin, 1, HoldAnswer(100*time.Millisecond))
	begin := time.Now()
	p.mustBeat(cl, "m", 0)
	if d := time.Since(begin); d < 100*time.Millisecond {
		t.Errorf("answer after %v", d)
	}
	if h := p.records("m", 1)[0]; h.AnsweredAt.IsZero() || h.Lost {
		t.Errorf("%+v", h)
	}

	r := p.On(IsLeave, -1, HoldAnswer(time.Hour))
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.mustBeat(cl, "m", -1)
	}()
	_, err := p.WaitHeartbeat(t.Context(), func(h Heartbeat) bool { return h.Epoch == -1 && !h.AnsweredAt.IsZero() })
	p.wait(err)
	r.Release()
	<-done
}

func TestProxyHoldRequest(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c")
	begin := time.Now()
	p.On(IsJoin, 1, HoldRequest(100*time.Millisecond))
	p.mustBeat(cl, "m", 0)
	if d := time.Since(begin); d < 100*time.Millisecond {
		t.Errorf("answer after %v", d)
	}
}

func TestProxyHoldRequestClientGone(t *testing.T) {
	for name, test := range map[string]struct {
		flags     []HoldFlag
		cut       bool // the proxy, not the client's timeout, ends the wait
		forwarded bool
	}{
		"dropped":      {nil, false, false},
		"even if gone": {[]HoldFlag{EvenIfGone}, false, true},
		"cut now":      {[]HoldFlag{CutNow}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxied(t)
			cl := p.client("c")
			r := p.On(IsJoin, 1, HoldRequest(time.Hour, test.flags...))
			ends := p.noBeat
			if test.cut {
				ends = p.cutBeat
			}
			if cut := ends(cl, "m", 0); cut != test.cut {
				t.Errorf("cut: %v", cut)
			}
			cl.Close() // also closes the connection whose request timed out
			p.wait(r.WaitMatched(t.Context(), 1))
			if !test.forwarded {
				for _, open := p.Conns(); open > 0; _, open = p.Conns() {
					time.Sleep(time.Millisecond)
				}
				if h := p.records("m", 1)[0]; h.Forwarded {
					t.Errorf("%+v", h)
				}
				return
			}
			p.CutAll() // does not reach what is held
			r.Release()
			p.wait(r.Wait(t.Context(), 1))
			h := p.records("m", 1)[0]
			if !h.Forwarded || !h.Lost || h.AnswerEpoch == 0 {
				t.Errorf("%+v", h)
			}
			p.mustBeat(p.client("other"), "m", h.AnswerEpoch)
		})
	}
}

func TestProxyStallRule(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c")
	p.On(IsJoin, 1, Stall())
	if p.noBeat(cl, "m", 0) {
		t.Error("cut")
	}
	if h := p.records("m", 1)[0]; h.Forwarded {
		t.Errorf("%+v", h)
	}
	p.mustBeat(p.client("other"), "m", 0)
}

func TestProxyStallAll(t *testing.T) {
	p := newProxied(t)
	old := p.client("old")
	epoch := p.mustBeat(old, "m", 0).MemberEpoch
	p.Stall()
	if p.noBeat(old, "m", epoch) {
		t.Error("old connection cut")
	}
	if p.noBeat(p.client("new"), "m2", 0) {
		t.Error("new connection cut")
	}
	p.Unstall()
	p.beatAgain(old, "m", epoch)
	if h := p.records("m", 3); h[1].Forwarded || !h[2].Forwarded {
		t.Errorf("%+v", h)
	}
}

func TestProxyCutAllAndNoBroker(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c")
	epoch := p.mustBeat(cl, "m", 0).MemberEpoch
	p.CutAll()
	for _, open := p.Conns(); open > 0; _, open = p.Conns() {
		time.Sleep(time.Millisecond)
	}
	p.beatAgain(cl, "m", epoch)
	if h := p.records("m", 2)[1]; h.Conn != 2 {
		t.Errorf("connection %d", h.Conn)
	}

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	down, err := NewProxy(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer down.Close()
	if !(proxied{down, t}).cutBeat((proxied{down, t}).client("c"), "m", 0) {
		t.Error("no broker: not cut")
	}
}

func TestProxyCloseWhileHeld(t *testing.T) {
	p := newProxied(t)
	r := p.On(IsJoin, -1, HoldRequest(time.Hour, EvenIfGone))
	go beat(t.Context(), p.client("c"), "m", 0)
	p.wait(r.WaitMatched(t.Context(), 1))
	p.Close()
	if err := r.Wait(t.Context(), 1); err == nil {
		t.Error("done")
	}
}
