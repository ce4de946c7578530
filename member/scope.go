package member

import (
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// scope is what the members of one kgo client share, beside the Transport: the
// names of topic IDs, who is whose sibling, and which names are taken. A client
// stands for a process (rule 22).
type scope struct {
	mu     sync.Mutex
	taken  map[claimKey]weak.Pointer[Consumer]
	groups map[string]*siblings
	keys   uint64

	names  map[topicID]string // what look-ups have found
	askers map[any]*asker     // by askerKey
}

type claimKey struct{ group, kind, name string }

type siblings struct {
	waves   *heartbeat.Waves
	members map[uint64]*Consumer
	timer   *time.Timer
}

var scopes = struct {
	sync.Mutex
	of map[weak.Pointer[kgo.Client]]*scope
}{of: map[weak.Pointer[kgo.Client]]*scope{}}

// scopeOf is the scope of cl; without a client each member has one of its own.
func scopeOf(cl *kgo.Client) *scope {
	if cl == nil {
		return newScope()
	}
	scopes.Lock()
	defer scopes.Unlock()
	key := weak.Make(cl)
	s := scopes.of[key]
	if s == nil {
		s = newScope()
		scopes.of[key] = s
		runtime.AddCleanup(cl, func(key weak.Pointer[kgo.Client]) {
			scopes.Lock()
			defer scopes.Unlock()
			delete(scopes.of, key)
		}, key)
	}
	return s
}

func newScope() *scope {
	return &scope{
		names: map[topicID]string{}, taken: map[claimKey]weak.Pointer[Consumer]{},
		groups: map[string]*siblings{}, askers: map[any]*asker{},
	}
}

// claim takes the member's names in its group: the same member ID or instance ID
// twice in one process would be a member that fences itself (K1082-20, K345-5).
func (s *scope) claim(c *Consumer) faults {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f faults
	for _, k := range c.claims() {
		if s.taken[k].Value() != nil {
			f.add(k.kind, k.name, "a value that no other member of this client has in group "+k.group, nil)
		}
	}
	if len(f) > 0 {
		return f
	}
	for _, k := range c.claims() {
		s.taken[k] = weak.Make(c)
	}
	s.keys++
	c.key = s.keys
	return nil
}

func (c *Consumer) claims() []claimKey {
	keys := []claimKey{{c.id.Group, "MemberID", c.id.MemberID}}
	if c.id.InstanceID != "" {
		keys = append(keys, claimKey{c.id.Group, "InstanceID", c.id.InstanceID})
	}
	return keys
}

func (s *scope) release(c *Consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range c.claims() {
		if s.taken[k].Value() == c {
			delete(s.taken, k)
		}
	}
}

// join makes c a sibling of the members of its group.
func (s *scope) join(c *Consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addAsker(c)
	if c.cfg.Timing.EarlyBeats == 0 {
		return
	}
	g := s.groups[c.id.Group]
	if g == nil {
		g = &siblings{waves: heartbeat.NewWaves(), members: map[uint64]*Consumer{}}
		s.groups[c.id.Group] = g
	}
	g.waves.Add(c.key)
	g.members[c.key] = c
	g.crowd(c)
}

// crowd tells the members when there are many of them, or not any more.
func (g *siblings) crowd(c *Consumer) {
	n := g.waves.Len()
	many := n >= heartbeat.Crowd
	if many && c != nil && n > heartbeat.Crowd {
		c.loop.Post(inCrowd{true})
		return
	}
	if n == heartbeat.Crowd || c == nil && n == heartbeat.Crowd-1 {
		for _, m := range g.members {
			m.loop.Post(inCrowd{many})
		}
	}
}

func (s *scope) leave(c *Consumer) {
	s.mu.Lock()
	if g := s.groups[c.id.Group]; g != nil && g.members[c.key] == c {
		delete(g.members, c.key)
		g.waves.Remove(c.key)
		g.crowd(nil)
		if len(g.members) == 0 {
			g.stop()
			delete(s.groups, c.id.Group)
		}
	}
	over := s.removeAsker(c)
	s.mu.Unlock()
	over.Wait()
}

func (g *siblings) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}

// tell carries the news of a member to its siblings.
func (s *scope) tell(c *Consumer, now time.Time, n siblingNews) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[c.id.Group]; g != nil && g.members[c.key] == c {
		g.waves.Tell(now, c.key, n)
		s.fire(c.id.Group, g, now)
	}
}

func (s *scope) fire(group string, g *siblings, now time.Time) {
	for _, key := range g.waves.Fire(now) {
		if m := g.members[key]; m != nil {
			m.loop.Post(inKick{})
		}
	}
	g.stop()
	if due := g.waves.Due(); !due.IsZero() {
		g.timer = time.AfterFunc(time.Until(due), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.groups[group] == g {
				s.fire(group, g, time.Now())
			}
		})
	}
}
