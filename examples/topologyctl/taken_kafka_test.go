//go:build kafka

package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
)

// consume has a member of a consumer group join (epoch 0) or leave (-1).
func (l *lab) consume(group, topic string, epoch int32) {
	l.Helper()
	for ; ; time.Sleep(100 * time.Millisecond) {
		req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = group, "someone", epoch, 60000
		req.SubscribedTopicNames, req.Topics = []string{topic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		kresp, err := kgotransport.New(l.cl).Do(l.ctx, group, req)
		l.must(l.ctx.Err())
		if resp, ok := kresp.(*kmsg.ConsumerGroupHeartbeatResponse); err == nil && ok && resp.ErrorCode == 0 {
			return
		}
	}
}

// Why a reset joins before it restores: offsets that are committed for a deleted group make one without a type,
// which 4.1 does not give to a streams member, and 4.2 and later do.
func TestKafkaOffsetsOfADeletedGroup(t *testing.T) {
	onStreams(t, func(l *lab) {
		group, topic := l.group("bare")
		file := l.write("file.json", counter(group, topic, "one"))
		l.joined(group, "before", l.topo(file), 0).leave()
		l.must(kadmError(l.c.Admin().DeleteGroup(l.ctx, group)))
		offsets := kadm.Offsets{}
		offsets.AddOffset(topic, 0, 7, -1)
		l.must(l.c.Admin().CommitAllOffsets(l.ctx, group, offsets))

		m, resp := l.join(group, "after", l.topo(file), 0)
		err := kerr.ErrorForCode(resp.ErrorCode)
		if l.c.Version() < "4.2" {
			if !errors.Is(err, kerr.GroupIDNotFound) || !strings.Contains(text(resp.ErrorMessage), "is not a streams group") {
				t.Errorf("the join: %v %s", err, text(resp.ErrorMessage))
			}
		} else {
			l.must(err)
			l.untilTasks(8, m)
		}
		if at := l.positions(group); at[topic] != 7 {
			t.Errorf("the offsets are %v", at)
		}
		if err == nil {
			m.leave()
		}
	})
}

// A consumer group that took the name between the delete and the run that finishes is neither deleted nor written to.
func TestKafkaResetLeavesAGroupThatTookTheName(t *testing.T) {
	onStreams(t, func(l *lab) {
		group, topic := l.group("taken")
		file := l.write("file.json", counter(group, topic, "one"))
		m := l.joined(group, "member", l.topo(file), 0)
		l.untilTasks(8, m)
		m.commit(topic, 3)
		m.leave()
		args := []string{"-yes", "-save", l.file("offsets"), file}
		l.ctl(exitRefused, "reset", group, args[1:]...) // saved, and not confirmed
		l.must(kadmError(l.c.Admin().DeleteGroup(l.ctx, group)))
		s, err := readSaved(l.file("offsets"), group)
		l.must(err)
		s.Stage = stageDeleted
		l.must(s.write(l.file("offsets")))

		for _, epoch := range []int32{0, -1} { // with a member, and empty
			l.consume(group, topic, epoch)
			if out := l.ctl(exitRefused, "reset", group, args...); !strings.Contains(out, "has taken the name") {
				l.Errorf("%s", out)
			}
			g, err := l.c.Members(l.ctx, group)
			if want := int(epoch) + 1; err != nil || len(g.Members) != want || len(l.positions(group)) != 0 {
				l.Errorf("the consumer group: %d members, want %d, %v; offsets %v", len(g.Members), want, err, l.positions(group))
			}
		}
		// Once it is gone, the file still finishes the reset.
		l.must(kadmError(l.c.Admin().DeleteGroup(l.ctx, group)))
		if out := l.ctl(exitDone, "reset", group, args...); !strings.Contains(out, "restored 3 offsets") {
			l.Errorf("%s", out)
		}
	})
}
