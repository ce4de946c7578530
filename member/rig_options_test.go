package member_test

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
)

type callback = func(context.Context, member.Partitions) error

func timing(f func(*member.Timing)) option {
	return func(c *member.ConsumerConfig) { f(&c.Timing) }
}

func quiet(c *member.ConsumerConfig)     { c.Timing.EarlyBeats = -1 } // no early heartbeats: the interval is exact
func selfFence(c *member.ConsumerConfig) { c.SelfFence = true }

func withName(name string) option            { return func(c *member.ConsumerConfig) { c.InstanceID = name } }
func group(name string) option               { return func(c *member.ConsumerConfig) { c.Group = name } }
func withID(id string) option                { return func(c *member.ConsumerConfig) { c.MemberID = id } }
func onAssigned(f callback) option           { return func(c *member.ConsumerConfig) { c.OnAssigned = f } }
func onRevoked(f callback) option            { return func(c *member.ConsumerConfig) { c.OnRevoked = f } }
func onLost(f callback) option               { return func(c *member.ConsumerConfig) { c.OnLost = f } }
func topics(names ...string) option          { return func(c *member.ConsumerConfig) { c.Topics = names } }
func regex(re string) option                 { return func(c *member.ConsumerConfig) { c.Regex = re } }
func leaving(o member.LeaveOperation) option { return func(c *member.ConsumerConfig) { c.Leave = o } }

// cell is a value that a test and its callbacks share.
type cell[T any] struct {
	mu sync.Mutex
	v  T
}

func (c *cell[T]) set(v T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.v = v
}

func (c *cell[T]) get() T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.v
}

// sleeps is a callback that takes d, whatever its context says.
func sleeps(d time.Duration) callback {
	return func(context.Context, member.Partitions) error { time.Sleep(d); return nil }
}

// first is f the first time, and nothing afterwards.
func first(f callback) callback {
	n := 0
	return func(ctx context.Context, p member.Partitions) error {
		if n++; n > 1 {
			return nil
		}
		return f(ctx, p)
	}
}

// fails is a callback that returns err.
func fails(err error) callback {
	return func(context.Context, member.Partitions) error { return err }
}

// spy is a Transport that keeps what it carries.
type spy struct {
	heartbeat.Transport
	mu   sync.Mutex
	reqs []kmsg.Request
}

func (s *spy) Do(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
	s.mu.Lock()
	s.reqs = append(s.reqs, req)
	s.mu.Unlock()
	return s.Transport.Do(ctx, group, req)
}

func (r *rig) spy() (*spy, option) {
	s := &spy{Transport: kgotransport.New(r.cl)}
	return s, func(c *member.ConsumerConfig) { c.Transport = s }
}
