//go:build kafka

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
)

// records are the numbers of the records that a program has seen.
func records(lines []string) map[int]int {
	seen := map[int]int{}
	for _, line := range lines {
		var letter rune
		var n int
		if k, _ := fmt.Sscanf(line, "record %c%d", &letter, &n); k == 2 {
			seen[n]++
		}
	}
	return seen
}

func (l *lab) java(group, topic, store string) *kafkatest.JavaApp {
	l.Helper()
	return kafkatest.StartJava(l.T, kafkatest.DefaultVersion, "testdata/Counter.java",
		strings.Join(l.c.Addrs(), ","), group, topic, store, l.file("state-"+store))
}

// counter is the topology that Counter.java joins with.
func counter(group, topic, store string) string {
	return fmt.Sprintf(`{"subtopologies": [
		{"id": "0", "source_topics": [%[2]q], "repartition_sink_topics": ["%[1]s-%[3]s-repartition"]},
		{"id": "1",
		 "repartition_source_topics": [{"name": "%[1]s-%[3]s-repartition", "replication_factor": -1, "configs": {
			"cleanup.policy": "delete", "message.timestamp.type": "CreateTime", "retention.ms": "-1", "segment.bytes": "52428800"}}],
		 "state_changelog_topics": [{"name": "%[1]s-%[3]s-changelog", "replication_factor": -1, "configs": {
			"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}}]}]}`, group, topic, store)
}

// S-31, K1071-25: a Java application gets another topology, in a group that keeps its offsets: no record is
// read twice, and none is left out.
func TestKafkaJavaApplicationIsReset(t *testing.T) {
	onStreams(t, func(l *lab) {
		group := fmt.Sprintf("counter-%d", time.Now().UnixNano())
		topic := group + "-in"
		l.must(l.c.CreateTopic(l.ctx, topic, 3))
		old := l.write("old.json", counter(group, topic, "one"))
		next := l.write("new.json", counter(group, topic, "two"))
		if p := l.plan(group, old); !p.First || p.Epoch != 0 {
			l.Errorf("the plan for no group: %+v", p)
		}
		l.ctl(exitRefused, "describe", group)

		l.produce(topic, 0, 30)
		app := l.java(group, topic, "one")
		l.must(app.Wait(l.ctx, func(lines []string) bool { return len(records(lines)) == 30 }))
		v := l.shown(group, stable)
		if got := v.Members[0].Current.String(); !strings.Contains(got, "active 0_0 0_1 0_2 1_0 1_1 1_2") {
			l.Errorf("current tasks: %s", got)
		}
		l.Logf("%s", l.ctl(exitDone, "describe", group))
		l.ctl(exitDone, "check", group, old)
		l.ctl(exitDone, "diff", group, old)
		if p := l.plan(group, old); p.Bump || p.Epoch != 0 {
			l.Errorf("the plan for the same: %+v", p)
		}
		if p := l.plan(group, next); !p.Bump || p.Epoch != 1 || p.InPlace {
			l.Errorf("the plan for another: %+v", p)
		}
		if out := l.ctl(exitRefused, "check", group, next); !strings.Contains(out, group+"-two-changelog") {
			l.Errorf("check does not name what differs: %s", out)
		}
		l.ctl(exitRefused, "check", group, "-epoch", "1", "-allow-update", next)
		l.ctl(exitRefused, "reset", group, "-yes", "-wait", "1ms", "-save", l.file("live"), next)

		time.Sleep(time.Second) // a commit interval
		l.must(app.Stop())
		l.shown(group, nobody)
		l.Logf("%s", l.ctl(exitDone, "reset", group, "-dry-run", "-save", l.file("dry"), next))
		l.ctl(exitRefused, "reset", group, "-save", l.file("offsets"), next) // the terminal has ended
		l.Logf("%s", l.ctl(exitDone, "reset", group, "-yes", "-save", l.file("offsets"), next))
		l.produce(topic, 30, 40)
		again := l.java(group, topic, "two")
		l.must(again.Wait(l.ctx, func(lines []string) bool { return len(records(lines)) >= 10 }))
		l.ctl(exitDone, "check", group, next)
		time.Sleep(2 * time.Second)
		for n, times := range records(again.Lines()) {
			if n < 30 || times != 1 {
				l.Errorf("record %d came %d times", n, times)
			}
		}
		l.must(again.Stop())
	})
}
