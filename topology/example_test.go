package topology_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rollcall-go/rollcall/topology"
)

// wordCount is a topology as a file has it.
const wordCount = `{"subtopologies": [
	{"id": "0", "source_topics": ["lines"], "repartition_sink_topics": ["wc-by-word-repartition"]},
	{"id": "1", "repartition_source_topics": [{"name": "wc-by-word-repartition"}],
	 "state_changelog_topics": [{"name": "wc-counts-changelog", "configs": {"cleanup.policy": "compact"}}]}
]}`

func mustRead(text string) (t topology.Topology) {
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(err)
	}
	return t
}

// A topology is read from a file, or built in code, and has an ID.
func ExampleTopology() {
	var topo topology.Topology
	if err := json.Unmarshal([]byte(wordCount), &topo); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(topo.ID())
	fmt.Println(topo.Wire(3).Epoch)
	// Output:
	// t1-ss4paryvndlawuhvohed4w6oqhiuwcis
	// 3
}

// All faults are found at once, each with its place.
func ExampleTopology_Validate() {
	err := topology.Topology{Subtopologies: []topology.Subtopology{
		{ID: "0", SourceTopics: []string{"lines"}, StateChangelogTopics: []topology.TopicInfo{{Name: "wc/counts", Partitions: 4}}},
		{ID: "0", SourceTopics: []string{"lines"}},
	}}.Validate()
	if invalid, ok := errors.AsType[*topology.InvalidError](err); ok {
		for _, f := range invalid.Faults {
			fmt.Println(f)
		}
	}
	// Output:
	// subtopologies[0].state_changelog_topics[0].name: "wc/counts" is no legal topic name: want 1 to 249 of A-Z a-z 0-9 . _ - and neither . nor ..
	// subtopologies[0].state_changelog_topics[0].partitions: 4: want 0: a changelog has as many as its subtopology has tasks
	// subtopologies[1].id: "0" is used twice: see subtopologies[0].id
	// subtopologies[1].source_topics[0]: "lines" is read twice: see subtopologies[0].source_topics[0]
}

// What has changed between two releases, and what cannot run side by side.
func ExampleDiff() {
	before, after := mustRead(wordCount), mustRead(wordCount)
	after.Subtopologies[0].ID, after.Subtopologies[1].ID = "1", "0" // a node was added on top, and all are renumbered
	after.Subtopologies[0].SourceTopics = []string{"lines", "more-lines"}
	for _, c := range topology.Diff(before, after) {
		if c.Clash {
			fmt.Println(c)
		}
	}
	// Output:
	// subtopology "0", id: renumbered: reads what subtopology "1" read (clash)
	// subtopology "1", source_topics[lines]: moved from subtopology "0": read by old and new members at once (clash)
	// subtopology "1", id: has a new meaning: reads nothing of what it read before (clash)
}

// Before a join, the group is asked what it has. An old image that is restarted in the
// middle of a rollout is turned away.
func ExampleGuard_Ask() {
	old, current := mustRead(wordCount), mustRead(wordCount)
	current.Subtopologies[0].SourceTopics = []string{"lines", "more-lines"}
	describe := func(context.Context) (topology.Deployed, error) { // topology.FromDescribe on a coordinator's answer
		return topology.Deployed{Exists: true, Epoch: 5, Topology: &current}, nil
	}
	_, err := topology.Guard{}.Ask(context.Background(), old, 4, describe)
	fmt.Println(errors.Is(err, topology.ErrRollback))
	if refused, ok := errors.AsType[*topology.GuardError](err); ok {
		fmt.Println("own", refused.OwnEpoch, "group", refused.GroupEpoch)
	}
	finding, err := topology.Guard{}.Ask(context.Background(), current, 5, describe)
	fmt.Println(finding.Verdict, err)
	// Output:
	// true
	// own 4 group 5
	// same <nil>
}

// CI asks what a rollout has to set. The answer is fit for scripts.
func ExampleNext() {
	before, after := mustRead(wordCount), mustRead(wordCount)
	after.Subtopologies[1].StateChangelogTopics[0].Configs["cleanup.policy"] = "delete"
	for _, topo := range []topology.Topology{before, after} {
		plan := topology.Next(topo, topology.Deployed{Exists: true, Epoch: 4, Topology: &before})
		plan.Hidden, plan.Way = nil, ""
		text, _ := json.Marshal(plan)
		fmt.Println(string(text))
	}
	// Output:
	// {"epoch":4,"bump":false,"first":false,"in_place":true,"id":"t1-ss4paryvndlawuhvohed4w6oqhiuwcis","verdict":"same","group_id":"t1-ss4paryvndlawuhvohed4w6oqhiuwcis"}
	// {"epoch":5,"bump":true,"first":false,"in_place":false,"id":"t1-6x5rpo22htshak3o6jkembkm6krbwgww","verdict":"different","changes":[{"subtopology":"1","field":"state_changelog_topics[wc-counts-changelog].configs[cleanup.policy]","what":"delete, was compact"}],"group_id":"t1-ss4paryvndlawuhvohed4w6oqhiuwcis"}
}

// A topology as a flowchart, for a README or a review.
func ExampleTopology_Mermaid() {
	fmt.Print(mustRead(wordCount).Mermaid())
	// Output:
	// flowchart LR
	//   n0[["wc-by-word-repartition"]]
	//   n1["subtopology 0"]
	//   n2(["lines"])
	//   n3["subtopology 1"]
	//   n4[("wc-counts-changelog")]
	//   n2 --> n1
	//   n1 --> n0
	//   n0 --> n3
	//   n3 -.- n4
}

// A description says which node feeds which. It is pushed when the coordinator asks.
func ExampleDescription() {
	d := topology.Description{Subtopologies: map[string][]topology.Node{"0": {
		{Name: "lines-source", Type: topology.SourceNode, Topics: []string{"lines"}, Successors: []string{"split"}},
		{Name: "split", Type: topology.ProcessorNode, Successors: []string{"words-sink"}},
		{Name: "words-sink", Type: topology.SinkNode, Topics: []string{"wc-by-word-repartition"}},
	}}}
	fmt.Println(d.Validate())
	fmt.Print(d.DOT())
	// Output:
	// <nil>
	// digraph description {
	//   rankdir=LR;
	//   subgraph cluster_0 {
	//     label="subtopology 0";
	//     n0 [label="lines-source", shape=house];
	//     n1 [label="split", shape=box];
	//     n2 [label="words-sink", shape=invhouse];
	//   }
	//   n3 [label="lines", shape=ellipse];
	//   n4 [label="wc-by-word-repartition", shape=ellipse];
	//   n3 -> n0;
	//   n0 -> n1;
	//   n1 -> n2;
	//   n2 -> n4;
	// }
}
