package heartbeat

// Field is one value of a heartbeat that a coordinator keeps, so that it need
// not be sent again while the coordinator is known to hold it.
type Field uint8

const (
	FieldTimeout  Field = iota // RebalanceTimeoutMs
	FieldNames                 // SubscribedTopicNames
	FieldRegex                 // SubscribedTopicRegex
	FieldAssignor              // ServerAssignor
	FieldRack                  // RackId
	FieldOwned                 // the owned list: TopicPartitions
	numFields
)

// Fields is a set of [Field].
type Fields uint8

// AllFields is every field: a request with them is a full one.
const AllFields Fields = 1<<numFields - 1

// Has reports whether f is in the set.
func (s Fields) Has(f Field) bool { return s&(1<<f) != 0 }

// With is the set with f in it.
func (s Fields) With(f Field) Fields { return s | 1<<f }

// Without is the set without f.
func (s Fields) Without(f Field) Fields { return s &^ (1 << f) }

type fieldState uint8

const (
	unsent fieldState = iota
	inFlight
	acknowledged
)

// Delta is the delivery state of each field of one member: unsent, in flight
// with a request, or acknowledged by an accepted answer. A field may be left out
// of a heartbeat only while it is acknowledged. The zero value has everything
// unsent.
//
// Java records "last sent" when a request is built and forgets it on any failure
// (ConsumerHeartbeatRequestManager.HeartbeatState, Kafka 4.3); per-field states
// say the same without a window in which an unanswered field counts as sent.
type Delta struct {
	state [numFields]fieldState
	seq   uint64 // the request that the in-flight fields travel with
}

// Changed says that the value of f is a new one that the coordinator has not got.
func (d *Delta) Changed(f Field) { d.state[f] = unsent }

// Reset returns every field to unsent: the next request is a full one. It is
// what an unknown outcome asks for, and every road to member epoch 0.
func (d *Delta) Reset() { *d = Delta{} }

// Unsent is the set of fields that the coordinator is not known to hold.
func (d *Delta) Unsent() Fields {
	var s Fields
	for f := range numFields {
		if d.state[f] != acknowledged {
			s = s.With(f)
		}
	}
	return s
}

// Send says that request seq carries the fields of set.
func (d *Delta) Send(seq uint64, set Fields) {
	d.seq = seq
	for f := range numFields {
		if set.Has(f) {
			d.state[f] = inFlight
		}
	}
}

// Accepted says that request seq was accepted: what it carried, and was not
// changed since, is acknowledged.
func (d *Delta) Accepted(seq uint64) { d.settle(seq, acknowledged) }

// Refused says that request seq was refused: what it carried is unsent again,
// and nothing else is (rule 5: a refusal is a known outcome).
func (d *Delta) Refused(seq uint64) { d.settle(seq, unsent) }

func (d *Delta) settle(seq uint64, to fieldState) {
	if seq != d.seq {
		return
	}
	for f := range numFields {
		if d.state[f] == inFlight {
			d.state[f] = to
		}
	}
}

// Known says that the coordinator holds the present value of f: a refused change
// was taken back.
func (d *Delta) Known(f Field) { d.state[f] = acknowledged }
