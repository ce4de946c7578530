package coordinator

import (
	"cmp"
	"slices"
	"strings"
)

// assignRange gives each topic's partitions out in contiguous runs, one per
// subscriber, longer ones first (KIP-848, "Range").
func assignRange(subs []subscriber) map[string]partitions {
	out, topics, subscribed := prepare(subs)
	for i, t := range topics {
		in := slices.Clone(subscribed[i])
		slices.SortStableFunc(in, func(a, b int) int { return cmp.Compare(subs[a].key, subs[b].key) })
		each, extra := t.partitions/int32(len(in)), t.partitions%int32(len(in))
		next := int32(0)
		for k, s := range in {
			count := each
			if int32(k) < extra {
				count++
			}
			for ; count > 0; count-- {
				out[subs[s].id].add(t.id, next, 0)
				next++
			}
		}
	}
	return out
}

// assignUniform spreads all partitions evenly over their subscribers and moves
// as few as it can (KIP-848, "Uniform"). Subscribers of the same topics end up
// within one partition of each other. Which partition goes where may differ
// from Kafka's own uniform assignor.
func assignUniform(subs []subscriber) map[string]partitions {
	out, topics, subscribed := prepare(subs)
	b := balancer{subs: subs, topics: topics, subscribed: subscribed, load: make([]int, len(subs))}
	b.keep()
	b.fill()
	for moved := true; moved; {
		moved = false
		for i := range topics {
			for b.shift(i) {
				moved = true
			}
		}
	}
	for i, owners := range b.owners {
		for n, s := range owners {
			out[subs[s].id].add(topics[i].id, int32(n), 0)
		}
	}
	return out
}

// prepare returns an empty target for every subscriber, the topics anyone
// subscribes to, by name, and who does, as indexes into subs.
func prepare(subs []subscriber) (out map[string]partitions, topics []*topic, subscribed [][]int) {
	out = make(map[string]partitions, len(subs))
	index := make(map[*topic][]int)
	for i, s := range subs {
		out[s.id] = make(partitions)
		for _, t := range s.topics {
			if index[t] == nil {
				topics = append(topics, t)
			}
			index[t] = append(index[t], i)
		}
	}
	slices.SortFunc(topics, func(a, b *topic) int { return strings.Compare(a.name, b.name) })
	for _, t := range topics {
		subscribed = append(subscribed, index[t])
	}
	return out, topics, subscribed
}

// balancer is one run of the uniform assignor.
type balancer struct {
	subs       []subscriber
	topics     []*topic
	subscribed [][]int // topic to subscribers
	owners     [][]int // topic and partition to owner; -1: none yet
	load       []int   // partitions of each subscriber
}

// keep leaves every partition with the member that had it, where that member
// still subscribes to the topic.
func (b *balancer) keep() {
	for i, t := range b.topics {
		owners := make([]int, t.partitions)
		for n := range owners {
			owners[n] = -1
		}
		for _, s := range b.subscribed[i] {
			for n := range b.subs[s].had[t.id] {
				if n < t.partitions && owners[n] < 0 {
					owners[n] = s
					b.load[s]++
				}
			}
		}
		b.owners = append(b.owners, owners)
	}
}

// fill gives every free partition to the least loaded subscriber.
func (b *balancer) fill() {
	for i, owners := range b.owners {
		for n, s := range owners {
			if s < 0 {
				s = b.least(i)
				owners[n] = s
				b.load[s]++
			}
		}
	}
}

// least returns the least loaded subscriber of a topic, the first of equals.
func (b *balancer) least(topic int) int {
	return slices.MinFunc(b.subscribed[topic], func(x, y int) int { return cmp.Compare(b.load[x], b.load[y]) })
}

// shift moves one partition of a topic from its most loaded owner to its least
// loaded subscriber, if that makes them more even.
func (b *balancer) shift(topic int) bool {
	lo, last := b.least(topic), -1
	owners := b.owners[topic]
	for n, s := range owners {
		if last < 0 || b.load[s] >= b.load[owners[last]] {
			last = n
		}
	}
	if last < 0 || b.load[owners[last]]-b.load[lo] < 2 {
		return false
	}
	b.load[owners[last]]--
	b.load[lo]++
	owners[last] = lo
	return true
}
