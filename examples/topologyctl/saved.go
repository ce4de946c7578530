package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/rollcall-go/rollcall/topology"
)

// stage is how far a reset has come. The file has it before the next step begins,
// so that a run that broke off can be finished.
type stage string

const (
	stageSaved    stage = "saved"    // the offsets are in the file; the group may be there, or deleted just now
	stageDeleted  stage = "deleted"  // the group was deleted; offsets may be back, in part
	stageRestored stage = "restored" // done
)

// saved is the file of a reset.
type saved struct {
	Group         string             `json:"group"`
	Stage         stage              `json:"stage"`
	At            time.Time          `json:"at"`
	TopologyEpoch topology.Epoch     `json:"topology_epoch"`
	Topology      *topology.Topology `json:"topology,omitempty"` // as it was shown
	Offsets       []savedOffset      `json:"offsets"`            // sorted by topic and partition
}

type savedOffset struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	LeaderEpoch int32  `json:"leader_epoch"` // -1: none
	Metadata    string `json:"metadata,omitempty"`
}

func toSaved(rs kadm.OffsetResponses) []savedOffset {
	out := []savedOffset{}
	rs.Each(func(r kadm.OffsetResponse) {
		if r.At >= 0 {
			out = append(out, savedOffset{r.Topic, r.Partition, r.At, r.LeaderEpoch, r.Metadata})
		}
	})
	slices.SortFunc(out, func(a, b savedOffset) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

func (s saved) offsets() kadm.Offsets {
	out := kadm.Offsets{}
	for _, o := range s.Offsets {
		out.Add(kadm.Offset{Topic: o.Topic, Partition: o.Partition, At: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata})
	}
	return out
}

// changes says where the offsets of a group are not those of the file. other has also those
// that the file does not have.
func (s saved) changes(now []savedOffset) (missing, other []string) {
	type key struct {
		topic     string
		partition int32
	}
	has := map[key]savedOffset{}
	for _, o := range now {
		has[key{o.Topic, o.Partition}] = o
	}
	for _, o := range s.Offsets {
		k := key{o.Topic, o.Partition}
		n, ok := has[k]
		delete(has, k)
		switch {
		case !ok:
			missing = append(missing, fmt.Sprintf("%s/%d", o.Topic, o.Partition))
		case n.Offset != o.Offset || n.Metadata != o.Metadata:
			other = append(other, fmt.Sprintf("%s/%d is at %d, saved at %d", o.Topic, o.Partition, n.Offset, o.Offset))
		}
	}
	for k, n := range has {
		other = append(other, fmt.Sprintf("%s/%d is at %d, and not in the file", k.topic, k.partition, n.Offset))
	}
	slices.Sort(other)
	return missing, other
}

// write puts the file in place as a whole, and on the disk, before it returns.
func (s saved) write(name string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails once it is renamed
	_, err = tmp.Write(append(text, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// readSaved reads the file of an earlier run: nil if there is none.
func readSaved(name, group string) (*saved, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, usage("%w", err)
	}
	var s saved
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, usage("%s is no file of a reset: %w", name, err)
	}
	switch {
	case s.Group != group:
		return nil, usage("%s is of group %q, and not of %q", name, s.Group, group)
	case s.Stage == stageRestored:
		return nil, usage("%s is of a reset that was finished; move it away, or name another file", name)
	case s.Stage != stageSaved && s.Stage != stageDeleted:
		return nil, usage("%s is at stage %q, which this program does not know", name, s.Stage)
	}
	return &s, nil
}
