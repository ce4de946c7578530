package membertest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/rollcall-go/rollcall/member"
)

// Info is what a [Recorder] keeps: what the hooks of a member are told.
type Info interface {
	member.StateInfo | member.HeartbeatInfo | member.OwnershipInfo | member.TrustInfo | member.NoticeInfo
}

// Recorder keeps everything that the hooks of one or more members are told, in
// the order in which it was told. Each Info says when it happened (At) and to
// whom (Member). The zero value is ready, and all of it is safe for concurrent use.
//
// Hooks run a little after the event: see [member.Hooks]. So do not look at [All]
// for what must have happened by now; [Wait] for it.
type Recorder struct {
	mu    sync.Mutex
	infos []any
	reset int           // how many were dropped by Reset: the number of infos[0]
	grown chan struct{} // closed when infos grows; nil while nobody waits
}

// Hooks are what to set as, or to join to, the hooks of each member to record.
func (r *Recorder) Hooks() member.Hooks {
	return member.Hooks{
		State:     func(i member.StateInfo) { r.add(i) },
		Heartbeat: func(i member.HeartbeatInfo) { r.add(i) },
		Ownership: func(i member.OwnershipInfo) { r.add(i) },
		Trust:     func(i member.TrustInfo) { r.add(i) },
		Notice:    func(i member.NoticeInfo) { r.add(i) },
	}
}

func (r *Recorder) add(i any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.infos = append(r.infos, i)
	if r.grown != nil {
		close(r.grown)
		r.grown = nil
	}
}

// Reset forgets what was recorded so far. A Wait that is under way goes on with
// what comes after it.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reset += len(r.infos)
	r.infos = nil
}

// since returns what was recorded from number n on, the number to ask for next
// time, and a channel that is closed when there is more.
func (r *Recorder) since(n int) (infos []any, next int, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.grown == nil {
		r.grown = make(chan struct{})
	}
	from := max(0, n-r.reset)
	// What is in the slice never changes, and append does not touch it: no copy.
	return r.infos[from:len(r.infos):len(r.infos)], r.reset + len(r.infos), r.grown
}

// All returns what was recorded of one kind, oldest first:
//
//	for _, i := range membertest.All[member.OwnershipInfo](rec) { ... }
func All[T Info](r *Recorder) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []T
	for _, i := range r.infos {
		if v, ok := i.(T); ok {
			all = append(all, v)
		}
	}
	return all
}

// Wait returns the first Info of its kind for which match is true (nil: any),
// whether it was recorded before or is still to come. If ctx ends first it fails tb
// with the last of what was recorded instead, so call it on the goroutine of the
// test. It does not poll, and works in a synctest bubble; give it a ctx with a
// timeout there, as a member keeps virtual time going for ever.
func Wait[T Info](ctx context.Context, tb testing.TB, r *Recorder, match func(T) bool) T {
	tb.Helper()
	for n := 0; ; {
		infos, next, more := r.since(n)
		for _, i := range infos {
			if v, ok := i.(T); ok && (match == nil || match(v)) {
				return v
			}
		}
		n = next
		select {
		case <-more:
			continue
		case <-ctx.Done():
		}
		var none T
		tb.Fatalf("waiting for a %T: %v; the last of what was recorded:\n%s", none, context.Cause(ctx), r.tail(20))
		return none
	}
}

// tail is the last n Infos as lines of text.
func (r *Recorder) tail(n int) string {
	infos, _, _ := r.since(0)
	var b strings.Builder
	for _, i := range infos[max(0, len(infos)-n):] {
		at := ""
		switch i := i.(type) {
		case member.StateInfo:
			at = i.At.Format(clock)
		case member.HeartbeatInfo:
			at = i.At.Format(clock)
		case member.OwnershipInfo:
			at = i.At.Format(clock)
		case member.TrustInfo:
			at = i.At.Format(clock)
		case member.NoticeInfo:
			at = i.At.Format(clock)
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", i), "member.")
		fmt.Fprintf(&b, "  %s %s %v\n", at, name, i.(slog.LogValuer).LogValue())
	}
	return b.String()
}

const clock = "15:04:05.000"
