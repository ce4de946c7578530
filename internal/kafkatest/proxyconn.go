package kafkatest

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// answerWait is how long a broker may take for a request whose client is gone.
const answerWait = 30 * time.Second

// proxyConn is a client's connection and the one to the broker that goes with
// it. Three goroutines work on it: reading the client's requests, forwarding
// them (apart from reading, so that a hold still sees the client go), and
// passing the answers.
type proxyConn struct {
	p      *Proxy
	id     int
	cl, br net.Conn
	queue  chan *inFlight
	gone   chan struct{} // closed when the client is gone
	done   chan struct{} // closed by cut
	once   sync.Once

	dark    atomic.Bool  // nothing passes any more
	stalled atomic.Bool  // dark because of Proxy.Stall
	outlive atomic.Int32 // requests that are to reach the broker without the client

	mu    sync.Mutex
	waits map[int32]*inFlight // by correlation id
}

// inFlight is a request on its way.
type inFlight struct {
	frame       []byte
	correlation int32
	act         Action
	rule        *Rule      // nil: just pass it
	hb          *Heartbeat // nil for other requests; guarded by the proxy's lock
	answered    chan struct{}
}

func (w *inFlight) is(k actionKind) bool { return w != nil && w.rule != nil && w.act.kind == k }

// serve runs a connection to its end.
func (p *Proxy) serve(cl net.Conn) {
	c := &proxyConn{
		p: p, cl: cl, queue: make(chan *inFlight, 64), waits: map[int32]*inFlight{},
		gone: make(chan struct{}), done: make(chan struct{}),
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	br, err := d.DialContext(p.ctx, "tcp", p.target)
	p.mu.Lock()
	if p.ctx.Err() != nil || (err != nil && !p.stalled) {
		p.mu.Unlock()
		cl.Close()
		if br != nil {
			br.Close()
		}
		return
	}
	p.lastConn++
	c.id, c.br = p.lastConn, br
	p.conns[c] = true
	if p.stalled {
		c.stallNow()
	}
	p.mu.Unlock()

	var wg sync.WaitGroup
	wg.Go(c.read)
	if br != nil {
		wg.Go(c.answer)
	}
	c.forward()
	wg.Wait()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// cut closes both connections and ends all that happens on them.
func (c *proxyConn) cut() {
	c.once.Do(func() {
		close(c.done)
		c.cl.Close()
		if c.br != nil {
			c.br.Close()
		}
	})
}

func (c *proxyConn) stallNow() {
	c.stalled.Store(true)
	c.dark.Store(true)
}

// read takes in the client's requests.
func (c *proxyConn) read() {
	defer close(c.queue)
	defer close(c.gone)
	for {
		f, err := readFrame(c.cl)
		if err != nil {
			return
		}
		w := c.arrive(f)
		if w.is(holdRequest) && w.act.flags&CutNow != 0 {
			c.cl.Close()
		}
		select {
		case c.queue <- w:
		case <-c.done:
			return
		}
	}
}

// arrive records a request and finds its rule.
func (c *proxyConn) arrive(f []byte) *inFlight {
	w := &inFlight{frame: f, correlation: -1, answered: make(chan struct{})}
	req, correlation, err := parseRequest(f)
	if err != nil {
		return w // not ours to judge
	}
	w.correlation = correlation
	req.Conn = c.id

	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[requestKind{req.ClientID, req.Key}]++
	if h := req.Heartbeat; h != nil {
		w.hb = &Heartbeat{
			At: time.Now(), Conn: c.id, Version: req.Version, ClientID: req.ClientID, Group: h.Group,
			MemberID: h.MemberID, InstanceID: deref(h.InstanceID), Epoch: h.MemberEpoch, Full: req.full(),
			Bytes: len(f), Request: h,
		}
		p.heartbeats = append(p.heartbeats, w.hb)
	}
	p.notify()
	if p.stalled {
		c.stallNow()
	}
	if c.dark.Load() {
		return w
	}
	for _, r := range p.rules {
		if r.left != 0 && r.match(req) {
			r.left--
			r.matched++
			w.rule, w.act = r, r.act
			if w.act.outlives() {
				c.outlive.Add(1)
			}
			break
		}
	}
	return w
}

// forward passes requests to the broker, in order, until the client is gone
// and all that is to reach the broker has.
func (c *proxyConn) forward() {
	defer c.cut()
	var last *inFlight // the last one that outlives its client
	for w := range c.queue {
		switch {
		case c.dark.Load():
			continue
		case w.is(dropRequest):
			c.cut()
			w.rule.complete()
			return
		case w.is(stall):
			c.dark.Store(true)
			w.rule.complete()
			continue
		case w.is(holdRequest):
			if !c.hold(w) {
				return
			}
		}
		if !c.send(w) {
			return
		}
		if w.act.outlives() {
			last = w
		}
	}
	if last != nil {
		// A broker may drop a request whose connection is closed at once.
		c.pause(answerWait, last.answered, nil)
	}
}

// hold waits as the request's rule says, and says whether to go on.
func (c *proxyConn) hold(w *inFlight) bool {
	gone := c.gone
	if w.act.outlives() {
		gone = nil
	}
	return c.pause(w.act.d, w.rule.release, gone)
}

// pause waits for a time or an event; false is that the connection ended.
func (c *proxyConn) pause(d time.Duration, event, gone <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-event:
	case <-gone:
		return false
	case <-c.done:
		return false
	}
	return true
}

func (c *proxyConn) send(w *inFlight) bool {
	if w.hb != nil {
		c.p.mu.Lock()
		w.hb.Forwarded = true
		c.p.notify()
		c.p.mu.Unlock()
	}
	c.mu.Lock()
	c.waits[w.correlation] = w
	c.mu.Unlock()
	_, err := c.br.Write(w.frame)
	return err == nil
}

// answer passes the broker's answers.
func (c *proxyConn) answer() {
	for {
		f, err := readFrame(c.br)
		if err != nil {
			c.cut()
			return
		}
		correlation := answerCorrelation(f)
		c.mu.Lock()
		w := c.waits[correlation]
		delete(c.waits, correlation)
		c.mu.Unlock()
		if w == nil {
			w = &inFlight{answered: make(chan struct{})}
		}
		c.pass(w, f)
		close(w.answered)
		w.rule.complete()
	}
}

// pass does to an answer what its rule says.
func (c *proxyConn) pass(w *inFlight, f []byte) {
	if w.is(swallowAnswer) {
		c.dark.Store(true)
	}
	lost := c.record(w, f)
	switch {
	case w.is(loseAnswer):
		c.cut()
		return
	case lost:
		return
	case w.is(holdAnswer):
		c.pause(w.act.d, w.rule.release, nil)
	}
	if c.dark.Load() { // since the hold began
		c.lose(w)
	} else if _, err := c.cl.Write(f); err != nil {
		c.lose(w) // the reader notices that the client is gone
	}
}

// record adds the answer to the record, and says whether the client is not to
// have it. What is recorded is there before the client has the answer.
func (c *proxyConn) record(w *inFlight, f []byte) (lost bool) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled {
		c.stallNow()
	}
	lost = c.dark.Load() || w.is(loseAnswer)
	if h := w.hb; h != nil {
		h.AnsweredAt, h.AnswerBytes, h.Lost = time.Now(), len(f), lost
		if resp := parseHeartbeatAnswer(f, h.Version); resp != nil {
			h.Answer, h.ErrorCode, h.AnswerEpoch = resp, resp.ErrorCode, resp.MemberEpoch
			h.Interval = time.Duration(resp.HeartbeatIntervalMillis) * time.Millisecond
		}
		p.notify()
	}
	return lost
}

func (c *proxyConn) lose(w *inFlight) {
	if w.hb != nil {
		c.p.mu.Lock()
		w.hb.Lost = true
		c.p.notify()
		c.p.mu.Unlock()
	}
}
