package coordinator

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestRandom runs seeded members that lose answers, leave, die and come back,
// beside topics that come and go, and looks at the invariants after each step.
// A second coordinator gets the same calls and must be in the same state.
func TestRandom(t *testing.T) {
	for _, v := range Versions() {
		t.Run(v.String(), func(t *testing.T) {
			for seed := range uint64(8) {
				randomRun(t, v, seed)
			}
		})
	}
}

func randomRun(t *testing.T, v Version, seed uint64) {
	w := newWorld(t, v, seed)
	for range 300 {
		w.step()
		for _, g := range w.both[0].Groups() {
			checkExclusive(t, g)
		}
	}
	if a, b := w.both[0].Groups(), w.both[1].Groups(); !reflect.DeepEqual(a, b) {
		t.Fatalf("seed %d: the same calls made two states:\n%+v\n%+v", seed, a, b)
	}
	w.settle(seed)
}

// world drives two coordinators with the same random calls.
type world struct {
	t       *testing.T
	rnd     *rand.Rand
	both    [2]*Coordinator
	now     time.Time
	members []*walker
}

// walker is one client. It believes what answers it received.
type walker struct {
	id, instance string
	topics       []string
	epoch        int32
	owned        []TopicPartitions
}

func newWorld(t *testing.T, v Version, seed uint64) *world {
	w := &world{t: t, rnd: rand.New(rand.NewPCG(seed, uint64(v))), now: time.Unix(1_800_000_000, 0)}
	for i := range w.both {
		w.both[i] = New(Config{Version: v, SessionTimeout: 6 * time.Second})
		for n, name := range []string{"a", "b", "c"} {
			w.both[i].CreateTopic(w.now, name, [16]byte{byte(n + 1)}, int32(3+4*n))
		}
	}
	for i := range 5 {
		m := &walker{id: fmt.Sprint("m", i), topics: []string{"a", "b", "c"}[:1+w.rnd.IntN(3)]}
		if i < 2 {
			m.instance = fmt.Sprint("i", i)
		}
		w.members = append(w.members, m)
	}
	return w
}

func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rnd.IntN(400)) * time.Millisecond)
	m := w.members[w.rnd.IntN(len(w.members))]
	switch n := w.rnd.IntN(100); {
	case n < 4:
		w.send(m, -1, true)
	case n < 8 && m.instance != "":
		w.send(m, -2, true)
	case n < 10:
		name, id := []string{"a", "b", "c"}[w.rnd.IntN(3)], [16]byte{byte(w.rnd.IntN(250)), 1}
		parts := int32(w.rnd.IntN(9) + 1)
		for _, c := range w.both {
			c.CreateTopic(w.now, name, id, parts)
		}
	case n < 12:
		for _, c := range w.both {
			c.Expire(w.now, "g", m.id)
		}
	case n < 14:
		m.topics = []string{"a", "b", "c"}[w.rnd.IntN(3):]
	case n < 25:
		w.send(m, m.epoch, false) // the answer is lost
	default:
		w.send(m, m.epoch, true)
	}
}

// send sends one full heartbeat to both and, unless it is lost, believes the
// answer.
func (w *world) send(m *walker, epoch int32, received bool) {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version, q.Group, q.MemberID, q.MemberEpoch = 1, "g", m.id, epoch
	q.RebalanceTimeoutMillis, q.SubscribedTopicNames = 4000, m.topics
	q.InstanceID = optional(m.instance)
	if epoch == 0 {
		m.owned = nil
	}
	owns(m.owned...)(q)
	resp := w.both[0].Heartbeat(w.now, q, Client{})
	if other := w.both[1].Heartbeat(w.now, q, Client{}); !reflect.DeepEqual(resp, other) {
		w.t.Fatalf("two answers to one request: %+v, %+v", resp, other)
	}
	switch {
	case !received:
	case resp.ErrorCode != 0 || epoch < 0:
		m.epoch, m.owned = 0, nil
	default:
		m.epoch = resp.MemberEpoch
		if resp.Assignment != nil {
			m.owned = list(resp)
		}
	}
}

// settle stops all faults: the group must become stable, with every partition
// of a subscribed topic at its target.
func (w *world) settle(seed uint64) {
	for range 60 {
		w.now = w.now.Add(400 * time.Millisecond)
		for _, m := range w.members {
			w.send(m, m.epoch, true)
			if w.t.Failed() {
				return
			}
			if m.instance != "" && m.epoch == 0 { // the way out of the lock-out
				w.send(m, -2, true)
			} else if m.epoch == 0 { // and of the fence of 4.0 and 4.1
				w.send(m, -1, true)
			}
		}
	}
	g, _ := w.both[0].Group("g")
	if g.State != "Stable" || len(g.Members) != len(w.members) {
		w.t.Fatalf("seed %d: the group is %s with %d members", seed, g.State, len(g.Members))
	}
	for _, m := range g.Members {
		if !reflect.DeepEqual(m.Owned, m.Target) {
			w.t.Fatalf("seed %d: %s has %v, its target is %v", seed, m.ID, m.Owned, m.Target)
		}
	}
}

// checkExclusive wants no partition with two members, neither in use nor in
// the target.
func checkExclusive(t *testing.T, g Group) {
	t.Helper()
	owned, target := make(map[slot]string), make(map[slot]string)
	claim := func(index map[slot]string, m Member, list []TopicPartitions) {
		for _, tp := range list {
			for _, n := range tp.Partitions {
				key := slot{tp.ID, n}
				if other, taken := index[key]; taken {
					t.Fatalf("%v is with %s and %s", key, other, m.ID)
				}
				index[key] = m.ID
			}
		}
	}
	for _, m := range g.Members {
		claim(owned, m, m.Assigned)
		claim(owned, m, m.PendingRevocation)
		claim(target, m, m.Target)
	}
}
