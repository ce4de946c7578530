package topology_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rollcall-go/rollcall/topology"
)

func TestJSONIsWrittenSorted(t *testing.T) {
	text, err := json.Marshal(golden(t, "everything"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "JSON", string(text), `{"subtopologies":[`+
		`{"id":"10","source_topics":["customers","orders","prices"],`+
		`"repartition_sink_topics":["app-by-city-repartition","app-by-id-repartition"],`+
		`"repartition_source_topics":[{"name":"app-by-id-repartition","partitions":12,"replication_factor":3,"configs":{"cleanup.policy":"delete","retention.ms":"-1"}}],`+
		`"state_changelog_topics":[{"name":"app-a-changelog"},{"name":"app-z-changelog","replication_factor":-1,"configs":{"cleanup.policy":"compact"}}],`+
		`"copartition_groups":[{"source_topics":["customers","orders"]},{"source_topics":["prices"],"repartition_source_topics":["app-by-id-repartition"]}]},`+
		`{"id":"2","repartition_source_topics":[{"name":"app-by-city-repartition"}],"state_changelog_topics":[{"name":"app-cities-changelog","configs":{"cleanup.policy":""}}]}]}`)
	text, err = json.Marshal(topology.Topology{Order: topology.AsGiven})
	equal(t, "error", err, nil)
	equal(t, "JSON of nothing", string(text), `{"subtopologies":[],"order":"as-given"}`)
}

// Indexes are into the lists of the file, also where these are written below, or sorted later.
func TestIndexesAreRead(t *testing.T) {
	topo := load(t, []byte(`{"subtopologies":[
		{"id":"0","copartition_groups":[{"source_topics":[1,"c"],"repartition_source_topics":[0]}],
		 "source_topics":["z","b","c"],"repartition_source_topics":[{"name":"r"}],"repartition_sink_topics":["r"]}]}`))
	g := topo.Subtopologies[0].CopartitionGroups[0]
	equal(t, "names", strings.Join(append(g.SourceTopics, g.RepartitionSourceTopics...), " "), "b c r")
	w := topo.Wire(0).Subtopologies[0]
	equal(t, "first on the wire", w.SourceTopics[0], "b")
	equal(t, "its index", w.CopartitionGroups[0].SourceTopics[0], 0)
}

func TestNullIsLeftOut(t *testing.T) {
	topo := load(t, []byte(`{"order":null,"subtopologies":[{"id":"0","source_topics":["a"],"copartition_groups":null,
		"repartition_sink_topics":null,"state_changelog_topics":[{"name":"c","configs":null,"partitions":null}]}]}`))
	equal(t, "faults", faultsOf(t, topo.Validate()), "")
}

func TestJSONFaults(t *testing.T) {
	in := func(s string) string { return `{"subtopologies":[` + s + `]}` }
	for _, c := range []struct{ name, text, want string }{
		{"no object", `[]`, `want an object`},
		{"null", `null`, `want an object`},
		{"empty", `{}`, `subtopologies: there are none: brokers accept that, assign nothing, and keep it until the group is deleted`},
		{"name in another case", `{"Subtopologies":[],"subtopologies":[{"id":"0","source_topics":["a"]}]}`,
			`Subtopologies: unknown field; known are subtopologies, order`},
		{"odd name", in(`{"id":"0","source_topics":["a"],"x y":1}`), `subtopologies[0]["x y"]: unknown field; known are ` +
			`id, source_topics, repartition_sink_topics, repartition_source_topics, state_changelog_topics, copartition_groups`},
		{"field twice", in(`{"id":"0","id":"1","source_topics":["a"]}`), `subtopologies[0].id: is there twice`},
		{"config twice", in(`{"id":"0","source_topics":["a"],"state_changelog_topics":[{"name":"c","configs":{"k":"1","k":"2"}}]}`),
			`subtopologies[0].state_changelog_topics[0].configs.k: is there twice`},
		{"no list", in(`{"id":"0","source_topics":"a"}`), `subtopologies[0].source_topics: want a list`},
		{"no text", in(`{"id":0,"source_topics":[null]}`), lines(`subtopologies[0].id: want a text`, `subtopologies[0].source_topics[0]: want a text`)},
		{"no number", in(`{"id":"0","source_topics":["a"],"state_changelog_topics":[{"name":"c","replication_factor":1.0}]}`),
			`subtopologies[0].state_changelog_topics[0].replication_factor: want a whole number from -32768 to 32767`},
		{"no map", in(`{"id":"0","source_topics":["a"],"state_changelog_topics":[{"name":"c","configs":["k"]}]}`),
			`subtopologies[0].state_changelog_topics[0].configs: want an object`},
		{"no topic", in(`{"id":"0","source_topics":["a","b"],"copartition_groups":[{"source_topics":[true,-1]}]}`),
			lines(`subtopologies[0].copartition_groups[0].source_topics[0]: want the name of a topic, or its index`,
				`subtopologies[0].copartition_groups[0].source_topics[1]: want an index into a list of 2 topics: -1 is out of range`)},
		{"not UTF-8", in("{\"id\":\"\xff\",\"source_topics\":[\"a\"]}"), `is not UTF-8`},
	} {
		var topo topology.Topology
		equal(t, c.name, faultsOf(t, json.Unmarshal([]byte(c.text), &topo)), c.want)
	}
}

func TestJSONSyntaxIsJSONsOwn(t *testing.T) {
	var topo topology.Topology
	for _, text := range []string{`{"subtopologies":[}`, ``, `{} {}`, strings.Repeat("[", 100_000)} {
		err := topo.UnmarshalJSON([]byte(text))
		if _, ok := errors.AsType[*json.SyntaxError](err); !ok {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func TestFromWireNamesWhatItCannotSay(t *testing.T) {
	w := golden(t, "everything").Wire(0)
	w.UnknownTags.Set(3, []byte("x"))
	s := &w.Subtopologies[0]
	s.UnknownTags.Set(3, nil)
	s.SourceTopicRegex = []string{".*"}
	s.SourceTopics[1] = s.SourceTopics[0]
	s.CopartitionGroups[0].SourceTopics = []int16{0, 1, 3, -1}
	s.CopartitionGroups[0].SourceTopicRegex = []int16{0}
	c := s.RepartitionSourceTopics[0].Configs
	c[0], c[1] = c[1], c[0]
	_, _, err := topology.FromWire(w)
	equal(t, "faults", faultsOf(t, err), lines(
		`has tagged fields, which are not known`,
		`subtopologies[0]: has tagged fields, which are not known`,
		`subtopologies[0].source_topic_regex[0]: patterns are not supported, nor by brokers up to 4.4`,
		`subtopologies[0].repartition_source_topics[0].configs[1]: "cleanup.policy" is not sorted by key, or is there twice`,
		`subtopologies[0].copartition_groups[0].source_topic_regex: patterns are not supported, nor by brokers up to 4.4`,
		`subtopologies[0].copartition_groups[0].source_topics[1]: index 1 is "customers", which the list has twice`,
		`subtopologies[0].copartition_groups[0].source_topics[2]: index 3 is out of range: the list has 3 topics`,
		`subtopologies[0].copartition_groups[0].source_topics[3]: index -1 is out of range: the list has 3 topics`,
	))
	_, _, err = topology.FromWire(nil)
	equal(t, "nil", faultsOf(t, err), "no topology")
}
