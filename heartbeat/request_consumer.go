package heartbeat

import "github.com/twmb/franz-go/pkg/kmsg"

// Member epochs that are not epochs: KIP-848, "ConsumerGroupHeartbeat API".
const (
	EpochJoin        int32 = 0
	EpochLeave       int32 = -1
	EpochLeaveStatic int32 = -2
)

// ConsumerValues are what a consumer member tells its coordinator. Strings that
// are absent are nil. Build reads them and keeps none of the slices that it does
// not need: the owner may replace, but must not change, a slice in place.
type ConsumerValues struct {
	Group, MemberID        string
	InstanceID             *string
	RebalanceTimeoutMillis int32
	Names                  []string // sorted; never nil
	Regex                  *string
	Assignor, Rack         *string
	Owned                  []kmsg.ConsumerGroupHeartbeatRequestTopic // sorted by topic ID
}

var noTopics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}

// Build fills req with the fields of set for a heartbeat at a member epoch.
//
// Rule 4: a join (epoch 0) is always full, whatever set says, with an empty, not
// null, owned list (GroupMetadataManager.throwIfConsumerGroupHeartbeatRequestIsInvalid,
// Kafka 4.x). A leave carries no field at all. The instance ID goes with every
// request: without it the coordinator skips the check for a rival (K345-11).
func (v *ConsumerValues) Build(req *kmsg.ConsumerGroupHeartbeatRequest, epoch int32, set Fields) {
	*req = kmsg.ConsumerGroupHeartbeatRequest{
		Version: req.Version, Group: v.Group, MemberID: v.MemberID, MemberEpoch: epoch,
		InstanceID: v.InstanceID, RebalanceTimeoutMillis: -1,
	}
	if epoch < 0 {
		return
	}
	if epoch == EpochJoin {
		set = AllFields
	}
	if set.Has(FieldTimeout) {
		req.RebalanceTimeoutMillis = v.RebalanceTimeoutMillis
	}
	if set.Has(FieldNames) {
		req.SubscribedTopicNames = v.Names
	}
	if set.Has(FieldRegex) {
		req.SubscribedTopicRegex = v.Regex
	}
	if set.Has(FieldAssignor) {
		req.ServerAssignor = v.Assignor
	}
	if set.Has(FieldRack) {
		req.RackID = v.Rack
	}
	if set.Has(FieldOwned) {
		req.Topics = v.Owned
		if epoch == EpochJoin || len(v.Owned) == 0 {
			req.Topics = noTopics
		}
	}
}

// IsFull reports whether a consumer heartbeat has the three fields that make a
// coordinator repeat the whole assignment in its answer: rebalance timeout,
// subscription and owned list (ConsumerGroup "isFullRequest" in
// GroupMetadataManager, Kafka 4.x; any two are not enough).
func IsFull(req *kmsg.ConsumerGroupHeartbeatRequest) bool {
	return req.RebalanceTimeoutMillis != -1 && (req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil) && req.Topics != nil
}
