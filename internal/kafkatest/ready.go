package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetsPartitions is how many partitions, hence coordinators at most, the
// group metadata topic has.
const offsetsPartitions = 8

// WaitReady waits until every running node sees all other running ones and has
// caught up with them, and every group has a coordinator among them that has
// loaded it. If most nodes are down, so that there is no controller, it does not
// wait.
func (c *Cluster) WaitReady(ctx context.Context) error {
	for {
		err := c.ready(ctx)
		if err == nil || errors.Is(err, errNodeEnded) {
			return err
		}
		sleep(ctx, 50*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("kafkatest: not ready: %w, last: %w", ctx.Err(), err)
		}
	}
}

var errNodeEnded = errors.New("a node ended by itself")

func (c *Cluster) ready(ctx context.Context) error {
	up, err := c.running()
	if err != nil || 2*len(up) <= len(c.nodes) {
		return err
	}
	for _, n := range up {
		if err := c.seesAll(ctx, n, up); err != nil {
			return fmt.Errorf("node %d: %w", n.id, err)
		}
	}
	// Groups are spread by the hash of their name, which for one letter is its
	// code: consecutive letters meet all partitions.
	for i := range offsetsPartitions {
		group := string(rune('a' + i))
		if err := c.hasCoordinator(ctx, group, up); err != nil {
			return fmt.Errorf("coordinator: %w", err)
		}
	}
	return nil
}

// running returns the running nodes, and an error if one of them is not.
func (c *Cluster) running() ([]*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var up []*node
	for _, n := range c.nodes {
		if n.state != running {
			continue
		}
		if n.proc.ended() {
			n.state = stopped
			err := fmt.Errorf("node %d: %w: %w", n.id, errNodeEnded, n.proc.err)
			if strings.Contains(n.logTail(100), "Address already in use") {
				err = fmt.Errorf("%w: %w", errPortTaken, err)
			}
			return nil, err
		}
		up = append(up, n)
	}
	return up, nil
}

// at returns the connection to just that node, whatever the rest is doing.
func (c *Cluster) at(n *node) *kgo.Broker { return c.cl.SeedBrokers()[n.id-1] }

// ask sends a request to one node, once, with a limit that a node which is
// busy starting does not reach.
func (c *Cluster) ask(ctx context.Context, n *node, req kmsg.Request) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return c.at(n).Request(ctx, req)
}

// seesAll checks that a node knows all running ones, and that these have all
// the data they are to have: after one node was away, the data may be on so few
// that the next one that goes away takes the last copy along.
func (c *Cluster) seesAll(ctx context.Context, n *node, up []*node) error {
	r, err := c.ask(ctx, n, kmsg.NewPtrMetadataRequest()) // of all topics
	if err != nil {
		return err
	}
	resp := r.(*kmsg.MetadataResponse)
	seen := map[int32]bool{}
	for _, b := range resp.Brokers {
		seen[b.NodeID] = true
	}
	for _, o := range up {
		if !seen[int32(o.id)] {
			return fmt.Errorf("does not see node %d", o.id)
		}
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			for _, o := range up {
				id := int32(o.id)
				if slices.Contains(p.Replicas, id) && !slices.Contains(p.ISR, id) {
					return fmt.Errorf("node %d is behind with %s/%d", id, deref(t.Topic), p.Partition)
				}
			}
		}
	}
	return nil
}

// hasCoordinator checks that all nodes agree on the coordinator, and that it
// has read what it has to know of the group.
func (c *Cluster) hasCoordinator(ctx context.Context, group string, up []*node) error {
	at := 0
	for _, n := range up {
		id, err := c.findCoordinator(ctx, n, group)
		if err != nil {
			return err
		}
		if at != 0 && at != id {
			return fmt.Errorf("nodes do not agree: %d or %d", at, id)
		}
		at = id
	}
	for _, n := range up {
		if n.id != at {
			continue
		}
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{group}
		resp, err := c.ask(ctx, n, req)
		if err != nil {
			return err
		}
		err = kerr.ErrorForCode(resp.(*kmsg.DescribeGroupsResponse).Groups[0].ErrorCode)
		if errors.Is(err, kerr.GroupIDNotFound) {
			err = nil
		}
		return err
	}
	return fmt.Errorf("it is node %d, which is down", at)
}

// findCoordinator asks one node for a group's coordinator.
func (c *Cluster) findCoordinator(ctx context.Context, n *node, group string) (int, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = []string{group}
	resp, err := c.ask(ctx, n, req)
	if err != nil {
		return 0, err
	}
	co := resp.(*kmsg.FindCoordinatorResponse).Coordinators
	if len(co) != 1 {
		return 0, fmt.Errorf("%d coordinators in an answer for one group", len(co))
	}
	return int(co[0].NodeID), kerr.ErrorForCode(co[0].ErrorCode)
}
