package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// untilAll waits until check holds on every running node: what the controller
// accepted reaches the nodes a moment later.
func (c *Cluster) untilAll(ctx context.Context, check func(*node) error) error {
	for {
		up, err := c.running()
		for _, n := range up {
			if err == nil {
				err = check(n)
			}
		}
		if err == nil || errors.Is(err, errNodeEnded) {
			return err
		}
		sleep(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("kafkatest: %w, last: %w", ctx.Err(), err)
		}
	}
}

// CreateTopic creates a topic, replicated to all nodes, and waits until every
// running node knows it.
func (c *Cluster) CreateTopic(ctx context.Context, topic string, partitions int) error {
	if _, err := c.adm.CreateTopic(ctx, int32(partitions), int16(len(c.nodes)), nil, topic); err != nil {
		return err
	}
	return c.waitTopic(ctx, topic, partitions)
}

// DeleteTopic deletes a topic and waits until no running node knows it.
func (c *Cluster) DeleteTopic(ctx context.Context, topic string) error {
	if _, err := c.adm.DeleteTopic(ctx, topic); err != nil {
		return err
	}
	return c.waitTopic(ctx, topic, 0)
}

// AddPartitions adds that many partitions to a topic and waits until every
// running node knows them.
func (c *Cluster) AddPartitions(ctx context.Context, topic string, add int) error {
	have, err := c.adm.ListTopics(ctx, topic)
	if err == nil {
		err = have[topic].Err
	}
	if err != nil {
		return err
	}
	resps, err := c.adm.CreatePartitions(ctx, add, topic)
	if err == nil {
		err = resps.Error()
	}
	if err != nil {
		return err
	}
	return c.waitTopic(ctx, topic, len(have[topic].Partitions)+add)
}

// waitTopic waits until every running node knows so many partitions of a topic,
// all with a leader.
func (c *Cluster) waitTopic(ctx context.Context, topic string, partitions int) error {
	return c.untilAll(ctx, func(n *node) error {
		req := kmsg.NewPtrMetadataRequest()
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = &topic
		req.Topics = append(req.Topics, rt)
		resp, err := c.ask(ctx, n, req)
		if err != nil {
			return err
		}
		t := resp.(*kmsg.MetadataResponse).Topics[0]
		leaders := 0
		for _, p := range t.Partitions {
			if p.Leader >= 0 {
				leaders++
			}
		}
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case partitions == 0 && errors.Is(err, kerr.UnknownTopicOrPartition):
			return nil
		case err != nil:
			return err
		case leaders != partitions:
			return fmt.Errorf("node %d: %d partitions of %s have a leader, not %d", n.id, leaders, topic, partitions)
		}
		return nil
	})
}

// Coordinator returns the node that coordinates a group. It asks the running
// nodes in turn until one knows.
func (c *Cluster) Coordinator(ctx context.Context, group string) (int, error) {
	for {
		up, err := c.running()
		if err != nil {
			return 0, err
		}
		for _, n := range up {
			id, ferr := c.findCoordinator(ctx, n, group)
			if ferr == nil {
				return id, nil
			}
			err = ferr
		}
		sleep(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			return 0, fmt.Errorf("kafkatest: coordinator of %s: %w, last: %w", group, ctx.Err(), err)
		}
	}
}

// SetGroupConfig sets settings of a group, such as
// consumer.session.timeout.ms, and waits until every running node has them.
func (c *Cluster) SetGroupConfig(ctx context.Context, group string, settings map[string]string) error {
	const groupResource = kmsg.ConfigResourceType(32)
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = groupResource, group
	for k, v := range settings {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Name, rc.Op, rc.Value = k, kmsg.IncrementalAlterConfigOpSet, &v
		rr.Configs = append(rr.Configs, rc)
	}
	req.Resources = append(req.Resources, rr)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := codeError(r.ErrorCode, r.ErrorMessage); err != nil {
			return fmt.Errorf("kafkatest: settings of group %s: %w", group, err)
		}
	}
	return c.untilAll(ctx, func(n *node) error {
		req := kmsg.NewPtrDescribeConfigsRequest()
		rr := kmsg.NewDescribeConfigsRequestResource()
		rr.ResourceType, rr.ResourceName = groupResource, group
		req.Resources = append(req.Resources, rr)
		resp, err := c.ask(ctx, n, req)
		if err != nil {
			return err
		}
		have := map[string]string{}
		for _, rc := range resp.(*kmsg.DescribeConfigsResponse).Resources[0].Configs {
			if rc.Value != nil {
				have[rc.Name] = *rc.Value
			}
		}
		for k, v := range settings {
			if have[k] != v {
				return fmt.Errorf("node %d has %s=%s, not %s", n.id, k, have[k], v)
			}
		}
		return nil
	})
}

// codeError is the error of a code with the broker's message.
func codeError(code int16, msg *string) error {
	err := kerr.ErrorForCode(code)
	if err != nil && msg != nil {
		err = fmt.Errorf("%w: %s", err, *msg)
	}
	return err
}
