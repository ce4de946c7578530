package topology

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Wire is the topology as a join sends it (StreamsGroupHeartbeatRequest, Topology):
// lists in the order that Order says, configs sorted by key, copartition groups as
// indexes into these lists. Each call makes a new value that shares nothing with the
// topology, and the same bytes. A rejoin repeats them.
//
// Wire does not validate: a broker refuses what [Topology.Validate] refuses, or worse. A
// copartition group that names a topic the subtopology does not read gets index -1.
//
// Source: KIP-1071; the topology goes with member epoch 0 only, always and in full.
func (t Topology) Wire(e Epoch) *kmsg.StreamsGroupHeartbeatRequestTopology {
	w := kmsg.NewStreamsGroupHeartbeatRequestTopology()
	w.Epoch = int32(e)
	for _, s := range t.arranged().Subtopologies {
		ws := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
		ws.SubtopologyID = s.ID
		ws.SourceTopics = s.SourceTopics
		ws.RepartitionSinkTopics = s.RepartitionSinkTopics
		ws.RepartitionSourceTopics = wireInfos(s.RepartitionSourceTopics)
		ws.StateChangelogTopics = wireInfos(s.StateChangelogTopics)
		ws.CopartitionGroups = wireGroups(s)
		w.Subtopologies = append(w.Subtopologies, ws)
	}
	return &w
}

func wireInfos(infos []TopicInfo) []kmsg.TopicInfo {
	var ws []kmsg.TopicInfo
	for _, i := range infos {
		w := kmsg.NewTopicInfo()
		w.Topic, w.NumPartitions, w.ReplicationFactor = i.Name, i.Partitions, i.ReplicationFactor
		for _, k := range slices.Sorted(maps.Keys(i.Configs)) {
			c := kmsg.NewTopicInfoConfig()
			c.Key, c.Value = k, i.Configs[k]
			w.Configs = append(w.Configs, c)
		}
		ws = append(ws, w)
	}
	return ws
}

func wireGroups(s Subtopology) []kmsg.StreamsGroupHeartbeatRequestTopologySubtopologyCopartitionGroup {
	var ws []kmsg.StreamsGroupHeartbeatRequestTopologySubtopologyCopartitionGroup
	if len(s.CopartitionGroups) == 0 {
		return nil
	}
	sources, repartitions := places(s.SourceTopics), places(infoNames(s.RepartitionSourceTopics))
	for _, g := range s.CopartitionGroups {
		w := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopologyCopartitionGroup()
		w.SourceTopics = indexes(g.SourceTopics, sources)
		w.RepartitionSourceTopics = indexes(g.RepartitionSourceTopics, repartitions)
		ws = append(ws, w)
	}
	return ws
}

// places says where a name is in a list: the first place, if it is there twice.
func places(names []string) map[string]int {
	m := make(map[string]int, len(names))
	for i, n := range names {
		if _, ok := m[n]; !ok {
			m[n] = i
		}
	}
	return m
}

func indexes(names []string, places map[string]int) []int16 {
	var is []int16
	for _, n := range names {
		i, ok := places[n]
		if !ok || i > math.MaxInt16 {
			i = -1
		}
		is = append(is, int16(i))
	}
	return is
}

func infoNames(infos []TopicInfo) []string {
	names := make([]string, len(infos))
	for i := range infos {
		names[i] = infos[i].Name
	}
	return names
}

// FromWire reads what a join sends. The topology is [AsGiven], and its Wire is the
// same bytes again. The error is an [InvalidError] that names all that a Topology cannot
// say: source topic patterns, indexes that lead nowhere, configs that are not sorted,
// tagged fields. Whether the topology makes sense is for [Topology.Validate] to say.
func FromWire(w *kmsg.StreamsGroupHeartbeatRequestTopology) (Topology, Epoch, error) {
	var fs faults
	if w == nil {
		fs.add("", "no topology")
		return Topology{}, 0, fs.err("topology")
	}
	fs.tags("", w.UnknownTags)
	t := Topology{Order: AsGiven}
	for i, ws := range w.Subtopologies {
		path := fmt.Sprintf("subtopologies[%d]", i)
		fs.tags(path, ws.UnknownTags)
		for k := range ws.SourceTopicRegex {
			fs.add(fmt.Sprintf("%s.source_topic_regex[%d]", path, k), "patterns are not supported, nor by brokers up to 4.4")
		}
		t.Subtopologies = append(t.Subtopologies, Subtopology{
			ID:                      ws.SubtopologyID,
			SourceTopics:            slices.Clone(ws.SourceTopics),
			RepartitionSinkTopics:   slices.Clone(ws.RepartitionSinkTopics),
			RepartitionSourceTopics: fs.infos(path+".repartition_source_topics", ws.RepartitionSourceTopics),
			StateChangelogTopics:    fs.infos(path+".state_changelog_topics", ws.StateChangelogTopics),
			CopartitionGroups:       fs.groups(path, ws),
		})
	}
	if err := fs.err("topology"); err != nil {
		return Topology{}, 0, err
	}
	return t, Epoch(w.Epoch), nil
}

func (fs *faults) tags(path string, tags kmsg.Tags) {
	if tags.Len() > 0 {
		fs.add(path, "has tagged fields, which are not known")
	}
}

func (fs *faults) infos(path string, ws []kmsg.TopicInfo) []TopicInfo {
	var infos []TopicInfo
	for i, w := range ws {
		at := fmt.Sprintf("%s[%d]", path, i)
		fs.tags(at, w.UnknownTags)
		info := TopicInfo{Name: w.Topic, Partitions: w.NumPartitions, ReplicationFactor: w.ReplicationFactor}
		for k, c := range w.Configs {
			cat := fmt.Sprintf("%s.configs[%d]", at, k)
			fs.tags(cat, c.UnknownTags)
			if k > 0 && c.Key <= w.Configs[k-1].Key {
				fs.add(cat, "%q is not sorted by key, or is there twice", c.Key)
			}
			if info.Configs == nil {
				info.Configs = make(map[string]string, len(w.Configs))
			}
			info.Configs[c.Key] = c.Value
		}
		infos = append(infos, info)
	}
	return infos
}

func (fs *faults) groups(path string, ws kmsg.StreamsGroupHeartbeatRequestTopologySubtopology) []CopartitionGroup {
	var repartitions []string
	for _, r := range ws.RepartitionSourceTopics {
		repartitions = append(repartitions, r.Topic)
	}
	var groups []CopartitionGroup
	for i, w := range ws.CopartitionGroups {
		at := fmt.Sprintf("%s.copartition_groups[%d]", path, i)
		fs.tags(at, w.UnknownTags)
		if len(w.SourceTopicRegex) > 0 {
			fs.add(at+".source_topic_regex", "patterns are not supported, nor by brokers up to 4.4")
		}
		groups = append(groups, CopartitionGroup{
			SourceTopics:            fs.named(at+".source_topics", w.SourceTopics, ws.SourceTopics),
			RepartitionSourceTopics: fs.named(at+".repartition_source_topics", w.RepartitionSourceTopics, repartitions),
		})
	}
	return groups
}

// named turns indexes into names.
func (fs *faults) named(path string, is []int16, names []string) []string {
	var out []string
	for k, i := range is {
		at := fmt.Sprintf("%s[%d]", path, k)
		switch {
		case i < 0 || int(i) >= len(names):
			fs.add(at, "index %d is out of range: the list has %d topics", i, len(names))
		case slices.Index(names, names[i]) != int(i):
			fs.add(at, "index %d is %q, which the list has twice", i, names[i])
		default:
			out = append(out, names[i])
		}
	}
	return out
}
