package coordinator

import "testing"

// What only some versions do, beyond the measured sections; found by playing
// the same random requests on real brokers (internal/scenarios).

// Until 4.1 a member that has given up what it was told to, and must give up
// more, enters an epoch in between.
func TestMoreToRevoke(t *testing.T) {
	each(t, func(r *rig) {
		e, keep := r.told()
		r.rest()
		r.ok(r.join("C"), e+2, 0)
		between := e
		if r.v < V42 {
			between++
		}
		told := r.beat("A", e, owns(keep...))
		r.ok(told, between, 4)
		r.ok(r.beat("A", between, owns(list(told)...)), e+2, none)
	})
}

// From 4.4 a group that loses its last member has an empty target at once.
func TestEmptiedGroup(t *testing.T) {
	each(t, func(r *rig) {
		r.ok(r.join("A"), r.first(), 12)
		r.ok(r.beat("A", -1), -1, none)
		behind := int32(1)
		if r.v >= V44 {
			behind = 0
		}
		if g := r.group(); g.Epoch-g.AssignmentEpoch != behind {
			r.Fatalf("the group is at %d, its target at %d", g.Epoch, g.AssignmentEpoch)
		}
	})
}

// Until 4.3 whoever comes back under a given up instance ID takes the other one
// of the member that it finds there as well.
func TestReturnUnderALeakedInstanceID(t *testing.T) {
	for _, v := range []Version{V40, V41, V42, V43} {
		r := newRig(t, v)
		e := r.first()
		r.ok(r.join("A", instance("i1")), e, 12)
		r.ok(r.join("A", instance("i2")), e, 12)
		r.ok(r.beat("A", -2, instance("i2")), -2, none)
		r.ok(r.join("B", instance("i1")), e, 12)
		for _, id := range []string{"i1", "i2"} {
			if got := r.c.groups["g"].statics[id]; got != "B" {
				t.Errorf("%v: %s stands for %q", v, id, got)
			}
		}
	}
}

// Until 4.1 topics that are taken out while a revocation is open stay until it
// is acknowledged.
func TestDropWhileRevoking(t *testing.T) {
	each(t, func(r *rig) {
		e, _ := r.told()
		want := 0
		if r.v < V42 {
			want = none
		}
		r.ok(r.beat("A", e, topics("u12")), e, want)
	})
}

// Assign takes the place of the assignors.
func TestAssign(t *testing.T) {
	c := New(Config{Assign: func(g Group) map[string][]TopicPartitions {
		if g.Epoch != 2 || len(g.Members) != 1 || g.Members[0].ID != "A" {
			t.Errorf("asked for a target of %+v", g)
		}
		return map[string][]TopicPartitions{"A": {{ID: t12, Partitions: []int32{3, 5}}}}
	}})
	r := &rig{T: t, c: c, v: V44}
	c.CreateTopic(r.now, "t12", t12, 12)
	if got := r.join("A"); size(got) != 2 || got.Assignment.Topics[0].Partitions[1] != 5 {
		t.Fatalf("got %+v", got.Assignment)
	}
}
