package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
)

// actor is a member with a client of its own, as a process would have.
type actor struct {
	name   string
	cl     *kgo.Client
	m      *member.Consumer
	cancel context.CancelFunc
	done   chan error // what Run returned
}

// start makes a member and runs it. around may put something around the Transport.
func (s *show) start(ctx context.Context, name string, around func(heartbeat.Transport) heartbeat.Transport) bool {
	cl, err := kgo.NewClient(s.cluster.Opts()...)
	if err != nil {
		s.expect(false, "%s: %v", name, err)
		return false
	}
	s.clients = append(s.clients, cl)
	cfg := member.ConsumerConfig{
		Group:  group,
		Topics: []string{topic},
		OnAssigned: func(_ context.Context, p member.Partitions) error {
			s.book.assigned(name, p)
			return nil
		},
		OnRevoked: func(_ context.Context, p member.Partitions) error {
			s.book.gone(name, p)
			return nil
		},
		OnLost: func(_ context.Context, p member.Partitions) error {
			s.book.gone(name, p)
			return nil
		},
		Timing: member.Timing{SessionTimeout: sessionTimeout},
		Logger: slog.New(slog.DiscardHandler),
	}
	if around != nil {
		cfg.Transport = around(kgotransport.New(cl))
	}
	m, err := member.NewConsumer(cl, cfg)
	if err != nil {
		s.expect(false, "%s: %v", name, err)
		return false
	}
	// Members end when the show says so: ctx ends the show, and that makes them leave.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a := &actor{name: name, cl: cl, m: m, cancel: cancel, done: make(chan error, 1)}
	s.crew = append(s.crew, a)
	go func() { a.done <- m.Run(ctx) }()
	return true
}

// kill ends a member as the end of its process would, as far as the group can see:
// nothing is sent.
func (s *show) kill(ctx context.Context, a *actor) {
	err := a.m.Leave(ctx, member.RemainInGroup)
	s.expect(err == nil, "stopped without a leave (RemainInGroup)")
	a.cancel()
	<-a.done
}

// take takes a member out of the crew.
func (s *show) take(name string) *actor {
	i := slices.IndexFunc(s.crew, func(a *actor) bool { return a.name == name })
	a := s.crew[i]
	s.crew = slices.Delete(s.crew, i, i+1)
	return a
}

func (s *show) close() {
	for _, cl := range s.clients {
		cl.Close()
	}
}

// lossy loses the answer to the first join that it carries. The request arrives and
// is applied; whoever sent it cannot know.
type lossy struct{ joins, lost atomic.Int32 }

var errLost = errors.New("the answer was lost")

func (l *lossy) around(next heartbeat.Transport) heartbeat.Transport {
	return heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
		resp, err := next.Do(ctx, group, req)
		hb, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest)
		if !ok || hb.MemberEpoch != 0 || err != nil {
			return resp, err
		}
		if l.joins.Add(1) == 1 {
			l.lost.Add(1)
			return nil, errLost
		}
		return resp, nil
	})
}

// book knows who owns what, as the callbacks say it.
type book struct {
	mu     sync.Mutex
	owner  map[int32]string
	faults []string
}

func (b *book) assigned(name string, p member.Partitions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.owner == nil {
		b.owner = map[int32]string{}
	}
	for _, n := range p[topic] {
		if other := b.owner[n]; other != "" {
			b.faults = append(b.faults, fmt.Sprintf("%s got %s[%d] while %s owned it", name, topic, n, other))
		}
		b.owner[n] = name
	}
}

func (b *book) gone(name string, p member.Partitions) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range p[topic] {
		if b.owner[n] == name {
			delete(b.owner, n)
		}
	}
}

func (b *book) conflicts() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.faults
}
