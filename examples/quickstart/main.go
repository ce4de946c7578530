// Command quickstart shows what a consumer group of KIP-848 does, with Rollcall's
// members and no Kafka: the brokers are in this process, in memory. It checks what
// it shows, and exits with code 1 if anything was not as it should be.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rollcall-go/rollcall/membertest/brokers"
)

const (
	group      = "quickstart"
	topic      = "orders"
	partitions = 12

	// Short, so that nobody has to wait for long. Kafka's defaults are 5 s and 45 s.
	heartbeatInterval = 500 * time.Millisecond
	sessionTimeout    = 3 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Stdout)
	stop()
	os.Exit(code)
}

// run shows everything on out, and returns the exit code.
func run(ctx context.Context, out io.Writer) int {
	began := time.Now()
	cluster, err := brokers.New(brokers.Config{
		Topics:            map[string]int32{topic: partitions},
		HeartbeatInterval: heartbeatInterval,
		SessionTimeout:    sessionTimeout,
	})
	if err != nil {
		fmt.Fprintln(out, "FAIL: embedded cluster:", err)
		return 1
	}
	defer cluster.Close()
	fmt.Fprintf(out, "Consumer group %q on an embedded Kafka cluster (3 brokers, in memory).\n", group)
	fmt.Fprintf(out, "Topic %q has %d partitions. Heartbeat interval %v, session timeout %v.\n",
		topic, partitions, heartbeatInterval, sessionTimeout)

	s := &show{out: out, cluster: cluster}
	s.play(ctx)
	s.finish()
	for _, what := range s.book.conflicts() {
		s.expect(false, "%s", what)
	}
	took := time.Since(began).Seconds()
	if s.failures > 0 {
		fmt.Fprintf(out, "\nFAIL: %d expectations did not hold (%.1f s).\n", s.failures, took)
		return 1
	}
	fmt.Fprintf(out, "\nOK: every expectation held, and no partition ever had two owners (%.1f s).\n", took)
	return 0
}

// play is the programme. It ends early when the group does not settle.
func (s *show) play(ctx context.Context) {
	steps := []func(context.Context) bool{
		s.joins("anna", "the only member gets all partitions"),
		s.joins("ben", "anna gives up half of them, and only then ben gets them"),
		s.joins("cleo", "each gets a third"),
		s.answerLost,
		s.leavesCleanly,
		s.dies,
	}
	for _, step := range steps {
		if !step(ctx) {
			return
		}
	}
}

func (s *show) joins(name, what string) func(context.Context) bool {
	return func(ctx context.Context) bool {
		s.title("%s joins: %s.", name, what)
		return s.start(ctx, name, nil) && s.settle(ctx)
	}
}

// answerLost is what makes ghosts elsewhere: the coordinator has made a member, and
// the client does not know. Here the member has its ID before it joins, and joins
// again with the same one.
func (s *show) answerLost(ctx context.Context) bool {
	s.title("dave joins, and the answer to the first join is lost after the coordinator applied it.")
	lost := &lossy{}
	if !s.start(ctx, "dave", lost.around) || !s.settle(ctx) {
		return false
	}
	s.expect(lost.lost.Load() == 1 && lost.joins.Load() > 1, "dave sent %d joins under one member ID; %d answer was lost", lost.joins.Load(), lost.lost.Load())
	g := s.cluster.Group(group)
	known := 0
	for _, a := range s.crew {
		if _, ok := g.Member(a.m.Snapshot().MemberID); ok {
			known++
		}
	}
	s.expect(len(g.Members) == 4 && known == 4, "members in the group: %d, no ghost", len(g.Members))
	return true
}

func (s *show) leavesCleanly(ctx context.Context) bool {
	ben := s.take("ben")
	s.title("ben leaves cleanly: OnRevoked, then a heartbeat with member epoch -1.")
	before := s.owners
	ben.cancel()
	err := <-ben.done
	s.expect(err == nil, "Run returned %s", result(err))
	n := len(s.cluster.Group(group).Members)
	s.expect(n == 3, "members in the group: %d, at once", n)
	if !s.settle(ctx) {
		return false
	}
	kept := true
	for p, name := range before {
		kept = kept && (name == "ben" || s.owners[p] == name)
	}
	s.expect(kept, "the others kept what they had")
	return true
}

func (s *show) dies(ctx context.Context) bool {
	cleo := s.take("cleo")
	s.title("cleo dies: no leave is sent, so the coordinator waits for the end of the session.")
	s.kill(ctx, cleo)
	g := s.cluster.Group(group)
	_, there := g.Member(cleo.m.Snapshot().MemberID)
	owned := s.owned()
	s.expect(there && len(owned) < partitions, "members in the group: %d, cleo among them; partitions without a living owner: %d",
		len(g.Members), partitions-len(owned))
	if !s.settle(ctx) {
		return false
	}
	// The session runs from cleo's last heartbeat, which is up to an interval old.
	least := sessionTimeout - heartbeatInterval - 50*time.Millisecond
	s.expect(s.took >= least && s.took < 2*sessionTimeout, "this took as long as a session and a heartbeat take")
	return true
}

func result(err error) string {
	if err == nil {
		return "nil"
	}
	return err.Error()
}

// finish makes everybody leave.
func (s *show) finish() {
	s.title("everybody leaves.")
	for _, a := range s.crew {
		a.cancel()
	}
	for _, a := range s.crew {
		err := <-a.done
		s.expect(err == nil, "%s: Run returned %s", a.name, result(err))
	}
	s.close()
	n := len(s.cluster.Group(group).Members)
	s.expect(n == 0, "members left in the group: %d", n)
}
