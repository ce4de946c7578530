// Command consumer runs one or more members of a Kafka consumer group (KIP-848)
// and tells on stdout what happens to them, one JSON object a line. It is an
// example of how to use package member, and a handle for test harnesses.
//
//	go run ./examples/consumer -members 3 -duration 10s
//	go run ./examples/consumer -brokers localhost:9092 -group orders -topics orders,payments
//
// Without -brokers it starts a cluster of its own in memory. SIGINT and SIGTERM
// make the members leave; a second signal ends the program at once.
//
// # Lines
//
// Every line has: ts (RFC 3339, nanoseconds, UTC), event, group, member (its
// index), member_id, instance_id ("" for a dynamic member), member_epoch (0 when
// not in the group), state, partitions (topic to sorted list: what came or went),
// owned (all that the member owns then: assigned less revoked and lost), and, only
// if there is one, error (code, name, message; code 0 and name "": no Kafka error).
//
// The events are state (each change of it), joining, joined, fenced, trust_lost,
// left (a clean end) and error (survived, unless state is FATAL or UNSUBSCRIBED);
// assigned (as OnAssigned is called, also with no partitions after a join that
// brought none), revoked (as OnRevoked returns; with an error if its context had
// ended by then) and lost (as OnLost is called). With -v there is heartbeat for each attempt:
// reason, epoch (of the request), answered_epoch, full, code, interval_ms, rtt_ms,
// early.
//
// A line comes as soon as the program knows. The lines about partitions are in the
// order of cause and effect, those of all members together. So are the other lines
// of one member, but the two kinds reach the program on two ways: compare them by
// ts.
//
// # Exit code
//
// 0 after a clean leave of all members; 1 after the failure of any member (the
// others leave first), of stdout, or after the second signal; 2 for wrong flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

const (
	exitClean  = 0
	exitFailed = 1
	exitUsage  = 2
)

// flushTimeout is how long the end of the program waits for a reader of stdout.
const flushTimeout = 2 * time.Second

func main() {
	// A reader of stdout that goes away must not kill the program before the members
	// have left: writes fail instead.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitFailed)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program: it ends when ctx does, and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitClean
	}
	if err != nil {
		return exitUsage
	}
	if faults := o.faults(); len(faults) > 0 {
		for _, f := range faults {
			fmt.Fprintln(stderr, "consumer:", f)
		}
		return exitUsage
	}
	if len(o.brokers) > 0 {
		return consume(ctx, o, []kgo.Opt{kgo.SeedBrokers(o.brokers...)}, stdout, stderr)
	}
	cluster, err := embedded(o)
	if err != nil {
		fmt.Fprintln(stderr, "consumer: embedded cluster:", err)
		return exitUsage
	}
	defer cluster.Close()
	return consume(ctx, o, cluster.Opts(), stdout, stderr)
}

// embedded starts a cluster in memory with the topics of o, or the default one if
// there is only a regular expression.
func embedded(o options) (*brokers.Cluster, error) {
	cfg := brokers.Config{Topics: map[string]int32{}, SessionTimeout: o.timing.SessionTimeout}
	for _, t := range o.topics {
		cfg.Topics[t] = partitionsEach
	}
	if len(o.topics) == 0 {
		cfg.Topics[defaultTopic] = partitionsEach
	}
	if s := o.timing.SessionTimeout; s > 0 {
		// A session that is not longer than the interval ends between two heartbeats.
		cfg.HeartbeatInterval = min(5*time.Second, s/3)
	}
	return brokers.New(cfg)
}

// consume runs the members on one client. The members end first, then the client,
// then the output.
func consume(ctx context.Context, o options, conn []kgo.Opt, stdout, stderr io.Writer) int {
	level := slog.LevelWarn
	if o.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))

	cl, err := kgo.NewClient(append(conn, kgo.ClientID("rollcall-example-consumer"))...)
	if err != nil {
		fmt.Fprintln(stderr, "consumer: client:", err)
		return exitUsage
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := newSink(stdout, stop)
	err = runMembers(ctx, o, cl, out, log)
	cl.Close()

	flushed, broken := out.close(flushTimeout)
	switch {
	case broken != nil:
		log.Error("stdout failed", "error", broken)
	case !flushed:
		log.Warn("stdout is blocked: the last lines are lost")
	}
	switch {
	case is[*member.ConfigError](err): // of what only the client can tell
		fmt.Fprintln(stderr, "consumer:", err)
		return exitUsage
	case err != nil, broken != nil, !flushed:
		return exitFailed
	}
	return exitClean
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
