package coordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// OffsetFetchCheck returns the code of an OffsetFetch that names a member and
// its epoch: 0 lets it through (ConsumerGroup, validateOffsetFetch). Only the
// present epoch is good, on every version. A fetch without a member ID needs
// no check.
func (c *Coordinator) OffsetFetchCheck(now time.Time, group, memberID string, epoch int32) int16 {
	c.Advance(now)
	g := c.groups[group]
	if g == nil {
		return 0
	}
	m := g.members[memberID]
	switch {
	case m == nil:
		return kerr.UnknownMemberID.Code
	case m.epoch != epoch:
		return kerr.StaleMemberEpoch.Code
	}
	return 0
}

// OffsetCommitCheck returns the code of an OffsetCommit (v9 and newer) for one
// partition: 0 lets it through (ConsumerGroup, validateOffsetCommit). Who owns
// the partition is not looked at in the present epoch. From 4.3 an older epoch
// is good for a partition the member has held since.
func (c *Coordinator) OffsetCommitCheck(now time.Time, group, memberID string, epoch int32, topicID [16]byte, partition int32) int16 {
	c.Advance(now)
	g := c.groups[group]
	switch {
	case g == nil && epoch < 0:
		return 0 // an offset store without members
	case g == nil:
		return kerr.GroupIDNotFound.Code
	case epoch < 0 && len(g.members) == 0:
		return 0 // an admin sets offsets
	}
	m := g.members[memberID]
	switch {
	case m == nil:
		return kerr.UnknownMemberID.Code
	case epoch == m.epoch, epoch < m.epoch && c.heldSince(m, epoch, topicID, partition):
		return 0
	}
	return kerr.StaleMemberEpoch.Code
}

// TxnOffsetCommitCheck is OffsetCommitCheck for a TxnOffsetCommit, which may
// come without a member and calls a wrong epoch ILLEGAL_GENERATION.
func (c *Coordinator) TxnOffsetCommitCheck(now time.Time, group, memberID string, epoch int32, topicID [16]byte, partition int32) int16 {
	if memberID == "" && epoch == -1 {
		return 0
	}
	code := c.OffsetCommitCheck(now, group, memberID, epoch, topicID, partition)
	if code == kerr.StaleMemberEpoch.Code {
		return kerr.IllegalGeneration.Code
	}
	return code
}

// heldSince says whether the member got a partition at or before an older
// epoch and still holds it.
func (c *Coordinator) heldSince(m *member, epoch int32, topicID [16]byte, partition int32) bool {
	if !c.cfg.Version.commitsByAssignmentEpoch() {
		return false
	}
	for _, set := range []partitions{m.assigned, m.pending} {
		if got, ok := set[topicID][partition]; ok {
			return got <= epoch
		}
	}
	return false
}
