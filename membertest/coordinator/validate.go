package coordinator

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The server assignors, in the order a broker prefers them.
const (
	assignorUniform = "uniform"
	assignorRange   = "range"
)

// validate checks the fields that need no state
// (ConsumerGroupHeartbeatRequest in KIP-848; the checks of GroupMetadataManager
// and, for v1, of GroupCoordinatorService).
func validate(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	invalid := func(message string) *refusal { return refuse(kerr.InvalidRequest, message) }
	switch {
	case blank(req.Group):
		return invalid("The group ID must not be empty.")
	case req.InstanceID != nil && blank(*req.InstanceID):
		return invalid("The instance ID must not be empty.")
	case req.RackID != nil && blank(*req.RackID):
		return invalid("The rack ID must not be empty.")
	case blank(req.MemberID) && (req.Version >= 1 || req.MemberEpoch != 0):
		return invalid("The member ID must not be empty.")
	case req.MemberEpoch < leaveStatic:
		return invalid("The member epoch is invalid.")
	case req.MemberEpoch == leaveStatic && req.InstanceID == nil:
		return invalid("The instance ID must not be null in a static leave.")
	}
	if req.MemberEpoch == 0 {
		if refused := validateJoin(req); refused != nil {
			return refused
		}
	}
	if a := req.ServerAssignor; a != nil && *a != assignorUniform && *a != assignorRange {
		return refuse(kerr.UnsupportedAssignor, "The assignor "+*a+" is not supported. Supported: uniform, range.")
	}
	return nil
}

// validateJoin checks what a heartbeat at epoch 0 must bring.
func validateJoin(req *kmsg.ConsumerGroupHeartbeatRequest) *refusal {
	switch {
	case req.RebalanceTimeoutMillis == -1:
		return refuse(kerr.InvalidRequest, "The first request must have a rebalance timeout.")
	case req.Topics == nil || len(req.Topics) > 0:
		return refuse(kerr.InvalidRequest, "The owned partitions must be empty when joining.")
	case req.SubscribedTopicNames == nil && req.SubscribedTopicRegex == nil:
		return refuse(kerr.InvalidRequest, "The first request must have topic names or a regular expression.")
	}
	return nil
}

// blank says whether s has nothing but white space.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
