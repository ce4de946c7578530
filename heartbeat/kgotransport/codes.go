package kgotransport

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// moved says whether an answer means that the coordinator is somewhere else.
// COORDINATOR_LOAD_IN_PROGRESS does not: that broker is the right one.
func moved(resp kmsg.Response) bool {
	switch r := resp.(type) {
	case *kmsg.ConsumerGroupHeartbeatResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.StreamsGroupHeartbeatResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.ConsumerGroupDescribeResponse:
		return anyMoved(r.Groups, func(g kmsg.ConsumerGroupDescribeResponseGroup) int16 { return g.ErrorCode })
	case *kmsg.StreamsGroupDescribeResponse:
		return anyMoved(r.Groups, func(g kmsg.StreamsGroupDescribeResponseGroup) int16 { return g.ErrorCode })
	case *kmsg.DescribeGroupsResponse:
		return anyMoved(r.Groups, func(g kmsg.DescribeGroupsResponseGroup) int16 { return g.ErrorCode })
	case *kmsg.DeleteGroupsResponse:
		return anyMoved(r.Groups, func(g kmsg.DeleteGroupsResponseGroup) int16 { return g.ErrorCode })
	case *kmsg.OffsetFetchResponse:
		return movedCode(r.ErrorCode) ||
			anyMoved(r.Groups, func(g kmsg.OffsetFetchResponseGroup) int16 { return g.ErrorCode })
	case *kmsg.OffsetCommitResponse:
		return anyOffsetCommitMoved(r)
	case *kmsg.OffsetDeleteResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.LeaveGroupResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.HeartbeatResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.JoinGroupResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.SyncGroupResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.ShareGroupHeartbeatResponse:
		return movedCode(r.ErrorCode)
	case *kmsg.StreamsGroupTopologyDescriptionUpdateResponse:
		return movedCode(r.ErrorCode)
	}
	return false
}

func movedCode(code int16) bool {
	return code == kerr.NotCoordinator.Code || code == kerr.CoordinatorNotAvailable.Code
}

func anyMoved[T any](all []T, code func(T) int16) bool {
	for _, one := range all {
		if movedCode(code(one)) {
			return true
		}
	}
	return false
}

func anyOffsetCommitMoved(r *kmsg.OffsetCommitResponse) bool {
	for _, topic := range r.Topics {
		if anyMoved(topic.Partitions, func(p kmsg.OffsetCommitResponseTopicPartition) int16 { return p.ErrorCode }) {
			return true
		}
	}
	return false
}
