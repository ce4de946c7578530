package main

import (
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/rollcall-go/rollcall/member"
)

// timeFormat is RFC 3339 with all nine digits, so that lines of one day sort as
// text.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// event is one line of output.
type event struct {
	TS          string            `json:"ts"`
	Event       string            `json:"event"`
	Group       string            `json:"group"`
	Member      int               `json:"member"`
	MemberID    string            `json:"member_id"`
	InstanceID  string            `json:"instance_id"`
	MemberEpoch int32             `json:"member_epoch"`
	State       member.State      `json:"state"`
	Partitions  member.Partitions `json:"partitions"`
	Owned       member.Partitions `json:"owned"`
	Error       *errorInfo        `json:"error,omitempty"`
	*beat
}

// beat is what a heartbeat event has on top.
type beat struct {
	Reason        member.Reason `json:"reason"`
	Epoch         int32         `json:"epoch"`
	AnsweredEpoch int32         `json:"answered_epoch"`
	Full          bool          `json:"full"`
	Code          int16         `json:"code"`
	IntervalMS    int64         `json:"interval_ms"`
	RTTMS         float64       `json:"rtt_ms"`
	Early         bool          `json:"early"`
}

func beatOf(i member.HeartbeatInfo) *beat {
	return &beat{
		Reason: i.Reason, Epoch: i.Epoch, AnsweredEpoch: i.AnsweredEpoch, Full: i.Full, Code: i.Code,
		IntervalMS: i.Interval.Milliseconds(),
		RTTMS:      math.Round(float64(i.RTT)/float64(time.Microsecond)) / 1000,
		Early:      i.Reason == member.ReasonEarly,
	}
}

// errorInfo is an error. Name is the protocol's, "" if the code is 0 or one that
// this client does not know.
type errorInfo struct {
	Code    int16  `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
}

// errorOf is nil for nil.
func errorOf(err error) *errorInfo {
	if err == nil {
		return nil
	}
	info := &errorInfo{Message: err.Error()}
	if me, ok := errors.AsType[*member.Error](err); ok {
		info.Code = me.Code
	}
	if ke, ok := errors.AsType[*kerr.Error](err); ok && info.Code == 0 {
		info.Code = ke.Code
	}
	info.Name = codeName(info.Code)
	return info
}

// errorOfCode is the error behind a code, nil for 0.
func errorOfCode(code int16) *errorInfo {
	if code == 0 {
		return nil
	}
	return &errorInfo{Code: code, Name: codeName(code), Message: "refused by the coordinator"}
}

// codeName is "" for codes that kerr does not know: it gives UNKNOWN_SERVER_ERROR
// for all of them.
func codeName(code int16) string {
	ke := kerr.TypedErrorForCode(code)
	if ke == nil || ke.Code != code {
		return ""
	}
	return ke.Message
}

func plus(a, b member.Partitions) member.Partitions {
	out := make(member.Partitions, len(a)+len(b))
	for _, p := range []member.Partitions{a, b} {
		for topic, parts := range p {
			out[topic] = append(out[topic], parts...)
		}
	}
	for topic, parts := range out {
		slices.Sort(parts)
		out[topic] = slices.Compact(parts)
	}
	maps.DeleteFunc(out, func(_ string, parts []int32) bool { return len(parts) == 0 })
	return out
}

func minus(a, b member.Partitions) member.Partitions {
	out := member.Partitions{}
	for topic, p := range a.All() {
		if !b.Has(topic, p) {
			out[topic] = append(out[topic], p)
		}
	}
	return out
}
