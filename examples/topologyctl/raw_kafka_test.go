//go:build kafka

package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/topology"
)

// rawMember is a member of raw requests.
type rawMember struct {
	l         *lab
	group, id string
	epoch     int32
	owned     []kmsg.TaskIDs
}

// beat sends a heartbeat, until the coordinator has loaded. fill has the rest of the fields.
func (m *rawMember) beat(epoch int32, fill func(*kmsg.StreamsGroupHeartbeatRequest)) *kmsg.StreamsGroupHeartbeatResponse {
	m.l.Helper()
	for ; ; time.Sleep(100 * time.Millisecond) {
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.EndpointInformationEpoch = m.group, m.id, epoch, -1
		fill(req)
		kresp, err := kgotransport.New(m.l.cl).Do(m.l.ctx, m.group, req)
		if m.l.ctx.Err() != nil {
			m.l.Fatal(err)
		}
		resp, _ := kresp.(*kmsg.StreamsGroupHeartbeatResponse)
		if err != nil || passes(kerr.ErrorForCode(resp.ErrorCode)) {
			continue
		}
		if resp.ErrorCode == 0 && resp.MemberEpoch > 0 {
			m.epoch = resp.MemberEpoch
		}
		if resp.ActiveTasks != nil {
			m.owned = resp.ActiveTasks
		}
		return resp
	}
}

func (l *lab) join(group, id string, topo topology.Topology, epoch topology.Epoch) (*rawMember, *kmsg.StreamsGroupHeartbeatResponse) {
	l.Helper()
	m := &rawMember{l: l, group: group, id: id}
	return m, m.beat(0, func(req *kmsg.StreamsGroupHeartbeatRequest) {
		req.RebalanceTimeoutMillis, req.Topology = 60000, topo.Wire(epoch)
		req.ProcessID = kmsg.StringPtr("process of " + id)
		req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
		req.ClientTags = []kmsg.StreamsGroupHeartbeatRequestClientTag{}
	})
}

// joined is a join that is accepted.
func (l *lab) joined(group, id string, topo topology.Topology, epoch topology.Epoch) *rawMember {
	l.Helper()
	m, resp := l.join(group, id, topo, epoch)
	if resp.ErrorCode != 0 {
		l.Fatalf("join of %s with epoch %v: code %d %s", id, epoch, resp.ErrorCode, text(resp.ErrorMessage))
	}
	return m
}

// commit commits offsets 100, 101, ... of the first partitions of a topic.
func (m *rawMember) commit(topic string, partitions int32) {
	m.l.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = m.group, m.id, m.epoch
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	for p := range partitions {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = p, int64(100+p), -1, kmsg.StringPtr(fmt.Sprint("note ", p))
		rt.Partitions = append(rt.Partitions, rp)
	}
	ids, err := m.l.c.Admin().ListTopics(m.l.ctx, topic) // version 10 has IDs for names
	m.l.must(err)
	rt.TopicID = ids[topic].ID
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(m.l.ctx, m.l.cl)
	m.l.must(err)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != int(partitions) {
		m.l.Fatalf("answer to a commit: %+v", resp)
	}
	for _, p := range resp.Topics[0].Partitions {
		m.l.must(kerr.ErrorForCode(p.ErrorCode))
	}
}

// holds tells which tasks the member has.
func (m *rawMember) holds() *kmsg.StreamsGroupHeartbeatResponse {
	return m.beat(m.epoch, func(req *kmsg.StreamsGroupHeartbeatRequest) {
		req.ActiveTasks = append([]kmsg.TaskIDs{}, m.owned...)
		req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	})
}

// untilTasks beats until the members have that many tasks.
func (l *lab) untilTasks(want int, ms ...*rawMember) {
	l.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(300 * time.Millisecond) {
		n := 0
		for _, m := range ms {
			if resp := m.holds(); resp.ErrorCode != 0 {
				l.Fatalf("%s: code %d", m.id, resp.ErrorCode)
			}
			for _, t := range m.owned {
				n += len(t.Partitions)
			}
		}
		if n == want {
			return
		}
		if time.Now().After(until) {
			l.Fatalf("%d tasks, want %d", n, want)
		}
	}
}

func (m *rawMember) leave() {
	m.l.Helper()
	if resp := m.beat(-1, func(*kmsg.StreamsGroupHeartbeatRequest) {}); resp.ErrorCode != 0 {
		m.l.Errorf("leave of %s: code %d", m.id, resp.ErrorCode)
	}
}

func (l *lab) topo(file string) topology.Topology {
	l.Helper()
	t, err := load[topology.Topology](&program{}, file)
	l.must(err)
	return t
}

func (l *lab) group(t string) (group, topic string) {
	l.Helper()
	group = fmt.Sprintf("%s-%d", t, time.Now().UnixNano())
	topic = group + "-in"
	l.must(l.c.CreateTopic(l.ctx, topic, 4))
	return group, topic
}

// S-32, S-33, K1071-10: the group has epoch 5; one pod comes back with the old image, and epoch 4. It does not know
// that others are ahead, or that it was a member before: the group does. Without the guard the broker lets it in.
func TestKafkaAccidentalRollbackIsRefused(t *testing.T) {
	onStreams(t, func(l *lab) {
		group, topic := l.group("rollback")
		oldFile, newFile := l.write("old.json", counter(group, topic, "one")), l.write("new.json", counter(group, topic, "two"))
		var ms []*rawMember
		for i := range 19 {
			ms = append(ms, l.joined(group, fmt.Sprintf("member-%02d", i), l.topo(newFile), 5))
		}
		l.untilTasks(8, ms...)
		before := l.shown(group, stable)
		if len(before.Members) != 19 || before.TopologyEpoch != 5 {
			l.Fatalf("%d members at topology epoch %v", len(before.Members), before.TopologyEpoch)
		}
		l.guards(group, oldFile, newFile)
		l.untilTasks(8, ms...)
		after := l.shown(group, stable)
		if after.Epoch != before.Epoch || len(after.Members) != 19 || after.TopologyEpoch != 5 {
			l.Errorf("the group was %v, is %v", before.Epoch, after.Epoch)
		}
		// What would have been: the broker takes it.
		l.joined(group, "member-old", l.topo(oldFile), 4).leave()
		for _, m := range ms {
			m.leave()
		}
	})
}

// guards asks for members of all kinds that want to join a group at epoch 5.
func (l *lab) guards(group, oldFile, newFile string) {
	l.Helper()
	for _, why := range []string{"S-32: the old image", "S-33: and does not know that it is a rejoin"} {
		out := l.ctl(exitRefused, "check", group, "-epoch", "4", oldFile)
		if !strings.Contains(out, topology.ErrRollback.Error()) || !strings.Contains(out, "own epoch 4, group epoch 5") {
			l.Errorf("%s: %s", why, out)
		}
	}
	l.ctl(exitRefused, "check", group, "-epoch", "4", newFile)
	l.ctl(exitDone, "check", group, "-epoch", "5", newFile)
	l.ctl(exitDone, "check", group, "-epoch", "4", "-allow-rollback", oldFile)
	if out := l.ctl(exitRefused, "check", group, "-epoch", "5", oldFile); !strings.Contains(out, topology.ErrMismatch.Error()) {
		l.Errorf("S-37: %s", out)
	}
	if out := l.ctl(exitRefused, "check", group, "-epoch", "6", "-allow-update", oldFile); !strings.Contains(out, topology.ErrUpdate.Error()) {
		l.Errorf("S-30: %s", out)
	}
	l.Setenv("TOPOLOGY_EPOCH", "4")
	l.ctl(exitRefused, "check", group, oldFile)
}

// S-31 with raw members: the offsets are the same after, also those of a run that broke off, and the group takes
// another topology.
func TestKafkaRawGroupIsReset(t *testing.T) {
	onStreams(t, func(l *lab) {
		group, topic := l.group("raw")
		oldFile, newFile := l.write("old.json", counter(group, topic, "one")), l.write("new.json", counter(group, topic, "two"))
		m := l.joined(group, "member", l.topo(oldFile), 3)
		l.untilTasks(8, m)
		if p := l.plan(group, newFile); !p.Bump || p.Epoch != 4 || p.InPlace {
			l.Errorf("plan: %+v", p)
		}
		m.commit(topic, 3)
		m.leave()
		l.breaksOff(group, newFile)

		next := l.joined(group, "member", l.topo(newFile), 4)
		l.untilTasks(8, next)
		l.ctl(exitDone, "check", group, "-epoch", "4", newFile)
		got, err := l.c.Admin().FetchOffsets(l.ctx, group)
		l.must(err)
		for p := range int32(3) {
			if o, ok := got.Lookup(topic, p); !ok || o.At != int64(100+p) || o.Metadata != fmt.Sprint("note ", p) {
				l.Errorf("partition %d: %+v", p, o)
			}
		}
		next.leave()
	})
}

// breaksOff is a reset that is not confirmed, then one that dies after the delete, and one that finishes it. It has
// the file of the new topology only where the brokers need it.
func (l *lab) breaksOff(group, newFile string) {
	l.Helper()
	save := l.file("offsets")
	args := []string{"-save", save}
	if l.c.Version() < "4.2" {
		if out := l.ctl(exitRefused, "reset", group, "-yes", "-save", save); !strings.Contains(out, "Nothing was changed") {
			l.Errorf("%s", out)
		}
		args = append(args, "-epoch", "4", newFile)
	}
	l.ctl(exitRefused, "reset", group, args...) // saved, and not confirmed
	l.must(kadmError(l.c.Admin().DeleteGroup(l.ctx, group)))
	out := l.ctl(exitDone, "reset", group, args...) // the group is gone: nothing to ask
	if !strings.Contains(out, "deleted already") || !strings.Contains(out, "restored 3 offsets") {
		l.Errorf("%s", out)
	}
	l.ctl(exitUsage, "reset", group, args...)
	l.ctl(exitUsage, "reset", group+"x", args...)
	if l.c.Version() >= "4.2" {
		l.ctl(exitRefused, "reset", group, "-save", l.file("again")) // offsets are no streams group
	}
}

func kadmError(r kadm.DeleteGroupResponse, err error) error { return errors.Join(err, r.Err) }

// A consumer group of that name is refused, and left alone.
func TestKafkaOtherGroupsAreLeftAlone(t *testing.T) {
	onStreams(t, func(l *lab) {
		group, topic := l.group("consumers")
		file := l.write("file.json", counter(group, topic, "one"))
		l.consume(group, topic, 0)
		for _, args := range [][]string{{"describe"}, {"check", file}, {"next-epoch", file}, {"diff", file}, {"reset", "-yes", "-save", l.file("x")}} {
			if out := l.ctl(exitRefused, args[0], group, args[1:]...); !strings.Contains(out, topology.ErrOtherType.Error()) {
				l.Errorf("%v: %s", args, out)
			}
		}
		if g, err := l.c.Members(l.ctx, group); err != nil || len(g.Members) != 1 {
			l.Errorf("the group has %d members, %v", len(g.Members), err)
		}
	})
}
