package membertest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/member"
	"github.com/rollcall-go/rollcall/membertest/brokers"
	"github.com/rollcall-go/rollcall/membertest/coordinator"
)

// town is a cluster, some processes and their members, all watched by one verifier.
type town struct {
	*testing.T
	cluster *brokers.Cluster
	check   *Verifier
	rec     Recorder
	clients []*kgo.Client
	faults  []*FaultTransport // one per client
	runs    sync.WaitGroup
	rand    *rand.Rand
}

func newTown(t *testing.T, processes int, seed uint64, cfg brokers.Config) *town {
	w := &town{T: t, cluster: NewCluster(t, cfg), rand: rand.New(rand.NewPCG(seed, 2))}
	w.check = NewVerifier(func(v Violation) { t.Errorf("%s %v", time.Now().Format(clock), v) })
	for range processes {
		cl := NewClient(t, w.cluster)
		ft := NewFaultTransport(kgotransport.New(cl))
		t.Cleanup(ft.Close)
		w.clients, w.faults = append(w.clients, cl), append(w.faults, ft)
	}
	return w
}

// resident is a member that runs.
type resident struct {
	*member.Consumer
	stop context.CancelFunc
	done chan error
}

func (w *town) start(process int, change func(*member.ConsumerConfig)) *resident {
	w.Helper()
	own := rand.New(rand.NewPCG(w.rand.Uint64(), 4)) // callbacks of one member come one at a time
	slow := func(context.Context, member.Partitions) error {
		time.Sleep(time.Duration(own.IntN(300)) * time.Millisecond)
		return nil
	}
	cfg := member.ConsumerConfig{
		Group: "g", Topics: []string{"orders"}, Logger: slog.New(slog.DiscardHandler), Rand: rand.NewPCG(w.rand.Uint64(), 3),
		OnAssigned: slow, OnRevoked: slow, OnLost: slow,
		Transport: w.check.Transport(w.faults[process]), Hooks: member.JoinHooks(w.rec.Hooks(), w.check.Hooks()),
	}
	if change != nil {
		change(&cfg)
	}
	m, err := member.NewConsumer(w.clients[process], cfg)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &resident{Consumer: m, stop: cancel, done: make(chan error, 1)}
	w.runs.Go(func() { r.done <- m.Run(ctx) })
	return r
}

// settled fails unless every member is STABLE, and every partition has one owner,
// at some moment of the next ten seconds: a heartbeat in every interval, and each may
// be followed by an acknowledgement.
func (w *town) settled(members []*resident, partitions int) {
	w.Helper()
	why := w.unsettled(members, partitions)
	for range 100 {
		if why == "" {
			return
		}
		time.Sleep(100 * time.Millisecond)
		why = w.unsettled(members, partitions)
	}
	w.Error(why)
}

func (w *town) unsettled(members []*resident, partitions int) string {
	owners := map[int32]int{}
	for _, m := range members {
		s := m.Snapshot()
		if s.State != member.StateStable {
			return fmt.Sprintf("%v is %v", s.Identity, s.State)
		}
		for _, p := range s.Assignment.All() {
			owners[p]++
		}
	}
	for p := range int32(partitions) {
		if owners[p] != 1 {
			return fmt.Sprintf("partition %d has %d owners", p, owners[p])
		}
	}
	if g := w.cluster.Group("g"); len(g.Members) != len(members) || g.State != "Stable" {
		return fmt.Sprintf("the coordinator has %d members, %s", len(g.Members), g.State)
	}
	return ""
}

// TestOneHourOfTrouble runs 30 members of six processes for an hour in which
// members come and go, answers and requests get lost, arrive late or twice,
// connections are cut and the coordinator moves.
func TestOneHourOfTrouble(t *testing.T) {
	for seed := range uint64(*soaks) {
		version := coordinator.Versions()[(len(coordinator.Versions())-1+int(seed))%len(coordinator.Versions())]
		t.Run(fmt.Sprint("seed ", seed, ", Kafka ", version), func(t *testing.T) { hourOfTrouble(t, seed, version) })
	}
}

var soaks = flag.Int("soaks", 1, "how many seeds TestOneHourOfTrouble runs")

func hourOfTrouble(t *testing.T, seed uint64, version coordinator.Version) {
	synctest.Test(t, func(t *testing.T) {
		const members, processes, partitions = 30, 6, 60
		w := newTown(t, processes, seed, brokers.Config{Version: version, Topics: map[string]int32{"orders": partitions}})
		all := make([]*resident, members)
		for i := range all {
			all[i] = w.start(i%processes, w.as(i))
			time.Sleep(time.Duration(w.rand.IntN(500)) * time.Millisecond)
		}
		time.Sleep(time.Minute)
		w.settled(all, partitions)

		began, hits := time.Now(), 0
		for time.Since(began) < time.Hour {
			in := w.trouble()
			if w.rand.IntN(3) == 0 {
				i := w.rand.IntN(members)
				all[i].stop()
				if err := <-all[i].done; err != nil {
					t.Logf("%s member %d: %v", time.Now().Format(clock), i, err)
				}
				all[i] = w.start(i%processes, w.as(i))
			}
			time.Sleep(time.Duration(5+w.rand.IntN(20)) * time.Second)
			hits += in.Hits()
			in.Remove()
		}
		time.Sleep(3 * time.Minute)
		w.settled(all, partitions)

		for _, m := range all {
			m.stop()
			if err := <-m.done; err != nil {
				t.Error(err)
			}
		}
		w.runs.Wait()
		w.check.Finish()
		if g := w.cluster.Group("g"); len(g.Members) != 0 {
			for _, m := range g.Members {
				if m.Epoch != -2 {
					t.Errorf("a ghost: %v", m)
				}
			}
		}
		t.Logf("%d faults, %d heartbeats, %d callbacks", hits, len(All[member.HeartbeatInfo](&w.rec)), len(All[member.OwnershipInfo](&w.rec)))
	})
}

// as makes every fifth member a static one.
func (w *town) as(i int) func(*member.ConsumerConfig) {
	return func(c *member.ConsumerConfig) {
		if i%5 == 0 {
			c.InstanceID = fmt.Sprint("instance-", i)
		}
	}
}

// trouble injects the next fault.
func (w *town) trouble() *Injected {
	ft := w.faults[w.rand.IntN(len(w.faults))]
	match := []func(Call) bool{nil, Call.IsJoin, Call.IsBeat, Call.IsLeave}[w.rand.IntN(4)]
	n := 1 + w.rand.IntN(3)
	var do Action
	switch w.rand.IntN(14) {
	case 0:
		do = DropRequest()
	case 1:
		do = NotSent()
	case 2:
		do = LoseAnswer()
	case 3:
		do = Cut()
	case 4:
		do = Delay(time.Duration(w.rand.IntN(20000)) * time.Millisecond)
	case 5:
		do = HoldAnswer(nil)
	case 6:
		do = HoldRequest(nil)
	case 7:
		do = Duplicate()
	case 8:
		do = Answer([]int16{14, 15, 16, 7, -1}[w.rand.IntN(5)])
	case 9:
		match, do = Call.IsBeat, Answer([]int16{25, 110, 69, 29}[w.rand.IntN(4)])
	case 10:
		match, do = Call.IsBeat, AnswerWith(func(r *kmsg.ConsumerGroupHeartbeatResponse) kmsg.Response {
			r.HeartbeatIntervalMillis = -5
			return r
		})
	case 11:
		do = Panic()
	case 12:
		w.cluster.CutConnections()
		do = LoseAnswer()
	case 13:
		if _, err := w.cluster.MoveCoordinator("g"); err != nil {
			w.Error(err)
		}
	}
	return ft.Inject(Fault{Match: match, Times: n, Do: do})
}
