package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// Epoch is the version that an operator gives to a topology: 0 or more. It is none of
// the group's, members' or assignment's epochs. Nothing in this module raises it.
//
// 0 is the default, and what Java sends always (Kafka 4.1 to 4.4 have no setting for
// it): to share a group with Java it has to be 0. A group may start at any epoch.
// A negative one is answered with a bare UNKNOWN_SERVER_ERROR, so it is refused here.
//
// *Epoch is a flag.Value: flag.Var(&epoch, "topology-epoch", "...").
type Epoch int32

// EpochUnknown is the epoch of a group that shows none: see [Deployed]. No member
// can have it.
const EpochUnknown Epoch = -1

// ParseEpoch reads a decimal number from 0 to 2147483647; white space around it is
// ignored, as files end in a newline.
func ParseEpoch(s string) (Epoch, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("topology epoch %q: want a whole number from 0 to 2147483647", s)
	}
	return Epoch(n), nil
}

// Set is [ParseEpoch] into e, for package flag. An error leaves e as it was.
func (e *Epoch) Set(s string) error {
	n, err := ParseEpoch(s)
	if err == nil {
		*e = n
	}
	return err
}

// String is the number, or "unknown" for [EpochUnknown].
func (e Epoch) String() string {
	if e == EpochUnknown {
		return "unknown"
	}
	return strconv.Itoa(int(e))
}
