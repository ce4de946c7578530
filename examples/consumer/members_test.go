package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/membertest/brokers"
)

// All of this costs no real time.

// silence is a coordinator that answers nothing.
func silence(int32, *kmsg.ConsumerGroupHeartbeatRequest, func() *kmsg.ConsumerGroupHeartbeatResponse) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	return nil, nil
}

func TestThreeMembers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		code, lines, stderr := runFor(t, "-members", "3", "-duration", "30s", "-max-poll-interval", "2s", "-topics", "a,b")
		if code != 0 || stderr != "" {
			t.Fatalf("exit code %d, stderr %q", code, stderr)
		}
		if most := exclusive(t, lines); most != 24 {
			t.Errorf("%d partitions owned at once, want 24", most)
		}
		for i := range 3 {
			names := strings.Fields(events(lines, i))
			for _, n := range []string{"joining", "joined", "left"} {
				if got := len(of(lines, i, n)); got != 1 {
					t.Errorf("member %d: %d times %s", i, got, n)
				}
			}
			if names[0] != "joining" || names[len(names)-1] != "left" {
				t.Errorf("member %d: %q", i, names)
			}
		}
	})
}

// Each state line has what was owned then, though it is printed later.
func TestStatesAndHeartbeats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		code, lines, stderr := runFor(t, "-group", "g", "-instance-id", "i", "-duration", "12s", "-v")
		if code != 0 || !strings.Contains(stderr, "level=DEBUG") {
			t.Fatalf("exit code %d, stderr %q", code, stderr)
		}
		var states []string
		for _, l := range of(lines, 0, "state") {
			all := len(l.Owned[defaultTopic]) == partitionsEach
			if want := slices.Contains([]string{"ACKNOWLEDGING", "STABLE", "PREPARE_LEAVING"}, l.State); all != want {
				t.Errorf("in state %s: owned %v", l.State, l.Owned)
			}
			if in := !slices.Contains([]string{"JOINING", "UNSUBSCRIBED"}, l.State); in != (l.MemberEpoch > 0) {
				t.Errorf("in state %s: member epoch %d", l.State, l.MemberEpoch)
			}
			states = append(states, l.State)
		}
		if got := strings.Join(states, " "); got != "JOINING RECONCILING ACKNOWLEDGING STABLE PREPARE_LEAVING LEAVING UNSUBSCRIBED" {
			t.Errorf("states %s", got)
		}
		beats := of(lines, 0, "heartbeat")
		first, last := beats[0], beats[len(beats)-1]
		if first.Epoch != 0 || first.AnsweredEpoch < 1 || !first.Full || first.Reason != "join" || first.IntervalMS != 5000 {
			t.Errorf("join %+v", first)
		}
		if last.Epoch != -2 || last.Reason != "leave" || last.MemberEpoch < 1 || last.Group != "g" || last.InstanceID != "i" {
			t.Errorf("leave %+v", last)
		}
		if i := slices.IndexFunc(beats, func(l line) bool { return l.Reason == "interval" }); i < 0 {
			t.Errorf("no heartbeat at the interval: %+v", beats)
		}
	})
}

func TestRegex(t *testing.T) {
	bubble(t, func(t *testing.T) {
		code, lines, _ := runFor(t, "-regex", "ord.*", "-duration", "20s", "-no-early")
		if code != 0 || exclusive(t, lines) != partitionsEach {
			t.Errorf("exit code %d, events %s", code, events(lines, 0))
		}
	})
}

func TestFencedMember(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, brokers.Config{})
		var out bytes.Buffer
		stop, end := start(t, c, flags(t), &out)
		time.Sleep(10 * time.Second)
		c.Expire(defaultGroup, c.Group(defaultGroup).Members[0].ID)
		time.Sleep(10 * time.Second)
		stop()
		if code := <-end; code != 0 {
			t.Fatalf("exit code %d", code)
		}
		lines := read(t, out.Bytes())
		for _, n := range []string{"joined", "fenced", "lost", "joining", "left"} {
			if !strings.Contains(events(lines, 0), n) {
				t.Errorf("no %s: %s", n, events(lines, 0))
			}
		}
		fenced := of(lines, 0, "fenced")[0]
		if fenced.Error == nil || fenced.Error.Name != "UNKNOWN_MEMBER_ID" || fenced.Error.Code != 25 || fenced.State != "FENCED" {
			t.Errorf("fenced %+v", fenced)
		}
		if exclusive(t, lines) != partitionsEach {
			t.Error("not all partitions were owned")
		}
	})
}

// When no heartbeat is answered the member stops by itself, in time.
func TestSelfRevoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, brokers.Config{SessionTimeout: 9 * time.Second, HeartbeatInterval: 3 * time.Second})
		var out bytes.Buffer
		stop, end := start(t, c, flags(t, "-self-revoke", "-session-timeout", "9s"), &out)
		time.Sleep(5 * time.Second)
		c.OnHeartbeat(silence)
		time.Sleep(9 * time.Second)
		c.OnHeartbeat(nil)
		time.Sleep(9 * time.Second)
		stop()
		if code := <-end; code != 0 {
			t.Fatalf("exit code %d", code)
		}
		lines := read(t, out.Bytes())
		if got := events(lines, 0); !strings.Contains(got, "trust_lost") || len(of(lines, 0, "lost")) != 1 || len(of(lines, 0, "joined")) != 2 {
			t.Errorf("events %s", got)
		}
		if e := of(lines, 0, "error"); len(e) == 0 || e[0].State != "STABLE" || !strings.HasPrefix(e[0].Error.Message, "unreachable: ") {
			t.Errorf("errors %+v", e)
		}
	})
}

func TestOneFailsOthersLeave(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, brokers.Config{MaxGroupSize: 2})
		var out bytes.Buffer
		_, end := start(t, c, flags(t, "-members", "3", "-start-gap", "2s"), &out)
		if code := <-end; code != 1 {
			t.Fatalf("exit code %d", code)
		}
		lines := read(t, out.Bytes())
		exclusive(t, lines)
		e := of(lines, 2, "error")
		if len(e) != 1 || e[0].State != "FATAL" || e[0].Error.Name != "GROUP_MAX_SIZE_REACHED" || e[0].Error.Code != 81 {
			t.Errorf("errors %+v", e)
		}
		for i := range 3 {
			if got, want := len(of(lines, i, "left")), min(1, 2-i); got != want {
				t.Errorf("member %d left %d times, want %d", i, got, want)
			}
		}
		if n := len(c.Group(defaultGroup).Members); n != 0 {
			t.Errorf("%d members stayed in the group", n)
		}
	})
}

// A leave that nobody answers is a failure, told once, though the state is not FATAL.
func TestLeaveFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, brokers.Config{})
		var out bytes.Buffer
		stop, end := start(t, c, flags(t), &out)
		time.Sleep(3 * time.Second)
		c.OnHeartbeat(silence)
		stop()
		if code := <-end; code != 1 {
			t.Fatalf("exit code %d", code)
		}
		lines := read(t, out.Bytes())
		e := of(lines, 0, "error")
		if len(e) != 1 || !strings.Contains(e[0].Error.Message, "leave was not acknowledged") || len(of(lines, 0, "left")) != 0 {
			t.Errorf("events %s, errors %+v", events(lines, 0), e)
		}
	})
}

func TestRevokeDelay(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// The delay is longer than the session: heartbeats go on meanwhile.
		code, lines, _ := runFor(t, "-members", "2", "-start-gap", "20s", "-duration", "60s", "-revoke-delay", "10s", "-session-timeout", "6s")
		if code != 0 || exclusive(t, lines) != partitionsEach || len(of(lines, 0, "fenced", "lost")) != 0 {
			t.Fatalf("exit code %d, events %s", code, events(lines, 0))
		}
		revoked := of(lines, 0, "revoked")[0]
		i := slices.IndexFunc(lines, func(l line) bool {
			return l.Member == 0 && l.Event == "state" && l.State == "RECONCILING" && len(l.Owned) > 0
		})
		if took := revoked.TS.Sub(lines[i].TS); took != 10*time.Second || revoked.Error != nil {
			t.Errorf("revoked after %v: %+v", took, revoked)
		}
	})
}

// A callback that is slower than the shutdown allows ends with its context.
func TestRevokeDelayEndsWithContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		code, lines, _ := runFor(t, "-duration", "10s", "-revoke-delay", "1h", "-leave", "leave")
		if revoked := of(lines, 0, "revoked"); code != 0 || len(revoked) != 1 || revoked[0].Error == nil {
			t.Fatalf("exit code %d, revoked %+v", code, revoked)
		}
	})
}

func TestBlockedStdout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, brokers.Config{})
		r, w := io.Pipe() // nobody reads
		stop, end := start(t, c, flags(t, "-members", "2", "-start-gap", "20s", "-v"), w)
		time.Sleep(2 * time.Minute)
		g := c.Group(defaultGroup)
		if len(g.Members) != 2 || g.State != "Stable" || len(g.Members[0].Owned[0].Partitions) != partitionsEach/2 {
			t.Errorf("group %+v", g)
		}
		began := time.Now()
		stop()
		if code := <-end; code != exitFailed { // lines are lost
			t.Errorf("exit code %d", code)
		}
		if took := time.Since(began); took < flushTimeout || took > flushTimeout+time.Second {
			t.Errorf("ended after %v", took)
		}
		if n := len(c.Group(defaultGroup).Members); n != 0 {
			t.Errorf("%d members stayed in the group", n)
		}
		r.Close()
		synctest.Wait()
	})
}

func TestBrokenStdout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, brokers.Config{})
		r, w := io.Pipe()
		_, end := start(t, c, flags(t, "-members", "2"), w)
		time.AfterFunc(10*time.Second, func() { r.Close() })
		if _, err := io.Copy(io.Discard, r); !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		c.Expire(defaultGroup, c.Group(defaultGroup).Members[0].ID) // so that there is a next line
		if code := <-end; code != 1 {
			t.Errorf("exit code %d", code)
		}
		if n := len(c.Group(defaultGroup).Members); n != 0 {
			t.Errorf("%d members stayed in the group", n)
		}
	})
}

func TestLeaveRemain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, brokers.Config{})
		var out bytes.Buffer
		_, end := start(t, c, flags(t, "-leave", "remain", "-duration", "5s"), &out)
		if code := <-end; code != 0 || len(c.Group(defaultGroup).Members) != 1 {
			t.Fatalf("exit code %d, group %+v", code, c.Group(defaultGroup))
		}
		if got := events(read(t, out.Bytes()), 0); !strings.HasSuffix(got, "left") {
			t.Errorf("events %s", got)
		}
	})
}
