package member_test

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
)

var chaosCodes = []int16{14, 15, 16, 25, 110, 29, 69, -1, 7, 82, 111, 113, 128, 112, 89, 300, 81}

func hang(ctx context.Context) (kmsg.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *chaos) wrap(inner heartbeat.Transport) heartbeat.Transport {
	return heartbeat.TransportFunc(func(ctx context.Context, group string, req kmsg.Request) (kmsg.Response, error) {
		if c.off() {
			return inner.Do(ctx, group, req)
		}
		switch q := req.(type) {
		case *kmsg.MetadataRequest:
			return c.metadata(ctx, inner, q)
		case *kmsg.ConsumerGroupHeartbeatRequest:
			return c.heartbeat(ctx, inner, group, q)
		}
		return inner.Do(ctx, group, req)
	})
}

func (c *chaos) metadata(ctx context.Context, inner heartbeat.Transport, q *kmsg.MetadataRequest) (kmsg.Response, error) {
	switch c.n(10) {
	case 0, 1, 2:
		return hang(ctx)
	case 3:
		panic("metadata")
	case 4, 5:
		resp, err := inner.Do(ctx, "", q)
		if m, ok := resp.(*kmsg.MetadataResponse); ok && len(q.Topics) > 0 && q.Topics[0].Topic != nil {
			for i := range m.Topics {
				m.Topics[i].TopicID = [16]byte{byte(c.n(4))}
			}
		}
		return resp, err
	case 6:
		c.sleep(2500)
	}
	return inner.Do(ctx, "", q)
}

func (c *chaos) heartbeat(ctx context.Context, inner heartbeat.Transport, group string, q *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
	switch c.n(20) {
	case 0:
		return nil, errors.New("dropped")
	case 1:
		_, _ = inner.Do(ctx, group, q)
		return nil, errors.New("lost")
	case 2:
		if c.n(3) == 0 {
			return hang(ctx)
		}
	case 3:
		resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
		resp.ErrorCode = chaosCodes[c.n(len(chaosCodes))]
		// Only after these three may it have been applied: what is told once is lost with a
		// refusal that lies, until the next full heartbeat, minutes later.
		if resp.ErrorCode >= 14 && resp.ErrorCode <= 16 && c.n(2) == 0 {
			_, _ = inner.Do(ctx, group, q)
		}
		return resp, nil
	case 4:
		c.sleep(3000)
	case 5:
		resp, err := inner.Do(ctx, group, q)
		if hb, ok := resp.(*kmsg.ConsumerGroupHeartbeatResponse); ok {
			c.mangle(hb)
		}
		return resp, err
	}
	return inner.Do(ctx, group, q)
}

func (c *chaos) mangle(hb *kmsg.ConsumerGroupHeartbeatResponse) {
	switch c.n(6) {
	case 0:
		hb.MemberEpoch = -int32(c.n(3))
	case 1:
		hb.HeartbeatIntervalMillis = []int32{0, -5, 1, 1 << 30}[c.n(4)]
	case 2:
		hb.Assignment = &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
	case 3:
		if hb.Assignment != nil && len(hb.Assignment.Topics) > 0 {
			hb.Assignment.Topics = append(hb.Assignment.Topics, hb.Assignment.Topics[0])
			hb.Assignment.Topics[0].Partitions = append(hb.Assignment.Topics[0].Partitions, -1, 0, 0)
		}
	case 4:
		hb.MemberID = kmsg.StringPtr("else")
	case 5:
		hb.ThrottleMillis = 1 << 30
	}
}
