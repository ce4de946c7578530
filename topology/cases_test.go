package topology_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// What Java 4.4 joins with has to come out byte for byte, or a Go member cannot be in
// the same group: brokers compare topologies by value and order.
func TestJavaJoinsByteForByte(t *testing.T) {
	for _, name := range []string{"count", "table"} {
		java := kmsgCase[wireTopology](t, "topology-"+name+".json")
		read, epoch, err := topology.FromWire(java)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "epoch", epoch, 0)
		if err := read.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		ours := golden(t, "java-"+name)
		for version := range int16(2) {
			want := encoded(java, version)
			if !slices.Equal(encoded(read.Wire(epoch), version), want) {
				t.Errorf("%s, version %d: what was read is written otherwise", name, version)
			}
			if !slices.Equal(encoded(ours.Wire(0), version), want) {
				t.Errorf("%s, version %d: the JSON form is other bytes", name, version)
			}
		}
		equal(t, name+": ID", read.ID(), ours.ID())
	}
}

// Java lists copartition groups in the order of a hash set: topics b and q give [1 0].
func TestJavaHashSetOrderIsKept(t *testing.T) {
	given := golden(t, "java-join-as-given")
	equal(t, "indexes", slices.Compare(given.Wire(0).Subtopologies[0].CopartitionGroups[0].SourceTopics, []int16{1, 0}), 0)
	sorted := given
	sorted.Order = topology.Canonical
	equal(t, "sorted indexes", slices.Compare(sorted.Wire(0).Subtopologies[0].CopartitionGroups[0].SourceTopics, []int16{0, 1}), 0)
	if given.ID() == sorted.ID() {
		t.Error("other bytes, same ID")
	}
}

// describeCase is a group as 4.4.0 describes it, with a Java application in it. The
// joined and the described case of "count" differ in the application ID.
func describeCase(t *testing.T, name string) kmsg.StreamsGroupDescribeResponseGroup {
	t.Helper()
	return kmsgCase[kmsg.StreamsGroupDescribeResponse](t, "describe-"+name+".json", "app1", "t-single").Groups[0]
}

func TestDescribedIsTheSame(t *testing.T) {
	hidden := map[string]string{
		"count": "the order of lists; whether \"t-single-by-value-repartition\" is fixed to its 4 partitions; ",
		"table": "the order of lists; copartition groups of subtopology \"0\"; ",
	}
	for name, want := range hidden {
		own := golden(t, "java-"+name)
		d, err := topology.FromDescribe(describeCase(t, name))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "epoch", d.Epoch, 0)
		c := topology.Compare(own, d)
		equal(t, name, c.Verdict, topology.Same)
		equal(t, name+": ID", c.GroupID, own.ID())
		equal(t, name+": changes", texts(c.Changes), "")
		got := ""
		for _, h := range c.Hidden {
			got += h + "; "
		}
		equal(t, name+": hidden", got, want)
		if err := (topology.Guard{}).Check(own, 0, d); err != nil {
			t.Error(err)
		}
		equal(t, "next epoch", topology.Next(own, d).Epoch, 0)
	}
}

// One thing after the other is changed in the own topology; the described group must
// show just that.
func TestChangedIsNamedFieldByField(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*topology.Topology)
		want   string
	}{
		{"another source topic", func(t *topology.Topology) { t.Subtopologies[0].SourceTopics = []string{"in", "more"} },
			`subtopology "0", source_topics[more]: added`},
		{"repartition topic fixed", func(t *topology.Topology) { t.Subtopologies[1].RepartitionSourceTopics[0].Partitions = 6 },
			`subtopology "1", repartition_source_topics[t-single-by-value-repartition].partitions: 6, was 4 (clash)`},
		{"replication", func(t *topology.Topology) { t.Subtopologies[1].StateChangelogTopics[0].ReplicationFactor = 0 },
			`subtopology "1", state_changelog_topics[t-single-counts-changelog].replication_factor: 0, was -1`},
		{"config", func(t *topology.Topology) {
			t.Subtopologies[1].StateChangelogTopics[0].Configs["cleanup.policy"] = "delete"
		}, `subtopology "1", state_changelog_topics[t-single-counts-changelog].configs[cleanup.policy]: delete, was compact`},
		{"config added", func(t *topology.Topology) { t.Subtopologies[1].StateChangelogTopics[0].Configs["x"] = "y" },
			`subtopology "1", state_changelog_topics[t-single-counts-changelog].configs[x]: y added`},
		{"config removed", func(t *topology.Topology) {
			delete(t.Subtopologies[1].RepartitionSourceTopics[0].Configs, "retention.ms")
		}, `subtopology "1", repartition_source_topics[t-single-by-value-repartition].configs[retention.ms]: -1 removed`},
		{"another changelog", func(t *topology.Topology) {
			s := &t.Subtopologies[1]
			s.StateChangelogTopics = append(s.StateChangelogTopics, topology.TopicInfo{Name: "t-single-more-changelog"})
		}, `subtopology "1", state_changelog_topics[t-single-more-changelog]: added`},
		{"another subtopology", func(t *topology.Topology) {
			t.Subtopologies = append(t.Subtopologies, topology.Subtopology{ID: "2", SourceTopics: []string{"z"}})
		}, `subtopology "2": added`},
	} {
		own := golden(t, "java-count")
		c.change(&own)
		if err := own.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		d, err := topology.FromDescribe(describeCase(t, "count"))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, c.name, texts(topology.Compare(own, d).Changes), c.want)
		ge := guardError(t, (topology.Guard{}).Check(own, 0, d))
		equal(t, c.name+": in the error", texts(ge.Changes), c.want)
		equal(t, c.name+": why", ge.Err, topology.ErrMismatch)
	}
}
