package coordinator

import (
	"fmt"
	"strings"
)

// Version is a Kafka release line. The zero value means V44.
type Version int

// The release lines whose coordinators the model knows.
const (
	V40 Version = 40 // 4.0, measured on 4.0.2
	V41 Version = 41 // 4.1, measured on 4.1.2
	V42 Version = 42 // 4.2, measured on 4.2.2
	V43 Version = 43 // 4.3, measured on 4.3.1
	V44 Version = 44 // 4.4, measured on 4.4.0
)

// Versions returns all versions, oldest first.
func Versions() []Version { return []Version{V40, V41, V42, V43, V44} }

// String returns the release line as Kafka writes it, for example "4.3".
func (v Version) String() string {
	if v == 0 {
		v = V44
	}
	return fmt.Sprintf("%d.%d", int(v)/10, int(v)%10)
}

// ParseVersion reads a release such as "4.0", "4.0.2" or "4.3.1-rc1".
func ParseVersion(s string) (Version, error) {
	for _, v := range Versions() {
		rest, ok := strings.CutPrefix(s, v.String())
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '-') {
			return v, nil
		}
	}
	return 0, fmt.Errorf("coordinator: unknown Kafka version %q: want 4.0 to 4.4", s)
}

// rejoinAnyEpoch says whether a known dynamic member may always come back with
// epoch 0, as KIP-848 promises to a fenced member. 4.0 and 4.1 let it only
// while its epoch has not moved (KAFKA-19233); see admitEpoch.
func (v Version) rejoinAnyEpoch() bool { return v >= V42 }

// startsAtOne says whether a new group is born with epoch 1 and an empty
// target of that epoch, so that its first real target has epoch 2.
func (v Version) startsAtOne() bool { return v >= V43 }

// stepsWithEachAck says whether a member that has given up what it was told to,
// and finds that it must give up more, enters the next epoch in between
// (CurrentAssignmentBuilder until 4.1).
func (v Version) stepsWithEachAck() bool { return v < V42 }

// heedsDroppedRegex says whether taking a regular expression back asks for a
// new target.
func (v Version) heedsDroppedRegex() bool { return v >= V41 }

// enforcesSubscription says whether a member loses the topics it no longer
// subscribes to whatever its target says (CurrentAssignmentBuilder 4.2).
func (v Version) enforcesSubscription() bool { return v >= V42 }

// hasAssignmentInterval says whether there is a least time between two targets.
func (v Version) hasAssignmentInterval() bool { return v >= V43 }

// leaksInstances says whether an instance ID that a member has changed stays
// with it until the broker restarts: others are refused with it, for ever once
// the member is gone (ConsumerGroup, updateStaticMember).
func (v Version) leaksInstances() bool { return v < V44 }

// describesPending says whether a describe counts partitions that are pending
// revocation as assigned.
func (v Version) describesPending() bool { return v >= V43 }

// commitsByAssignmentEpoch says whether a commit at an older epoch is good for
// a partition the member has held since that epoch (ConsumerGroup 4.3).
func (v Version) commitsByAssignmentEpoch() bool { return v >= V43 }

// assignsEmptyGroup says whether a group that loses its last member has an
// empty target for its new epoch at once, so that the next member need not wait
// for the assignment interval.
func (v Version) assignsEmptyGroup() bool { return v >= V44 }

// admitsReturnToFullGroup says whether a static member may take its place back
// under a new member ID when the group has its maximum size.
func (v Version) admitsReturnToFullGroup() bool { return v >= V44 }

// bumpsForAssignor says whether a change of the preferred assignor, or a tie
// seen by the losing side, bumps the group epoch.
func (v Version) bumpsForAssignor() bool { return v >= V44 }
