package scenarios

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// differ plays the same random requests on a peer and on the model, and wants
// the same answers and the same group after each of them. The peer must have
// sessions of at least diffSession, and no assignment interval.
//
// The model takes over the peer's targets, because which of some equally good
// splits an assignor picks is its own affair. All else must be the same down
// to the partition.
type differ struct {
	testing.TB
	rnd    *rand.Rand
	peer   Peer
	model  *model
	prefix string
	group  string

	real    kmsg.ConsumerGroupDescribeResponseGroup // the peer's group after the last step
	clients []*client
	topics  map[string]int32 // topics of this run, by name: their partitions
	trace   []string
}

// client is what one simulated client believes.
type client struct {
	id, instance string
	topics       []string
	epoch        int32
	owned        owned
}

// diffSession is longer than a run, so that no timer interferes.
const diffSession = 45 * time.Second

// Differ plays a number of random steps.
func Differ(t testing.TB, peer Peer, prefix string, seed uint64, steps int) {
	d := &differ{TB: t, peer: peer, prefix: prefix, group: prefix, rnd: rand.New(rand.NewPCG(seed, 0)), topics: map[string]int32{}}
	cfg := config(peer.Version(), 0)
	cfg.SessionTimeout = diffSession
	cfg.Assign = func(coordinator.Group) map[string][]coordinator.TopicPartitions { return d.targets() }
	d.model = newModel(cfg)
	for name, n := range Topics {
		d.adopt(name, n)
	}
	for i := range 3 {
		d.clients = append(d.clients, &client{id: fmt.Sprint("d", i)})
	}
	for i := range 3 {
		d.clients = append(d.clients, &client{id: fmt.Sprint("s", i), instance: fmt.Sprint("i", i)})
	}
	d.look()
	began := time.Now()
	for n := range steps {
		if time.Since(began) > diffSession/2 {
			t.Logf("seed %d: only %d steps in time", seed, n)
			break
		}
		d.step()
	}
}

// fail ends the run with what led to the difference.
func (d *differ) fail(format string, args ...any) {
	d.Helper()
	d.Fatalf("%s\n%s", strings.Join(d.trace, "\n"), fmt.Sprintf(format, args...))
}

func (d *differ) check(err error) {
	d.Helper()
	if err != nil {
		d.fail("%v", err)
	}
}

func (d *differ) log(format string, args ...any) {
	d.trace = append(d.trace, fmt.Sprintf(format, args...))
}

// adopt gives the model a topic of the peer, under the peer's ID.
func (d *differ) adopt(name string, partitions int32) {
	id, err := d.peer.TopicID(name)
	d.check(err)
	d.model.c.CreateTopic(d.model.now, name, id, partitions)
}

// targets are the peer's targets after the last step.
func (d *differ) targets() map[string][]coordinator.TopicPartitions {
	out := map[string][]coordinator.TopicPartitions{}
	for _, m := range d.real.Members {
		for _, t := range m.TargetAssignment.TopicPartitions {
			out[m.MemberID] = append(out[m.MemberID], coordinator.TopicPartitions{ID: t.TopicID, Partitions: t.Partitions})
		}
	}
	return out
}

// send plays one heartbeat on both sides.
func (d *differ) send(q *kmsg.ConsumerGroupHeartbeatRequest) answer {
	d.Helper()
	if d.muddles(q) {
		q.InstanceID = nil
	}
	twin := *q
	real, err := d.peer.Heartbeat(q)
	d.check(err)
	d.log("%s at %d%s: %s %v", q.MemberID, q.MemberEpoch, brief(q), show(real), given(real))
	d.look()
	model, err := d.model.Heartbeat(&twin)
	d.check(err)
	same := real.ErrorCode == model.ErrorCode && real.MemberEpoch == model.MemberEpoch &&
		real.HeartbeatIntervalMillis == model.HeartbeatIntervalMillis &&
		(real.Assignment == nil) == (model.Assignment == nil) &&
		reflect.DeepEqual(sorted(given(real)), sorted(given(model)))
	if !same {
		d.fail("the model answers %s %v\nthe group is now %s", show(model), given(model), picture(d.real))
	}
	d.compare()
	return real
}

// look takes a look at the peer's group.
func (d *differ) look() {
	d.Helper()
	var err error
	d.real, err = d.peer.Describe(d.group)
	d.check(err)
}

// compare wants both groups to look the same.
func (d *differ) compare() {
	d.Helper()
	model, err := d.model.Describe(d.group)
	d.check(err)
	if a, b := picture(d.real), picture(model); a != b {
		d.fail("the groups differ:\n%s\nmodel:\n%s", a, b)
	}
}

// picture prints all of a described group that the model knows.
func picture(g kmsg.ConsumerGroupDescribeResponseGroup) string {
	if g.ErrorCode != 0 {
		return code(g.ErrorCode)
	}
	out := []string{fmt.Sprintf("%s epoch %d, target %d, %s", g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName)}
	for _, m := range g.Members {
		slices.Sort(m.SubscribedTopics)
		instance, regex := "", ""
		if m.InstanceID != nil {
			instance = *m.InstanceID
		}
		if m.SubscribedTopicRegex != nil {
			regex = *m.SubscribedTopicRegex
		}
		out = append(out, fmt.Sprintf("%s i=%q e=%d %q %q has %s, target %s",
			m.MemberID, instance, m.MemberEpoch, m.SubscribedTopics, regex, picked(m.Assignment), picked(m.TargetAssignment)))
	}
	slices.Sort(out[1:])
	return strings.Join(out, "\n")
}

func picked(a kmsg.Assignment) string {
	var out []string
	for _, t := range a.TopicPartitions {
		slices.Sort(t.Partitions)
		out = append(out, fmt.Sprint(t.Topic, t.Partitions))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// sorted orders an assignment for comparison.
func sorted(l owned) owned {
	l = slices.Clone(l)
	for _, t := range l {
		slices.Sort(t.Partitions)
	}
	slices.SortFunc(l, func(a, b kmsg.ConsumerGroupHeartbeatRequestTopic) int {
		return strings.Compare(string(a.TopicID[:]), string(b.TopicID[:]))
	})
	return l
}
