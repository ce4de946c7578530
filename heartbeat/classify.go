package heartbeat

// Phase is what the request was that an answer belongs to.
type Phase uint8

const (
	PhaseJoin  Phase = iota // member epoch 0
	PhaseBeat               // a real member epoch, 1 or more
	PhaseLeave              // member epoch -1 or -2
)

func (p Phase) String() string {
	switch p {
	case PhaseJoin:
		return "join"
	case PhaseBeat:
		return "heartbeat"
	case PhaseLeave:
		return "leave"
	}
	return "unknown phase"
}

// Outcome is what an answer means to a member. It is the verdict only; what
// follows from it is the member's business.
type Outcome uint8

const (
	// OutcomeServerError is the stated default: the broker does not know, or we
	// do not know the code. Five retries with backoff, then fatal (rule 14).
	OutcomeServerError Outcome = iota
	// OutcomeOK is an accepted request.
	OutcomeOK
	// OutcomeRetry: the coordinator stays, the outcome is unknown, back off.
	OutcomeRetry
	// OutcomeRediscover: look the coordinator up again, the outcome is unknown.
	OutcomeRediscover
	// OutcomeRefused: a known refusal that changed nothing at the broker and may
	// pass: go on with bare heartbeats, repeat the full one paced (rule 5).
	OutcomeRefused
	// OutcomeRefusedChange: a changed field (assignor, regex) was refused and the
	// member stays as it was. Fatal for a join.
	OutcomeRefusedChange
	// OutcomeFenced: the member epoch is not the broker's; the member may still
	// be in the group.
	OutcomeFenced
	// OutcomeGone: the coordinator has no such member, or no such group.
	OutcomeGone
	// OutcomeHeld: the instance ID belongs to a member that has not left.
	OutcomeHeld
	// OutcomeDisplaced: the instance ID belongs to another member ID.
	OutcomeDisplaced
	// OutcomeFatal: nothing that a retry could mend.
	OutcomeFatal
)

func (o Outcome) String() string {
	names := [...]string{"server error", "ok", "retry", "rediscover", "refused", "refused change", "fenced", "gone", "held", "displaced", "fatal"}
	if int(o) < len(names) {
		return names[o]
	}
	return "unknown outcome"
}

// Unknown reports whether the request may have been applied all the same, so
// that nothing may be concluded about what the broker holds (rule 5).
//
// Source: coordinator write errors are mapped to these codes after the write may
// have happened; GroupCoordinatorService.handleOperationException, Kafka 4.3.
func (o Outcome) Unknown() bool { return o == OutcomeRetry || o == OutcomeRediscover }

type verdict struct{ join, beat, leave Outcome }

func always(o Outcome) verdict { return verdict{o, o, o} }

// verdicts has the codes that a coordinator sends, or may, in answer to a
// heartbeat. All other codes that kerr knows are in unexpected, so that a new
// code in kerr is noticed by a test and gets a decision, not a default.
var verdicts = map[int16]verdict{
	0: always(OutcomeOK),

	// NETWORK_EXCEPTION and REQUEST_TIMED_OUT are a server's word for "unknown".
	7:  always(OutcomeRetry),
	13: always(OutcomeRetry),
	// COORDINATOR_LOAD_IN_PROGRESS keeps the coordinator; COORDINATOR_NOT_AVAILABLE
	// and NOT_COORDINATOR do not (rule 13; AbstractHeartbeatRequestManager, Kafka 4.3).
	14: always(OutcomeRetry),
	15: always(OutcomeRediscover),
	16: always(OutcomeRediscover),
	// REBOOTSTRAP_REQUIRED: the client's view of the cluster is out of date.
	129: always(OutcomeRediscover),

	// TOPIC_AUTHORIZATION_FAILED: only what names topics is refused (KafkaApis, Kafka 4.x;
	// bare heartbeats are accepted, measured on 4.4.0). THROTTLING_QUOTA_EXCEEDED passes.
	29: always(OutcomeRefused),
	89: always(OutcomeRefused),

	// UNSUPPORTED_ASSIGNOR and INVALID_REGULAR_EXPRESSION leave a joined member as it was.
	112: {join: OutcomeFatal, beat: OutcomeRefusedChange, leave: OutcomeFatal},
	128: {join: OutcomeFatal, beat: OutcomeRefusedChange, leave: OutcomeFatal},

	// UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH: rejoin with the same ID (KIP-848, "Fenced members").
	25:  always(OutcomeGone),
	110: {join: OutcomeFenced, beat: OutcomeFenced, leave: OutcomeServerError},
	// STALE_MEMBER_EPOCH belongs to commits; from a heartbeat it means the same as a fence.
	113: {join: OutcomeServerError, beat: OutcomeFenced, leave: OutcomeServerError},
	// GROUP_ID_NOT_FOUND: to a join it says "a group of another type" (GroupMetadataManager, Kafka 4.x).
	69: {join: OutcomeFatal, beat: OutcomeGone, leave: OutcomeGone},

	// UNRELEASED_INSTANCE_ID and FENCED_INSTANCE_ID: KIP-345 as GroupMetadataManager has it (Kafka 4.x).
	111: {join: OutcomeHeld, beat: OutcomeServerError, leave: OutcomeServerError},
	82:  always(OutcomeDisplaced),

	24:  always(OutcomeFatal), // INVALID_GROUP_ID
	30:  always(OutcomeFatal), // GROUP_AUTHORIZATION_FAILED
	31:  always(OutcomeFatal), // CLUSTER_AUTHORIZATION_FAILED
	33:  always(OutcomeFatal), // UNSUPPORTED_SASL_MECHANISM
	34:  always(OutcomeFatal), // ILLEGAL_SASL_STATE
	35:  always(OutcomeFatal), // UNSUPPORTED_VERSION: KIP-848 is missing or switched off
	42:  always(OutcomeFatal), // INVALID_REQUEST: a programming error, never mended by repeating
	54:  always(OutcomeFatal), // SECURITY_DISABLED
	58:  always(OutcomeFatal), // SASL_AUTHENTICATION_FAILED
	81:  always(OutcomeFatal), // GROUP_MAX_SIZE_REACHED
	130: always(OutcomeFatal), // STREAMS_INVALID_TOPOLOGY
	131: always(OutcomeFatal), // STREAMS_INVALID_TOPOLOGY_EPOCH
	132: always(OutcomeFatal), // STREAMS_TOPOLOGY_FENCED
}

// unexpected are the codes of kerr that no coordinator should answer a heartbeat
// with. They, and codes that nobody knows yet, are OutcomeServerError.
var unexpected = [...]int16{
	-1, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 17, 18, 19, 20, 21, 22, 23, 26, 27, 28, 32, 36, 37, 38, 39, 40, 41, 43, 44, 45,
	46, 47, 48, 49, 50, 51, 52, 53, 55, 56, 57, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 70, 71, 72, 73, 74, 75, 76, 77, 78,
	79, 80, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108,
	109, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 133, 134, 135, 136,
}

// Classify says what the Kafka error code of an answer means in a phase. Code 0
// is [OutcomeOK]; a code without a verdict is [OutcomeServerError].
func Classify(p Phase, code int16) Outcome {
	v, ok := verdicts[code]
	if !ok {
		return OutcomeServerError
	}
	switch p {
	case PhaseJoin:
		return v.join
	case PhaseLeave:
		return v.leave
	}
	return v.beat
}
