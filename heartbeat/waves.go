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
	lull       = 500 * time.Millisecond // nobody has joined or left for so long: time to tell a crowd
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

	Sent     time.Time     // when the heartbeat was sent that was answered; zero: just now
	Interval time.Duration // the heartbeat interval in force
}

// Waves decides which siblings should send a heartbeat early (rule 21). Members
// of one process and group can tell each other what a coordinator tells each of
// them only when it asks:
//   - a member epoch newer than one's own means that a new target exists, which one
//     has not heard of yet: whoever is behind should ask, in a wave;
//   - partitions given up and acknowledged are ready for whoever waits for them, most
//     likely those that own least;
//   - after a join or a leave a new target is due, but from 4.3 on it is made
//     within some heartbeat, at most once a second: one member asks for all.
//
// A wave starts at most once a second; what comes meanwhile is absorbed by it.
//
// In a crowd a wave costs as much as a whole interval of plain heartbeats, so it
// must not be spent while the next change is on its way: it waits for a lull, and
// for a token for each that it wakes. The token bucket keeps the early heartbeats of a
// crowd at no more than twice the plain ones over any 10 s, whatever happens.
//
// The zero value is not ready; see [NewWaves].
type Waves struct {
	sibs     []*sibling // in the order of joining, so that the same news give the same kicks
	newest   int32      // member epoch
	freed    int        // partitions given up since newest came
	changed  time.Time  // when somebody joined or left
	left     bool       // it left
	lastWave time.Time
	heard    time.Time // the first news since the last Fire; zero: none
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
	told  int32     // kicked for this epoch
	wants time.Time // since when something is free that may be for it; zero: nothing
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
	i := slices.IndexFunc(w.sibs, func(s *sibling) bool { return s.id == id })
	if i < 0 {
		return
	}
	if n.Interval > 0 {
		w.interval = n.Interval
	}
	from := w.sibs[i]
	freed := max(1, from.owned-n.Owned)
	from.epoch, from.owned = n.Epoch, n.Owned
	if n.Epoch == 0 || n.Sent.IsZero() || !n.Sent.Before(from.wants) { // else it had asked before, and was told nothing of it
		from.wants = time.Time{}
	}
	if n.Change {
		w.changed, w.left = now, n.Epoch == 0
	}
	fresh := n.Epoch > w.newest
	if fresh { // a new target is here
		w.newest, w.freed, w.scouting = n.Epoch, 0, 0
	}
	switch {
	case n.Change && n.Epoch == 0: // It left. In a group that was at rest any heartbeat brings the new target.
		w.scouting, w.scoutAt = scouts, now
		if !w.crowded() {
			w.offer(now, from, len(w.sibs))
		}
	case n.Change && (!fresh || w.crowded()):
		// Of a crowd it may have been told of the target before its own; with few, who joined asks.
		w.scouting, w.scoutAt = scouts-1, now.Add(scoutEvery)
	case n.Freed:
		w.freed += freed
		w.offer(now, from, w.freed)
	}
	if w.heard.IsZero() {
		w.heard = now
	}
	w.plan(now)
}

// offer marks those that what from gave up may be for: of a crowd the n that own
// least, else all that own less.
func (w *Waves) offer(now time.Time, from *sibling, n int) {
	for _, s := range w.byOwned() {
		if s == from || s.epoch == 0 {
			continue
		}
		if w.crowded() {
			if n--; n < 0 {
				return
			}
		} else if from.epoch > 0 && (s.epoch < w.newest || s.owned >= from.owned && s.owned > 0) {
			continue
		}
		s.wants = now
	}
}

// behind reports whether s has not heard of the newest target.
func (w *Waves) behind(s *sibling) bool {
	return s.epoch > 0 && s.epoch < w.newest && s.told < w.newest
}

// plan sets due.
func (w *Waves) plan(now time.Time) {
	w.due = time.Time{}
	at := func(t time.Time) {
		if w.due.IsZero() || t.Before(w.due) {
			w.due = t
		}
	}
	soon, behind := latest(now, w.heard.Add(coalesce)), 0
	for _, s := range w.sibs {
		if !s.wants.IsZero() {
			at(latest(soon, w.affordable(now, 1+w.reserve(now))))
		}
		if w.behind(s) {
			behind++
		}
	}
	if behind > 0 {
		at(latest(soon, w.waveAt(now, behind)))
	}
	if w.scouting > 0 {
		at(latest(w.scoutAt, w.affordable(now, 1)))
	}
}

// waveAt is when a wave that wakes n may start.
func (w *Waves) waveAt(now time.Time, n int) time.Time {
	t := w.lastWave.Add(waveEvery)
	if !w.crowded() {
		return t
	}
	return latest(latest(t, w.calmAt()), w.affordable(now, n))
}

// calmAt is when the last join or leave is so far back that no other is expected, and
// its target is here or will not come by asking.
func (w *Waves) calmAt() time.Time {
	t := w.changed.Add(lull)
	if w.scouting > 0 {
		t = latest(t, w.scoutAt.Add(time.Duration(w.scouting-1)*scoutEvery))
	}
	return t
}

// Due is when Fire has something to do; zero: never.
func (w *Waves) Due() time.Time { return w.due }

// Fire returns the members that should send a heartbeat now.
func (w *Waves) Fire(now time.Time) []uint64 {
	if w.due.IsZero() || now.Before(w.due) {
		return nil
	}
	var wake []*sibling
	sibs := w.byOwned()
	for _, s := range sibs {
		if !s.wants.IsZero() && !now.Before(w.affordable(now, 1+len(wake)+w.reserve(now))) {
			wake = append(wake, s)
		}
	}
	// Those that own most come first: they are likely to have to give something up.
	slices.Reverse(sibs)
	ahead := func(s *sibling) bool { return !w.behind(s) || slices.Contains(wake, s) }
	if all := slices.DeleteFunc(slices.Clone(sibs), ahead); len(all) > 0 && !now.Before(w.waveAt(now, len(all))) {
		w.lastWave = now
		wake = append(wake, all...)
	}
	if w.scouting > 0 && !now.Before(w.scoutAt) {
		w.scouting--
		w.scoutAt = now.Add(scoutEvery)
		if s := w.scout(sibs); s != nil && len(wake) == 0 {
			wake = append(wake, s)
		}
	}
	var kicks []uint64
	for _, s := range wake {
		if !w.spend(now) {
			break
		}
		kicks = append(kicks, s.id)
		s.told, s.wants = w.newest, time.Time{}
	}
	w.heard = time.Time{}
	w.plan(now)
	return kicks
}

// scout is who asks for all, of sibs, those that own most first. After a join it is
// one that may have to give something up; who has nothing asks by itself, unless in a
// crowd. After a leave it is one that may get something.
func (w *Waves) scout(sibs []*sibling) *sibling {
	var last *sibling
	for _, s := range sibs {
		if s.epoch > 0 && (w.left || s.owned > 0 || w.crowded()) {
			if last = s; !w.left {
				break
			}
		}
	}
	return last
}

func (w *Waves) byOwned() []*sibling {
	out := slices.Clone(w.sibs)
	slices.SortStableFunc(out, func(a, b *sibling) int { return a.owned - b.owned })
	return out
}

func (w *Waves) crowded() bool { return len(w.sibs) >= Crowd }

// The token bucket of a crowd of n: n tokens an interval, which is the plain rate, and
// a burst of what 10 s bring, but no more than two each.
func (w *Waves) burst() float64 {
	return float64(len(w.sibs)) * min(2, 10/w.interval.Seconds())
}

func (w *Waves) perSecond() float64 { return float64(len(w.sibs)) / w.interval.Seconds() }

// reserve is what has to stay in the bucket for the wave at the end of the changes.
func (w *Waves) reserve(now time.Time) int {
	if now.Before(w.calmAt()) {
		return len(w.sibs)
	}
	return 0
}

func (w *Waves) refill(now time.Time) {
	w.tokens += w.perSecond() * now.Sub(w.filled).Seconds()
	if w.filled.IsZero() {
		w.tokens = w.burst() / 2
	}
	w.tokens, w.filled = min(w.tokens, w.burst()), now
}

// affordable is when there are tokens for n heartbeats, or the bucket is full.
func (w *Waves) affordable(now time.Time, n int) time.Time {
	if !w.crowded() {
		return now
	}
	w.refill(now)
	missing := min(float64(n), w.burst()) - w.tokens
	if missing <= 0 {
		return now
	}
	return now.Add(time.Duration(missing/w.perSecond()*float64(time.Second)) + time.Millisecond)
}

// spend takes a token, if the members are a crowd and there is one.
func (w *Waves) spend(now time.Time) bool {
	if now.Before(w.affordable(now, 1)) {
		return false
	}
	if w.crowded() {
		w.tokens--
	}
	return true
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
