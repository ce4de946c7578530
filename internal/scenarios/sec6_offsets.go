package scenarios

import "github.com/twmb/franz-go/pkg/kerr"

// Section 6: fetches and commits with a member epoch.

func offsets() []Scenario {
	return []Scenario{
		{Name: "6 OffsetFetch without topics tells whether a member is known", Play: fetchLook},
		{Name: "6 OffsetFetch at an epoch", Play: fetchEpochs},
		{Name: "6 commits at an epoch", Play: commits},
		{Name: "6 commits while revoking", Play: commitsRevoking},
		{Name: "6 commits while away", Play: commitsAway},
	}
}

// fetchLook asks at epoch 0, which no member ever has: STALE_MEMBER_EPOCH says
// that the member is there.
func fetchLook(p *Play) {
	a, b, empty := "A", "B", ""
	p.code(p.OffsetFetch(p.group, &a, 0))(nil) // no such group
	p.ok(p.join("A", i1), p.first(), 12)
	p.code(p.OffsetFetch(p.group, &a, 0))(kerr.StaleMemberEpoch)
	p.code(p.OffsetFetch(p.group, &b, 0))(kerr.UnknownMemberID)
	p.code(p.OffsetFetch(p.group, &empty, 0))(kerr.UnknownMemberID)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.code(p.OffsetFetch(p.group, &a, 0))(kerr.StaleMemberEpoch)
	p.ok(p.beat("A", -1), -1, none)
	p.code(p.OffsetFetch(p.group, &a, 0))(kerr.UnknownMemberID) // an empty group
	p.code(p.DeleteGroup(p.group))(nil)
	p.code(p.OffsetFetch(p.group, &a, 0))(nil)
	p.ok(p.join("A"), p.first(), 12)
	p.code(p.OffsetFetch(p.group, &a, 0))(kerr.StaleMemberEpoch)
}

func fetchEpochs(p *Play) {
	e, a := p.pair(), "A"
	p.code(p.OffsetFetch(p.group, &a, e))(nil)
	p.code(p.OffsetFetch(p.group, &a, e-1))(kerr.StaleMemberEpoch)
	p.code(p.OffsetFetch(p.group, &a, e+1))(kerr.StaleMemberEpoch)
	p.code(p.OffsetFetch(p.group, &a, -1))(kerr.StaleMemberEpoch)
	p.code(p.OffsetFetch(p.group, nil, -1))(nil)
}

// commit is an offset commit to t12.
func (p *Play) commit(id string, epoch, partition int32, want *kerr.Error) {
	p.Helper()
	p.code(p.OffsetCommit(p.group, id, epoch, "t12", partition))(want)
}

func commits(p *Play) {
	p.commit("A", 1, 0, kerr.GroupIDNotFound)
	e := p.pair()
	mine, other := p.has("A")[0].Partitions[0], p.has("B")[0].Partitions[0]
	p.commit("A", e, mine, nil)
	p.commit("A", e, other, nil) // nobody looks who owns it
	since := kerr.StaleMemberEpoch
	if p.V >= v43 {
		since = nil
	}
	p.commit("A", e-1, mine, since)
	p.commit("A", e-1, other, kerr.StaleMemberEpoch)
	for _, epoch := range []int32{0, e + 1, -1} {
		p.commit("A", epoch, mine, kerr.StaleMemberEpoch)
	}
	p.commit("B", e-1, other, kerr.StaleMemberEpoch) // did not have it then
	p.commit("X", e, mine, kerr.UnknownMemberID)
	p.commit("", -1, mine, kerr.UnknownMemberID)
	p.refused(p.beat("A", e+1), kerr.FencedMemberEpoch)
	p.commit("A", e, mine, nil)
	p.ok(p.beat("A", -1), -1, none)
	p.commit("A", e, mine, kerr.UnknownMemberID)
	p.ok(p.beat("B", -1), -1, none)
	p.commit("", -1, mine, nil) // an empty group
}

func commitsRevoking(p *Play) {
	e, keep := p.told()
	given := int32(0) // the partition that A must give up
	for has(keep, given) {
		given++
	}
	p.commit("A", e, given, nil)
	p.ok(p.beat("A", e, owns(keep)), e+1, none)
	p.commit("A", e, given, kerr.StaleMemberEpoch)
	p.commit("A", e+1, given, nil)
}

func has(l owned, partition int32) bool {
	for _, t := range l {
		for _, n := range t.Partitions {
			if n == partition {
				return true
			}
		}
	}
	return false
}

func commitsAway(p *Play) {
	e := p.first()
	p.ok(p.join("A", i1), e, 12)
	p.ok(p.beat("A", -2, i1), -2, none)
	p.commit("A", e, 0, kerr.StaleMemberEpoch)
	p.commit("A", -2, 0, nil)
	p.ok(p.join("A2", i1), e, 12)
	p.commit("A", e, 0, kerr.UnknownMemberID)
}
