package topology_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/rollcall-go/rollcall/topology"
)

// gen makes topologies from few names, so that near misses are common.
type gen struct{ *rand.Rand }

func newGen(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 1))} }

func pick[T any](g gen, from ...T) T { return from[g.IntN(len(from))] }

func (g gen) configs() map[string]string {
	m := map[string]string{}
	for range g.IntN(3) {
		m[pick(g, "cleanup.policy", "retention.ms", "x")] = pick(g, "delete", "compact", "1", "")
	}
	return m
}

func (g gen) info(name string) topology.TopicInfo {
	return topology.TopicInfo{Name: name, ReplicationFactor: pick[int16](g, -1, 0, 3), Configs: g.configs()}
}

// topology makes one that Validate accepts.
func (g gen) topology() topology.Topology {
	t := topology.Topology{Order: pick(g, topology.Canonical, topology.Canonical, topology.AsGiven)}
	ids := []string{"0", "1", "2", "10"}
	g.Shuffle(len(ids), func(i, k int) { ids[i], ids[k] = ids[k], ids[i] })
	n := 1 + g.IntN(3)
	for i := range n {
		t.Subtopologies = append(t.Subtopologies, topology.Subtopology{ID: ids[i]})
	}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		if i < n {
			t.Subtopologies[i].SourceTopics = append(t.Subtopologies[i].SourceTopics, name)
		} else if g.IntN(2) == 0 {
			s := &t.Subtopologies[g.IntN(n)]
			s.SourceTopics = append(s.SourceTopics, name)
		}
	}
	for i := range g.IntN(4) {
		name := fmt.Sprintf("r%d", i)
		from, to := &t.Subtopologies[g.IntN(n)], &t.Subtopologies[g.IntN(n)]
		from.RepartitionSinkTopics = append(from.RepartitionSinkTopics, name)
		info := g.info(name)
		info.Partitions = pick[int32](g, 0, 0, 4, 8)
		to.RepartitionSourceTopics = append(to.RepartitionSourceTopics, info)
	}
	for i := range g.IntN(4) {
		s := &t.Subtopologies[g.IntN(n)]
		s.StateChangelogTopics = append(s.StateChangelogTopics, g.info(fmt.Sprintf("c%d", i)))
	}
	for i := range t.Subtopologies {
		g.copartition(&t.Subtopologies[i])
	}
	return t
}

func (g gen) copartition(s *topology.Subtopology) {
	if g.IntN(2) == 0 || len(s.SourceTopics) < 2 {
		return
	}
	all := topology.CopartitionGroup{SourceTopics: slices.Clone(s.SourceTopics)}
	s.CopartitionGroups = append(s.CopartitionGroups, all)
	if len(s.SourceTopics) > 2 && g.IntN(2) == 0 {
		s.CopartitionGroups = append(s.CopartitionGroups, topology.CopartitionGroup{SourceTopics: slices.Clone(s.SourceTopics[:2])})
	}
	if len(s.RepartitionSourceTopics) > 0 && g.IntN(2) == 0 {
		s.CopartitionGroups = append(s.CopartitionGroups, topology.CopartitionGroup{
			SourceTopics: slices.Clone(s.SourceTopics[:1]), RepartitionSourceTopics: []string{s.RepartitionSourceTopics[0].Name}})
	}
}

// clone is a deep copy in the same order.
func clone(t topology.Topology) topology.Topology {
	t.Subtopologies = slices.Clone(t.Subtopologies)
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		s.SourceTopics, s.RepartitionSinkTopics = slices.Clone(s.SourceTopics), slices.Clone(s.RepartitionSinkTopics)
		s.RepartitionSourceTopics, s.StateChangelogTopics = cloneInfos(s.RepartitionSourceTopics), cloneInfos(s.StateChangelogTopics)
		s.CopartitionGroups = slices.Clone(s.CopartitionGroups)
		for k, c := range s.CopartitionGroups {
			s.CopartitionGroups[k] = topology.CopartitionGroup{
				SourceTopics: slices.Clone(c.SourceTopics), RepartitionSourceTopics: slices.Clone(c.RepartitionSourceTopics)}
		}
	}
	return t
}

func cloneInfos(infos []topology.TopicInfo) []topology.TopicInfo {
	infos = slices.Clone(infos)
	for i := range infos {
		infos[i].Configs = maps.Clone(infos[i].Configs)
	}
	return infos
}

func shuffle[T any](g gen, list []T) {
	g.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
}

// shuffled is the same topology, put together in another order.
func (g gen) shuffled(t topology.Topology) topology.Topology {
	t = clone(t)
	shuffle(g, t.Subtopologies)
	for i := range t.Subtopologies {
		s := &t.Subtopologies[i]
		shuffle(g, s.SourceTopics)
		shuffle(g, s.RepartitionSinkTopics)
		shuffle(g, s.RepartitionSourceTopics)
		shuffle(g, s.StateChangelogTopics)
		shuffle(g, s.CopartitionGroups)
		for _, c := range s.CopartitionGroups {
			shuffle(g, c.SourceTopics)
			shuffle(g, c.RepartitionSourceTopics)
		}
	}
	return t
}

// mutated has one thing changed, or nothing where there is none of the kind.
func (g gen) mutated(t topology.Topology) topology.Topology {
	t = clone(t)
	s := &t.Subtopologies[g.IntN(len(t.Subtopologies))]
	switch g.IntN(9) {
	case 0:
		s.ID = pick(g, "0", "1", "2", "10", "x")
	case 1:
		s.SourceTopics = append(s.SourceTopics, pick(g, "d", "e", "f"))
	case 2:
		s.SourceTopics = s.SourceTopics[:len(s.SourceTopics)-1]
	case 3:
		s.StateChangelogTopics = append(s.StateChangelogTopics, g.info(pick(g, "c0", "c1", "c9")))
	case 4:
		g.mutateInfo(s.RepartitionSourceTopics)
	case 5:
		g.mutateInfo(s.StateChangelogTopics)
	case 6:
		if n := len(s.CopartitionGroups); n > 0 {
			s.CopartitionGroups = s.CopartitionGroups[:n-1]
		}
	case 7:
		t.Order = pick(g, topology.Canonical, topology.AsGiven)
	case 8:
		t.Subtopologies = append(t.Subtopologies, topology.Subtopology{ID: pick(g, "3", "0"), SourceTopics: []string{"z"}})
	}
	return t
}

func (g gen) mutateInfo(infos []topology.TopicInfo) {
	if len(infos) == 0 {
		return
	}
	i := &infos[g.IntN(len(infos))]
	switch g.IntN(4) {
	case 0:
		i.Partitions = pick[int32](g, 0, 4, 8)
	case 1:
		i.ReplicationFactor = pick[int16](g, -1, 0, 3)
	case 2:
		i.Configs = g.configs()
	case 3:
		i.Name += "x"
	}
}

// pair makes two topologies of which many are the same, or almost.
func (g gen) pair() (a, b topology.Topology) {
	a = g.topology()
	switch g.IntN(5) {
	case 0:
		return a, g.shuffled(a)
	case 1:
		return a, g.mutated(a)
	case 2:
		return a, g.shuffled(g.mutated(a))
	case 3:
		return g.mutated(a), g.mutated(a)
	}
	return a, g.topology()
}
