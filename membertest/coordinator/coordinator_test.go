package coordinator

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestParseVersion(t *testing.T) {
	for in, want := range map[string]Version{
		"4.0": V40, "4.0.2": V40, "4.1.2": V41, "4.2.0-rc1": V42, "4.3.1": V43, "4.4": V44, "4.4.0": V44,
		"": 0, "4": 0, "4.5": 0, "3.9.1": 0, "4.40": 0, "latest": 0,
	} {
		got, err := ParseVersion(in)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("ParseVersion(%q) = %v, %v", in, got, err)
		}
	}
	if got := Version(0).String(); got != "4.4" {
		t.Errorf("the zero version prints as %s", got)
	}
}

func TestConfigDefaults(t *testing.T) {
	for _, v := range append(Versions(), 0) {
		if got := (Config{Version: v, AssignmentInterval: time.Minute}).withDefaults().AssignmentInterval; (got != 0) != (v == 0 || v >= V43) {
			t.Errorf("%v: a set interval became %v", v, got)
		}
		got := Config{Version: v}.withDefaults()
		interval := time.Duration(0)
		if v == 0 || v >= V43 {
			interval = time.Second
		}
		if got.HeartbeatInterval != 5*time.Second || got.SessionTimeout != 45*time.Second ||
			got.RegexRefreshInterval != 10*time.Second || got.AssignmentInterval != interval {
			t.Errorf("%v: got %+v", v, got)
		}
	}
}

// Whatever a client sends, the model answers.
func TestHostileRequests(t *testing.T) {
	each(t, func(r *rig) {
		huge := make([]int32, 100_000)
		for i := range huge {
			huge[i] = int32(i - 50_000)
		}
		r.c.CreateTopic(r.now, "none", [16]byte{8}, -5)
		r.join("A", topics("t12", "none"))
		q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		r.c.Heartbeat(r.now, q, Client{})
		for _, epoch := range []int32{0, 1, 2, 3, -1, -2, -3, math.MaxInt32, math.MinInt32} {
			for _, ms := range []int32{-1, 0, -2, math.MinInt32, math.MaxInt32} {
				r.beat("A", epoch, timeout(ms))
				r.beat("A", epoch, whole, timeout(ms), owns(TopicPartitions{ID: t12, Partitions: huge}))
				r.beat("A", epoch, whole, timeout(ms), owns(TopicPartitions{}))
				r.join("B", timeout(ms))
			}
		}
		r.c.LeaveClassic(r.now, &kmsg.LeaveGroupRequest{Group: "g"})
		r.c.LeaveClassic(r.now, &kmsg.LeaveGroupRequest{Group: "g", Version: 5})
		r.c.Describe(r.now, &kmsg.ConsumerGroupDescribeRequest{Groups: []string{"", "g", "g"}})
		r.c.RemoveInstance(r.now, "g", "")
		r.c.DeleteTopic(r.now, "")
		checkExclusive(r.T, r.group())
	})
}

func TestUniform(t *testing.T) {
	x, y := &topic{"x", [16]byte{1}, 10}, &topic{"y", [16]byte{2}, 3}
	subs := []subscriber{{id: "A", topics: []*topic{x, y}}}
	var previous map[string]partitions
	for n := 2; n <= 6; n++ {
		previous = assignUniform(subs)
		for i := range subs {
			subs[i].had = previous[subs[i].id]
		}
		subs = append(subs, subscriber{id: string(rune('A' + n - 1)), topics: []*topic{x, y}})
		got := assignUniform(subs)
		moved := 0
		for _, s := range subs {
			size := count(got[s.id])
			if size < 13/n || size > (13+n-1)/n {
				t.Errorf("%d members: %s has %d of 13", n, s.id, size)
			}
			for id, ps := range got[s.id] {
				for p := range ps {
					if !s.had.has(id, p) {
						moved++
					}
				}
			}
		}
		if moved > 13/n {
			t.Errorf("%d members: %d partitions moved, want no more than the new one gets (%d)", n, moved, 13/n)
		}
	}
	// Different subscriptions: those with the same topics stay within one.
	subs = []subscriber{
		{id: "A", topics: []*topic{x}}, {id: "B", topics: []*topic{x}},
		{id: "C", topics: []*topic{x, y}}, {id: "D", topics: []*topic{x, y}}, {id: "E"},
	}
	got := assignUniform(subs)
	if d := count(got["A"]) - count(got["B"]); d < -1 || d > 1 || count(got["E"]) != 0 {
		t.Errorf("got %v", got)
	}
	if total := count(got["A"]) + count(got["B"]) + count(got["C"]) + count(got["D"]); total != 13 {
		t.Errorf("%d of 13 partitions are assigned", total)
	}
}

func TestRange(t *testing.T) {
	x := &topic{"x", [16]byte{1}, 5}
	got := assignRange([]subscriber{
		{id: "A", key: "i9", topics: []*topic{x}}, {id: "B", key: "i1", topics: []*topic{x}}, {id: "C"},
	})
	if a, b := fmt.Sprint(got["A"].sorted(x.id)), fmt.Sprint(got["B"].sorted(x.id)); a != "[3 4]" || b != "[0 1 2]" {
		t.Errorf("got A %s, B %s", a, b)
	}
}

func count(p partitions) int {
	n := 0
	for _, ps := range p {
		n += len(ps)
	}
	return n
}

func TestDeadlines(t *testing.T) {
	each(t, func(r *rig) {
		if _, ok := r.c.NextDeadline(); ok {
			r.Fatalf("a timer without members")
		}
		r.told()
		at, ok := r.c.NextDeadline()
		if !ok || at.Sub(r.now) != 3*time.Second {
			r.Fatalf("the next timer ends in %v, want the rebalance timeout", at.Sub(r.now))
		}
		r.c.Advance(at.Add(-1))
		if n := len(r.group().Members); n != 2 {
			r.Fatalf("%d members are left too early", n)
		}
		r.c.Advance(at)
		if n := len(r.group().Members); n != 1 {
			r.Fatalf("%d members are left", n)
		}
		if r.c.Expire(r.now, "g", "A") || !r.c.Expire(r.now, "g", "B") {
			r.Fatalf("Expire does not know who is there")
		}
		if _, ok := r.c.NextDeadline(); ok {
			r.Fatalf("a timer outlived its member")
		}
	})
}

// A snapshot shares nothing with the model.
func TestSnapshotIsACopy(t *testing.T) {
	each(t, func(r *rig) {
		r.join("A")
		g := r.group()
		g.Members[0].Assigned[0].Partitions[0] = 77
		g.Members[0].SubscribedTopics[0] = "changed"
		if m := r.member("A"); m.Assigned[0].Partitions[0] == 77 || m.SubscribedTopics[0] != "t12" {
			r.Fatalf("the model changed with the snapshot")
		}
	})
}

func BenchmarkKeepalive(b *testing.B) {
	c := New(Config{})
	now := time.Unix(1_800_000_000, 0)
	c.CreateTopic(now, "t12", t12, 1000)
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Version, q.Group = 1, "g"
	for i := range 100 {
		whole(q)
		owns()(q)
		q.MemberID = fmt.Sprint("m", i)
		c.Heartbeat(now, q, Client{})
	}
	bare := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	bare.Version, bare.Group, bare.MemberID, bare.MemberEpoch = 1, "g", "m0", 2
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		c.Heartbeat(now, bare, Client{})
	}
}
