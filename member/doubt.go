package member

import "time"

// doubting is what the coordinator may have done, or may still do, that no answer
// has told. An assignment is told once, in the answer to the request that made it.
type doubting struct {
	since time.Time // send time of the first request of unknown outcome since the last accepted full one
	until time.Time // a request that got no answer is taken for lost then; zero: there is none
	conn  uint64    // that it was written on; 0: not known
}

// doubt: request f may have been applied. Nothing is known of what the coordinator
// holds, so the next heartbeat is full (rule 5). If f got no answer, it may also
// arrive later, behind heartbeats that were answered, and take a new assignment
// with it: so they stay full until one was accepted that was sent when it could not
// any more, by the bound of rule 2 or as the connection proves. Full ones are free of
// side effects (measured on 4.0 to 4.4).
func (m *machine) doubt(f flight, unanswered bool) {
	m.delta.Reset()
	m.change.unsure = m.change.active
	d := &m.doubts
	if d.since.IsZero() {
		d.since = f.sent
	}
	if !unanswered {
		return
	}
	if !d.until.IsZero() && d.conn != f.conn {
		f.conn = 0 // two connections: neither proves anything of the other
	}
	d.until, d.conn = f.by.Add(m.cfg.Timing.LeaveTimeout), f.conn
}

// answered: a later request on conn was answered.
func (d *doubting) answered(conn uint64) {
	if conn != 0 && conn == d.conn {
		d.until, d.conn = time.Time{}, 0
	}
}

// accepted: f was. It returns the earliest time at which the coordinator can have
// begun to wait for what the answer asks for; last is when the heartbeat was sent that
// was accepted before.
func (d *doubting) accepted(f flight, last time.Time) (told time.Time) {
	told = f.sent
	if !d.until.IsZero() {
		told = earliest(last, told)
	}
	told = earliest(d.since, told)
	if !f.full {
		return told // what was told in a lost answer is still not known
	}
	d.since = time.Time{}
	if !f.sent.Before(d.until) {
		d.until, d.conn = time.Time{}, 0
	}
	return told
}
