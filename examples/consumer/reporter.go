package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/member"
)

// reporter is one member and what is told of it. Its callbacks come one at a time,
// and so do its hooks, but the two run beside each other; so each side keeps its own
// view of what is owned, which is right for the moment that it tells of.
type reporter struct {
	index       int
	m           *member.Consumer
	out         *sink
	log         *slog.Logger
	revokeDelay time.Duration
	beats       bool // print heartbeats

	mu    sync.Mutex
	held  member.Partitions // the callbacks' side
	state member.State      // these four: the hooks' side
	epoch int32
	owned member.Partitions
	fatal bool // an error event has told why the member ends
}

func newReporter(i int, o options, cl *kgo.Client, out *sink, log *slog.Logger) (*reporter, error) {
	r := &reporter{
		index: i, out: out, log: log.With("index", i), revokeDelay: o.revokeDelay, beats: o.verbose,
		held: member.Partitions{}, owned: member.Partitions{},
	}
	cfg := o.config(i)
	cfg.OnAssigned, cfg.OnRevoked, cfg.OnLost = r.onAssigned, r.onRevoked, r.onLost
	cfg.Hooks = member.Hooks{
		State: r.onState, Ownership: r.onOwnership, Heartbeat: r.onHeartbeat, Trust: r.onTrust, Notice: r.onNotice,
	}
	cfg.Logger = r.log
	var err error
	r.m, err = member.NewConsumer(cl, cfg)
	if err != nil {
		return nil, fmt.Errorf("member %d: %w", i, err)
	}
	return r, nil
}

// run runs the member. A failure that no hook has told of is told here: one that
// happens while the member leaves does not end in the state FATAL.
func (r *reporter) run(ctx context.Context) error {
	err := r.m.Run(ctx)
	if err == nil {
		return nil
	}
	r.mu.Lock()
	told, owned := r.fatal, r.held
	r.mu.Unlock()
	if !told {
		r.log.Error("the member has failed", "error", err)
		e := r.event("error", time.Now(), r.m.Snapshot(), owned)
		e.Error = errorOf(err)
		r.out.put(e)
	}
	return err
}

func (r *reporter) event(name string, at time.Time, s member.Snapshot, owned member.Partitions) event {
	return event{
		TS: at.UTC().Format(timeFormat), Event: name, Group: s.Group, Member: r.index, MemberID: s.MemberID,
		InstanceID: s.InstanceID, MemberEpoch: s.MemberEpoch, State: s.State,
		Partitions: member.Partitions{}, Owned: owned,
	}
}

func (r *reporter) onAssigned(_ context.Context, added member.Partitions) error {
	r.moved("assigned", added, plus, nil)
	return nil
}

// onRevoked tells when it returns: until then the partitions are owned.
func (r *reporter) onRevoked(ctx context.Context, removed member.Partitions) error {
	if r.revokeDelay > 0 {
		pause(ctx, r.revokeDelay)
	}
	r.moved("revoked", removed, minus, context.Cause(ctx))
	return nil
}

func (r *reporter) onLost(_ context.Context, removed member.Partitions) error {
	r.moved("lost", removed, minus, nil)
	return nil
}

func (r *reporter) moved(name string, delta member.Partitions, change func(a, b member.Partitions) member.Partitions, why error) {
	r.mu.Lock()
	r.held = change(r.held, delta)
	owned := r.held
	r.mu.Unlock()
	e := r.event(name, time.Now(), r.m.Snapshot(), owned)
	e.Partitions, e.Error = plus(delta, nil), errorOf(why)
	r.out.put(e)
}

// hooked is an event of the hooks' side. They run later than what they tell of, so
// state and epoch are those of the hooks before it, not of the Snapshot by now.
func (r *reporter) hooked(name string, at time.Time) event {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.m.Snapshot()
	s.State, s.MemberEpoch = r.state, r.epoch
	return r.event(name, at, s, r.owned)
}

func (r *reporter) onOwnership(i member.OwnershipInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owned = i.Owned
}

func (r *reporter) onState(i member.StateInfo) {
	end := r.m.Snapshot().Err
	r.mu.Lock()
	r.state, r.epoch = i.To, i.MemberEpoch
	r.fatal = r.fatal || i.To == member.StateFatal
	r.mu.Unlock()
	e := r.hooked("state", i.At)
	e.Error = errorOf(i.Err)
	events := []event{e}
	also := func(name string) { e.Event = name; events = append(events, e) }
	if i.From == member.StateJoining && i.MemberEpoch > 0 {
		also("joined")
	}
	switch i.To {
	case member.StateJoining:
		also("joining")
	case member.StateFenced:
		also("fenced")
	case member.StateFatal:
		also("error")
	case member.StateUnsubscribed:
		if end == nil {
			also("left")
		}
	}
	r.out.put(events...)
}

func (r *reporter) onTrust(i member.TrustInfo) {
	if i.Until.IsZero() {
		r.out.put(r.hooked("trust_lost", i.At))
	}
}

func (r *reporter) onNotice(i member.NoticeInfo) {
	if i.Err == nil {
		return
	}
	e := r.hooked("error", i.At)
	e.Error = errorOf(i.Err)
	e.Error.Message = i.What.String() + ": " + i.Text + ": " + e.Error.Message
	r.out.put(e)
}

func (r *reporter) onHeartbeat(i member.HeartbeatInfo) {
	if i.AnsweredEpoch > 0 {
		r.mu.Lock()
		r.epoch = i.AnsweredEpoch
		r.mu.Unlock()
	}
	if !r.beats {
		return
	}
	e := r.hooked("heartbeat", i.At)
	e.beat = beatOf(i)
	if e.Error = errorOf(i.Err); e.Error == nil {
		e.Error = errorOfCode(i.Code)
	}
	r.out.put(e)
}
