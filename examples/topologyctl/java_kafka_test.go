//go:build kafka

package main

import (
	"fmt"
	"slices"
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

// application is a Java program with an old and a new topology.
type application struct {
	*lab
	group, topic string
	old, next    string // files
}

// S-31, K1071-25: a Java application gets another topology, in a group that keeps its offsets: no record is
// read twice, and none is left out.
func TestKafkaJavaApplicationIsReset(t *testing.T) {
	onStreams(t, func(l *lab) {
		a := &application{lab: l, group: fmt.Sprintf("counter-%d", time.Now().UnixNano())}
		a.topic = a.group + "-in"
		l.must(l.c.CreateTopic(l.ctx, a.topic, 3))
		a.old, a.next = l.write("old.json", counter(a.group, a.topic, "one")), l.write("new.json", counter(a.group, a.topic, "two"))
		if p := l.plan(a.group, a.old); !p.First || p.Epoch != 0 {
			l.Errorf("the plan for no group: %+v", p)
		}
		l.ctl(exitRefused, "describe", a.group)

		l.produce(a.topic, 0, 30)
		app := l.java(a.group, a.topic, "one")
		l.must(app.Wait(l.ctx, func(lines []string) bool { return len(records(lines)) == 30 }))
		a.looksRight()
		a.ends(app, 30)
		a.reset()
		l.produce(a.topic, 30, 40)
		app = l.java(a.group, a.topic, "two")
		l.must(app.Wait(l.ctx, func(lines []string) bool { return len(records(lines)) >= 10 }))
		l.ctl(exitDone, "check", a.group, a.next)
		a.ends(app, 40)
		for n, times := range records(app.Lines()) {
			if n < 30 || times != 1 {
				l.Errorf("record %d came %d times", n, times)
			}
		}
	})
}

// looksRight asks for the group while it works.
func (a *application) looksRight() {
	a.Helper()
	v := a.shown(a.group, stable)
	if got := v.Members[0].Current.String(); !strings.Contains(got, "active 0_0 0_1 0_2 1_0 1_1 1_2") {
		a.Errorf("current tasks: %s", got)
	}
	a.Logf("%s", a.ctl(exitDone, "describe", a.group))
	a.ctl(exitDone, "check", a.group, a.old)
	a.ctl(exitDone, "diff", a.group, a.old)
	if p := a.plan(a.group, a.old); p.Bump || p.Epoch != 0 {
		a.Errorf("the plan for the same: %+v", p)
	}
	if p := a.plan(a.group, a.next); !p.Bump || p.Epoch != 1 || p.InPlace {
		a.Errorf("the plan for another: %+v", p)
	}
	for _, command := range []string{"check", "diff"} {
		if out := a.ctl(exitRefused, command, a.group, a.next); !strings.Contains(out, a.group+"-two-changelog") {
			a.Errorf("%s does not name what differs: %s", command, out)
		}
	}
	a.ctl(exitRefused, "check", a.group, "-epoch", "1", "-allow-update", a.next)
	if out := a.ctl(exitDone, "graph", a.group); !strings.Contains(out, a.group+"-one-changelog") {
		a.Errorf("the drawing: %s", out)
	}
	a.ctl(exitRefused, "reset", a.group, "-yes", "-wait", "1ms", "-save", a.file("live"), a.next)
}

// ends stops the program, which commits what it has read.
func (a *application) ends(app *kafkatest.JavaApp, read int64) {
	a.Helper()
	a.must(app.Stop())
	a.must(app.Wait(a.ctx, func(lines []string) bool { return slices.Contains(lines, "closed") }))
	a.shown(a.group, nobody)
	if n := a.committed(); n != read {
		a.Errorf("the application has committed %d records, want %d", n, read)
	}
}

func (a *application) committed() (records int64) {
	a.Helper()
	got, err := a.c.Admin().FetchOffsets(a.ctx, a.group)
	a.must(err)
	for _, o := range got[a.topic] {
		records += max(0, o.At)
	}
	return records
}

func (a *application) reset() {
	a.Helper()
	a.Logf("%s", a.ctl(exitDone, "reset", a.group, "-dry-run", "-save", a.file("dry"), a.next))
	a.ctl(exitRefused, "reset", a.group, "-save", a.file("offsets"), a.next) // the terminal has ended
	a.ctl(exitRefused, "check", a.group, a.next)                             // an empty group keeps its topology
	a.Logf("%s", a.ctl(exitDone, "reset", a.group, "-yes", "-save", a.file("offsets"), a.next))
	same := exitDone
	if a.c.Version() < "4.2" {
		same = exitNotKnown // 4.1 does not show the topology of a group that was never ready
	}
	a.ctl(same, "check", a.group, a.next)
	if n := a.committed(); n != 30 {
		a.Errorf("offsets of %d records after the reset, want 30", n)
	}
}
