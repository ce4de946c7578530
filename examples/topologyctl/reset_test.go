package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// broker is a cluster that has offsets, and a streams group on top, which kfake does not know.
type broker struct {
	t       *testing.T
	c       *kfake.Cluster
	cl      *kgo.Client
	adm     *kadm.Client
	group   kmsg.StreamsGroupDescribeResponseGroup
	exists  bool
	joined  []string // what the group was made with
	deletes int
	save    string
	topo    topology.Topology
}

func newBroker(t *testing.T) *broker {
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "in"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	topo, err := load[topology.Topology](nil, data+"golden/java-count.json")
	if err != nil {
		t.Fatal(err)
	}
	b := &broker{t: t, c: c, cl: cl, adm: kadm.NewClient(cl), exists: true, save: filepath.Join(t.TempDir(), "offsets"), topo: topo}
	b.group = recorded(t, "describe-count.json")
	b.group.Group, b.group.State, b.group.Members = "g", "Empty", nil
	c.ControlKey(int16(kmsg.DeleteGroups), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if s, err := readSaved(b.save, "g"); err != nil || s == nil || s.Stage == "" || len(s.Offsets) != 3 {
			t.Errorf("the group is deleted, and the file has %+v, %v", s, err)
		}
		b.deletes++
		b.exists = false
		return nil, nil, false
	})
	b.commit(map[int32]int64{0: 10, 1: 11, 2: 12})
	return b
}

func (b *broker) commit(at map[int32]int64) {
	b.t.Helper()
	offsets := kadm.Offsets{}
	for p, o := range at {
		offsets.Add(kadm.Offset{Topic: "in", Partition: p, At: o, LeaderEpoch: -1, Metadata: "note"})
	}
	if err := b.adm.CommitAllOffsets(context.Background(), "g", offsets); err != nil {
		b.t.Fatal(err)
	}
}

func (b *broker) Do(_ context.Context, _ string, req kmsg.Request) (kmsg.Response, error) {
	switch req := req.(type) {
	case *kmsg.StreamsGroupDescribeRequest:
		resp := kmsg.NewPtrStreamsGroupDescribeResponse()
		g := kmsg.NewStreamsGroupDescribeResponseGroup()
		g.Group, g.ErrorCode = "g", kerr.GroupIDNotFound.Code
		if b.exists {
			g = b.group
		}
		resp.Groups = append(resp.Groups, g)
		return resp, nil
	case *kmsg.StreamsGroupHeartbeatRequest:
		if req.MemberEpoch == 0 {
			b.joined = append(b.joined, req.MemberID)
			b.exists = true
		}
		return kmsg.NewPtrStreamsGroupHeartbeatResponse(), nil
	}
	return nil, errors.New("not expected")
}

// reset runs one reset; answer is what is typed.
func (b *broker) reset(answer string, set func(*resetting)) (string, error) {
	var out strings.Builder
	r := &resetting{
		program: &program{strings.NewReader(answer), &out, io.Discard}, groupClient: &groupClient{b.cl, b, "g", 5 * time.Second},
		adm: b.adm, file: b.save,
	}
	if set != nil {
		set(r)
	}
	s, err := readSaved(r.file, "g")
	if err == nil {
		err = r.run(b.t.Context(), s)
	}
	return out.String(), err
}

// committed wants the offsets of the group.
func (b *broker) committed(want map[int32]int64) {
	b.t.Helper()
	got, err := b.adm.FetchOffsets(context.Background(), "g")
	if err != nil {
		b.t.Fatal(err)
	}
	for p := range int32(3) {
		o, ok := got.Lookup("in", p)
		if w, has := want[p]; has != (ok && o.At >= 0) || has && o.At != w {
			b.t.Errorf("partition %d is at %+v, want %d", p, o, w)
		}
	}
}

var all = map[int32]int64{0: 10, 1: 11, 2: 12}

func wantCode(t *testing.T, err error, code int, says string) {
	t.Helper()
	var e *exit
	if !errors.As(err, &e) || e.code != code || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want code %d and %q", err, code, says)
	}
}

func TestResetKeepsTheOffsets(t *testing.T) {
	for _, seeded := range []bool{false, true} {
		b := newBroker(t)
		out, err := b.reset("y\n", func(r *resetting) {
			if seeded {
				r.topology = &b.topo
			}
		})
		if err != nil || b.deletes != 1 || (len(b.joined) == 1) != seeded {
			t.Fatalf("%v, %d deletes, made by %v\n%s", err, b.deletes, b.joined, out)
		}
		b.committed(all)
		_, err = b.reset("y\n", nil)
		wantCode(t, err, exitUsage, "was finished")
	}
}

// Nothing is deleted before the file is written and somebody said yes.
func TestResetChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		before func(b *broker)
		set    func(r *resetting)
		answer string
		says   string
		code   int
	}{
		"a dry run":         {set: func(r *resetting) { r.dryRun = true }, code: exitDone},
		"the answer is no":  {answer: "no\n", says: "not confirmed", code: exitRefused},
		"nobody answers":    {says: "not confirmed", code: exitRefused},
		"no place for it":   {answer: "y\n", set: func(r *resetting) { r.file = filepath.Join(r.file, "deep", "down") }, says: "nothing was changed", code: exitRefused},
		"members are there": {before: func(b *broker) { b.group.Members = recorded(b.t, "describe-count.json").Members }, answer: "y\n", says: "still has", code: exitRefused},
		"another type": {before: func(b *broker) {
			b.group.ErrorCode, b.group.ErrorMessage = kerr.GroupIDNotFound.Code, kmsg.StringPtr("Group g is not a streams group.")
		}, answer: "y\n", says: "another type", code: exitRefused},
		"no group": {before: func(b *broker) { b.exists = false }, answer: "y\n", says: "no streams group", code: exitRefused},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			if c.before != nil {
				c.before(b)
			}
			_, err := b.reset(c.answer, c.set)
			if c.code == exitDone && err != nil {
				t.Error(err)
			} else if c.code != exitDone {
				wantCode(t, err, c.code, c.says)
			}
			if b.deletes != 0 {
				t.Error("deleted")
			}
			b.committed(all)
			if _, err := os.Stat(b.save); (err == nil) != strings.Contains(c.says, "confirmed") {
				t.Errorf("the file: %v", err)
			}
		})
	}
}

// A run that broke off is finished by the next one, wherever it was.
func TestResetGoesOn(t *testing.T) {
	for name, broken := range map[string]func(b *broker, s *saved){
		"saved":              func(*broker, *saved) {},
		"deleted, not noted": func(b *broker, _ *saved) { b.drop() },
		"deleted":            func(b *broker, s *saved) { b.drop(); s.Stage = stageDeleted },
		"restored in part":   func(b *broker, s *saved) { b.drop(); s.Stage = stageDeleted; b.commit(map[int32]int64{1: 11}) },
		"restored, not noted": func(b *broker, s *saved) {
			b.drop()
			s.Stage = stageDeleted
			b.commit(all)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			_, err := b.reset("", nil)
			wantCode(t, err, exitRefused, "not confirmed")
			s, err := readSaved(b.save, "g")
			if err != nil || len(s.Offsets) != 3 {
				t.Fatal(s, err)
			}
			broken(b, s)
			if err := s.write(b.save); err != nil {
				t.Fatal(err)
			}
			if out, err := b.reset("yes\n", nil); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			b.committed(all)
		})
	}
}

func (b *broker) drop() {
	if _, err := b.adm.DeleteGroup(context.Background(), "g"); err != nil {
		b.t.Fatal(err)
	}
}

// What somebody has committed since is not overwritten.
func TestResetDoesNotOverwrite(t *testing.T) {
	b := newBroker(t)
	_, err := b.reset("", nil)
	wantCode(t, err, exitRefused, "not confirmed")
	b.commit(map[int32]int64{1: 99})
	_, err = b.reset("y\n", nil)
	wantCode(t, err, exitRefused, "in/1 is at 99, saved at 11")
	if b.deletes != 0 {
		t.Error("deleted")
	}
	s, err := readSaved(b.save, "g")
	if err != nil {
		t.Fatal(err)
	}
	b.drop()
	b.commit(map[int32]int64{1: 5})
	s.Stage = stageDeleted
	if err := s.write(b.save); err != nil {
		t.Fatal(err)
	}
	_, err = b.reset("y\n", nil)
	wantCode(t, err, exitRefused, "in/1 is at 5, saved at 11")
	b.committed(map[int32]int64{1: 5})
}

func TestSavedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if s, err := readSaved(name, "g"); s != nil || err != nil {
		t.Error(s, err)
	}
	for _, text := range []string{"", "{", `{"group": "other", "stage": "saved"}`, `{"group": "g", "stage": "lost"}`, `{"group": "g", "stage": "restored"}`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := readSaved(name, "g")
		wantCode(t, err, exitUsage, name)
	}
}
