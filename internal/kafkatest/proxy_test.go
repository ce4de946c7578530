package kafkatest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// proxied is a fake broker behind a proxy.
type proxied struct {
	*Proxy
	t *testing.T
}

func newProxied(t *testing.T) proxied {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	p, err := NewProxy(fake.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return proxied{p, t}
}

// client returns a client all of whose connections go through the proxy: the
// fake broker does not advertise it.
func (p proxied) client(id string) *kgo.Client {
	p.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(p.Addr()), kgo.ClientID(id), kgo.RequestRetries(0),
		kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, p.Addr())
		}))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(cl.Close)
	return cl
}

// beat sends a heartbeat on the client's only connection, once.
func beat(ctx context.Context, cl *kgo.Client, member string, epoch int32) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch = "g", member, epoch
	if epoch == 0 {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames = 10000, []string{"orders"}
		req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}
	resp, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.ConsumerGroupHeartbeatResponse), nil
}

func (p proxied) mustBeat(cl *kgo.Client, member string, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
	p.t.Helper()
	resp, err := beat(p.t.Context(), cl, member, epoch)
	if err != nil || resp.ErrorCode != 0 {
		p.t.Fatalf("member %s, epoch %d: %+v, %v", member, epoch, resp, err)
	}
	return resp
}

// beatAgain is mustBeat for a client that notices only by its next request that
// its connection was cut.
func (p proxied) beatAgain(cl *kgo.Client, member string, epoch int32) {
	p.t.Helper()
	if _, err := beat(p.t.Context(), cl, member, epoch); err != nil {
		p.mustBeat(cl, member, epoch)
	}
}

// noBeat sends a heartbeat that is to get no answer, and reports whether its
// connection was cut; if it was not within 300 ms, it stays open.
func (p proxied) noBeat(cl *kgo.Client, member string, epoch int32) (cut bool) {
	p.t.Helper()
	return p.unanswered(cl, member, epoch, 300*time.Millisecond)
}

// cutBeat is noBeat for a connection that is to be cut, however long it takes.
func (p proxied) cutBeat(cl *kgo.Client, member string, epoch int32) (cut bool) {
	p.t.Helper()
	return p.unanswered(cl, member, epoch, 20*time.Second)
}

func (p proxied) unanswered(cl *kgo.Client, member string, epoch int32, patience time.Duration) (cut bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	resp, err := beat(ctx, cl, member, epoch)
	if err == nil {
		p.t.Fatalf("member %s, epoch %d: answer %+v", member, epoch, resp)
	}
	return !errors.Is(err, context.DeadlineExceeded)
}

func (p proxied) wait(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// records returns the heartbeats of a member, which must be that many.
func (p proxied) records(member string, n int) []Heartbeat {
	p.t.Helper()
	hs := p.Heartbeats(func(h Heartbeat) bool { return h.MemberID == member })
	if len(hs) != n {
		p.t.Fatalf("%d heartbeats of %s, want %d: %+v", len(hs), member, n, hs)
	}
	return hs
}

func TestProxyRecords(t *testing.T) {
	p := newProxied(t)
	cl := p.client("c1")
	epoch := p.mustBeat(cl, "m", 0).MemberEpoch
	p.mustBeat(cl, "m", epoch)
	p.mustBeat(cl, "m", -1)
	hs := p.records("m", 3)
	h := hs[0]
	if h.Conn != 1 || h.ClientID != "c1" || h.Group != "g" || h.Epoch != 0 || !h.Full || !h.Forwarded || h.Lost ||
		h.Bytes == 0 || h.AnswerBytes == 0 || h.AnsweredAt.Before(h.At) || h.AnswerEpoch != epoch || h.Interval == 0 {
		t.Errorf("join: %+v", h)
	}
	if hs[1].Full || hs[1].Epoch != epoch || hs[2].Epoch != -1 || hs[2].AnswerEpoch != -1 {
		t.Errorf("then: %+v", hs[1:])
	}
	if n := p.Requests("c1", heartbeatKey); n != 3 {
		t.Errorf("%d heartbeats of c1", n)
	}
	if c1, any, c2 := p.Requests("c1", 18), p.Requests("", 18), p.Requests("c2", 18); c1 != 1 || any != 1 || c2 != 0 {
		t.Errorf("ApiVersions: %d of c1, %d of all, %d of c2", c1, any, c2)
	}
	if all, open := p.Conns(); all != 1 || open != 1 {
		t.Errorf("%d connections, %d open", all, open)
	}
}

func TestProxyErrorCode(t *testing.T) {
	p := newProxied(t)
	if _, err := beat(t.Context(), p.client("c"), "nobody", 7); err != nil {
		t.Fatal(err)
	}
	if h := p.records("nobody", 1)[0]; h.ErrorCode != 25 && h.ErrorCode != 69 { // unknown member, or no such group
		t.Errorf("code %d", h.ErrorCode)
	}
}

func TestProxyMatches(t *testing.T) {
	p := newProxied(t)
	a, b := p.client("a"), p.client("b")
	rules := map[string]*Rule{}
	for name, m := range map[string]Match{
		"join of b":  Match(IsJoin).And(ByClient("b")),
		"leave":      IsLeave,
		"full of ma": Match(IsFull).And(ByMember("ma")),
		"key":        Match(ByKey(heartbeatKey)).And(ByGroup("other")),
	} {
		rules[name] = p.On(m, 1, HoldAnswer(0))
	}
	epoch := p.mustBeat(a, "ma", 0).MemberEpoch
	p.mustBeat(b, "mb", 0)
	if resp, err := beat(t.Context(), a, "ma", epoch); err != nil || rules["leave"].Matched() != 0 {
		t.Errorf("%+v, %v", resp, err)
	}
	p.mustBeat(a, "ma", -1)
	p.mustBeat(b, "mb", -1) // the rule has had its one
	for name, want := range map[string]int{"join of b": 1, "leave": 1, "full of ma": 1, "key": 0} {
		if got := rules[name].Matched(); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

func TestReadFrameErrors(t *testing.T) {
	for _, f := range [][]byte{{0, 0, 0, 1, 0}, {0, 0, 0, 8, 1, 2}, {0x7f, 0, 0, 0}} {
		if got, err := readFrame(bytes.NewReader(f)); err == nil {
			t.Errorf("%v: %v", f, got)
		}
	}
	for _, b := range [][]byte{nil, {5}, {1, 0, 9, 1}, {0x80}} {
		if rest, err := skipTags(b); err == nil {
			t.Errorf("%v: %v", b, rest)
		}
	}
	if rest, err := skipTags([]byte{1, 0, 2, 7, 7, 9}); err != nil || len(rest) != 1 {
		t.Errorf("%v, %v", rest, err)
	}
}
