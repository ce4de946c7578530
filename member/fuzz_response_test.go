package member

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

// fuzzResponse makes a response of what the fuzzer has. Assignments are read as they
// come: topics twice, partitions twice, negative ones, none at all.
func fuzzResponse(code int16, epoch, interval, throttle int32, id string, assignment []byte) *kmsg.ConsumerGroupHeartbeatResponse {
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	r.Version = 1
	r.ErrorCode, r.MemberEpoch, r.HeartbeatIntervalMillis, r.ThrottleMillis = code, epoch, interval, throttle
	if id != "" {
		r.MemberID = &id
		r.ErrorMessage = &id
	}
	if len(assignment) == 0 {
		return r
	}
	r.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
	for b := assignment[1:]; len(b) > 0; {
		t := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
		t.TopicID[0] = b[0] >> 4
		n := int(b[0] & 15)
		b = b[1:]
		for ; n > 0 && len(b) > 0; n-- {
			p := int32(int8(b[0]))
			if b = b[1:]; p == 100 && len(b) >= 4 {
				p = int32(binary.LittleEndian.Uint32(b))
				b = b[4:]
			}
			t.Partitions = append(t.Partitions, p)
		}
		r.Assignment.Topics = append(r.Assignment.Topics, t)
	}
	return r
}

var fuzzGood = fuzzResponse(0, 5, 3000, 0, "", []byte{0, 0x12, 0, 1, 0x21, 7})

// fuzzStates bring a machine to where it can meet an answer.
var fuzzStates = []func(h *fuzzHost){
	func(*fuzzHost) {}, // a join is in flight
	func(h *fuzzHost) { h.answer(0, nil, context.DeadlineExceeded, 1); h.pass(time.Second) }, // a look is, or the second join
	func(h *fuzzHost) { // look-ups of names run
		h.answer(0, fuzzGood, nil, 1)
		h.pass(4 * time.Second)
	},
	func(h *fuzzHost) { h.join(); h.pass(4 * time.Second) },                 // OnAssigned runs
	func(h *fuzzHost) { h.join(); h.returns(nil); h.pass(heartbeat.Floor) }, // an acknowledgement is in flight
	func(h *fuzzHost) { h.stable(); h.pass(4 * time.Second) },
	func(h *fuzzHost) { h.stable(); h.host(inLeave{LeaveDefault}); h.pass(4 * time.Second) },               // OnRevoked runs
	func(h *fuzzHost) { h.stable(); h.host(inLeave{LeaveGroup}); h.returns(nil); h.pass(time.Second / 4) }, // leaves are in flight
	func(h *fuzzHost) { // fenced, released
		h.stable()
		h.pass(4 * time.Second)
		h.answer(0, fuzzResponse(110, 0, 0, 0, "", nil), nil, 1)
		h.returns(nil)
		h.answer(0, fuzzResponse(110, 0, 0, 0, "", nil), nil, 1)
		h.pass(time.Second)
	},
	func(h *fuzzHost) { h.stable(); h.host(inChange{1, []string{"x"}, ""}); h.pass(time.Second) },
	func(h *fuzzHost) { h.host(inLeave{LeaveDefault}) },        // the join is followed by the leave
	func(h *fuzzHost) { h.stable(); h.pass(42 * time.Second) }, // trust is over
	func(h *fuzzHost) { h.stable(); h.host(inClosed{}); h.pass(time.Second) },
}

func (h *fuzzHost) join() {
	h.answer(0, fuzzGood, nil, 1)
	h.names()
}

func (h *fuzzHost) stable() {
	h.join()
	h.returns(nil)
	h.pass(heartbeat.Floor)
	h.answer(0, fuzzResponse(0, 5, 3000, 0, "", nil), nil, 1)
}

// names answers the look-ups, of all topics but one.
func (h *fuzzHost) names() {
	for len(h.lookups) > 0 {
		ids := h.lookups[0]
		h.lookups = h.lookups[1:]
		found := map[topicID]string{}
		for _, id := range ids {
			if id[0] != 15 {
				found[id] = string('a' + rune(id[0]))
			}
		}
		h.host(inNames{ids, found})
	}
	for len(h.wanted) > 0 {
		names := h.wanted[0]
		h.wanted = h.wanted[1:]
		found := map[string]topicID{}
		for _, name := range names { // every other topic was made again
			found[name] = topicID{name[0] - 'a' + name[0]%2*64}
		}
		h.host(inTopicIDs{names, found})
	}
}

// FuzzResponse feeds an answer to a machine in any state, and then again and again.
func FuzzResponse(f *testing.F) {
	for s := range fuzzStates {
		f.Add(byte(s), byte(s), int16(0), int32(5), int32(0), int32(-1), "other", []byte{0, 0x13, 1, 1, 255}, byte(0))
		f.Add(byte(s), byte(7*s), int16(25), int32(-3), int32(-5), int32(1<<30), "", []byte{}, byte(1))
	}
	for i, code := range []int16{-1, 14, 15, 16, 24, 29, 30, 35, 42, 69, 81, 82, 89, 110, 111, 112, 113, 128, 999} {
		f.Add(byte(i), byte(0), code, int32(0), int32(1<<31-1), int32(0), "x", []byte{0}, byte(2))
	}
	f.Fuzz(func(t *testing.T, state, kind byte, code int16, epoch, interval, throttle int32, id string, assignment []byte, how byte) {
		h := newFuzzHost(t, kind)
		fuzzStates[int(state)%len(fuzzStates)](h)
		resp := fuzzResponse(code, epoch, interval, throttle, id, assignment)
		for i := range 60 {
			switch how % 8 {
			case 1:
				h.answer(i, (*kmsg.ConsumerGroupHeartbeatResponse)(nil), nil, 1)
			case 2:
				h.answer(i, kmsg.NewPtrMetadataResponse(), nil, uint64(i))
			case 3:
				h.answer(i, nil, nil, 0)
			case 4:
				h.answer(i, nil, heartbeat.NotSent(context.Canceled), 0)
			default:
				h.answer(i, resp, nil, 1+uint64(how>>4))
			}
			if how&8 != 0 {
				h.reply(uint64(i), resp, nil, 1)
			}
			h.names()
			if i%3 == 0 {
				h.returns(nil)
			}
			h.pass(time.Duration(i*50) * time.Millisecond)
		}
	})
}
