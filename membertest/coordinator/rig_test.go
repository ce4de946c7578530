package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The topics of the measurements: both have twelve partitions.
var (
	t12 = [16]byte{0: 't', 15: 12}
	u12 = [16]byte{0: 'u', 15: 12}
)

// none is the assignment of an answer that has none; zero is an empty one.
const none = -1

// rig is one coordinator under test and its hand-written time. The settings
// are those of the measured brokers.
type rig struct {
	*testing.T
	c   *Coordinator
	v   Version
	now time.Time
}

// each runs a test once per version.
func each(t *testing.T, test func(r *rig)) {
	t.Helper()
	for _, v := range Versions() {
		t.Run(v.String(), func(t *testing.T) { test(newRig(t, v)) })
	}
}

func newRig(t *testing.T, v Version) *rig {
	r := &rig{T: t, v: v, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.c = New(Config{
		Version:           v,
		HeartbeatInterval: 500 * time.Millisecond,
		SessionTimeout:    6 * time.Second,
		MaxGroupSize:      14,
	})
	r.c.CreateTopic(r.now, "t12", t12, 12)
	r.c.CreateTopic(r.now, "u12", u12, 12)
	return r
}

func (r *rig) wait(d time.Duration) { r.now = r.now.Add(d) }

// rest waits until the next change gets its target at once.
func (r *rig) rest() { r.wait(1100 * time.Millisecond) }

// first is the epoch of a new group's first member.
func (r *rig) first() int32 {
	if r.v >= V43 {
		return 2
	}
	return 1
}

type mod func(*kmsg.ConsumerGroupHeartbeatRequest)

func topics(names ...string) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicNames = names }
}

func timeout(ms int32) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.RebalanceTimeoutMillis = ms }
}

func instance(id string) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.InstanceID = &id }
}

func regex(s string) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.SubscribedTopicRegex = &s }
}

func assignor(s string) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.ServerAssignor = &s }
}

func rack(s string) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.RackID = &s }
}

func inGroup(s string) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Group = s }
}

func version(v int16) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Version = v }
}

// owns sets the owned list; without arguments it is empty, not null.
func owns(list ...TopicPartitions) mod {
	return func(q *kmsg.ConsumerGroupHeartbeatRequest) {
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, tp := range list {
			q.Topics = append(q.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: tp.ID, Partitions: tp.Partitions})
		}
	}
}

// ownsNil takes the owned list out again.
func ownsNil(q *kmsg.ConsumerGroupHeartbeatRequest) { q.Topics = nil }

// whole makes a full request out of a heartbeat that has its owned list.
func whole(q *kmsg.ConsumerGroupHeartbeatRequest) {
	q.RebalanceTimeoutMillis = 3000
	q.SubscribedTopicNames = []string{"t12"}
}

// beat sends a heartbeat; without mods it is bare.
func (r *rig) beat(id string, epoch int32, mods ...mod) *kmsg.ConsumerGroupHeartbeatResponse {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version = 1
	q.Group, q.MemberID, q.MemberEpoch = "g", id, epoch
	for _, m := range mods {
		m(q)
	}
	return r.c.Heartbeat(r.now, q, Client{ID: "client", Host: "/127.0.0.1"})
}

// join sends a valid join for t12, changed by mods.
func (r *rig) join(id string, mods ...mod) *kmsg.ConsumerGroupHeartbeatResponse {
	return r.beat(id, 0, append([]mod{whole, owns()}, mods...)...)
}

// ok wants an accepted heartbeat with a member epoch and a number of
// partitions, none for no assignment.
func (r *rig) ok(resp *kmsg.ConsumerGroupHeartbeatResponse, epoch int32, parts int) {
	r.Helper()
	if resp.ErrorCode != 0 || resp.MemberEpoch != epoch || size(resp) != parts {
		r.Fatalf("got %s e=%d asg=%d, want OK e=%d asg=%d",
			name(resp.ErrorCode), resp.MemberEpoch, size(resp), epoch, parts)
	}
	if epoch >= 0 && resp.HeartbeatIntervalMillis != 500 || epoch < 0 && resp.HeartbeatIntervalMillis != 0 {
		r.Fatalf("got interval %d at epoch %d", resp.HeartbeatIntervalMillis, epoch)
	}
}

// refused wants an error, with nothing in it that a client could adopt.
func (r *rig) refused(resp *kmsg.ConsumerGroupHeartbeatResponse, want *kerr.Error) {
	r.Helper()
	if resp.ErrorCode != want.Code {
		r.Fatalf("got %s e=%d asg=%d, want %s", name(resp.ErrorCode), resp.MemberEpoch, size(resp), want.Message)
	}
	if resp.MemberEpoch != 0 || resp.HeartbeatIntervalMillis != 0 || resp.Assignment != nil || resp.ErrorMessage == nil {
		r.Fatalf("the refusal carries more than code and message: %+v", resp)
	}
}

func name(code int16) string {
	if code == 0 {
		return "OK"
	}
	return kerr.TypedErrorForCode(code).Message
}

func size(resp *kmsg.ConsumerGroupHeartbeatResponse) int {
	if resp.Assignment == nil {
		return none
	}
	n := 0
	for _, t := range resp.Assignment.Topics {
		n += len(t.Partitions)
	}
	return n
}

// list turns an answer's assignment into an owned list.
func list(resp *kmsg.ConsumerGroupHeartbeatResponse) (out []TopicPartitions) {
	for _, t := range resp.Assignment.Topics {
		out = append(out, TopicPartitions{ID: t.TopicID, Partitions: t.Partitions})
	}
	return out
}

// all is the whole of a topic.
func all(id [16]byte) TopicPartitions {
	tp := TopicPartitions{ID: id}
	for n := range int32(12) {
		tp.Partitions = append(tp.Partitions, n)
	}
	return tp
}

// member returns the truth about a member.
func (r *rig) member(id string) Member {
	r.Helper()
	g, _ := r.c.Group("g")
	m, ok := g.Member(id)
	if !ok {
		r.Fatalf("there is no member %s", id)
	}
	return m
}

func (r *rig) group() Group {
	g, _ := r.c.Group("g")
	return g
}

func (r *rig) epoch() int32 { return r.group().Epoch }

// assigned is what the broker says a member may use.
func (r *rig) assigned(id string) []TopicPartitions { return r.member(id).Assigned }

// pair makes a settled group: A and B have six partitions each. It returns
// their epoch.
func (r *rig) pair(mods ...mod) int32 {
	r.Helper()
	r.ok(r.join("A", mods...), r.first(), 12)
	return r.second()
}

// second adds a settled B to a settled A.
func (r *rig) second() int32 {
	r.Helper()
	e := r.member("A").Epoch
	r.rest()
	r.ok(r.join("B"), e+1, 0)
	told := r.beat("A", e)
	r.ok(told, e, 6)
	r.ok(r.beat("A", e, owns(list(told)...)), e+1, none)
	r.ok(r.beat("B", e+1), e+1, 6)
	if state := r.group().State; state != "Stable" {
		r.Fatalf("the pair is %s", state)
	}
	r.rest()
	r.beat("A", e+1)
	r.beat("B", e+1)
	return e + 1
}

// told makes a group in which A has twelve partitions, must give up six for B,
// and has just been told. It returns A's old epoch and what it may keep.
func (r *rig) told() (int32, []TopicPartitions) {
	r.Helper()
	e := r.first()
	r.ok(r.join("A"), e, 12)
	r.rest()
	r.ok(r.join("B"), e+1, 0)
	resp := r.beat("A", e)
	r.ok(resp, e, 6)
	return e, list(resp)
}
