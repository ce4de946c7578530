package topology

import (
	"crypto/sha256"
	"encoding/base32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ID names the content of a topology: two topologies have the same ID if and only if
// they are the same bytes on the wire, but for the epoch. It does not depend on process,
// machine, or, with [Canonical] order, on how the topology was put together; and it is
// blind to what is not sent, such as a [Description].
//
// It is "t1-" and 32 letters and digits, fit for logs, labels and file names. "t1" is the
// version of the rule: SHA-256 of what follows the epoch in the topology, as version 0 of
// StreamsGroupHeartbeat encodes it, its first 160 bits in lower-case base32. The rule
// of a version never changes; another rule will have another prefix.
//
// The ID is local: brokers up to 4.4 have no field for it.
type ID string

const idVersion = "t1-"

var idText = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ID is the topology's [ID]. It means nothing for a topology that Validate refuses.
func (t Topology) ID() ID {
	sum := sha256.Sum256(content(t.Wire(0)))
	return ID(idVersion + idText.EncodeToString(sum[:20]))
}

// content is what a join says of a topology, without its epoch: the bytes of its
// subtopologies and tagged fields in a version 0 request. kmsg encodes whole requests
// only, so they are cut out of one that has nothing else in it.
func content(w *kmsg.StreamsGroupHeartbeatRequestTopology) []byte {
	const version0, epochLen = 0, 4
	req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
	req.SetVersion(version0)
	without := req.AppendTo(nil)
	req.Topology = w
	with := req.AppendTo(nil)

	at := 0 // of the byte that says whether there is a topology
	for with[at] == without[at] {
		at++
	}
	after := len(without) - at - 1
	return with[at+1+epochLen : len(with)-after]
}
