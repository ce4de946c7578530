//go:build kafka

package member_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/member"
)

// probe is a running member and all that it told.
type probe struct {
	l      *lab
	m      *member.Consumer
	name   string
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, once done

	mu      sync.Mutex
	states  []member.StateInfo
	beats   []member.HeartbeatInfo
	owns    []member.OwnershipInfo
	notices []member.NoticeInfo
	trusts  []member.TrustInfo
	log     []string
}

type labOption = func(*member.ConsumerConfig)

// start runs a member of the lab's group in the process cl.
func (l *lab) start(cl *kgo.Client, opts ...labOption) *probe {
	l.Helper()
	p := &probe{l: l, name: fmt.Sprintf("member %d", len(l.probes)+1), done: make(chan struct{})}
	cfg := member.ConsumerConfig{Group: l.group, Logger: slog.New(slog.DiscardHandler), Hooks: p.hooks()}
	if l.topic != "" {
		cfg.Topics = []string{l.topic}
	}
	for _, o := range opts {
		o(&cfg)
	}
	p.watch(&cfg)
	m, err := member.NewConsumer(cl, cfg)
	l.must(err)
	p.m = m
	ctx, cancel := context.WithCancel(l.ctx)
	p.cancel = cancel
	l.probes = append(l.probes, p)
	go func() {
		p.err = m.Run(ctx)
		close(p.done)
	}()
	return p
}

// watch keeps the ledger in the callbacks.
func (p *probe) watch(cfg *member.ConsumerConfig) {
	assigned, revoked, lost := cfg.OnAssigned, cfg.OnRevoked, cfg.OnLost
	run := func(what string, fn func(context.Context, member.Partitions) error, ctx context.Context, ps member.Partitions) (err error) {
		p.note("%s %v begins", what, ps)
		if fn != nil {
			err = fn(ctx, ps)
		}
		p.note("%s %v ends: %v", what, ps, err)
		return err
	}
	cfg.OnAssigned = func(ctx context.Context, ps member.Partitions) error {
		p.l.ledger.take(p, ps)
		return run("OnAssigned", assigned, ctx, ps)
	}
	cfg.OnRevoked = func(ctx context.Context, ps member.Partitions) error {
		defer p.l.ledger.release(p, ps)
		return run("OnRevoked", revoked, ctx, ps)
	}
	cfg.OnLost = func(ctx context.Context, ps member.Partitions) error {
		p.l.ledger.release(p, ps)
		return run("OnLost", lost, ctx, ps)
	}
}

func (p *probe) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, time.Now().Format("05.000 ")+fmt.Sprintf(format, args...))
}

func (p *probe) hooks() member.Hooks {
	return member.Hooks{
		State: func(i member.StateInfo) {
			p.note("%s %v -> %v epoch %d %v", i.At.Format("05.000"), i.From, i.To, i.MemberEpoch, i.Err)
			keepIt(p, &p.states, i)
		},
		Heartbeat: func(i member.HeartbeatInfo) {
			p.note("%s %v epoch %d full %v -> %d, code %d, %v %v", i.At.Format("05.000"), i.Reason, i.Epoch, i.Full, i.AnsweredEpoch, i.Code, i.RTT, i.Err)
			keepIt(p, &p.beats, i)
		},
		Ownership: func(i member.OwnershipInfo) { keepIt(p, &p.owns, i) },
		Trust: func(i member.TrustInfo) {
			p.note("%s trust until %v", i.At.Format("05.000"), i.Until)
			keepIt(p, &p.trusts, i)
		},
		Notice: func(i member.NoticeInfo) {
			p.note("%s %v: %s: %v", i.At.Format("05.000"), i.What, i.Text, i.Err)
			keepIt(p, &p.notices, i)
			if i.What == member.NoticeOther {
				p.l.Errorf("%s: %s", p.name, i.Text) // an illegal transition
			}
		},
	}
}

func keepIt[T any](p *probe, list *[]T, v T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*list = append(*list, v)
}

// stop ends the member's context and returns what Run did.
func (p *probe) stop() error {
	p.l.Helper()
	p.cancel()
	return p.wait(40 * time.Second)
}

func (p *probe) wait(limit time.Duration) error {
	p.l.Helper()
	select {
	case <-p.done:
		return p.err
	case <-time.After(limit):
		p.l.Fatalf("%s: Run has not returned within %v", p.name, limit)
		return nil
	}
}

// close is stop for the end of a test.
func (p *probe) close() {
	p.cancel()
	select {
	case <-p.done:
	case <-time.After(40 * time.Second):
		p.l.Errorf("%s: Run has not returned", p.name)
	}
}

// ended reports whether Run has returned.
func (p *probe) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *probe) id() string { return p.m.Snapshot().MemberID }

func (p *probe) owned() member.Partitions { return p.m.Snapshot().Assignment }

func (p *probe) inState(s member.State) bool { return p.m.Snapshot().State == s }

// told is what the member did with partitions since t.
func (p *probe) told(what member.Ownership, since time.Time) []member.OwnershipInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.owns), func(i member.OwnershipInfo) bool {
		return i.What != what || i.At.Before(since) || i.Delta.Len() == 0
	})
}

func (p *probe) noticed(what member.Notice) []member.NoticeInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.notices), func(i member.NoticeInfo) bool { return i.What != what })
}

func (p *probe) trustTold() []member.TrustInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.trusts)
}

func (p *probe) visited(s member.State, since time.Time) []member.StateInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.states), func(i member.StateInfo) bool { return i.To != s || i.At.Before(since) })
}

func (p *probe) sent(since time.Time, keep func(member.HeartbeatInfo) bool) []member.HeartbeatInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.beats), func(i member.HeartbeatInfo) bool { return i.At.Before(since) || keep != nil && !keep(i) })
}

// undisturbed fails the test if the member lost anything, was fenced or ended.
func (p *probe) undisturbed(since time.Time) {
	p.l.Helper()
	for _, i := range p.told(member.Lost, since) {
		p.l.Errorf("%s lost %v", p.name, i.Delta)
	}
	for _, i := range p.visited(member.StateFenced, since) {
		p.l.Errorf("%s was fenced: %v", p.name, i.Err)
	}
	if p.ended() {
		p.l.Errorf("%s has ended: %v", p.name, p.err)
	}
}

// labLedger knows who owns what by the callbacks: from the begin of OnAssigned to the
// end of OnRevoked or the begin of OnLost.
type labLedger struct {
	mu    sync.Mutex
	owner map[string]*probe
	odd   []string
	quiet bool
}

func newLabLedger() *labLedger { return &labLedger{owner: map[string]*probe{}} }

func (g *labLedger) take(p *probe, ps member.Partitions) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for topic, n := range ps.All() {
		tp := fmt.Sprintf("%s/%d", topic, n)
		if o := g.owner[tp]; o != nil {
			g.odd = append(g.odd, fmt.Sprintf("%s is owned twice: by %s and %s", tp, o.name, p.name))
		}
		g.owner[tp] = p
	}
}

func (g *labLedger) release(p *probe, ps member.Partitions) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for topic, n := range ps.All() {
		tp := fmt.Sprintf("%s/%d", topic, n)
		if o := g.owner[tp]; o != p {
			g.odd = append(g.odd, fmt.Sprintf("%s gives up %s, which it does not have", p.name, tp))
			continue
		}
		delete(g.owner, tp)
	}
}

// off is for tests in which partitions are owned twice and nobody can help it.
func (g *labLedger) off() { g.quiet = true }

func (g *labLedger) faults() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.quiet {
		return nil
	}
	return slices.Clone(g.odd)
}

// dawdle is a callback that takes longer than a short session.
func dawdle(ctx context.Context, ps member.Partitions) error {
	if ps.Len() > 0 {
		time.Sleep(8 * time.Second)
	}
	return nil
}
