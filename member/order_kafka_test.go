//go:build kafka

package member_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/internal/kafkatest"
)

// Rule 2 counts on it: a leave that was written behind a join on its connection is handled after
// it, also if the client has closed the connection meanwhile without reading an answer.
func TestKafkaLeaveBehindTheJoin(t *testing.T) {
	onKafka(t, kafkatest.Config{}, func(l *lab) {
		topic := l.newTopic(3)
		l.settle(30*time.Second, 3, l.start(l.process())) // the coordinator is there
		for _, open := range []bool{true, false} {
			const trials = 50
			group := func(i int) string { return fmt.Sprintf("%s-%t-%d", l.group, open, i) }
			for i := range trials {
				l.joinAndLeave(group(i), topic, open)
			}
			time.Sleep(time.Second)
			handled, left := 0, 0
			for i := range trials {
				g, err := l.c.Members(l.ctx, group(i))
				if err == nil {
					handled++
				}
				left += len(g.Members)
			}
			if handled < trials || left > 0 {
				l.Errorf("kept open %t: %d of %d joins were handled, %d without the leave behind them", open, handled, trials, left)
			}
		}
	})
}

func (l *lab) joinAndLeave(group, topic string, open bool) {
	id := uuid.New()
	join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	join.Group, join.MemberID, join.SubscribedTopicNames, join.RebalanceTimeoutMillis = group, id.String(), []string{topic}, 300_000
	join.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	leave := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	leave.Group, leave.MemberID, leave.MemberEpoch = group, id.String(), -1
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("order"))
	var buf []byte
	for i, req := range []kmsg.Request{join, leave} {
		req.SetVersion(0)
		buf = append(buf, f.AppendRequest(nil, req, int32(i))...)
	}
	conn, err := net.Dial("tcp", l.c.Addrs()[0])
	l.must(err)
	_, err = conn.Write(buf)
	l.must(err)
	if open {
		l.Cleanup(func() { _ = conn.Close() })
		return
	}
	l.must(conn.Close())
}
