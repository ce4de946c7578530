package kafkatest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// heartbeatKey is the API key of ConsumerGroupHeartbeat.
const heartbeatKey = 68

const maxFrame = 100 << 20 // what a broker accepts at most

var errFrame = errors.New("not a Kafka frame")

// readFrame reads a request or an answer, with its 4 bytes of length.
func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxFrame {
		return nil, fmt.Errorf("%w: %d bytes long", errFrame, n)
	}
	f := make([]byte, 4+n)
	copy(f, size[:])
	_, err := io.ReadFull(r, f[4:])
	return f, err
}

// answerCorrelation returns the number that ties an answer to its request; it is at
// another place in a request.
func answerCorrelation(f []byte) int32 { return int32(binary.BigEndian.Uint32(f[4:])) }

// parseRequest reads a request's header, and all of a consumer group heartbeat.
func parseRequest(f []byte) (req Request, correlation int32, err error) {
	b := f[4:]
	if len(b) < 10 {
		return req, 0, errFrame
	}
	req.Key = int16(binary.BigEndian.Uint16(b))
	req.Version = int16(binary.BigEndian.Uint16(b[2:]))
	correlation = int32(binary.BigEndian.Uint32(b[4:]))
	idLen := int(int16(binary.BigEndian.Uint16(b[8:])))
	b = b[10:]
	if idLen > len(b) {
		return req, 0, errFrame
	}
	if idLen > 0 {
		req.ClientID, b = string(b[:idLen]), b[idLen:]
	}
	if req.Key != heartbeatKey {
		return req, correlation, nil
	}
	if b, err = skipTags(b); err != nil {
		return req, 0, err
	}
	hb := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	hb.SetVersion(req.Version)
	if err := hb.ReadFrom(b); err != nil {
		return req, 0, err
	}
	req.Heartbeat = hb
	return req, correlation, nil
}

// parseHeartbeatAnswer returns nil for what it cannot read.
func parseHeartbeatAnswer(f []byte, version int16) *kmsg.ConsumerGroupHeartbeatResponse {
	b, err := skipTags(f[8:])
	if err != nil {
		return nil
	}
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.SetVersion(version)
	if resp.ReadFrom(b) != nil {
		return nil
	}
	return resp
}

// skipTags skips the tagged fields that end the header of newer messages.
func skipTags(b []byte) ([]byte, error) {
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	if len(b) == 0 {
		return nil, errFrame
	}
	for tags := next(); tags > 0; tags-- {
		next()
		size := next()
		if b == nil || size > uint64(len(b)) {
			return nil, errFrame
		}
		b = b[size:]
	}
	if b == nil {
		return nil, errFrame
	}
	return b, nil
}
