package member_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// exampleCluster is an in-process cluster with the topic "orders" of 12 partitions, and
// a client that reaches it. A program has its own client for its own brokers.
func exampleCluster() (cl *kgo.Client, stop func()) {
	c, err := brokers.New(brokers.Config{Topics: map[string]int32{"orders": 12}})
	if err != nil {
		log.Fatal(err)
	}
	cl, err = kgo.NewClient(c.Opts()...)
	if err != nil {
		log.Fatal(err)
	}
	return cl, func() { cl.Close(); c.Close() }
}

var silent = slog.New(slog.DiscardHandler)

// A member joins, is told what it owns, and leaves when its context ends.
func ExampleConsumer() {
	cl, stop := exampleCluster()
	defer stop()

	ctx, cancel := context.WithCancel(context.Background())
	m, err := member.NewConsumer(cl, member.ConsumerConfig{
		Group:  "shop",
		Topics: []string{"orders"},
		OnAssigned: func(_ context.Context, added member.Partitions) error {
			fmt.Println("start", added)
			cancel() // here: the program ends at once
			return nil
		},
		OnRevoked: func(_ context.Context, removed member.Partitions) error {
			fmt.Println("commit and stop", removed)
			return nil
		},
		OnLost: func(_ context.Context, removed member.Partitions) error {
			fmt.Println("drop", removed)
			return nil
		},
		Logger: silent,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("left:", m.Run(ctx))
	// Output:
	// start orders[0-11]
	// commit and stop orders[0-11]
	// left: <nil>
}

// Leave says how to leave: a static member that is scaled down leaves for good, and
// its partitions do not wait for its return.
func ExampleConsumer_Leave() {
	cl, stop := exampleCluster()
	defer stop()

	joined := make(chan struct{})
	m, err := member.NewConsumer(cl, member.ConsumerConfig{
		Group:      "shop",
		Topics:     []string{"orders"},
		InstanceID: "pod-7",
		OnAssigned: func(context.Context, member.Partitions) error { close(joined); return nil },
		Logger:     silent,
	})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- m.Run(context.Background()) }()
	<-joined

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	fmt.Println("Leave:", m.Leave(ctx, member.LeaveGroup))
	fmt.Println("Run:", <-done)
	fmt.Println("state:", m.Snapshot().State)
	// Output:
	// Leave: <nil>
	// Run: <nil>
	// state: UNSUBSCRIBED
}

// A health check looks at Trusted: it is false once nobody can say any more that the
// partitions are ours, though no broker has said that they are not.
func ExampleSnapshot_Trusted() {
	cl, stop := exampleCluster()
	defer stop()

	joined := make(chan struct{})
	m, err := member.NewConsumer(cl, member.ConsumerConfig{
		Group:      "shop",
		Topics:     []string{"orders"},
		OnAssigned: func(context.Context, member.Partitions) error { close(joined); return nil },
		Logger:     silent,
	})
	if err != nil {
		log.Fatal(err)
	}
	healthy := func(now time.Time) error {
		if s := m.Snapshot(); !s.Trusted(now) {
			return errors.New("no accepted heartbeat within the session")
		}
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- m.Run(ctx) }()
	<-joined

	fmt.Println("now:", healthy(time.Now()))
	fmt.Println("if nothing is heard for a minute:", healthy(time.Now().Add(time.Minute)))
	cancel()
	<-done
	// Output:
	// now: <nil>
	// if nothing is heard for a minute: no accepted heartbeat within the session
}
