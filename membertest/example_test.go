package membertest_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest"
	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// The first join is applied, but its answer gets lost. The member is in all the same,
// once, and no rule is broken. (In a test, not an example, run this in a
// synctest bubble, with NewCluster and NewClient.)
func Example() {
	cluster, _ := brokers.New(brokers.Config{Topics: map[string]int32{"orders": 4}})
	defer cluster.Close()
	cl, _ := kgo.NewClient(cluster.Opts()...)
	defer cl.Close()

	faults := membertest.NewFaultTransport(kgotransport.New(cl))
	defer faults.Close()
	faults.Inject(membertest.Fault{Match: membertest.Call.IsJoin, Do: membertest.LoseAnswer()})
	check := membertest.NewVerifier(func(v membertest.Violation) { fmt.Println(v) })

	ctx, stop := context.WithCancel(context.Background())
	m, err := member.NewConsumer(cl, member.ConsumerConfig{
		Group: "billing", Topics: []string{"orders"}, Logger: slog.New(slog.DiscardHandler),
		OnAssigned: func(_ context.Context, p member.Partitions) error {
			fmt.Println("assigned", p, "of", len(cluster.Group("billing").Members), "member")
			stop()
			return nil
		},
		Transport: check.Transport(faults), Hooks: check.Hooks(),
	})
	fmt.Println(err)
	fmt.Println(m.Run(ctx), len(cluster.Group("billing").Members))
	check.Finish()
	// Output:
	// <nil>
	// assigned orders[0-3] of 1 member
	// <nil> 0
}

// TestUser is a test as a user of the package writes it: a member is thrown out, and
// comes back.
func TestUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := membertest.NewCluster(t, brokers.Config{Topics: map[string]int32{"orders": 12}})
		cl, rec := membertest.NewClient(t, cluster), new(membertest.Recorder)
		faults := membertest.NewFaultTransport(kgotransport.New(cl))
		t.Cleanup(faults.Close)
		check := membertest.NewVerifier(func(v membertest.Violation) { t.Error(v) })
		m, err := member.NewConsumer(cl, member.ConsumerConfig{
			Group: "billing", Topics: []string{"orders"}, Logger: slog.New(slog.DiscardHandler),
			Transport: check.Transport(faults), Hooks: member.JoinHooks(rec.Hooks(), check.Hooks()),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		membertest.Wait(ctx, t, rec, func(i member.OwnershipInfo) bool { return i.Owned.Len() == 12 })
		faults.Inject(membertest.Fault{Match: membertest.Call.IsBeat, Do: membertest.Answer(kerr.FencedMemberEpoch.Code)})
		lost := membertest.Wait(ctx, t, rec, func(i member.OwnershipInfo) bool { return i.What == member.Lost })
		back := membertest.Wait(ctx, t, rec, func(i member.StateInfo) bool { return i.To == member.StateStable && i.At.After(lost.At) })
		if d := back.At.Sub(lost.At); d > time.Second {
			t.Errorf("back after %v", d)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		check.Finish()
	})
}
