package scenarios

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Section 8, go on: groups of another type.

func groupTypes() []Scenario {
	return []Scenario{
		{Name: "8 a classic group of type connect", Play: connectGroup, Needs: Wire},
		{Name: "8 a group that has only offsets", Play: offsetsOnly, Needs: Wire},
		{Name: "8 a share group", Play: shareGroup, Needs: RealBroker},
		{Name: "8 a streams group", Play: streamsGroup, Needs: RealBroker},
	}
}

// request sends any request.
func request[R kmsg.Response](p *Play, req kmsg.Request) R {
	p.Helper()
	resp, err := p.Peer.(Requester).Request(req)
	p.check(err)
	return resp.(R)
}

// connect makes a live classic group of type connect, and returns its member.
func (p *Play) connect() string {
	p.Helper()
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.ProtocolType = p.group, "connect"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 6000, 6000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "one", []byte{1}
	req.Protocols = append(req.Protocols, protocol)
	a := request[*kmsg.JoinGroupResponse](p, req)
	if a.ErrorCode == kerr.MemberIDRequired.Code {
		req.MemberID = a.MemberID
		a = request[*kmsg.JoinGroupResponse](p, req)
	}
	if a.ErrorCode != 0 {
		p.Fatalf("the classic join: %s", code(a.ErrorCode))
	}
	return a.MemberID
}

func connectGroup(p *Play) {
	id := p.connect()
	all := func() {
		p.Helper()
		p.refused(p.beat("A", 1), kerr.GroupIDNotFound)
		p.refused(p.beat("A", -1), kerr.GroupIDNotFound)
		p.refused(p.beat("A", -2, i1), kerr.GroupIDNotFound)
	}
	all()
	p.refused(p.join("A"), kerr.GroupIDNotFound)
	p.code(p.LeaveGroup(p.group, id, nil))(nil)
	all()
	p.ok(p.join("A"), p.first(), 12)
}

func offsetsOnly(p *Play) {
	p.code(p.OffsetCommit(p.group, "", -1, "t12", 0))(nil)
	p.ok(p.join("A"), p.first(), 12)
}

// notConsumer wants a live group of another type to be none for heartbeats.
func (p *Play) notConsumer() {
	p.Helper()
	p.refused(p.join("A"), kerr.GroupIDNotFound)
	p.refused(p.beat("A", 1), kerr.GroupIDNotFound)
	p.refused(p.beat("A", -1), kerr.GroupIDNotFound)
	p.refused(p.beat("A", -2, i1), kerr.GroupIDNotFound)
}

func shareGroup(p *Play) {
	if p.V < v42 {
		return // not on by default
	}
	join := func(group string) int16 {
		req := kmsg.NewPtrShareGroupHeartbeatRequest()
		req.GroupID, req.MemberID = group, "AAAAAAAAAAAAAAAAAAAAAg"
		req.SubscribedTopicNames = []string{"t12"}
		return request[*kmsg.ShareGroupHeartbeatResponse](p, req).ErrorCode
	}
	p.code(join(p.group), nil)(nil)
	p.notConsumer()
	q := p.in("consumer")
	q.ok(q.join("A"), q.first(), 12)
	q.code(join(q.group), nil)(kerr.GroupIDNotFound)
}

func streamsGroup(p *Play) {
	if p.V < v42 {
		return // not on by default
	}
	join := func(group string) int16 {
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Group, req.MemberID = group, "AAAAAAAAAAAAAAAAAAAAAg"
		req.RebalanceTimeoutMillis = 6000
		topology := kmsg.NewStreamsGroupHeartbeatRequestTopology()
		topology.Epoch = 1
		sub := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
		sub.SubtopologyID, sub.SourceTopics = "0", []string{"t12"}
		topology.Subtopologies = append(topology.Subtopologies, sub)
		req.Topology = &topology
		process := "p"
		req.ProcessID = &process
		req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
		return request[*kmsg.StreamsGroupHeartbeatResponse](p, req).ErrorCode
	}
	p.code(join(p.group), nil)(nil)
	p.notConsumer()
	q := p.in("consumer")
	q.ok(q.join("A"), q.first(), 12)
	q.code(join(q.group), nil)(kerr.GroupIDNotFound)
}
