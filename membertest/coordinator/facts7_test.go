package coordinator

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Section 7: revocation.

func TestFacts7NotAnAck(t *testing.T) {
	each(t, func(r *rig) {
		e, keep := r.told()
		half := TopicPartitions{ID: t12, Partitions: append(
			append([]int32{}, keep[0].Partitions...), r.member("A").PendingRevocation[0].Partitions[:3]...)}
		r.ok(r.beat("A", e), e, none)
		r.ok(r.beat("A", e, owns(all(t12))), e, none)
		r.ok(r.beat("A", e, whole, owns(all(t12))), e, 6)
		r.ok(r.beat("A", e, owns(half)), e, none)
		r.ok(r.beat("B", e+1), e+1, none)
	})
}

func TestFacts7Acks(t *testing.T) {
	strange := TopicPartitions{ID: [16]byte{7}, Partitions: []int32{99}}
	lists := map[string]func(keep TopicPartitions) []TopicPartitions{
		"six":   func(k TopicPartitions) []TopicPartitions { return []TopicPartitions{k} },
		"none":  func(TopicPartitions) []TopicPartitions { return nil },
		"twice": func(k TopicPartitions) []TopicPartitions { return []TopicPartitions{k, k} },
		"strangers": func(k TopicPartitions) []TopicPartitions {
			return []TopicPartitions{k, strange, {ID: t12, Partitions: []int32{99}}}
		},
		"four": func(k TopicPartitions) []TopicPartitions {
			return []TopicPartitions{{ID: t12, Partitions: k.Partitions[:4]}}
		},
	}
	for what, owned := range lists {
		each(t, func(r *rig) {
			r.Log(what)
			e, keep := r.told()
			r.ok(r.beat("A", e, owns(owned(keep[0])...)), e+1, none)
			r.ok(r.beat("B", e+1), e+1, 6)
		})
	}
}

func TestFacts7RebalanceTimeout(t *testing.T) {
	each(t, func(r *rig) {
		e, _ := r.told()
		r.ok(r.beat("A", e, timeout(1000)), e, none) // too late for the running timer
		r.wait(2999 * time.Millisecond)
		r.ok(r.beat("A", e), e, none)
		r.wait(time.Millisecond)
		r.refused(r.beat("A", e), kerr.UnknownMemberID)
		r.ok(r.beat("B", e+1), e+2, 12)
	})
}

func TestFacts7LeaveIsAnAck(t *testing.T) {
	each(t, func(r *rig) {
		e, _ := r.told()
		r.rest()
		r.ok(r.beat("A", -1), -1, none)
		r.ok(r.beat("B", e+1), e+2, 12)
	})
}

func TestFacts7ReasonGoesAway(t *testing.T) {
	each(t, func(r *rig) {
		e, _ := r.told()
		r.ok(r.beat("B", -1), -1, none)
		r.rest()
		r.ok(r.beat("A", e), e, none)
		r.wait(1900 * time.Millisecond)
		r.refused(r.beat("A", e), kerr.UnknownMemberID)
		if g := r.group(); g.State != "Empty" {
			r.Fatalf("got %s", g.State)
		}
	})
}

func TestFacts7ThreeMembers(t *testing.T) {
	each(t, func(r *rig) {
		e := r.pair()
		r.ok(r.join("N"), e+1, 0)
		told := r.beat("A", e)
		r.ok(told, e, 4)
		r.ok(r.beat("A", e, owns(list(told)...)), e+1, none)
		r.ok(r.beat("N", e+1), e+1, 2)
		told = r.beat("B", e)
		r.ok(r.beat("B", e, owns(list(told)...)), e+1, none)
		r.ok(r.beat("N", e+1), e+1, 4)
	})
}

func TestFacts7Describe(t *testing.T) {
	each(t, func(r *rig) {
		r.told()
		q := kmsg.NewPtrConsumerGroupDescribeRequest()
		q.Groups = []string{"g", "missing"}
		resp := r.c.Describe(r.now, q)
		if resp.Groups[1].ErrorCode != kerr.GroupIDNotFound.Code {
			r.Fatalf("got %s", name(resp.Groups[1].ErrorCode))
		}
		g, want := resp.Groups[0], 6
		if r.v >= V43 {
			want = 12
		}
		if n := len(g.Members[0].Assignment.TopicPartitions[0].Partitions); n != want || g.State != "Reconciling" {
			r.Fatalf("got %d partitions, state %s", n, g.State)
		}
		if n := len(g.Members[0].TargetAssignment.TopicPartitions[0].Partitions); n != 6 {
			r.Fatalf("got a target of %d", n)
		}
	})
}
