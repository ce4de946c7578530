package main

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rollcall-go/rollcall/member"
)

func TestParseDefaults(t *testing.T) {
	o, err := parse(nil, io.Discard)
	want := options{group: "rollcall-example", topics: []string{"orders"}, members: 1}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Fatalf("got %+v, %v, want %+v", o, err, want)
	}
	if o, err = parse([]string{"-regex", "ord.*"}, io.Discard); err != nil || o.topics != nil || o.regex != "ord.*" {
		t.Fatalf("with a regex got %+v, %v", o, err)
	}
}

func TestParseAll(t *testing.T) {
	o, err := parse(strings.Fields(`-brokers h1:9092,h2:9092 -group g -topics a,b -regex x.* -instance-id i -rack r -members 3
		-start-gap 1s -rebalance-timeout 2s -session-timeout 3s -max-poll-interval 4s -leave remain -revoke-delay 5s
		-self-revoke -no-early -duration 6s -v`), io.Discard)
	want := options{
		brokers: []string{"h1:9092", "h2:9092"}, group: "g", topics: []string{"a", "b"}, regex: "x.*", instanceID: "i", rack: "r",
		members: 3, startGap: time.Second, leave: leaveFlag{op: member.RemainInGroup}, revokeDelay: 5 * time.Second, selfRevoke: true,
		duration: 6 * time.Second, verbose: true,
		timing: member.Timing{
			RebalanceTimeout: 2 * time.Second, SessionTimeout: 3 * time.Second, MaxPollInterval: 4 * time.Second, EarlyBeats: -1,
		},
	}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Fatalf("got %+v, %v\nwant %+v", o, err, want)
	}
	if f := o.faults(); f != nil {
		t.Fatalf("faults %q", f)
	}
}

func TestInstanceIDs(t *testing.T) {
	for args, want := range map[string]string{
		"":                            "",
		"-members 2":                  "",
		"-instance-id i":              "i",
		"-instance-id i -members 2":   "i-1",
		"-instance-id i-0 -members 2": "i-0-1",
	} {
		o := flags(t, strings.Fields(args)...)
		if got := o.config(o.members - 1).InstanceID; got != want {
			t.Errorf("%q: got %q, want %q", args, got, want)
		}
	}
}

func TestExitCodeOfWrongFlags(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string // on stderr
	}{
		{"-nonsense", []string{"-nonsense"}},
		{"-leave later -members 0", []string{"-leave", "want default, leave or remain", "-members"}},
		{"-members x", []string{"-members"}},
		{"orders", []string{`unexpected arguments: ["orders"]`}},
		{"-brokers host:port", []string{"parse port"}},
		{
			"-members 0 -brokers a,,b -start-gap -1s -revoke-delay -2s -duration -3s -topics a,b!,, -instance-id x! -session-timeout -4s -rebalance-timeout 1us",
			[]string{
				"-members = 0", `-brokers = "a,,b"`, "-start-gap = -1s", "-revoke-delay = -2s", "-duration = -3s", `-topics = "b!"`, `-topics = ""`,
				`-instance-id = "x!"`, "-session-timeout = -4s", "-rebalance-timeout = 1µs",
			},
		},
		{"-group= -max-poll-interval 1us", []string{`-group = ""`, "-max-poll-interval = 1µs"}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), &stdout, &stderr); code != 2 {
			t.Errorf("%s: exit code %d", c.args, code)
		}
		for _, w := range c.want {
			if !strings.Contains(stderr.String(), w) {
				t.Errorf("%s: no %q on stderr:\n%s", c.args, w, &stderr)
			}
		}
		if stdout.Len() > 0 {
			t.Errorf("%s: on stdout: %s", c.args, &stdout)
		}
	}
}

func TestHelp(t *testing.T) {
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"-h"}, io.Discard, &stderr); code != 0 || !strings.Contains(stderr.String(), "-revoke-delay") {
		t.Fatalf("exit code %d:\n%s", code, &stderr)
	}
}
