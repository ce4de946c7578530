package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// resetting is one run of reset.
type resetting struct {
	*program
	*groupClient
	adm    *kadm.Client
	file   string
	dryRun bool
	yes    bool
	wait   time.Duration

	topology *topology.Topology // to make the group with; nil: the first member does
	epoch    topology.Epoch
	mustSeed bool // the brokers need that, and there is none
}

// reset is the migration way of brokers that cannot change a topology: only deleting
// the group frees it, and only the committed offsets have to outlive that. Each step
// is on disk before the next one begins, and running the command again goes on from there.
func reset(ctx context.Context, p *program, args []string) error {
	f := p.flags("reset", "[NEW.json: the topology to make the group with, which brokers of 4.1 need]")
	f.ofGroup()
	r := &resetting{program: p}
	f.StringVar(&r.file, "save", "", "`file` for the committed offsets; also how a run that broke off is finished (default \"GROUP-offsets.json\")")
	f.BoolVar(&r.dryRun, "dry-run", false, "say what would be done, and change nothing")
	f.BoolVar(&r.yes, "yes", false, "do not ask before the group is deleted")
	f.DurationVar(&r.wait, "wait", 5*time.Minute, "how long to wait until the group is empty; stop the members yourself")
	f.epoch(&r.epoch, "topology `epoch` of the group that is made anew, with a file")
	if err := f.read(args, 0, 1); err != nil {
		return err
	}
	if len(f.files) == 1 {
		t, err := load[topology.Topology](p, f.files[0])
		if err != nil {
			return err
		}
		r.topology = &t
	} else if r.epoch != 0 {
		return usage("-epoch is for a file, and there is none")
	}
	g, err := f.connect()
	if err != nil {
		return err
	}
	defer g.cl.Close()
	r.groupClient, r.adm = g, kadm.NewClient(g.cl)
	if r.file == "" {
		r.file = url.PathEscape(g.group) + "-offsets.json"
	}
	s, err := readSaved(r.file, g.group)
	if err != nil {
		return err
	}
	if r.mustSeed, err = r.needsSeed(ctx); err != nil {
		return err
	}
	return r.run(ctx, s)
}

func (r *resetting) say(format string, args ...any) { fmt.Fprintf(r.out, format+"\n", args...) }

func (r *resetting) run(ctx context.Context, s *saved) error {
	if s != nil {
		r.say("going on with %s: %d offsets, %s at %s", r.file, len(s.Offsets), s.Stage, s.At.Format(time.RFC3339))
	}
	if s == nil || s.Stage == stageSaved {
		var gone bool
		var err error
		if s, gone, err = r.save(ctx, s); err != nil || s == nil {
			return err
		}
		if !gone {
			if err := r.delete(ctx, s); err != nil {
				return err
			}
		}
		if err := r.reached(s, stageDeleted); err != nil {
			return err
		}
	}
	if err := r.wantFile(); err != nil {
		return err
	}
	if err := r.notTaken(ctx); err != nil {
		return err
	}
	if r.dryRun {
		r.say("would make the group anew, and restore the offsets of %s", r.file)
		return nil
	}
	if r.topology != nil {
		if err := r.seed(ctx, s); err != nil {
			return err
		}
	}
	if err := r.restore(ctx, s); err != nil {
		return err
	}
	if err := r.reached(s, stageRestored); err != nil {
		return err
	}
	r.say("done: start the members with the new topology; they go on at the committed offsets")
	return nil
}

// reached writes the file with the stage.
func (r *resetting) reached(s *saved, st stage) error {
	if r.dryRun {
		return nil
	}
	s.Stage = st
	return s.write(r.file)
}

// save waits for the empty group and has its offsets in the file. gone: the group was
// deleted by a run before. s is nil after a dry run.
func (r *resetting) save(ctx context.Context, before *saved) (s *saved, gone bool, err error) {
	group, err := r.empty(ctx)
	if err != nil {
		return nil, false, err
	}
	d, err := read(group)
	switch {
	case err != nil:
		if before != nil {
			err = fmt.Errorf("%w; %s has the offsets of the group that was there", err, r.file)
		}
		return nil, false, err
	case !d.Exists && before != nil:
		r.say("the group is deleted already")
		return before, true, nil
	case !d.Exists:
		return nil, false, refused("there is no streams group %q", r.group)
	}
	if err := r.wantFile(); err != nil {
		return nil, false, err
	}
	if err := r.visible(ctx, d.Topology); err != nil {
		return nil, false, err
	}
	now, err := r.committed(ctx)
	if err != nil {
		return nil, false, err
	}
	if before != nil {
		return before, false, r.unchanged(before, now)
	}
	s, err = r.write(d, now)
	return s, false, err
}

// write has the offsets in the file, or says them in a dry run, which is nil.
func (r *resetting) write(d topology.Deployed, now []savedOffset) (*saved, error) {
	s := &saved{Group: r.group, Stage: stageSaved, At: time.Now().UTC(), TopologyEpoch: d.Epoch, Topology: d.Topology, Offsets: now}
	for _, o := range now {
		r.say("  %s/%d at %d", o.Topic, o.Partition, o.Offset)
	}
	if r.dryRun {
		r.say("would save these %d offsets in %s, delete the group and restore them", len(now), r.file)
		return nil, nil
	}
	if err := s.write(r.file); err != nil {
		return nil, &exit{exitRefused, fmt.Errorf("nothing was changed: %w", err)}
	}
	r.say("saved %d offsets in %s", len(now), r.file)
	return s, nil
}

func (r *resetting) wantFile() error {
	if r.mustSeed {
		return refused("brokers of 4.1 do not make a streams group where offsets are: name the file of the new topology. Nothing was changed")
	}
	return nil
}

// empty waits until the group has no members. A dry run does not wait.
func (r *resetting) empty(ctx context.Context) (kmsg.StreamsGroupDescribeResponseGroup, error) {
	until := time.Now().Add(r.wait)
	said := -1
	for {
		group, err := r.describe(ctx)
		if err != nil || group.ErrorCode != 0 || len(group.Members) == 0 {
			return group, err
		}
		n := len(group.Members)
		if n != said {
			said = n
			r.say("the group has %d members: stop them (a static member is away only after its session, or when it is removed)", n)
		}
		if r.dryRun {
			return group, nil
		}
		if time.Now().After(until) {
			return group, refused("the group still has %d members after %v; nothing was changed", n, r.wait)
		}
		select {
		case <-ctx.Done():
			return group, refused("stopped while waiting for the empty group; nothing was changed")
		case <-time.After(time.Second):
		}
	}
}

// delete asks, looks once more, and deletes. Brokers refuse it for a group that has members.
func (r *resetting) delete(ctx context.Context, s *saved) error {
	if r.dryRun {
		r.say("would delete the group")
		return nil
	}
	if !r.yes && !r.confirmed() {
		return refused("not confirmed; nothing was changed, and %s has the offsets", r.file)
	}
	now, err := r.committed(ctx)
	if err != nil {
		return err
	}
	if err := r.unchanged(s, now); err != nil {
		return err
	}
	if err := r.writable(ctx, s); err != nil {
		return err
	}
	switch err := r.drop(ctx); {
	case errors.Is(err, kerr.NonEmptyGroup):
		return refused("members have joined meanwhile; nothing was changed: %w", err)
	case err != nil:
		return fmt.Errorf("delete: %w; run this again to go on", err)
	}
	r.say("deleted the group")
	return nil
}

// confirmed asks on the terminal. The end of the input is a no.
func (r *resetting) confirmed() bool {
	fmt.Fprintf(r.log, "delete group %q, which frees its topology? Its offsets are saved in %s. [y/N] ", r.group, r.file)
	line, _ := bufio.NewReader(r.in).ReadString('\n')
	line = strings.ToLower(strings.TrimSpace(line))
	return line == "y" || line == "yes"
}

// restore commits the offsets, in a group that nobody is in, and reads them back. It does
// not overwrite what members have committed meanwhile.
func (r *resetting) restore(ctx context.Context, s *saved) error {
	now, err := r.committed(ctx)
	if err != nil {
		return err
	}
	missing, other := s.changes(now)
	if len(other) > 0 {
		return refused("members were started before the offsets were back, and have committed; decide yourself:\n  %s", strings.Join(other, "\n  "))
	}
	if len(missing) > 0 {
		if err := r.commit(ctx, s); err != nil {
			return fmt.Errorf("restore: %w; run this again to go on", err)
		}
	}
	if now, err = r.committed(ctx); err != nil {
		return err
	}
	if missing, other := s.changes(now); len(missing)+len(other) > 0 {
		return refused("the offsets were not restored as saved; run this again: missing %v, other %v", missing, other)
	}
	r.say("restored %d offsets", len(s.Offsets))
	return nil
}
