package membertest
import ("fmt";"context";"time";"os"
"github.com/twmb/franz-go/pkg/kmsg"
"github.com/rollcall-go/rollcall/heartbeat")
type dbg struct{ next heartbeat.Transport; tag string }
func (d dbg) Do(ctx context.Context, g string, req kmsg.Request) (kmsg.Response, error) {
	if os.Getenv("DBG")=="" { return d.next.Do(ctx,g,req) }
	r,ok := req.(*kmsg.ConsumerGroupHeartbeatRequest)
	id := ""
	if ok { id=r.MemberID; s:=""; for _,t:=range r.Topics { s+=fmt.Sprintf("%x%v",t.TopicID[:2],t.Partitions) }; fmt.Println("W",time.Now().Format(clock), r.MemberID, d.tag, "->", r.MemberEpoch, r.Topics!=nil, s, r.SubscribedTopicNames, r.RebalanceTimeoutMillis) }
	resp, err := d.next.Do(ctx,g,req)
	if ok { s:="";if rr,_:=resp.(*kmsg.ConsumerGroupHeartbeatResponse); rr!=nil { s=fmt.Sprint("code ",rr.ErrorCode," e ",rr.MemberEpoch)
	  if rr.Assignment!=nil {s+=" asg"; for _,t:=range rr.Assignment.Topics { s+=fmt.Sprintf("%x%v",t.TopicID[:2],t.Partitions) } } }
	  fmt.Println("W",time.Now().Format(clock), id, d.tag,"<-", s, err) }
	return resp, err
}
