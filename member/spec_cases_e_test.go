package member_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// Case 91 (KAFKA-8500): two members start with one name at the same moment: one gets in, the
// other does not, and no partition has two owners. (The rig looks at owners.)
func TestCase91_TwinsAtOnce(t *testing.T) {
	specAll(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		fail := func(c *member.ConsumerConfig) { c.InstanceWait = -1 }
		a, b := r.process(withName("x"), fail), r.process(withName("x"), fail)
		r.sleep(interval)
		in, out := a, b
		if a.Snapshot().State == member.StateFatal {
			in, out = b, a
		}
		out.failed(time.Second, member.ErrInstanceHeld)
		r.settled(in)
		r.that(r.alone(in), "one member")
		in.called("assigned orders[0-11]")
		out.called("")
	})
}

// Case 94 (confluent-kafka-go#649): a static member that closes sends no -1, whatever was called
// before.
func TestCase94_NoMinusOne(t *testing.T) {
	spec(t, brokers.Config{Topics: map[string]int32{"orders": 12, "more": 1}}, func(r *rig) {
		r.ghosts = true
		m := r.join(withName("x"))
		r.equal("SetTopics", m.SetTopics(r.Context(), "more"), error(nil))
		m.Wake()
		m.Alive()
		r.sleep(interval)
		r.on(1, steady, code(kerr.FencedMemberEpoch.Code))
		r.sleep(2 * interval)
		m.leaves()
		for _, b := range m.sent(leaves) {
			r.equal("epoch", b.req.MemberEpoch, int32(-2))
		}
		r.that(len(m.sent(leaves)) == 2, "a release and a leave, got %v", m.sent(leaves))
	})
}

// Case 95 (franz-go b2dc45b6): a name that is not free yet is no error of the application.
func TestCase95_NotFreeYet(t *testing.T) {
	spec(t, brokers.Config{}, func(r *rig) {
		r.ghosts = true
		r.on(2, joins, code(kerr.UnreleasedInstanceID.Code, "owned by member abcdefghijkl"))
		m := r.join(withName("x"))
		r.that(r.now() >= 10*time.Second && r.now() <= 11*time.Second, "two waits of 5 s, got in after %v", r.now())
		m.called("assigned orders[0-11]")
	})
}

// Case 97 (KAFKA-13435): a static member that comes back with another subscription gets it.
func TestCase97_RestartWithMoreTopics(t *testing.T) {
	specAll(t, brokers.Config{Topics: map[string]int32{"orders": 3, "more": 2}}, func(r *rig) {
		r.ghosts = true
		old := r.join(withName("x"))
		old.leaves()
		heir := r.process(withName("x"), topics("more", "orders"))
		r.until("both topics", time.Minute, func() bool { return heir.Snapshot().Assignment.Len() == 5 })
		r.settled(heir)
		r.equal("topics in the join", heir.sent(joins)[0].req.SubscribedTopicNames, []string{"more", "orders"})
	})
}
