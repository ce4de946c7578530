package heartbeat

import (
	"slices"
	"time"
)

const (
	// Crowd is the number of members of one group in one process from which on
	// early heartbeats are rationed, and no member plans any of its own.
	Crowd = 11

	waveEvery  = time.Second            // a change that has to be carried to everybody: at most so often
	coalesce   = 3 * time.Millisecond   // news that come together are carried together
	scoutEvery = 300 * time.Millisecond // while a new target is due and nobody has seen it
	scouts     = 5
)

// News is what one member tells its siblings, the members of its group in its
// process, after an answer.
type News struct {
	Epoch  int32 // member epoch; 0: not in the group
	Owned  int   // partitions owned
	Change bool  // it joined or left: a new target is due
	Freed  bool  // it gave partitions up and the coordinator knows

	Interval time.Duration // the heartbeat interval in force
}

// Waves decides which siblings should send a heartbeat early (rule 21). Members
// of one process and group can tell each other what a coordinator tells each of
// them only when it asks:
//   - a member epoch newer than one's own means that a new target exists, which one
//     has not heard of yet: whoever is behind should ask, those that own the most
//     first, as they are the likely ones to give something up;
//   - partitions given up and acknowledged are ready for whoever waits for them, most
//     likely those that own less;
//   - after a join or a leave a new target is due, but from 4.3 on it is made
//     within some heartbeat, at most once a second: one member asks for all.
//
// A wave starts at most once a second; what comes meanwhile is absorbed by it. In a
// crowd a token bucket keeps all early heartbeats below twice the plain
// ones: a burst of one each, then as many as the plain ones.
//
// The zero value is not ready; see [NewWaves].
type Waves struct {
	sibs     []*sibling // in the order of joining, so that the same news give the same kicks
	newest   int32      // member epoch
	lastWave time.Time
	due      time.Time // of the next Fire
	scoutAt  time.Time
	scouting int
	tokens   float64
	filled   time.Time
	interval time.Duration
}

type sibling struct {
	id    uint64
	epoch int32
	owned int
	told  int32 // kicked for this epoch
	wants bool  // something was freed that may be for it
}

// NewWaves is for one group of one process.
func NewWaves() *Waves { return &Waves{interval: DefaultInterval} }

// Len is the number of members.
func (w *Waves) Len() int { return len(w.sibs) }

// Add adds a member that starts.
func (w *Waves) Add(id uint64) { w.sibs = append(w.sibs, &sibling{id: id}) }

// Remove takes a member out.
func (w *Waves) Remove(id uint64) {
	w.sibs = slices.DeleteFunc(w.sibs, func(s *sibling) bool { return s.id == id })
	if len(w.sibs) == 0 {
		*w = *NewWaves()
	}
}

// Tell takes the news of member id.
func (w *Waves) Tell(now time.Time, id uint64, n News) {
	if n.Interval > 0 {
		w.interval = n.Interval
	}
	var from *sibling
	for _, s := range w.sibs {
		if s.id == id {
			from = s
		}
	}
	if from == nil {
		return
	}
	from.epoch, from.owned, from.wants = n.Epoch, n.Owned, false
	if n.Epoch > w.newest {
		w.newest = n.Epoch
		w.scouting = 0 // the new target is here
	} else if n.Change {
		w.scouting, w.scoutAt = scouts, now.Add(scoutEvery)
	}
	if n.Change && n.Epoch == 0 {
		// It left. In a group that was at rest any heartbeat brings the new target.
		w.scouting, w.scoutAt = scouts, now
		for _, s := range w.sibs {
			s.wants = s.epoch > 0
		}
	}
	if n.Freed {
		for _, s := range w.sibs {
			if s != from && s.epoch == w.newest && (s.owned < n.Owned || s.owned == 0) {
				s.wants = true
			}
		}
	}
	w.plan(now)
}

// behind reports whether s has not heard of the newest target.
func (w *Waves) behind(s *sibling) bool {
	return s.epoch > 0 && s.epoch < w.newest && s.told < w.newest
}

func (w *Waves) plan(now time.Time) {
	w.due = time.Time{}
	at := func(t time.Time) {
		if w.due.IsZero() || t.Before(w.due) {
			w.due = t
		}
	}
	for _, s := range w.sibs {
		if s.wants {
			at(now.Add(coalesce))
		}
		if w.behind(s) {
			at(latest(now.Add(coalesce), w.lastWave.Add(waveEvery)))
		}
	}
	if w.scouting > 0 {
		at(w.scoutAt)
	}
	if !w.due.IsZero() && w.crowded() && w.refill(now) < 1 {
		w.due = latest(w.due, now.Add(w.interval/time.Duration(len(w.sibs))))
	}
}

// Due is when Fire has something to do; zero: never.
func (w *Waves) Due() time.Time { return w.due }

// Fire returns the members that should send a heartbeat now.
func (w *Waves) Fire(now time.Time) []uint64 {
	if w.due.IsZero() || now.Before(w.due) {
		return nil
	}
	var kicks []uint64
	wave := !now.Before(w.lastWave.Add(waveEvery))
	w.refill(now)
	kick := func(s *sibling) bool {
		if w.crowded() {
			if w.tokens < 1 {
				return false
			}
			w.tokens--
		}
		kicks = append(kicks, s.id)
		s.told, s.wants = w.newest, false
		return true
	}
	for _, s := range w.by(func(a, b *sibling) int { return a.owned - b.owned }) {
		if s.wants && !kick(s) {
			break
		}
	}
	if wave {
		for _, s := range w.by(func(a, b *sibling) int { return b.owned - a.owned }) {
			if !w.behind(s) {
				continue
			}
			w.lastWave = now
			if !kick(s) {
				break
			}
		}
	}
	if w.scouting > 0 && !now.Before(w.scoutAt) {
		w.scouting--
		w.scoutAt = now.Add(scoutEvery)
		if s := w.scout(); s != nil && len(kicks) == 0 {
			kick(s)
		}
	}
	w.plan(now)
	return kicks
}

// scout is who asks for all: who owns least has the most to win.
func (w *Waves) scout() *sibling {
	for _, s := range w.by(func(a, b *sibling) int { return a.owned - b.owned }) {
		if s.epoch > 0 {
			return s
		}
	}
	return nil
}

func (w *Waves) by(cmp func(a, b *sibling) int) []*sibling {
	out := slices.Clone(w.sibs)
	slices.SortStableFunc(out, cmp)
	return out
}

func (w *Waves) crowded() bool { return len(w.sibs) >= Crowd }

// refill brings the token bucket up to date: a burst of one heartbeat a member,
// and as many a second as the plain ones are.
func (w *Waves) refill(now time.Time) float64 {
	n := float64(len(w.sibs))
	if w.filled.IsZero() {
		w.tokens = n
	} else {
		w.tokens += n * now.Sub(w.filled).Seconds() / w.interval.Seconds()
	}
	w.filled = now
	w.tokens = min(w.tokens, n)
	return w.tokens
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
