// Package topology makes the topology of a streams group (KIP-1071) a contract: it
// can be named, compared, drawn and rolled out, and not rolled back by accident.
//
//	var topo topology.Topology
//	err := json.Unmarshal(file, &topo)             // every fault at once
//	id := topo.ID()                                // "t1-...", for logs and CI
//	epoch, err := topology.EpochFromEnv("TOPOLOGY_EPOCH")
//	join.Topology = topo.Wire(epoch)               // goes into a StreamsGroupHeartbeat
//
// A [Topology] is built in code or read from JSON. [Topology.Validate] finds what
// brokers refuse, what they answer with a bare UNKNOWN_SERVER_ERROR, and what they
// accept to the harm of the group. Its [ID] is a hash of exactly what goes on the
// wire; its [Epoch] is a number that an operator sets, and that nothing raises by itself.
//
// A [Guard] compares with what is [Deployed] in the group before a join, [Next] says
// what a rollout has to set, and [Diff] names what has changed, field by field. A
// [Description] (KIP-1331) says more about an application than membership needs; both
// can be drawn as DOT and as Mermaid.
//
// # The JSON form
//
//	{"subtopologies": [
//	    {"id": "0",
//	     "source_topics": ["orders", "customers"],
//	     "repartition_sink_topics": ["app-by-city-repartition"],
//	     "copartition_groups": [{"source_topics": ["orders", "customers"]}]},
//	    {"id": "1",
//	     "repartition_source_topics": [{"name": "app-by-city-repartition", "partitions": 0,
//	        "replication_factor": -1, "configs": {"cleanup.policy": "delete"}}],
//	     "state_changelog_topics": [{"name": "app-counts-changelog"}]}],
//	 "order": "canonical"}
//
// All but "subtopologies" and "id" may be left out. "order" is "canonical" (the
// default) or "as-given". Copartition groups name topics; a number is read as an index
// into the list of the same name, as the file has it. An unknown field is an error.
//
// The package is pure: it has no clock, lock, goroutine or client. Values are safe for
// concurrent use as long as nobody changes them; no method changes its receiver, but
// for those that read into it (UnmarshalJSON, Set).
package topology
