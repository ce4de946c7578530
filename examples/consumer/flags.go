package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/member"
)

const (
	defaultGroup   = "rollcall-example"
	defaultTopic   = "orders"
	partitionsEach = 12 // of the topics of the embedded cluster
)

// options is what the flags say.
type options struct {
	brokers     []string
	group       string
	topics      []string
	regex       string
	instanceID  string
	rack        string
	members     int
	startGap    time.Duration
	timing      member.Timing
	leave       leaveFlag
	revokeDelay time.Duration
	selfRevoke  bool
	duration    time.Duration
	verbose     bool
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var noEarly bool
	fs := flag.NewFlagSet("consumer", flag.ContinueOnError)
	fs.SetOutput(stderr)
	list := func(name, usage string, to *[]string) {
		fs.Func(name, usage, func(s string) error { *to = split(s); return nil })
	}
	list("brokers", "comma-separated `addresses`; empty: a cluster in memory, where each topic has 12 partitions", &o.brokers)
	fs.StringVar(&o.group, "group", defaultGroup, "group `ID`")
	list("topics", "comma-separated topic `names` (default \""+defaultTopic+"\" if there is no -regex)", &o.topics)
	fs.StringVar(&o.regex, "regex", "", "regular `expression` (RE2) that whole topic names match; the broker evaluates it")
	fs.StringVar(&o.instanceID, "instance-id", "", "group.instance.id of a static member; with -members, \"-0\", \"-1\", ... are appended")
	fs.StringVar(&o.rack, "rack", "", "client.rack")
	fs.IntVar(&o.members, "members", 1, "members in this process, on one client")
	fs.DurationVar(&o.startGap, "start-gap", 0, "time between the starts of two members")
	fs.DurationVar(&o.timing.RebalanceTimeout, "rebalance-timeout", 0, "how long callbacks may take (0: 5m)")
	fs.DurationVar(&o.timing.SessionTimeout, "session-timeout", 0, "what the group's session timeout is set to (0: 45s); the cluster in memory obeys it")
	fs.DurationVar(&o.timing.MaxPollInterval, "max-poll-interval", 0, "longest time between two calls of Alive, which the program makes three times as often (0: off)")
	fs.Var(&o.leave, "leave", "how to leave: default, leave or remain (default \"default\")")
	fs.DurationVar(&o.revokeDelay, "revoke-delay", 0, "how long OnRevoked takes, unless its context ends first")
	fs.BoolVar(&o.selfRevoke, "self-revoke", false, "give up everything when the session may have ended, though no broker said so")
	fs.BoolVar(&noEarly, "no-early", false, "no early heartbeats")
	fs.DurationVar(&o.duration, "duration", 0, "leave after this time (0: at SIGINT or SIGTERM)")
	fs.BoolVar(&o.verbose, "v", false, "print heartbeats, and debug logs on stderr")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		err := fmt.Errorf("unexpected arguments: %q", fs.Args())
		fmt.Fprintln(stderr, "consumer:", err)
		return o, err
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["topics"] && o.regex == "" {
		o.topics = []string{defaultTopic}
	}
	if noEarly {
		o.timing.EarlyBeats = -1
	}
	return o, nil
}

// leaveFlag keeps what it does not understand, so that it is reported with all else.
type leaveFlag struct {
	op  member.LeaveOperation
	bad string
}

// String implements flag.Value.
func (l *leaveFlag) String() string { return l.op.String() }

// Set implements flag.Value.
func (l *leaveFlag) Set(s string) error {
	l.bad = ""
	if l.op.UnmarshalText([]byte(s)) != nil {
		l.bad = s
	}
	return nil
}

// split keeps empty names, so that they are reported and not guessed away.
func split(s string) []string {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	parts := strings.Split(s, ",")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

// config is the configuration of member i, without what listens to it.
func (o options) config(i int) member.ConsumerConfig {
	cfg := member.ConsumerConfig{
		Group: o.group, Topics: o.topics, Regex: o.regex, Rack: o.rack,
		InstanceID: o.instanceID, Leave: o.leave.op, SelfFence: o.selfRevoke, Timing: o.timing,
	}
	if o.instanceID != "" && o.members > 1 {
		cfg.InstanceID = fmt.Sprintf("%s-%d", o.instanceID, i)
	}
	return cfg
}

// flagOf names the flag behind a field of the configuration.
var flagOf = map[string]string{
	"Group": "-group", "Topics": "-topics", "Regex": "-regex", "InstanceID": "-instance-id", "Rack": "-rack", "Leave": "-leave",
	"Timing.RebalanceTimeout": "-rebalance-timeout", "Timing.SessionTimeout": "-session-timeout",
	"Timing.MaxPollInterval": "-max-poll-interval",
}

// faults returns everything that is wrong with o.
func (o options) faults() []string {
	var out []string
	wrong := func(flag string, value any, want string) {
		if s, ok := value.(string); ok {
			value = fmt.Sprintf("%q", s)
		}
		out = append(out, fmt.Sprintf("%s = %v: want %s", flag, value, want))
	}
	if o.members < 1 {
		wrong("-members", o.members, "at least 1")
	}
	if slices.Contains(o.brokers, "") {
		wrong("-brokers", strings.Join(o.brokers, ","), "an address between two commas")
	}
	if o.leave.bad != "" {
		wrong("-leave", o.leave.bad, "default, leave or remain")
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"-start-gap", o.startGap}, {"-revoke-delay", o.revokeDelay}, {"-duration", o.duration}} {
		if d.value < 0 {
			wrong(d.flag, d.value, "0 or more")
		}
	}
	for _, f := range memberFaults(o.config(max(0, o.members-1))) {
		name := flagOf[f.Field]
		if name == "" {
			name = f.Field
		}
		wrong(name, f.Value, f.Want)
	}
	return out
}

// memberFaults asks the constructor. A member that is never run costs nothing, and
// the one with the highest index has the longest instance ID. The Transport stands
// in for a client, which there is no reason to open before the flags are known to
// be right.
func memberFaults(cfg member.ConsumerConfig) []member.ConfigFault {
	cfg.Transport = heartbeat.TransportFunc(func(context.Context, string, kmsg.Request) (kmsg.Response, error) {
		return nil, heartbeat.NotSent(errors.New("only for checking the configuration"))
	})
	_, err := member.NewConsumer(nil, cfg)
	if err == nil {
		return nil
	}
	if ce, ok := errors.AsType[*member.ConfigError](err); ok {
		return ce.Faults
	}
	return []member.ConfigFault{{Field: "configuration", Value: err.Error(), Want: "one that is accepted"}}
}
