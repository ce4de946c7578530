package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}

// cluster starts brokers in the bubble.
func cluster(t *testing.T, cfg brokers.Config) *brokers.Cluster {
	t.Helper()
	if cfg.Topics == nil {
		cfg.Topics = map[string]int32{defaultTopic: partitionsEach}
	}
	c, err := brokers.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// flags parses args that must be right.
func flags(t *testing.T, args ...string) options {
	t.Helper()
	o, err := parse(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if f := o.faults(); len(f) > 0 {
		t.Fatalf("faults: %q", f)
	}
	return o
}

// start runs the members of o at c, and returns what stops them and how they end.
func start(t *testing.T, c *brokers.Cluster, o options, stdout io.Writer) (stop func(), end <-chan int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- consume(ctx, o, c.Opts(), stdout, io.Discard) }()
	return cancel, code
}

// line is a line of output as a harness reads it.
type line struct {
	TS          time.Time          `json:"ts"`
	Event       string             `json:"event"`
	Group       string             `json:"group"`
	Member      int                `json:"member"`
	MemberID    string             `json:"member_id"`
	InstanceID  string             `json:"instance_id"`
	MemberEpoch int32              `json:"member_epoch"`
	State       string             `json:"state"`
	Partitions  map[string][]int32 `json:"partitions"`
	Owned       map[string][]int32 `json:"owned"`
	Error       *struct {
		Code    int16  `json:"code"`
		Name    string `json:"name"`
		Message string `json:"message"`
	} `json:"error"`
	Reason        string  `json:"reason"`
	Epoch         int32   `json:"epoch"`
	AnsweredEpoch int32   `json:"answered_epoch"`
	Full          bool    `json:"full"`
	Code          int16   `json:"code"`
	IntervalMS    int64   `json:"interval_ms"`
	RTTMS         float64 `json:"rtt_ms"`
	Early         bool    `json:"early"`
}

var (
	keysOfAll  = []string{"ts", "event", "group", "member", "member_id", "instance_id", "member_epoch", "state", "partitions", "owned"}
	keysOfBeat = []string{"reason", "epoch", "answered_epoch", "full", "code", "interval_ms", "rtt_ms", "early"}
	eventNames = []string{
		"joining", "joined", "assigned", "revoked", "lost", "state", "fenced", "trust_lost", "left", "error", "heartbeat",
	}
)

// read checks the form of every line and what can be said of any run: an event's
// keys, and that owned is assigned less revoked and lost.
func read(t *testing.T, output []byte) []line {
	t.Helper()
	var lines []line
	held := map[int]member.Partitions{}
	for text := range strings.Lines(string(output)) {
		l := readLine(t, text)
		lines = append(lines, l)
		switch l.Event {
		case "assigned":
			held[l.Member] = plus(held[l.Member], l.Partitions)
		case "revoked", "lost":
			held[l.Member] = minus(held[l.Member], l.Partitions)
		default:
			continue
		}
		if !reflect.DeepEqual(held[l.Member], member.Partitions(l.Owned)) {
			t.Errorf("owned should be %v: %s", held[l.Member], text)
		}
	}
	return lines
}

func readLine(t *testing.T, text string) line {
	t.Helper()
	var l line
	var raw map[string]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		t.Fatalf("%v: %q", err, text)
	}
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(keysOfAll)
	if l.Event == "heartbeat" {
		want = append(want, keysOfBeat...)
	}
	if l.Error != nil {
		want = append(want, "error")
	}
	if got := slices.Sorted(maps.Keys(raw)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if ts := raw["ts"].(string); l.TS.UTC().Format(timeFormat) != ts || len(ts) != len("2006-01-02T15:04:05.000000000Z") {
		t.Errorf("ts %q", ts)
	}
	if !slices.Contains(eventNames, l.Event) || l.Partitions == nil || l.Owned == nil || len(l.MemberID) != 22 || l.State == "" {
		t.Errorf("bad line %s", text)
	}
	return l
}

// of are the lines of one member with one of the names.
func of(lines []line, member int, names ...string) []line {
	return slices.DeleteFunc(slices.Clone(lines), func(l line) bool {
		return l.Member != member || !slices.Contains(names, l.Event)
	})
}

// events are the names of a member's lines but heartbeat and state.
func events(lines []line, member int) string {
	var names []string
	for _, l := range lines {
		if l.Member == member && l.Event != "heartbeat" && l.Event != "state" {
			names = append(names, l.Event)
		}
	}
	return strings.Join(names, " ")
}

// exclusive replays ownership in the order of the lines: no partition may have two
// owners at a time. It returns the most that were owned at once.
func exclusive(t *testing.T, lines []line) (most int) {
	t.Helper()
	owner := map[string]int{}
	key := func(topic string, p int32) string { return member.Partitions{topic: {p}}.String() }
	for _, l := range lines {
		for topic, p := range member.Partitions(l.Partitions).All() {
			other, taken := owner[key(topic, p)]
			switch l.Event {
			case "assigned":
				if taken {
					t.Errorf("%s is assigned to member %d while member %d owns it", key(topic, p), l.Member, other)
				}
				owner[key(topic, p)] = l.Member
			case "revoked", "lost":
				delete(owner, key(topic, p))
			}
		}
		most = max(most, len(owner))
	}
	if len(owner) > 0 {
		t.Errorf("still owned at the end: %v", owner)
	}
	return most
}

// runFor runs the whole program.
func runFor(t *testing.T, args ...string) (code int, lines []line, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	code = run(t.Context(), args, &out, &log)
	return code, read(t, out.Bytes()), log.String()
}
