package member

import (
	"time"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// callbackDone takes the return of a callback. Nothing leaves the owned list
// before this (rule 17).
func (m *machine) callbackDone(now time.Time, v inCallback) {
	cb := m.own.cb
	if cb.id == 0 || v.id != cb.id {
		return
	}
	m.own.cb, m.own.adding, m.lv.callbackBy = callback{}, nil, time.Time{}
	switch {
	case cb.what == Assigned:
		// Also after an error: the application may hold some of it, so OnLost has to tell.
		m.own.owned = m.own.owned.plus(cb.parts)
	case cb.what == Lost || v.err == nil:
		m.own.owned = m.own.owned.minus(cb.parts)
	}
	m.publish(now)
	m.emit(outEvent, OwnershipInfo{
		Event: m.event(now), What: cb.what, Delta: m.partitions(cb.parts),
		Owned: m.partitions(m.own.owned), Took: v.took, Err: v.err,
	})
	if v.err != nil {
		m.fail(now, v.err, true)
		return
	}
	switch {
	case m.own.losing: // reconcile goes on with OnLost, or with what follows it
	case m.lv.asked:
		if cb.what != Assigned { // the coordinator waits for the word, or evicts
			m.own.revoked = true
			m.delta.Changed(heartbeat.FieldOwned)
		}
		m.lastCallback(now)
	case cb.what == Assigned:
		m.join.rounds++
		if len(cb.parts) > 0 {
			m.acknowledge(now)
		} // none came with the join, which carried the empty owned list: nothing to tell
	case cb.what == Revoked:
		m.own.revoked = true
	case cb.what == Lost:
		m.own.recreated = true
	}
}

// cancelCallback ends the context of the callback that runs: what it is about is
// not so any more. It is still waited for.
func (m *machine) cancelCallback(cause error) {
	if m.own.cb.id != 0 {
		m.emit(outDeadline, callbackDeadline{id: m.own.cb.id, cause: cause})
	}
}

// loseOwned runs OnLost for what is owned after a fence, or goes on if nothing is.
func (m *machine) loseOwned(now time.Time) {
	if len(m.own.owned) == 0 {
		m.own.losing = false
		m.lostAll(now)
		return
	}
	m.own.cbSeq++
	m.own.cb = callback{id: m.own.cbSeq, what: Lost, parts: m.own.owned}
	by := now.Add(m.cfg.Timing.RebalanceTimeout)
	if m.lv.asked && !m.lv.stale {
		by = m.lv.callbackLimit()
		m.lv.callbackBy = m.patience(by)
	}
	m.run(callbackCall{id: m.own.cbSeq, what: Lost, parts: m.partitions(m.own.owned), by: by, cause: ErrRevoking})
}

// run has a callback run.
func (m *machine) run(call callbackCall) {
	m.own.cb.slow = call.by.Add(time.Second)
	m.emit(outCallback, call)
}

// checkCallback tells of one that does not obey the end of its context.
func (m *machine) checkCallback(now time.Time) {
	cb := &m.own.cb
	if cb.slow.IsZero() || now.Before(cb.slow) {
		return
	}
	cb.slow = time.Time{}
	m.notice(now, NoticeSlow, callbackName(cb.what)+" still runs, though its context has ended; nothing goes on before it returns", nil)
}

// lostAll: OnLost has returned, or there was nothing to lose.
func (m *machine) lostAll(now time.Time) {
	m.own.names = map[topicID]string{}
	m.vals.Owned = topicSet{}.wire()
	switch {
	case m.lv.stale:
		m.backFromStale(now)
	case m.lv.asked:
		m.startSendingLeave(now)
	case m.state == StateFenced:
		m.startJoin(now)
		if m.trust.streak++; m.trust.streak > 1 {
			m.sched.Pace(now, m.trust.streak-1)
		} else {
			m.sched.Calm()
		}
	}
}

// resolve finds names for the topic IDs of the target. Those without one are kept
// for later and the rest is handled (KAFKA-16198). wait: the first look-up for a
// new ID is under way; a round waits for it, as a new ID may be an owned topic
// that was made again.
func (m *machine) resolve(now time.Time) (resolvable topicSet, wait bool) {
	var missing []topicID
	l := &m.own.lookup
	for _, t := range m.own.target {
		if _, ok := m.own.names[t.id]; !ok {
			missing = append(missing, t.id)
			wait = wait || !l.tried[t.id]
		}
	}
	if n := len(missing); n != m.own.unresolved {
		m.own.unresolved = n
		m.publish(now)
	}
	if len(missing) == 0 {
		l.next, l.n = time.Time{}, 0
		return m.own.target, false
	}
	if !l.running && (wait || !now.Before(l.next)) {
		l.running, l.next = true, time.Time{}
		m.emit(outLookup, missing)
	}
	named := func(id topicID, _ int32) bool { _, ok := m.own.names[id]; return ok }
	return m.own.target.filter(named), wait
}

// named takes the end of a look-up.
func (m *machine) named(now time.Time, v inNames) {
	l := &m.own.lookup
	if !l.running {
		return // from before a fence
	}
	l.running = false
	if l.tried == nil {
		l.tried = map[topicID]bool{}
	}
	for _, id := range v.asked {
		l.tried[id] = true
		if name, ok := v.names[id]; ok && m.own.target.has(id) {
			m.own.names[id] = name
			m.own.namedAt = now
		}
	}
	l.n++
	l.next = now.Add(min(5*time.Second, 100*time.Millisecond<<min(l.n-1, 6)))
}

func (m *machine) pruneNames() {
	for id := range m.own.names {
		if !m.own.target.has(id) && !m.own.owned.has(id) {
			delete(m.own.names, id)
		}
	}
}
