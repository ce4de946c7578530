//go:build kafka

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
	"github.com/rollcall-go/rollcall/topology"
)

// onStreams runs f on each version that has streams groups.
func onStreams(t *testing.T, f func(l *lab)) {
	t.Helper()
	onStreamsWith(t, kafkatest.Config{}, f)
}

func onStreamsWith(t *testing.T, cfg kafkatest.Config, f func(l *lab)) {
	t.Helper()
	kafkatest.EachConfig(t, cfg, func(t *testing.T, c *kafkatest.Cluster) {
		if strings.HasPrefix(c.Version(), "4.0.") {
			t.Skip("Kafka 4.0 has no streams groups")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		l := &lab{T: t, ctx: ctx, c: c, dir: t.TempDir(), cl: c.Client()}
		t.Cleanup(l.cl.Close)
		f(l)
	})
}

type lab struct {
	*testing.T
	ctx context.Context
	c   *kafkatest.Cluster
	cl  *kgo.Client
	dir string
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lab) file(name string) string { return filepath.Join(l.dir, name) }

// ctl runs a command on the cluster and wants an exit code.
func (l *lab) ctl(want int, command, group string, args ...string) string {
	l.Helper()
	return l.answer(want, "", command, append([]string{"-brokers", strings.Join(l.c.Addrs(), ","), "-group", group}, args...)...)
}

// answer runs a command with a standard input.
func (l *lab) answer(want int, stdin, command string, args ...string) string {
	l.Helper()
	var out, log strings.Builder
	code := run(l.ctx, &program{strings.NewReader(stdin), &out, &log}, append([]string{command}, args...))
	if code != want {
		l.Fatalf("topologyctl %s %v: exit code %d, want %d\n%s%s", command, args, code, want, out.String(), log.String())
	}
	return out.String() + log.String()
}

func (l *lab) produce(topic string, from, to int) {
	l.Helper()
	for i := from; i < to; i++ {
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "%c%04d", 'a'+i%5, i)}
		l.must(l.cl.ProduceSync(l.ctx, r).FirstErr())
	}
}

func (l *lab) write(name, text string) string {
	l.Helper()
	l.must(os.WriteFile(l.file(name), []byte(text), 0o644))
	return l.file(name)
}

// shown waits until the group is Stable with a topology, and is what describe prints.
func (l *lab) shown(group string, ready func(groupView) bool) (v groupView) {
	l.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		var out, log strings.Builder
		run(l.ctx, &program{strings.NewReader(""), &out, &log}, []string{"describe", "-brokers", strings.Join(l.c.Addrs(), ","), "-group", group, "-json"})
		v = groupView{}
		if json.Unmarshal([]byte(out.String()), &v) == nil && ready(v) {
			return v
		}
	}
	l.Fatalf("group %s: %+v", group, v)
	return v
}

func stable(v groupView) bool { return v.State == "Stable" && v.Topology != nil && len(v.Members) > 0 }
func nobody(v groupView) bool { return v.Exists && len(v.Members) == 0 }

func (l *lab) plan(group, file string) (p topology.Plan) {
	l.Helper()
	var v struct {
		Epoch   topology.Epoch `json:"epoch"`
		Bump    bool           `json:"bump"`
		First   bool           `json:"first"`
		InPlace bool           `json:"in_place"`
	}
	out := l.ctl(exitDone, "next-epoch", group, file)
	l.must(json.NewDecoder(strings.NewReader(out)).Decode(&v))
	return topology.Plan{Epoch: v.Epoch, Bump: v.Bump, First: v.First, InPlace: v.InPlace}
}
