package topology_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/topology"
)

// two are a topology and what came after it.
func two(tb testing.TB) (before, after topology.Topology) {
	before = golden(tb, "java-count")
	after = clone(before)
	after.Subtopologies[0].SourceTopics = []string{"in", "more"}
	return before, after
}

// The whole rule as a table: every guard, every relation of epochs, content and broker.
func TestGuardTable(t *testing.T) {
	before, after := two(t)
	guards := []topology.Guard{{}, {AllowUpdate: true}, {AllowSkip: true}, {AllowRollback: true}}
	const group = 5
	// For each epoch: the outcome with guard 0, 1, 2 and 3. "." passes, M is ErrMismatch, R
	// is ErrRollback, U is ErrUpdate.
	for _, c := range []struct {
		name      string
		own       topology.Topology
		updatable bool
		want      map[topology.Epoch]string
	}{
		{"same content", before, false, map[topology.Epoch]string{0: "RRR.", 4: "RRR.", 5: "....", 6: "UUUU", 9: "UUUU", math.MaxInt32: "UUUU"}},
		{"other content", after, false, map[topology.Epoch]string{0: "RRR.", 4: "RRR.", 5: "MMMM", 6: "UUUU", 9: "UUUU", math.MaxInt32: "UUUU"}},
		{"same content, later broker", before, true, map[topology.Epoch]string{4: "RRR.", 5: "....", 6: "U..U", 9: "UU.U", math.MaxInt32: "UU.U"}},
		{"other content, later broker", after, true, map[topology.Epoch]string{4: "RRR.", 5: "MMMM", 6: "U..U", 9: "UU.U", math.MaxInt32: "UU.U"}},
	} {
		d := deployed(group, before)
		d.Updatable = c.updatable
		for e, want := range c.want {
			got := ""
			for _, g := range guards {
				got += outcome(t, g.Check(c.own, e, d))
			}
			equal(t, fmt.Sprintf("%s, epoch %d", c.name, e), got, want)
		}
	}
}

func outcome(tb testing.TB, err error) string {
	tb.Helper()
	if err == nil {
		return "."
	}
	ge := guardError(tb, err)
	if ge.Way == "" {
		tb.Errorf("no way: %v", err)
	}
	for letter, want := range map[string]error{"M": topology.ErrMismatch, "R": topology.ErrRollback, "U": topology.ErrUpdate} {
		if errors.Is(err, want) {
			return letter
		}
	}
	return err.Error()
}

func TestGuardSaysTheWay(t *testing.T) {
	before, after := two(t)
	other := clone(before)
	other.Subtopologies[0].ID, other.Subtopologies[1].ID = "1", "0"
	open := topology.Guard{AllowUpdate: true}
	for _, c := range []struct {
		name string
		own  topology.Topology
		e    topology.Epoch
		d    topology.Deployed
		g    topology.Guard
		way  string
	}{
		{"mismatch", after, 5, deployed(5, before), open, "this broker keeps a group's topology until the group is deleted"},
		{"mismatch, later broker", after, 5, updatable(deployed(5, before)), open, "give the new content epoch 6"},
		{"mismatch with a clash", other, 5, updatable(deployed(5, before)), open, "old and new members cannot run side by side"},
		{"mismatch, no epochs left", after, math.MaxInt32, updatable(deployed(math.MaxInt32, before)), open, "this broker keeps"},
		{"rollback", before, 4, deployed(5, after), open, "deploy what the group runs; to go back on purpose: this broker keeps"},
		{"rollback, later broker", before, 4, updatable(deployed(5, after)), open, "give the old content epoch 6"},
		{"update without content", before, 6, deployed(5, before), open, "no bump is due: nothing that is shown differs; set the epoch to 5"},
		{"update", after, 6, deployed(5, before), open, "this broker keeps"},
		{"update not allowed", after, 6, updatable(deployed(5, before)), topology.Guard{}, "allow the update (Guard.AllowUpdate)"},
		{"update too far", after, 7, updatable(deployed(5, before)), open, "the next epoch is 6; to skip some, set Guard.AllowSkip"},
	} {
		err := guardError(t, c.g.Check(c.own, c.e, c.d))
		if !strings.Contains(err.Way, c.way) || !strings.Contains(err.Error(), c.way) {
			t.Errorf("%s: %s", c.name, err)
		}
	}
}

// The text has what an operator needs in a log line, and does not grow without bound.
func TestGuardErrorText(t *testing.T) {
	before, after := two(t)
	err := (topology.Guard{}).Check(after, 5, deployed(5, before))
	equal(t, "text", err.Error(), fmt.Sprintf("topology %s: same epoch, other content: own epoch 5, group epoch 5 (%s); "+
		`subtopology "0", source_topics[more]: added; this broker keeps a group's topology until the group is deleted: `+
		"use a new group, or stop all members, save the committed offsets, delete the group, restore them, start again (docs/topology.md)",
		after.ID(), before.ID()))
	many := clone(after)
	for i := range 100 {
		many.Subtopologies[0].SourceTopics = append(many.Subtopologies[0].SourceTopics, fmt.Sprint("t", i))
	}
	err = (topology.Guard{}).Check(many, 5, deployed(5, before))
	if len(err.Error()) > 1000 || !strings.Contains(err.Error(), "; and 96 more") {
		t.Error(err)
	}
}

func TestAskLetsPassWhatCannotBeTold(t *testing.T) {
	own := golden(t, "java-count")
	denied := fmt.Errorf("look: %w", kerr.GroupAuthorizationFailed)
	for _, c := range []struct {
		name    string
		d       topology.Deployed
		err     error
		verdict topology.Verdict
		notice  error
	}{
		{"no group", topology.Deployed{}, nil, topology.NoGroup, nil},
		{"same", deployed(0, own), nil, topology.Same, nil},
		{"no rights", topology.Deployed{}, denied, topology.CannotTell, topology.ErrCannotTell},
		{"epoch only", topology.Deployed{Exists: true}, nil, topology.CannotTell, topology.ErrCannotTell},
		{"nothing shown", topology.Deployed{Exists: true, Epoch: topology.EpochUnknown}, nil, topology.CannotTell, topology.ErrCannotTell},
	} {
		f, err := topology.Guard{}.Ask(t.Context(), own, 0, func(context.Context) (topology.Deployed, error) { return c.d, c.err })
		equal(t, c.name, err, nil)
		equal(t, c.name, f.Verdict, c.verdict)
		if !errors.Is(f.Notice, c.notice) || (f.Notice == nil) != (c.notice == nil) {
			t.Errorf("%s: notice %v", c.name, f.Notice)
		}
		if c.err != nil && !errors.Is(f.Notice, kerr.GroupAuthorizationFailed) {
			t.Errorf("%s: the notice has lost its cause: %v", c.name, f.Notice)
		}
	}
}

func TestAskRefuses(t *testing.T) {
	before, after := two(t)
	look := func(context.Context) (topology.Deployed, error) { return deployed(5, after), nil }
	_, err := topology.Guard{}.Ask(t.Context(), before, 4, look)
	equal(t, "enforce", errors.Is(err, topology.ErrRollback), true)
	f, err := topology.Guard{Mode: topology.Warn}.Ask(t.Context(), before, 4, look)
	equal(t, "warn: error", err, nil)
	equal(t, "warn: notice", errors.Is(f.Notice, topology.ErrRollback), true)

	other := func(context.Context) (topology.Deployed, error) {
		return topology.Deployed{}, fmt.Errorf("g: %w", topology.ErrOtherType)
	}
	_, err = topology.Guard{Mode: topology.Warn}.Ask(t.Context(), before, 4, other)
	equal(t, "other type", errors.Is(err, topology.ErrOtherType), true)

	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	_, err = topology.Guard{}.Ask(ctx, before, 4, func(context.Context) (topology.Deployed, error) { return topology.Deployed{}, ctx.Err() })
	equal(t, "ended context", errors.Is(err, stopped), true)

	_, err = topology.Guard{Mode: topology.Off}.Ask(t.Context(), before, 4, nil)
	equal(t, "off", err, nil)
	for _, m := range []topology.Mode{topology.Off, topology.Warn, topology.Enforce} {
		_, err = topology.Guard{Mode: m}.Ask(t.Context(), before, -1, look)
		equal(t, m.String()+": negative epoch", faultsOf(t, err), "epoch: -1: want 0 or more")
		_, err = topology.Guard{Mode: m}.Ask(t.Context(), before, -1, func(context.Context) (topology.Deployed, error) { return topology.Deployed{}, errors.New("x") })
		equal(t, m.String()+": negative epoch, no look", faultsOf(t, err), "epoch: -1: want 0 or more")
	}
}
