package topology

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Explain turns a broker's refusal of a join into the error that a [Guard] would have
// given: nil if code and message are not about a topology that does not fit the group.
// d is what the group has as far as it is known; the zero value if it is not. It is no use
// to join again with the same topology and epoch.
//
// Where the group's epoch is not known, a refusal is taken for [ErrMismatch].
//
// Source: measured on 4.1.2 to 4.4.0: INVALID_REQUEST with a text, for the same epoch with
// other content and for any higher epoch. From 4.5 on (KAFKA-21370)
// STREAMS_INVALID_TOPOLOGY_EPOCH. STREAMS_TOPOLOGY_FENCED is in the schema since 4.1 and
// not sent up to 4.4.
func Explain(own Topology, e Epoch, d Deployed, code int16, message string) error {
	var fenced bool
	switch code {
	case kerr.InvalidRequest.Code:
		if !strings.Contains(message, "Topology updates are not supported") {
			return nil
		}
	case kerr.StreamsInvalidTopologyEpoch.Code:
	case kerr.StreamsTopologyFenced.Code:
		fenced = true
	default:
		return nil
	}
	c := Compare(own, d)
	if !d.known() {
		d.Epoch = EpochUnknown
	}
	switch {
	case fenced || d.known() && e < d.Epoch:
		return refusal(ErrRollback, own, e, d, c, wayBack(d))
	case !d.known():
		return refusal(ErrMismatch, own, e, d, c, "the group has other content, or an older epoch; "+migrate)
	case e > d.Epoch:
		return refusal(ErrUpdate, own, e, d, c, wayOn(d, c))
	case c.Verdict == Same:
		hidden := fmt.Sprintf("what differs is hidden (%s); ", strings.Join(c.Hidden, ", "))
		return refusal(ErrMismatch, own, e, d, c, hidden+wayOn(d, c))
	}
	return refusal(ErrMismatch, own, e, d, c, wayOn(d, c))
}
