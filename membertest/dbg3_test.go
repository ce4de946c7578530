package membertest

import (
	"context"
	"fmt"
	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/twmb/franz-go/pkg/kmsg"
	"strings"
	"sync"
	"time"
)

type dbg struct {
	next heartbeat.Transport
	tag  string
}

func (d dbg) Do(ctx context.Context, g string, req kmsg.Request) (kmsg.Response, error) {
	r, ok := req.(*kmsg.ConsumerGroupHeartbeatRequest)
	id := ""
	if ok {
		id = r.MemberID
		s := ""
		for _, t := range r.Topics {
			s += fmt.Sprintf("%x%v", t.TopicID[:2], t.Partitions)
		}
		logW(time.Now().Format(clock), r.MemberID, d.tag, "->", r.MemberEpoch, r.Topics != nil, s, r.SubscribedTopicNames, r.RebalanceTimeoutMillis)
	}
	resp, err := d.next.Do(ctx, g, req)
	if ok {
		s := ""
		if rr, _ := resp.(*kmsg.ConsumerGroupHeartbeatResponse); rr != nil {
			s = fmt.Sprint("code ", rr.ErrorCode, " e ", rr.MemberEpoch)
			if rr.Assignment != nil {
				s += " asg"
				for _, t := range rr.Assignment.Topics {
					s += fmt.Sprintf("%x%v", t.TopicID[:2], t.Partitions)
				}
			}
		}
		logW(time.Now().Format(clock), id, d.tag, "<-", s, err)
	}
	return resp, err
}

var wmu sync.Mutex
var wlog []string

func logW(a ...any) { wmu.Lock(); wlog = append(wlog, fmt.Sprintln(a...)); wmu.Unlock() }
func tailW(id string, n int) string {
	wmu.Lock()
	defer wmu.Unlock()
	var o []string
	for _, l := range wlog {
		if strings.Contains(l, id) {
			o = append(o, l)
		}
	}
	return strings.Join(o[max(0, len(o)-n):], "")
}
