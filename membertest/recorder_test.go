package membertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rollcall-go/rollcall/member"
)

func stateInfo(id string, to member.State) member.StateInfo {
	return member.StateInfo{Event: member.Event{Member: member.Identity{Group: "g", MemberID: id}, At: time.Now()}, To: to}
}

func TestRecorderKeepsAllInOrder(t *testing.T) {
	r := new(Recorder)
	h := r.Hooks()
	h.State(stateInfo("a", member.StateJoining))
	h.Notice(member.NoticeInfo{Text: "odd"})
	h.State(stateInfo("b", member.StateStable))
	h.Heartbeat(member.HeartbeatInfo{Epoch: 3})
	h.Ownership(member.OwnershipInfo{What: member.Lost})
	h.Trust(member.TrustInfo{})
	if got := All[member.StateInfo](r); len(got) != 2 || got[0].Member.MemberID != "a" || got[1].To != member.StateStable {
		t.Errorf("states: %v", got)
	}
	if n, o, u := len(All[member.NoticeInfo](r)), len(All[member.OwnershipInfo](r)), len(All[member.TrustInfo](r)); n != 1 || o != 1 || u != 1 {
		t.Errorf("got %d notices, %d ownerships, %d trusts, want one each", n, o, u)
	}
	if got := Wait[member.HeartbeatInfo](t.Context(), t, r, nil); got.Epoch != 3 {
		t.Errorf("got %+v", got)
	}
	r.Reset()
	if got := All[member.StateInfo](r); got != nil {
		t.Errorf("after Reset: %v", got)
	}
	h.State(stateInfo("c", member.StateFenced))
	if got := Wait(t.Context(), t, r, func(member.StateInfo) bool { return true }); got.Member.MemberID != "c" {
		t.Errorf("after Reset the first is %v", got)
	}
}

func TestWaitTakesWhatIsToCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := new(Recorder)
		began := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				for n := range 100 {
					time.Sleep(time.Second)
					r.Hooks().State(stateInfo(fmt.Sprint(i, "/", n), member.StateStable))
				}
			})
		}
		time.Sleep(10500 * time.Millisecond)
		r.Reset()
		Wait(t.Context(), t, r, func(i member.StateInfo) bool { return i.Member.MemberID == "1/49" })
		if d := time.Since(began); d != 50*time.Second {
			t.Errorf("woke up after %v, want 50s", d)
		}
		wg.Wait()
		if n := len(All[member.StateInfo](r)); n != 270 {
			t.Errorf("recorded %d, want 270", n)
		}
	})
}

// fakeTB takes a Fatalf.
type fakeTB struct {
	testing.TB
	text string
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Fatalf(format string, args ...any) { f.text = fmt.Sprintf(format, args...) }

func TestWaitFailsWhenContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, tb := new(Recorder), new(fakeTB)
		r.Hooks().State(stateInfo("a", member.StateJoining))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		Wait(ctx, tb, r, func(i member.StateInfo) bool { return i.To == member.StateStable })
		if !strings.Contains(tb.text, "member.StateInfo") || !strings.Contains(tb.text, "to=JOINING") || !strings.Contains(tb.text, "deadline") {
			t.Errorf("failed with %q", tb.text)
		}
	})
}
