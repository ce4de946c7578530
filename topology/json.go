package topology

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// MarshalJSON writes the JSON form that the package documentation shows. With
// [Canonical] order it is sorted, so the same topology is the same text.
func (t Topology) MarshalJSON() ([]byte, error) {
	a := t.arranged()
	out := struct {
		Subtopologies []Subtopology `json:"subtopologies"`
		Order         Order         `json:"order,omitempty"`
	}{a.Subtopologies, t.Order}
	if out.Subtopologies == nil {
		out.Subtopologies = []Subtopology{}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the JSON form that the package documentation shows, and
// validates: what it reads is a topology that [Topology.Validate] accepts. The error is
// an [InvalidError] with every fault, unknown fields, wrong types and faults of the
// topology together, or json's own where the syntax is wrong. After an error t is as it was.
//
// Field names are case-sensitive. null is the same as a field that is left out.
func (t *Topology) UnmarshalJSON(data []byte) error {
	root, err := parse(data)
	if err != nil {
		return err
	}
	var r reader
	got := r.topology(root)
	r.judge(got.Validate())
	if err := r.err("topology"); err != nil {
		return err
	}
	*t = got
	return nil
}

func (r *reader) topology(n *node) Topology {
	var t Topology
	r.object(n, readers{
		{"subtopologies", func(n *node) {
			r.each(n, func(n *node) { t.Subtopologies = append(t.Subtopologies, r.subtopology(n)) })
		}},
		{"order", func(n *node) {
			switch n.scalar {
			case Canonical.String():
			case string(AsGiven):
				t.Order = AsGiven
			default:
				r.wrong(n, fmt.Sprintf("%q or %q", Canonical.String(), AsGiven))
			}
		}},
	})
	return t
}

func (r *reader) subtopology(n *node) Subtopology {
	var s Subtopology
	var groups *node
	r.object(n, readers{
		{"id", r.text(&s.ID)},
		{"source_topics", r.texts(&s.SourceTopics)},
		{"repartition_sink_topics", r.texts(&s.RepartitionSinkTopics)},
		{"repartition_source_topics", r.infos(&s.RepartitionSourceTopics)},
		{"state_changelog_topics", r.infos(&s.StateChangelogTopics)},
		{"copartition_groups", func(n *node) { groups = n }},
	})
	if groups == nil {
		return s
	}
	r.each(groups, func(n *node) { // last, as indexes need the lists
		var g CopartitionGroup
		r.object(n, readers{
			{"source_topics", r.members(&g.SourceTopics, s.SourceTopics)},
			{"repartition_source_topics", r.members(&g.RepartitionSourceTopics, infoNames(s.RepartitionSourceTopics))},
		})
		s.CopartitionGroups = append(s.CopartitionGroups, g)
	})
	return s
}

func (r *reader) infos(to *[]TopicInfo) func(*node) {
	return func(n *node) {
		r.each(n, func(n *node) {
			var info TopicInfo
			r.object(n, readers{
				{"name", r.text(&info.Name)},
				{"partitions", r.int32(&info.Partitions)},
				{"replication_factor", r.int16(&info.ReplicationFactor)},
				{"configs", r.textMap(&info.Configs)},
			})
			*to = append(*to, info)
		})
	}
}

// members reads names of topics, or indexes into list, which is in the file's order.
func (r *reader) members(to *[]string, list []string) func(*node) {
	return func(n *node) {
		r.each(n, func(n *node) {
			num, ok := n.scalar.(json.Number)
			if !ok {
				if _, ok := n.scalar.(string); !ok {
					r.wrong(n, "the name of a topic, or its index")
					return
				}
				var name string
				r.text(&name)(n)
				*to = append(*to, name)
				return
			}
			i, err := strconv.ParseUint(num.String(), 10, 31)
			if err != nil || int(i) >= len(list) {
				r.wrong(n, fmt.Sprintf("an index into a list of %d topics: %s is out of range", len(list), num))
				return
			}
			*to = append(*to, list[i])
		})
	}
}
