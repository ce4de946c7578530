package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Deployed is what a group has, as far as a broker shows it. The zero value is a group
// that does not exist.
type Deployed struct {
	// Exists: there is a streams group of that name, with or without members. An empty group
	// keeps its topology: only deleting the group frees it.
	Exists bool `json:"exists"`
	// Epoch of the group's topology; [EpochUnknown] where neither the group nor a member
	// shows one. Where Topology is nil it may come from the members: the largest epoch
	// that one of them joined with.
	Epoch Epoch `json:"epoch"`
	// Topology as shown: lists in no order, no copartition groups, and repartition topics
	// with the number of partitions that they have got, fixed or not. nil: not shown.
	Topology *Topology `json:"topology,omitempty"`
	// Updatable: the broker takes a new topology with a higher epoch into a group that
	// has one. No broker up to 4.4 does (KAFKA-20170 plans it), and FromDescribe does not
	// set it.
	Updatable bool `json:"updatable,omitempty"`
}

// known: there is a group, and its epoch is shown.
func (d Deployed) known() bool { return d.Exists && d.Epoch >= 0 }

// FromDescribe reads a group of a StreamsGroupDescribe response. A group that does not
// exist is the zero value and no error. Otherwise an error code is an error that
// errors.Is finds kerr's in, such as kerr.GroupAuthorizationFailed; a group of another
// type is [ErrOtherType].
//
// Source: measured on 4.1.2 to 4.4.0. Versions from 4.2 on show the topology always; 4.1
// shows none of a group that is NotReady, nor of one that was emptied before it was
// ready. StreamsTopology and ConfiguredSubtopology (4.4.0) sort all lists, and put the
// number of partitions that was worked out in place of 0 once the group is ready.
func FromDescribe(g kmsg.StreamsGroupDescribeResponseGroup) (Deployed, error) {
	var message string
	if g.ErrorMessage != nil {
		message = *g.ErrorMessage
	}
	switch {
	case g.ErrorCode == 0:
	case g.ErrorCode == kerr.GroupIDNotFound.Code && strings.Contains(message, "is not a streams group"):
		return Deployed{}, fmt.Errorf("describe %q: %w", g.Group, ErrOtherType)
	case g.ErrorCode == kerr.GroupIDNotFound.Code:
		return Deployed{}, nil
	default:
		return Deployed{}, fmt.Errorf("describe %q: code %d: %w: %s", g.Group, g.ErrorCode, kerr.ErrorForCode(g.ErrorCode), message)
	}
	d := Deployed{Exists: true, Epoch: EpochUnknown}
	for _, m := range g.Members {
		d.Epoch = max(d.Epoch, Epoch(m.TopologyEpoch))
	}
	if g.Topology == nil {
		return d, nil
	}
	d.Epoch = max(EpochUnknown, Epoch(g.Topology.Epoch)) // no topology has a negative one
	// Source: StreamsGroupDescribeResponse: null, and not empty, where it is not initialized.
	if g.Topology.Subtopologies != nil {
		d.Topology = shown(g.Topology.Subtopologies)
	}
	return d, nil
}

func shown(subs []kmsg.StreamsGroupDescribeResponseGroupTopologySubtopology) *Topology {
	t := &Topology{Subtopologies: []Subtopology{}}
	for _, s := range subs {
		t.Subtopologies = append(t.Subtopologies, Subtopology{
			ID:                      s.SubtopologyID,
			SourceTopics:            slices.Clone(s.SourceTopics),
			RepartitionSinkTopics:   slices.Clone(s.RepartitionSinkTopics),
			RepartitionSourceTopics: shownInfos(s.RepartitionSourceTopics, false),
			StateChangelogTopics:    shownInfos(s.StateChangelogTopics, true),
		})
	}
	return t
}

func shownInfos(ws []kmsg.TopicInfo, changelogs bool) []TopicInfo {
	var infos []TopicInfo
	for _, w := range ws {
		info := TopicInfo{Name: w.Topic, Partitions: w.NumPartitions, ReplicationFactor: w.ReplicationFactor}
		if changelogs {
			info.Partitions = 0 // whatever is shown, it was joined with 0
		}
		for _, c := range w.Configs {
			if info.Configs == nil {
				info.Configs = make(map[string]string, len(w.Configs))
			}
			info.Configs[c.Key] = c.Value
		}
		infos = append(infos, info)
	}
	return infos
}

// Verdict is how a topology stands to the one that a group has.
type Verdict uint8

const (
	CannotTell Verdict = iota // the broker does not show it, or could not be asked
	NoGroup                   // there is no group: the first member sets the topology
	Same                      // nothing that is shown differs; see [Comparison].Hidden
	Different                 // something differs for sure
)

// String is "cannot-tell", "no-group", "same" or "different".
func (v Verdict) String() string {
	switch v {
	case CannotTell:
		return "cannot-tell"
	case NoGroup:
		return "no-group"
	case Same:
		return "same"
	case Different:
		return "different"
	}
	return fmt.Sprintf("Verdict(%d)", uint8(v))
}

// MarshalText is String, for JSON and logs.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
