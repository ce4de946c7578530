package kgotransport

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// since says which Kafka has an API, and what switches it on.
func since(key int16) string {
	switch kmsg.Key(key) {
	case kmsg.ConsumerGroupHeartbeat, kmsg.ConsumerGroupDescribe:
		return "it needs Kafka 4.0 or later with the feature group.version at 1" +
			" (3.7 to 3.9 have it as early access, if group.coordinator.rebalance.protocols names consumer)"
	case kmsg.StreamsGroupHeartbeat, kmsg.StreamsGroupDescribe:
		return "it needs Kafka 4.2 or later with the feature streams.version at 1" +
			" (4.1 has it as early access, with unstable.api.versions.enable, unstable.feature.versions.enable and streams.version at 1)"
	}
	return "it needs a newer broker"
}

// excluded refuses a request that kgo.MaxVersions does not have. kgo would find
// that out only after it connected.
func (t *Transport) excluded(req kmsg.Request) error {
	if max, ok := t.maxVersion(req.Key()); !ok || max >= 0 {
		return nil
	}
	return &UnsupportedError{
		Key: req.Key(), Node: -1, BrokerMax: -1, ClientMax: -1,
		Reason: "kgo.MaxVersions of the client excludes it: raise or drop that option; " + since(req.Key()),
	}
}

// clientMax is the highest version of req that we may send.
func (t *Transport) clientMax(req kmsg.Request) int16 {
	if max, ok := t.maxVersion(req.Key()); ok {
		return min(max, req.MaxVersion())
	}
	return req.MaxVersion()
}

// droppedField is the refusal of a request with a field that the version which
// kgo chose does not have.
func (t *Transport) droppedField(r *call) error {
	e := &UnsupportedError{Key: r.Key(), Node: r.node, BrokerMax: 0, ClientMax: t.clientMax(r.Request)}
	if e.ClientMax < 1 {
		e.Reason = "a subscription by regular expression needs version 1, and kgo.MaxVersions of the client" +
			" stops at 0: raise or drop that option"
	} else {
		e.Reason = "a subscription by regular expression needs version 1 (Kafka 4.0)," +
			" and the broker's highest version is 0: upgrade it or subscribe by name"
	}
	return e
}

// unsupported asks the broker of a call that failed unwritten which APIs it has.
// It returns nil if that does not explain the failure. kgo's own error for it is
// not exported, so everything that has a better explanation is left out first.
func (t *Transport) unsupported(ctx context.Context, r *call, err error) error {
	if ctx.Err() != nil || is[*dialError](err) || IsAuth(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	if _, open := r.c.current(r.node); !open && !r.side {
		return nil // kgo learns the versions when it connects
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = t.software[0], t.software[1]
	kresp, perr := r.c.kc.Broker(int(r.node)).Request(ctx, req)
	if perr != nil {
		return nil
	}
	resp := kresp.(*kmsg.ApiVersionsResponse)
	if resp.ErrorCode != 0 || len(resp.ApiKeys) == 0 {
		return nil
	}
	e := &UnsupportedError{Key: r.Key(), Node: r.node, BrokerMax: -1, ClientMax: t.clientMax(r.Request)}
	lowest := int16(-1)
	for _, k := range resp.ApiKeys {
		if k.ApiKey == e.Key {
			e.BrokerMax, lowest = k.MaxVersion, k.MinVersion
		}
	}
	switch needs := t.minVersion(e.Key); {
	case e.BrokerMax < 0:
		e.Reason = "the broker does not know it; " + since(e.Key)
	case lowest > e.ClientMax:
		e.Reason = fmt.Sprintf("the broker starts at version %d, the client stops at %d (see kgo.MaxVersions)", lowest, e.ClientMax)
	case needs > min(e.BrokerMax, e.ClientMax):
		e.Reason = fmt.Sprintf("kgo.MinVersions asks for version %d, and the highest that both sides have is %d",
			needs, min(e.BrokerMax, e.ClientMax))
	default:
		return nil
	}
	return e
}
