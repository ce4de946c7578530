package topology_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/topology"
)

// A file with ten faults gets all ten named: unknown fields, wrong types and faults of
// the topology together, each once.
func TestTenFaultsAtOnce(t *testing.T) {
	var topo topology.Topology
	err := json.Unmarshal(readFile(t, "ten-faults.json"), &topo)
	equal(t, "faults", faultsOf(t, err), lines(
		`subtopologies[0].source_topic: unknown field; known are id, source_topics, repartition_sink_topics, repartition_source_topics, state_changelog_topics, copartition_groups`,
		`subtopologies[1].repartition_source_topics[0].partitions: want a whole number from -2147483648 to 2147483647`,
		`subtopologies[1].copartition_groups[0].source_topics[0]: want an index into a list of 1 topics: 1 is out of range`,
		`order: want "canonical" or "as-given"`,
		`subtopologies[0].source_topics[1]: "a/b" is no legal topic name: want 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..`,
		`subtopologies[0].state_changelog_topics[0].partitions: 4: want 0: a changelog has as many as its subtopology has tasks`,
		`subtopologies[1].id: "0" is used twice: see subtopologies[0].id`,
		`subtopologies[1].source_topics[0]: "in" is read twice: see subtopologies[0].source_topics[0]`,
		`subtopologies[2].id: blank: want a text that is unique in the topology`,
		`subtopologies[2]: reads nothing: source_topics and repartition_source_topics are empty`,
	))
	equal(t, "number in the text", strings.HasPrefix(err.Error(), "invalid topology: 10 faults: "), true)
	equal(t, "what was there before", len(topo.Subtopologies), 0)
}

// broken is a sound topology that a test breaks in one place.
func broken() topology.Topology {
	return topology.Topology{Subtopologies: []topology.Subtopology{
		{ID: "0", SourceTopics: []string{"a", "b"}, RepartitionSinkTopics: []string{"r", "r2"},
			CopartitionGroups: []topology.CopartitionGroup{{SourceTopics: []string{"a", "b"}}}},
		{ID: "1", RepartitionSourceTopics: []topology.TopicInfo{{Name: "r"}, {Name: "r2"}}, StateChangelogTopics: []topology.TopicInfo{{Name: "c"}}},
	}}
}

func TestEachFaultIsNamed(t *testing.T) {
	if err := broken().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		fault func(t *topology.Topology, s0, s1 *topology.Subtopology)
		want  string
	}{
		{"order", func(t *topology.Topology, _, _ *topology.Subtopology) { t.Order = "sorted" },
			`order: "sorted": want "canonical" or "as-given"`},
		{"nothing", func(t *topology.Topology, _, _ *topology.Subtopology) { t.Subtopologies = nil },
			`subtopologies: there are none: brokers accept that, assign nothing, and keep it until the group is deleted`},
		{"ID not UTF-8", func(_ *topology.Topology, s0, _ *topology.Subtopology) { s0.ID = "\xff" },
			`subtopologies[0].id: "\xff" is not UTF-8`},
		{"two IDs", func(_ *topology.Topology, _, s1 *topology.Subtopology) { s1.ID = "0" },
			`subtopologies[1].id: "0" is used twice: see subtopologies[0].id`},
		{"topic in two subtopologies", func(_ *topology.Topology, _, s1 *topology.Subtopology) { s1.SourceTopics = []string{"b"} },
			`subtopologies[1].source_topics[0]: "b" is read twice: see subtopologies[0].source_topics[1]`},
		{"blank topic", func(_ *topology.Topology, s0, _ *topology.Subtopology) { s0.RepartitionSinkTopics[1] = "" },
			lines(`subtopologies[0].repartition_sink_topics[1]: blank: want the name of a topic`,
				`subtopologies[1].repartition_source_topics[1].name: "r2" is in no subtopology's repartition_sink_topics`)},
		{"topic too long", func(_ *topology.Topology, _, s1 *topology.Subtopology) {
			s1.StateChangelogTopics[0].Name = strings.Repeat("x", 250)
		}, `subtopologies[1].state_changelog_topics[0].name: "` + strings.Repeat("x", 250) +
			`" is no legal topic name: want 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..`},
		{"dots", func(_ *topology.Topology, _, s1 *topology.Subtopology) { s1.StateChangelogTopics[0].Name = ".." },
			`subtopologies[1].state_changelog_topics[0].name: ".." is no legal topic name: want 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..`},
		{"Kafka's own", func(_ *topology.Topology, _, s1 *topology.Subtopology) {
			s1.SourceTopics = []string{"__consumer_offsets"}
		},
			`subtopologies[1].source_topics[0]: "__consumer_offsets" is an internal topic of Kafka`},
		{"sink twice", func(_ *topology.Topology, s0, _ *topology.Subtopology) {
			s0.RepartitionSinkTopics = append(s0.RepartitionSinkTopics, "r")
		}, `subtopologies[0].repartition_sink_topics[2]: "r" is listed twice: see subtopologies[0].repartition_sink_topics[0]`},
		{"sink read as a source", func(_ *topology.Topology, s0, _ *topology.Subtopology) {
			s0.RepartitionSinkTopics = append(s0.RepartitionSinkTopics, "a")
		}, `subtopologies[0].repartition_sink_topics[2]: "a" is read as a source topic, and not as a repartition topic: see subtopologies[0].source_topics[0]`},
		{"changelog twice", func(_ *topology.Topology, s0, _ *topology.Subtopology) {
			s0.StateChangelogTopics = []topology.TopicInfo{{Name: "c"}}
		}, `subtopologies[1].state_changelog_topics[0].name: "c" is a changelog twice: see subtopologies[0].state_changelog_topics[0].name`},
		{"negative partitions", func(_ *topology.Topology, _, s1 *topology.Subtopology) { s1.RepartitionSourceTopics[0].Partitions = -1 },
			`subtopologies[1].repartition_source_topics[0].partitions: -1: want 0 (the broker works it out) or more`},
		{"replication", func(_ *topology.Topology, _, s1 *topology.Subtopology) {
			s1.StateChangelogTopics[0].ReplicationFactor = -2
		},
			`subtopologies[1].state_changelog_topics[0].replication_factor: -2: want 0 or -1 (the broker's default), or more`},
		{"configs", func(_ *topology.Topology, _, s1 *topology.Subtopology) {
			s1.StateChangelogTopics[0].Configs = map[string]string{" ": "x", "y": "\xff"}
		}, lines(`subtopologies[1].state_changelog_topics[0].configs[" "]: blank: want the name of a topic config`,
			`subtopologies[1].state_changelog_topics[0].configs.y: is not UTF-8`)},
		{"copartition group of one", func(_ *topology.Topology, s0, _ *topology.Subtopology) {
			s0.CopartitionGroups[0].SourceTopics = []string{"a"}
		}, `subtopologies[0].copartition_groups[0]: names fewer than two topics`},
		{"copartition group of strangers", func(_ *topology.Topology, s0, _ *topology.Subtopology) {
			s0.CopartitionGroups[0] = topology.CopartitionGroup{SourceTopics: []string{"a", "x"}, RepartitionSourceTopics: []string{"b"}}
		}, lines(`subtopologies[0].copartition_groups[0].source_topics[1]: "x" is not in the subtopology's source_topics`,
			`subtopologies[0].copartition_groups[0].repartition_source_topics[0]: "b" is not in the subtopology's repartition_source_topics`)},
		{"copartition member twice", func(_ *topology.Topology, s0, _ *topology.Subtopology) {
			s0.CopartitionGroups[0].SourceTopics = []string{"a", "a"}
		}, `subtopologies[0].copartition_groups[0].source_topics[1]: "a" is listed twice: see subtopologies[0].copartition_groups[0].source_topics[0]`},
		{"copartition group twice", func(_ *topology.Topology, s0, _ *topology.Subtopology) {
			s0.CopartitionGroups = append(s0.CopartitionGroups, topology.CopartitionGroup{SourceTopics: []string{"b", "a"}})
		}, `subtopologies[0].copartition_groups[1]: is there twice: see subtopologies[0].copartition_groups[0]`},
		{"fixed counts", func(_ *topology.Topology, _, s1 *topology.Subtopology) {
			s1.RepartitionSourceTopics[0].Partitions, s1.RepartitionSourceTopics[1].Partitions = 4, 6
			s1.CopartitionGroups = []topology.CopartitionGroup{{RepartitionSourceTopics: []string{"r", "r2"}}}
		}, `subtopologies[1].copartition_groups[0]: "r" has 4 partitions and "r2" has 6: they must be equal`},
		{"names that collide", func(_ *topology.Topology, s0, s1 *topology.Subtopology) {
			s0.SourceTopics = append(s0.SourceTopics, "x.y")
			s1.StateChangelogTopics = []topology.TopicInfo{{Name: "x_y"}, {Name: "u_v"}, {Name: "u.v"}}
		}, `subtopologies[1].state_changelog_topics[0].name: "x_y" cannot be created next to "x.y": Kafka takes . and _ for one character`},
	} {
		topo := broken()
		c.fault(&topo, &topo.Subtopologies[0], &topo.Subtopologies[1])
		equal(t, c.name, faultsOf(t, topo.Validate()), c.want)
	}
}

// A loop is fine as long as a source topic leads into it, or a number is set.
func TestLoopsOfRepartitionTopics(t *testing.T) {
	loop := func(sources []string, fixed int32) topology.Topology {
		return topology.Topology{Subtopologies: []topology.Subtopology{
			{ID: "0", SourceTopics: sources, RepartitionSinkTopics: []string{"r"}, RepartitionSourceTopics: []topology.TopicInfo{{Name: "q", Partitions: fixed}}},
			{ID: "1", RepartitionSinkTopics: []string{"q"}, RepartitionSourceTopics: []topology.TopicInfo{{Name: "r"}}},
		}}
	}
	equal(t, "with a source", faultsOf(t, loop([]string{"in"}, 0).Validate()), "")
	equal(t, "with a number", faultsOf(t, loop(nil, 4).Validate()), "")
	const why = `.partitions: cannot be worked out: %q is written from a loop that no source topic leads into; set a number`
	equal(t, "without", faultsOf(t, loop(nil, 0).Validate()), lines(
		"subtopologies[0].repartition_source_topics[0]"+strings.ReplaceAll(why, "%q", `"q"`),
		"subtopologies[1].repartition_source_topics[0]"+strings.ReplaceAll(why, "%q", `"r"`)))
}

// A source topic may be a changelog too: Java's optimized tables are like that.
func TestSourceTopicAsChangelog(t *testing.T) {
	equal(t, "faults", faultsOf(t, golden(t, "java-table").Validate()), "")
}

// The wire has 16 bits for an index.
func TestIndexTooLargeForTheWire(t *testing.T) {
	s := topology.Subtopology{ID: "0"}
	for i := range 32769 {
		s.SourceTopics = append(s.SourceTopics, "t"+strings.Repeat("x", i%200)+"-"+string(rune('a'+i/200%26))+string(rune('a'+i/5200)))
	}
	s.CopartitionGroups = []topology.CopartitionGroup{{SourceTopics: []string{s.SourceTopics[0], s.SourceTopics[32768]}}}
	topo := topology.Topology{Subtopologies: []topology.Subtopology{s}, Order: topology.AsGiven}
	got := faultsOf(t, topo.Validate())
	if !strings.HasPrefix(got, "subtopologies[0].copartition_groups[0].source_topics[1]: ") || !strings.HasSuffix(got, "is number 32768 in source_topics: the wire has room for 32767") {
		t.Error(got)
	}
	equal(t, "index", topo.Wire(0).Subtopologies[0].CopartitionGroups[0].SourceTopics[1], -1)
}
