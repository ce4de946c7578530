package member

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

const (
	lookupTimeout = 3 * time.Second
	knownNames    = 10_000 // topic IDs whose names are kept; then the cache starts anew
)

// asker is what the members with one Transport share: their look-ups, which go over it as
// long as one of them runs. The lock is the scope's.
type asker struct {
	transport heartbeat.Transport
	members   int
	namesOf   lookups[topicID, string]
	idsOf     lookups[string, topicID]
	running   sync.WaitGroup
	ctx       context.Context
	cancel    context.CancelFunc
}

// lookups asks the cluster for what belongs to keys, once for all members of an asker:
// what comes while a look-up is under way goes together into the next.
type lookups[K comparable, V any] struct {
	waiting []waiter[K, V]
	running bool
}

type waiter[K comparable, V any] struct {
	keys []K
	done func(map[K]V) // what was found
}

// askerKey is the Transport, or the member itself where a Transport cannot be compared, as a
// function cannot.
func askerKey(c *Consumer) any {
	if reflect.ValueOf(c.transport).Comparable() {
		return c.transport
	}
	return c
}

// addAsker and removeAsker are called with the scope's lock held.
func (s *scope) addAsker(c *Consumer) {
	key := askerKey(c)
	a := s.askers[key]
	if a == nil {
		a = &asker{transport: c.transport}
		a.ctx, a.cancel = context.WithCancel(context.Background())
		s.askers[key] = a
	}
	a.members++
	c.asker = a
}

// removeAsker returns what the member has to wait for, without the lock.
func (s *scope) removeAsker(c *Consumer) (over *sync.WaitGroup) {
	a := c.asker
	if a.members--; a.members > 0 {
		return new(sync.WaitGroup)
	}
	a.cancel()
	delete(s.askers, askerKey(c))
	return &a.running
}

// lookupNames finds the names of topic IDs.
func (s *scope) lookupNames(c *Consumer, ids []topicID, done func(map[topicID]string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := among(ids, s.names); len(known) == len(ids) {
		done(known)
		return
	}
	a := c.asker
	enqueue(s, a, &a.namesOf, waiter[topicID, string]{ids, done}, func(ids []topicID) map[topicID]string {
		found := map[topicID]string{}
		a.askTopics(requestByID(ids), func(id topicID, name string) { found[id] = name })
		s.remember(found)
		return found
	})
}

// remember keeps names: an ID has the same one for ever.
func (s *scope) remember(found map[topicID]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names)+len(found) > knownNames {
		clear(s.names)
	}
	for id, name := range found {
		s.names[id] = name
	}
}

// lookupIDs finds the IDs that topics have now. Nothing of it is kept.
func (s *scope) lookupIDs(c *Consumer, names []string, done func(map[string]topicID)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := c.asker
	enqueue(s, a, &a.idsOf, waiter[string, topicID]{names, done}, func(names []string) map[string]topicID {
		found := map[string]topicID{}
		a.askTopics(requestByName(names), func(id topicID, name string) { found[name] = id })
		return found
	})
}

// enqueue queues w, and starts to look if nobody does. The scope's lock is held.
func enqueue[K comparable, V any](s *scope, a *asker, l *lookups[K, V], w waiter[K, V], ask func([]K) map[K]V) {
	l.waiting = append(l.waiting, w)
	if l.running {
		return
	}
	l.running = true
	a.running.Go(func() {
		for batch := l.take(s); len(batch) > 0; batch = l.take(s) {
			found := ask(keysOf(batch))
			for _, w := range batch {
				w.done(among(w.keys, found))
			}
		}
	})
}

// take is what waits; without any the look-up ends.
func (l *lookups[K, V]) take(s *scope) []waiter[K, V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := l.waiting
	l.waiting, l.running = nil, len(batch) > 0
	return batch
}

func keysOf[K comparable, V any](batch []waiter[K, V]) []K {
	seen := map[K]bool{}
	var out []K
	for _, w := range batch {
		for _, k := range w.keys {
			if !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

func among[K comparable, V any](keys []K, from map[K]V) map[K]V {
	out := map[K]V{}
	for _, k := range keys {
		if v, ok := from[k]; ok {
			out[k] = v
		}
	}
	return out
}

// requestByID asks by topic ID: Metadata version 12, Kafka 3.1.
func requestByID(ids []topicID) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	for _, id := range ids {
		rt := kmsg.NewMetadataRequestTopic()
		rt.TopicID = id
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// requestByName must not make a topic that was deleted.
func requestByName(names []string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	for _, name := range names {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	return req
}

// askTopics sends one Metadata request. What the broker does not know, or does not show to
// us, is not told.
func (a *asker) askTopics(req *kmsg.MetadataRequest, found func(topicID, string)) {
	ctx, cancel := context.WithTimeout(a.ctx, lookupTimeout)
	defer cancel()
	answer := make(chan kmsg.Response, 1)
	go heartbeat.Attempt(ctx, a.transport, "", req, func(resp kmsg.Response, err error) {
		if err != nil {
			resp = nil
		}
		answer <- resp
	})
	resp, ok := (<-answer).(*kmsg.MetadataResponse)
	if !ok || resp == nil {
		return
	}
	for _, rt := range resp.Topics {
		if rt.ErrorCode == 0 && rt.Topic != nil && *rt.Topic != "" && rt.TopicID != (topicID{}) {
			found(rt.TopicID, *rt.Topic)
		}
	}
}
