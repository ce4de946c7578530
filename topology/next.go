package topology

import "math"

// Plan is what a rollout of a topology has to set, for CI.
type Plan struct {
	// Epoch is what the new members have to be set to; [EpochUnknown] if that cannot be told.
	Epoch Epoch `json:"epoch"`
	// Bump: Epoch is higher than the group's, as the content is different.
	Bump bool `json:"bump"`
	// First: there is no group; the first member makes it.
	First bool `json:"first"`
	// InPlace: members with Epoch can be rolled out as they are, next to the old ones.
	// false: a new group, or a reset of the group that keeps its offsets, is needed first;
	// or, with [CannotTell], nobody knows.
	InPlace bool `json:"in_place"`
	// ID is that of the topology to roll out.
	ID ID `json:"id"`
	// Comparison with what the group has. Unless Verdict is [Different], Changes are none.
	Comparison
	// Way is what an operator has to do; "" if there is nothing but to roll out.
	Way string `json:"way,omitempty"`
}

// Next says what a rollout of own has to set: the group's epoch plus one, the group's
// epoch where no bump is due, or 0 where there is no group. Nothing is changed by it: CI
// sets the epoch. own is a topology that Validate accepts.
//
// Brokers hide a part of a topology (see [Compare]): to be sure that no bump is due, take
// a [Diff] with the file that was deployed before.
func Next(own Topology, d Deployed) Plan {
	p := Plan{ID: own.ID(), Comparison: Compare(own, d)}
	if d.Exists && !d.known() {
		p.Comparison, d.Epoch = Comparison{Verdict: CannotTell}, EpochUnknown
	}
	switch p.Verdict {
	case NoGroup:
		// Source: measured on 4.1.2 to 4.4.0: a group may start at any epoch from 0 on; 0 is
		// Java's, and the only one that a group can share with Java.
		p.First, p.InPlace = true, true
	case Same:
		p.Epoch, p.InPlace = d.Epoch, true
	case Different:
		p.Bump, p.Epoch = true, after(d)
		p.InPlace = d.Updatable && p.Epoch > d.Epoch && !hasClash(p.Changes)
		if !p.InPlace {
			p.Way = wayOn(d, p.Comparison)
		}
	case CannotTell:
		p.Epoch = d.Epoch
		p.Way = "start a member of what runs now, or create the missing source topics, and ask again: the broker does not show the topology"
	}
	return p
}

// after is the next epoch. After the last one only a group that is made anew has one: 0.
func after(d Deployed) Epoch {
	if d.Epoch == math.MaxInt32 {
		return 0
	}
	return d.Epoch + 1
}
