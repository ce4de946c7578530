package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// groupView is a group as describe prints it with -json.
type groupView struct {
	Group           string             `json:"group"`
	Exists          bool               `json:"exists"`
	State           string             `json:"state,omitempty"`
	Epoch           int32              `json:"epoch"`
	AssignmentEpoch int32              `json:"assignment_epoch"`
	TopologyEpoch   topology.Epoch     `json:"topology_epoch"`     // -1: not shown
	ShownID         topology.ID        `json:"shown_id,omitempty"` // of Topology; members log another where the broker hides a part
	Topology        *topology.Topology `json:"topology,omitempty"`
	Members         []memberView       `json:"members"`
}

type memberView struct {
	MemberID      string            `json:"member_id"`
	InstanceID    string            `json:"instance_id,omitempty"`
	RackID        string            `json:"rack_id,omitempty"`
	ProcessID     string            `json:"process_id,omitempty"`
	ClientID      string            `json:"client_id"`
	ClientHost    string            `json:"client_host"`
	Endpoint      string            `json:"endpoint,omitempty"`
	ClientTags    map[string]string `json:"client_tags,omitempty"`
	Epoch         int32             `json:"epoch"`
	TopologyEpoch int32             `json:"topology_epoch"`
	Current       tasksView         `json:"current"`
	Target        tasksView         `json:"target"`
}

// tasksView has subtopology -> sorted partitions.
type tasksView struct {
	Active  map[string][]int32 `json:"active"`
	Standby map[string][]int32 `json:"standby"`
	Warmup  map[string][]int32 `json:"warmup"`
}

func describe(ctx context.Context, p *program, args []string) error {
	f := p.flags("describe", "")
	f.ofGroup()
	asJSON := f.Bool("json", false, "print one JSON object")
	if err := f.read(args, 0); err != nil {
		return err
	}
	g, err := f.connect()
	if err != nil {
		return err
	}
	defer g.cl.Close()
	group, err := g.describe(ctx)
	if err != nil {
		return err
	}
	d, err := read(group)
	if err != nil {
		return err
	}
	v := view(f.group, group, d)
	if *asJSON {
		err = p.print(v)
	} else {
		v.text(p.out)
	}
	if err == nil && !d.Exists {
		return refused("there is no streams group %q", f.group)
	}
	return err
}

func view(name string, g kmsg.StreamsGroupDescribeResponseGroup, d topology.Deployed) groupView {
	v := groupView{Group: name, Exists: d.Exists, TopologyEpoch: topology.EpochUnknown, Members: []memberView{}}
	if !d.Exists {
		return v
	}
	v.State, v.Epoch, v.AssignmentEpoch = g.State, g.Epoch, g.AssignmentEpoch
	v.TopologyEpoch, v.Topology = d.Epoch, d.Topology
	if d.Topology != nil {
		v.ShownID = d.Topology.ID()
	}
	for _, m := range g.Members {
		mv := memberView{
			MemberID: m.MemberID, InstanceID: text(m.InstanceID), RackID: text(m.RackID), ProcessID: m.ProcessID,
			ClientID: m.ClientID, ClientHost: m.ClientHost, Epoch: m.MemberEpoch, TopologyEpoch: m.TopologyEpoch,
			Current: tasks(m.Assignment), Target: tasks(m.TargetAssignment),
		}
		if e := m.UserEndpoint; e != nil {
			mv.Endpoint = fmt.Sprintf("%s:%d", e.Host, e.Port)
		}
		for _, t := range m.ClientTags {
			if mv.ClientTags == nil {
				mv.ClientTags = map[string]string{}
			}
			mv.ClientTags[t.Key] = t.Value
		}
		v.Members = append(v.Members, mv)
	}
	slices.SortFunc(v.Members, func(a, b memberView) int { return strings.Compare(a.MemberID, b.MemberID) })
	return v
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func tasks(a kmsg.StreamsAssignment) tasksView {
	return tasksView{bySubtopology(a.ActiveTasks), bySubtopology(a.StandbyTasks), bySubtopology(a.WarmupTasks)}
}

func bySubtopology(ids []kmsg.TaskIDs) map[string][]int32 {
	out := map[string][]int32{}
	for _, t := range ids {
		out[t.SubtopologyID] = append(out[t.SubtopologyID], t.Partitions...)
		slices.Sort(out[t.SubtopologyID])
	}
	return out
}

// text writes a group for people: a line a fact.
func (v groupView) text(w io.Writer) {
	if !v.Exists {
		fmt.Fprintf(w, "group %s: none\n", v.Group)
		return
	}
	fmt.Fprintf(w, "group %s: %s, epoch %d, assignment epoch %d, topology epoch %v\n", v.Group, v.State, v.Epoch, v.AssignmentEpoch, v.TopologyEpoch)
	if v.Topology == nil {
		fmt.Fprintln(w, "topology: not shown (4.1 shows none until a group is ready)")
	} else {
		fmt.Fprintf(w, "topology, as shown (lists sorted, no copartition groups, partitions as worked out): %s\n", v.ShownID)
		for _, s := range v.Topology.Subtopologies {
			fmt.Fprintf(w, "  subtopology %s: reads %s\n", s.ID, list(append(slices.Clone(s.SourceTopics), infos(s.RepartitionSourceTopics)...)))
			if len(s.RepartitionSinkTopics) > 0 {
				fmt.Fprintf(w, "    repartitions to %s\n", list(s.RepartitionSinkTopics))
			}
			if len(s.StateChangelogTopics) > 0 {
				fmt.Fprintf(w, "    state in %s\n", list(infos(s.StateChangelogTopics)))
			}
		}
	}
	fmt.Fprintf(w, "members: %d\n", len(v.Members))
	for _, m := range v.Members {
		fmt.Fprintf(w, "  %s: epoch %d, topology epoch %d, process %s, client %s at %s", m.MemberID, m.Epoch, m.TopologyEpoch, m.ProcessID, m.ClientID, m.ClientHost)
		if m.InstanceID != "" {
			fmt.Fprintf(w, ", instance %s", m.InstanceID)
		}
		fmt.Fprintf(w, "\n    current %v\n    target  %v\n", m.Current, m.Target)
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func infos(of []topology.TopicInfo) []string {
	var out []string
	for _, i := range of {
		name := i.Name
		if i.Partitions > 0 {
			name += fmt.Sprintf(" (%d partitions)", i.Partitions)
		}
		out = append(out, name)
	}
	return out
}

// String is "active 0_0 0_1; standby 1_0", as Kafka writes task IDs.
func (t tasksView) String() string {
	var parts []string
	for _, role := range []struct {
		name  string
		tasks map[string][]int32
	}{{"active", t.Active}, {"standby", t.Standby}, {"warm-up", t.Warmup}} {
		if len(role.tasks) == 0 {
			continue
		}
		s := role.name
		for _, id := range slices.Sorted(maps.Keys(role.tasks)) {
			for _, p := range role.tasks[id] {
				s += fmt.Sprintf(" %s_%d", id, p)
			}
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}
