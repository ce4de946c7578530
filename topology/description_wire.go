package topology

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// wireTypes are the numbers of node types.
//
// Source: KIP-1331, measured on 4.4.0: any other number is INVALID_REQUEST.
var wireTypes = map[NodeType]int8{SourceNode: 1, ProcessorNode: 2, SinkNode: 3}

// Wire is the description as it is pushed: subtopologies by ID (numbers by value), nodes,
// topics, stores and successors sorted, a sink without a topic with a null one. It does
// not validate; an unknown type becomes 0, which brokers refuse.
func (d Description) Wire() kmsg.TopologyDescription {
	w := kmsg.NewTopologyDescription()
	c := d.canonical()
	for _, id := range c.ids() {
		s := kmsg.NewTopologyDescriptionSubtopology()
		s.SubtopologyID = id
		for _, n := range c.Subtopologies[id] {
			s.Nodes = append(s.Nodes, n.wire())
		}
		w.Subtopologies = append(w.Subtopologies, s)
	}
	for _, g := range c.GlobalStores {
		ws := kmsg.NewTopologyDescriptionGlobalStore()
		ws.Source, ws.Processor = g.Source.wire(), g.Processor.wire()
		w.GlobalStores = append(w.GlobalStores, ws)
	}
	return w
}

func (n Node) wire() kmsg.TopologyDescriptionNode {
	w := kmsg.NewTopologyDescriptionNode()
	w.Name, w.NodeType = n.Name, wireTypes[n.Type]
	w.Stores, w.Successors = n.Stores, n.Successors
	switch {
	case n.Type != SinkNode:
		w.SourceTopics = n.Topics
	case len(n.Topics) > 0:
		w.SinkTopic = kmsg.StringPtr(n.Topics[0])
	}
	return w
}

// Request is the push of a description, for the epoch that the member joined with.
//
// Source: KIP-1331: one push per TopologyDescriptionRequired in an answer, never unasked;
// measured on 4.4.0: another epoch than the group's is INVALID_REQUEST.
func (d Description) Request(group, memberID string, e Epoch) *kmsg.StreamsGroupTopologyDescriptionUpdateRequest {
	req := kmsg.NewPtrStreamsGroupTopologyDescriptionUpdateRequest()
	req.Group, req.MemberID, req.TopologyEpoch = group, memberID, int32(e)
	req.TopologyDescription = d.Wire()
	return req
}

// DescriptionFromWire reads a description that was pushed, or that a describe shows: see
// [DescriptionFromDescribe]. The error is an [InvalidError] that names what a Description
// cannot say; whether it makes sense is for [Description.Validate] to say.
func DescriptionFromWire(w kmsg.TopologyDescription) (Description, error) {
	var fs faults
	fs.tags("", w.UnknownTags)
	d := Description{Subtopologies: map[string][]Node{}}
	for _, s := range w.Subtopologies {
		path := joinPath("subtopologies", s.SubtopologyID)
		fs.tags(path, s.UnknownTags)
		if _, ok := d.Subtopologies[s.SubtopologyID]; ok {
			fs.add(path, "is there twice")
		}
		nodes := []Node{}
		for i, n := range s.Nodes {
			nodes = append(nodes, fs.node(fmt.Sprintf("%s[%d]", path, i), n))
		}
		d.Subtopologies[s.SubtopologyID] = nodes
	}
	for i, g := range w.GlobalStores {
		path := fmt.Sprintf("global_stores[%d]", i)
		fs.tags(path, g.UnknownTags)
		d.GlobalStores = append(d.GlobalStores, GlobalStore{fs.node(path+".source", g.Source), fs.node(path+".processor", g.Processor)})
	}
	if err := fs.err("topology description"); err != nil {
		return Description{}, err
	}
	return d, nil
}

func (fs *faults) node(path string, w kmsg.TopologyDescriptionNode) Node {
	fs.tags(path, w.UnknownTags)
	n := Node{Name: w.Name, Topics: slices.Clone(w.SourceTopics), Stores: slices.Clone(w.Stores), Successors: slices.Clone(w.Successors)}
	for t, number := range wireTypes {
		if number == w.NodeType {
			n.Type = t
		}
	}
	switch {
	case n.Type == "":
		fs.add(path+".type", "%d is not known", w.NodeType)
	case n.Type != SinkNode && w.SinkTopic != nil:
		fs.add(path+".topics", "a %s with a sink topic", n.Type)
	case n.Type == SinkNode && len(w.SourceTopics) > 0:
		fs.add(path+".topics", "a sink with source topics")
	case w.SinkTopic != nil:
		n.Topics = []string{*w.SinkTopic}
	}
	return n
}

// DescriptionFromDescribe reads the description of a group that was described with
// IncludeTopologyDescription (version 1 of StreamsGroupDescribe): false if there is none.
func DescriptionFromDescribe(g kmsg.StreamsGroupDescribeResponseGroup) (Description, bool, error) {
	if g.TopologyDescription == nil {
		return Description{}, false, nil
	}
	w := kmsg.NewTopologyDescription()
	w.Subtopologies, w.GlobalStores = g.TopologyDescription.Subtopologies, g.TopologyDescription.GlobalStores
	w.UnknownTags = g.TopologyDescription.UnknownTags
	d, err := DescriptionFromWire(w)
	return d, err == nil, err
}
