package coordinator

import (
	"cmp"
	"slices"
	"time"
)

// topic is one existing topic.
type topic struct {
	name       string
	id         [16]byte
	partitions int32
}

// image is what the coordinator knows of the cluster's topics: Kafka's
// metadata image. Versions only say that something changed.
type image struct {
	byName    map[string]*topic
	byID      map[[16]byte]*topic
	version   int // raised by every change
	newTopics int // the version that last brought a new topic
}

func newImage() image {
	return image{byName: make(map[string]*topic), byID: make(map[[16]byte]*topic)}
}

// CreateTopic adds a topic. A topic of that name that exists already is
// deleted first, so a test can recreate a topic in one call. Fewer than one
// partition counts as one. An ID that is zero, or that another topic has, is
// replaced by a made one; Topic tells it.
//
// Members hear of the topic in their heartbeats, as from a real broker.
func (c *Coordinator) CreateTopic(now time.Time, name string, id [16]byte, partitions int32) {
	c.Advance(now)
	if c.image.byName[name] != nil {
		c.DeleteTopic(now, name)
	}
	for id == ([16]byte{}) || c.image.byID[id] != nil {
		id = c.nextID("topic id")
	}
	t := &topic{name: name, id: id, partitions: max(partitions, 1)}
	c.image.byName[name] = t
	c.image.byID[id] = t
	c.image.version++
	c.image.newTopics = c.image.version
}

// AddPartitions raises a topic's partition count to partitions. An unknown
// topic and a smaller count change nothing.
func (c *Coordinator) AddPartitions(now time.Time, name string, partitions int32) {
	c.Advance(now)
	t := c.image.byName[name]
	if t == nil || partitions <= t.partitions {
		return
	}
	t.partitions = partitions
	c.image.version++
}

// DeleteTopic deletes a topic. With their next heartbeats its owners are told
// to give it up, like any revocation, and must acknowledge that.
func (c *Coordinator) DeleteTopic(now time.Time, name string) {
	c.Advance(now)
	t := c.image.byName[name]
	if t == nil {
		return
	}
	delete(c.image.byName, name)
	delete(c.image.byID, t.id)
	c.image.version++
}

// Topic returns a topic's ID and partition count.
func (c *Coordinator) Topic(name string) (id [16]byte, partitions int32, ok bool) {
	if t := c.image.byName[name]; t != nil {
		return t.id, t.partitions, true
	}
	return id, 0, false
}

// Topics returns the names of all topics, sorted.
func (c *Coordinator) Topics() []string {
	names := make([]string, 0, len(c.image.byName))
	for name := range c.image.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// partitions holds partitions by topic ID. The value of a partition is the
// epoch at which its member got it; targets do not use the value. A stored
// value is never changed in place: clone, change, store.
type partitions map[[16]byte]map[int32]int32

func (p partitions) has(id [16]byte, partition int32) bool {
	_, ok := p[id][partition]
	return ok
}

func (p partitions) add(id [16]byte, partition, epoch int32) {
	if p[id] == nil {
		p[id] = make(map[int32]int32)
	}
	p[id][partition] = epoch
}

// same says whether both hold the same partitions, whatever their epochs.
func (p partitions) same(q partitions) bool {
	if len(p) != len(q) {
		return false
	}
	for id, ps := range p {
		if len(ps) != len(q[id]) {
			return false
		}
		for n := range ps {
			if !q.has(id, n) {
				return false
			}
		}
	}
	return true
}

// sortedIDs returns the topic IDs in byte order.
func (p partitions) sortedIDs() [][16]byte {
	ids := make([][16]byte, 0, len(p))
	for id := range p {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// sorted returns a topic's partitions in order.
func (p partitions) sorted(id [16]byte) []int32 {
	out := make([]int32, 0, len(p[id]))
	for n := range p[id] {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func compareIDs(a, b [16]byte) int { return cmp.Compare(string(a[:]), string(b[:])) }
