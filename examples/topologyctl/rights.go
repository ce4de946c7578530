package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollcall-go/rollcall/topology"
)

// What a reset may not do has to come out before the group is deleted.

// visible makes sure that no offsets are hidden. Brokers leave out, without a word, those of
// topics that one may not describe (measured on 4.1.2). From 4.2 on the description of the group is
// refused then; 4.1 may show no topics of an empty group, so those of the new topology have to do.
func (r *resetting) visible(ctx context.Context, shown *topology.Topology) error {
	var topics []string
	for _, t := range []*topology.Topology{shown, r.topology} {
		if t == nil {
			continue
		}
		for _, s := range t.Subtopologies {
			topics = append(append(topics, s.SourceTopics...), names(s.RepartitionSourceTopics)...)
		}
	}
	if len(topics) == 0 {
		return nil // ListTopics would list all
	}
	slices.Sort(topics)
	topics = slices.Compact(topics)
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// It fails as a whole if one of them may not be described.
	if _, err := r.adm.ListTopics(ctx, topics...); err != nil {
		return fmt.Errorf("the offsets of one of the topics %q may be hidden: %w; nothing was changed", topics, err)
	}
	return nil
}

func names(infos []topology.TopicInfo) (out []string) {
	for _, i := range infos {
		out = append(out, i.Name)
	}
	return out
}

// writable commits the saved offsets in the group that has them anyway: a right that is
// missing (READ), or a topic that is no more, would otherwise be found out when only the file is left.
func (r *resetting) writable(ctx context.Context, s *saved) error {
	if len(s.Offsets) == 0 {
		return nil
	}
	if err := r.commit(ctx, s); err != nil {
		return fmt.Errorf("the offsets could not be written back: %w; nothing was deleted", err)
	}
	return nil
}

// unchanged refuses a group that no longer has the offsets of the file. Some that are missing
// are a sign that it is another group by now: to begin anew would lose them.
func (r *resetting) unchanged(s *saved, now []savedOffset) error {
	missing, other := s.changes(now)
	switch {
	case len(missing) > 0:
		return refused("the group has lost offsets that %[1]s has, and nothing was deleted: %[2]s. If it was deleted and made anew meanwhile, keep the file, "+
			"and set its \"stage\" to %[3]q to have them restored", r.file, strings.Join(missing, ", "), stageDeleted)
	case len(other) > 0:
		return refused("the group has committed since %s was written, and nothing was deleted; move the file away and begin anew:\n  %s",
			r.file, strings.Join(other, "\n  "))
	}
	return nil
}
