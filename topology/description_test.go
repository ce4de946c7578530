package topology_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

func description(tb testing.TB) topology.Description {
	tb.Helper()
	var d topology.Description
	if err := json.Unmarshal(readFile(tb, "description.json"), &d); err != nil {
		tb.Fatal(err)
	}
	return d
}

func TestDescriptionOnTheWire(t *testing.T) {
	d := description(t)
	req := d.Request("g", "m", 4)
	equal(t, "group", req.Group, "g")
	equal(t, "member", req.MemberID, "m")
	equal(t, "epoch", req.TopologyEpoch, 4)
	w := req.TopologyDescription
	var ids, names []string
	var types []int8
	for _, s := range w.Subtopologies {
		ids = append(ids, s.SubtopologyID)
	}
	for _, n := range w.Subtopologies[0].Nodes {
		names, types = append(names, n.Name), append(types, n.NodeType)
	}
	equal(t, "IDs, numbers by value", slices.Equal(ids, []string{"0", "2", "10"}), true)
	equal(t, "nodes sorted", slices.Equal(names, []string{"elsewhere", "join", "peek", "sink", "source-1"}), true)
	equal(t, "types", slices.Equal(types, []int8{3, 2, 2, 3, 1}), true)
	nodes := w.Subtopologies[0].Nodes
	equal(t, "sink without a topic", nodes[0].SinkTopic, nil)
	equal(t, "sink topic", *nodes[3].SinkTopic, "app-by-city-repartition")
	equal(t, "topics sorted", slices.Equal(nodes[4].SourceTopics, []string{"customers", "orders"}), true)
	equal(t, "successors sorted", slices.Equal(nodes[1].Successors, []string{"elsewhere", "sink"}), true)
	equal(t, "pattern source", len(w.Subtopologies[2].Nodes[0].SourceTopics), 0)
	equal(t, "global store", w.GlobalStores[0].Processor.Stores[0], "prices")

	var again kmsg.StreamsGroupTopologyDescriptionUpdateRequest
	if err := again.ReadFrom(req.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	back, err := topology.DescriptionFromWire(again.TopologyDescription)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "there and back", slices.Equal(back.Request("g", "m", 4).AppendTo(nil), req.AppendTo(nil)), true)
	equal(t, "valid", back.Validate(), nil)
}

func TestDescriptionFromDescribe(t *testing.T) {
	g := kmsg.NewStreamsGroupDescribeResponseGroup()
	_, ok, err := topology.DescriptionFromDescribe(g)
	if ok || err != nil {
		t.Error("there is none:", ok, err)
	}
	w := description(t).Wire()
	g.TopologyDescription = &kmsg.StreamsGroupDescribeResponseGroupTopologyDescription{Subtopologies: w.Subtopologies, GlobalStores: w.GlobalStores}
	d, ok, err := topology.DescriptionFromDescribe(g)
	if !ok || err != nil {
		t.Error("there is one:", ok, err)
	}
	a, _ := json.Marshal(d.Wire())
	b, _ := json.Marshal(w)
	equal(t, "description", string(a), string(b))
	w.Subtopologies[0].Nodes[0].NodeType = 9
	_, ok, err = topology.DescriptionFromDescribe(g)
	equal(t, "unknown type", ok, false)
	equal(t, "faults", faultsOf(t, err), `subtopologies.0[0].type: 9 is not known`)
}

func TestDescriptionFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault func(d *topology.Description)
		want  string
	}{
		{"nothing", func(d *topology.Description) { *d = topology.Description{} }, `subtopologies: there are none, and no global stores`},
		{"no nodes", func(d *topology.Description) { d.Subtopologies["2"] = nil }, `subtopologies.2: has no nodes`},
		{"blank ID", func(d *topology.Description) {
			d.Subtopologies[" "] = []topology.Node{{Name: "x", Type: topology.SourceNode}}
		}, `subtopologies[" "]: the ID is blank or not UTF-8`},
		{"names", func(d *topology.Description) {
			d.Subtopologies["2"] = []topology.Node{{Name: "", Type: topology.SourceNode}, {Name: "join", Type: topology.SourceNode}, {Name: "\xff", Type: topology.SourceNode}}
		}, lines(`subtopologies.2[0].name: blank: want a text that is unique in the description`,
			`subtopologies.2[1].name: "join" is used twice: see subtopologies.0[2].name`,
			`subtopologies.2[2].name: "\xff" is not UTF-8`)},
		{"type", func(d *topology.Description) { d.Subtopologies["10"][0].Type = "Source" },
			lines(`subtopologies.10[0].type: "Source": want "source", "processor" or "sink"`,
				`subtopologies.10[0]: "source-3" is no source, and nothing leads to it`)},
		{"source with stores", func(d *topology.Description) {
			d.Subtopologies["10"][0].Stores = []string{"s", "s", ""}
			d.Subtopologies["10"][0].Topics = []string{"a", "a", "/"}
		}, lines(`subtopologies.10[0].topics[1]: "a" is listed twice: see subtopologies.10[0].topics[0]`,
			`subtopologies.10[0].topics[2]: "/" is no legal topic name: want 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..`,
			`subtopologies.10[0].stores[1]: "s" is listed twice: see subtopologies.10[0].stores[0]`,
			`subtopologies.10[0].stores[2]: "" is blank or not UTF-8`,
			`subtopologies.10[0].stores: a source has none`)},
		{"processor with topics", func(d *topology.Description) { d.Subtopologies["2"][1].Topics = []string{"a"} },
			`subtopologies.2[1].topics: a processor has none`},
		{"sink", func(d *topology.Description) {
			d.Subtopologies["0"][0].Topics = []string{"a", "b"}
			d.Subtopologies["0"][0].Successors = []string{"elsewhere"}
		}, lines(`subtopologies.0[0].topics: a sink has one topic, or none if it picks them per record`,
			`subtopologies.0[0].successors: a sink has none`)},
		{"successors", func(d *topology.Description) {
			d.Subtopologies["0"][1].Successors = []string{"join", "join", "peek", "count"}
		}, lines(`subtopologies.0[1].successors[1]: "join" is listed twice: see subtopologies.0[1].successors[0]`,
			`subtopologies.0[1].successors[3]: "count" is no node of this subtopology`)},
		{"loop", func(d *topology.Description) { d.Subtopologies["0"][3].Successors = []string{"join", "source-1"} },
			lines(`subtopologies.0[3].successors[1]: "source-1" is a source, which nothing leads to`,
				`subtopologies.0[1]: "source-1" leads back to itself`,
				`subtopologies.0[3]: "peek" leads back to itself`)},
		{"global store", func(d *topology.Description) {
			g := &d.GlobalStores[0]
			g.Source.Type, g.Processor.Type, g.Source.Successors = topology.ProcessorNode, topology.SourceNode, nil
			g.Source.Topics, g.Processor.Stores = nil, nil
		}, lines(`global_stores[0].source.type: "processor": want "source"`,
			`global_stores[0].processor.type: "source": want "processor"`,
			`global_stores[0].source.successors: the processor "g-processor" is not among them`)},
	} {
		d := description(t)
		c.fault(&d)
		equal(t, c.name, faultsOf(t, d.Validate()), c.want)
	}
}

func TestDescriptionJSON(t *testing.T) {
	text, err := json.Marshal(description(t))
	equal(t, "error", err, nil)
	var again topology.Description
	equal(t, "read again", json.Unmarshal(text, &again), nil)
	twice, _ := json.Marshal(again)
	equal(t, "written again", string(twice), string(text))

	before := description(t)
	err = json.Unmarshal([]byte(`{"subtopologies":{"0":[{"name":"a","type":"source","nodes":[]}],"0":[],"1":{}},"global_store":[],
		"global_stores":[{"source":{"name":"s","type":"Source"},"processor":null}]}`), &before)
	equal(t, "faults", faultsOf(t, err), lines(
		`subtopologies.0[0].nodes: unknown field; known are name, type, topics, stores, successors`,
		`subtopologies.0: is there twice`,
		`subtopologies.1: want a list`,
		`global_store: unknown field; known are subtopologies, global_stores`,
		`global_stores[0].source.type: want "source", "processor" or "sink"`,
		`subtopologies.0: has no nodes`,
		`global_stores[0].processor.type: "": want "processor"`,
		`global_stores[0].processor.name: blank: want a text that is unique in the description`,
		`global_stores[0].processor.type: "": want "source", "processor" or "sink"`,
		`global_stores[0].source.successors: the processor "" is not among them`,
	))
	equal(t, "what was there before", len(before.Subtopologies), 3)
	equal(t, "no object", faultsOf(t, json.Unmarshal([]byte(`{"subtopologies":[]}`), &before)), `subtopologies: want an object`)
}
