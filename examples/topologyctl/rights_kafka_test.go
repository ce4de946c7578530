//go:build kafka

package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/topology"
)

// allow gives a user a right.
func (l *lab) allow(typ kmsg.ACLResourceType, name string, ops ...kmsg.ACLOperation) {
	l.Helper()
	for _, op := range ops {
		l.must(l.c.Allow(l.ctx, kafkatest.Alice, typ, name, op))
	}
}

// resetAs runs a reset as a user, with a client that has not seen anything yet.
func (l *lab) resetAs(user, group, save string, topo *topology.Topology) (string, error) {
	l.Helper()
	cl := l.c.ClientAs(user)
	defer cl.Close()
	var out strings.Builder
	r := &resetting{
		program: &program{strings.NewReader(""), &out, io.Discard}, adm: kadm.NewClient(cl), file: save, yes: true, topology: topo,
		groupClient: &groupClient{cl, kgotransport.New(cl), group, 10 * time.Second},
	}
	s, err := readSaved(save, group)
	l.must(err)
	if r.mustSeed, err = r.needsSeed(l.ctx); err == nil {
		err = r.run(l.ctx, s)
	}
	return out.String(), err
}

func (l *lab) positions(group string) map[string]int64 {
	l.Helper()
	got, err := l.c.Admin().FetchOffsets(l.ctx, group)
	l.must(err)
	at := map[string]int64{}
	got.Each(func(o kadm.OffsetResponse) { at[o.Topic] = o.At })
	return at
}

// Brokers leave out the offsets of topics that one may not see, without a word, and refuse to write back those that one
// may not read: neither may be found out after the group is deleted.
func TestKafkaRightsAreMissedBeforeTheDelete(t *testing.T) {
	onStreamsWith(t, kafkatest.Config{ACL: true}, func(l *lab) {
		group, seen := l.group("rights")
		hidden := seen + "-hidden"
		l.must(l.c.CreateTopic(l.ctx, hidden, 1))
		topo := topology.Topology{Subtopologies: []topology.Subtopology{{ID: "0", SourceTopics: []string{seen, hidden}}}}
		l.joined(group, "member", topo, 0).leave()
		offsets := kadm.Offsets{}
		offsets.AddOffset(seen, 0, 7, -1)
		offsets.AddOffset(hidden, 0, 9, -1)
		l.must(l.c.Admin().CommitAllOffsets(l.ctx, group, offsets))

		l.allow(kmsg.ACLResourceTypeGroup, group, kmsg.ACLOperationRead, kmsg.ACLOperationDelete)
		l.allow(kmsg.ACLResourceTypeTopic, seen, kmsg.ACLOperationRead)
		for _, right := range []kmsg.ACLOperation{kmsg.ACLOperationDescribe, kmsg.ACLOperationRead} {
			save := l.file(right.String())
			out, err := l.resetAs(kafkatest.Alice, group, save, &topo)
			l.Logf("without %v: %v\n%s", right, err, out)
			if at := l.positions(group); err == nil || at[seen] != 7 || at[hidden] != 9 {
				l.Errorf("without %v on a topic: %v, the offsets are %v", right, err, at)
			}
			d, err := (&groupClient{l.cl, kgotransport.New(l.cl), group, 10 * time.Second}).deployed(context.Background())
			if err != nil || !d.Exists {
				l.Errorf("without %v on a topic: the group is gone: %+v, %v", right, d, err)
			}
			l.allow(kmsg.ACLResourceTypeTopic, hidden, right)
		}
		out, err := l.resetAs(kafkatest.Alice, group, l.file("all"), &topo)
		if at := l.positions(group); err != nil || at[seen] != 7 || at[hidden] != 9 || !strings.Contains(out, "deleted the group") {
			l.Errorf("with all rights: %v, the offsets are %v\n%s", err, at, out)
		}
	})
}
