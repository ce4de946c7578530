package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// hook is a terminal on which something happens before the answer is typed.
type hook struct {
	io.Reader
	first func()
}

func (h *hook) Read(p []byte) (int, error) {
	if h.first != nil {
		h.first()
		h.first = nil
	}
	return h.Reader.Read(p)
}

func TestResetHeedsCommitsWhileItAsks(t *testing.T) {
	b := newBroker(t)
	_, err := b.reset("", func(r *resetting) {
		r.in = &hook{strings.NewReader("y\n"), func() { b.commit(map[int32]int64{1: 99}) }}
	})
	wantCode(t, err, exitRefused, "in/1 is at 99, saved at 11")
	if b.deletes != 0 {
		t.Error("deleted")
	}
	b.committed(map[int32]int64{0: 10, 1: 99, 2: 12})
}

// What cannot be saved, or not be written back, is not deleted.
func TestResetTriesItsRights(t *testing.T) {
	for name, c := range map[string]struct {
		control func(b *broker)
		says    string
		saved   bool
	}{
		"a topic that is hidden":       {func(b *broker) { b.group.Topology.Subtopologies[0].SourceTopics = []string{"in", "secret"} }, "hidden", false},
		"a topic that may not be read": {func(b *broker) { b.refuse(kerr.TopicAuthorizationFailed) }, "nothing was deleted", true},
		"a topic that is no more":      {func(b *broker) { b.refuse(kerr.UnknownTopicOrPartition) }, "nothing was deleted", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			b.hide("secret")
			c.control(b)
			_, err := b.reset("y\n", nil)
			if err == nil || !strings.Contains(err.Error(), c.says) || (&program{log: io.Discard}).ended("reset", err) != exitNotKnown {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if _, err := os.Stat(b.save); b.deletes != 0 || (err == nil) != c.saved {
				t.Errorf("%d deletes, the file: %v", b.deletes, err)
			}
			b.committed(all)
		})
	}
}

// refuse answers commits.
func (b *broker) refuse(why *kerr.Error) {
	b.c.ControlKey(int16(kmsg.OffsetCommit), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.c.KeepControl()
		req, resp := kreq.(*kmsg.OffsetCommitRequest), kreq.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, t := range req.Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic, rt.TopicID = t.Topic, t.TopicID
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition, rp.ErrorCode = p.Partition, why.Code
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	})
}

// hide answers for a topic, and only for requests that name it, that one may not see it.
func (b *broker) hide(topic string) {
	b.c.ControlKey(int16(kmsg.Metadata), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.c.KeepControl()
		named := slices.ContainsFunc(kreq.(*kmsg.MetadataRequest).Topics, func(t kmsg.MetadataRequestTopic) bool { return t.Topic != nil && *t.Topic == topic })
		if !named {
			return nil, nil, false
		}
		resp := kreq.ResponseKind().(*kmsg.MetadataResponse)
		rt := kmsg.NewMetadataResponseTopic()
		rt.Topic, rt.ErrorCode = &topic, kerr.TopicAuthorizationFailed.Code
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
}

// A group that was made anew before the reset was finished is not taken for the one that was saved.
func TestResetTellsANewGroup(t *testing.T) {
	b := newBroker(t)
	_, err := b.reset("", nil)
	wantCode(t, err, exitRefused, "not confirmed")
	b.drop()
	b.exists, b.deletes = true, 0
	_, err = b.reset("y\n", nil)
	wantCode(t, err, exitRefused, "in/0, in/1, in/2")
	if b.deletes != 0 {
		t.Error("deleted")
	}
	s, err := readSaved(b.save, "g")
	if err != nil {
		t.Fatal(err)
	}
	s.Stage = stageDeleted // as the error says
	if err := s.write(b.save); err != nil {
		t.Fatal(err)
	}
	if _, err := b.reset("", nil); err != nil {
		t.Error(err)
	}
	b.committed(all)
}

// An application that was killed in a transaction has offsets that are not settled yet.
func TestResetWaitsForTransactions(t *testing.T) {
	b := newBroker(t)
	unsettled := 2
	b.c.ControlKey(int16(kmsg.OffsetFetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.c.KeepControl()
		req := kreq.(*kmsg.OffsetFetchRequest)
		if unsettled == 0 || !req.RequireStable {
			return nil, nil, false
		}
		unsettled--
		resp := req.ResponseKind().(*kmsg.OffsetFetchResponse)
		g := kmsg.NewOffsetFetchResponseGroup()
		g.Group, g.ErrorCode = "g", kerr.UnstableOffsetCommit.Code
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
	if _, err := b.reset("y\n", nil); err != nil || unsettled != 0 || b.deletes != 1 {
		t.Errorf("%v, %d times unsettled left, %d deletes", err, unsettled, b.deletes)
	}
	b.committed(all)
}
