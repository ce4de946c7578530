package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/heartbeat"
	"github.com/rollcall-go/rollcall/heartbeat/kgotransport"
	"github.com/rollcall-go/rollcall/internal/backoff"
	"github.com/rollcall-go/rollcall/topology"
)

// groupClient looks at one group.
type groupClient struct {
	cl        *kgo.Client
	transport heartbeat.Transport
	group     string
	timeout   time.Duration
}

func (f *flags) connect() (*groupClient, error) {
	if err := f.wantGroup(); err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(f.addresses()...), kgo.ClientID("rollcall-topologyctl"))
	if err != nil {
		return nil, usage("%w", err)
	}
	return &groupClient{cl, kgotransport.New(cl), f.group, f.timeout}, nil
}

// describe asks the coordinator, again and again while it is not there or still loads.
func (g *groupClient) describe(ctx context.Context) (kmsg.StreamsGroupDescribeResponseGroup, error) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	var group kmsg.StreamsGroupDescribeResponseGroup
	err := again(ctx, backoff.Policy{Base: 50 * time.Millisecond, Max: time.Second}, func() (retry bool, err error) {
		group, err = g.describeOnce(ctx)
		return err != nil && !errors.Is(err, kerr.UnsupportedVersion), err
	})
	if err != nil && !errors.Is(err, kerr.UnsupportedVersion) {
		err = fmt.Errorf("describe %q: %w", g.group, err)
	}
	return group, err
}

// steady is the pace where an answer is a matter of a moment.
var steady = backoff.Policy{Base: 200 * time.Millisecond, Max: 200 * time.Millisecond}

// again calls try until it wants no retry, or ctx ends, and returns its last error.
func again(ctx context.Context, pace backoff.Policy, try func() (retry bool, err error)) error {
	for n := 1; ; n++ {
		retry, err := try()
		if !retry {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pace.Delay(n, nil)):
		}
	}
}

// passes reports whether an error is one of a coordinator that moves or loads.
func passes(err error) bool {
	return errors.Is(err, kerr.CoordinatorLoadInProgress) || errors.Is(err, kerr.CoordinatorNotAvailable) || errors.Is(err, kerr.NotCoordinator)
}

func (g *groupClient) describeOnce(ctx context.Context) (kmsg.StreamsGroupDescribeResponseGroup, error) {
	var none kmsg.StreamsGroupDescribeResponseGroup
	req := kmsg.NewPtrStreamsGroupDescribeRequest()
	req.Groups = []string{g.group}
	req.IncludeTopologyDescription = true
	kresp, err := g.transport.Do(ctx, g.group, req)
	if err != nil {
		return none, err
	}
	resp, ok := kresp.(*kmsg.StreamsGroupDescribeResponse)
	if !ok || len(resp.Groups) != 1 {
		return none, fmt.Errorf("an answer with %T and not with one group", kresp)
	}
	if err := kerr.ErrorForCode(resp.Groups[0].ErrorCode); passes(err) {
		return none, err
	}
	return resp.Groups[0], nil
}

// deployed is what the group has, for the guard and the plan.
func (g *groupClient) deployed(ctx context.Context) (topology.Deployed, error) {
	group, err := g.describe(ctx)
	if err != nil {
		return topology.Deployed{}, err
	}
	return read(group)
}

// read is topology.FromDescribe, with the exit code for a group of another type.
func read(group kmsg.StreamsGroupDescribeResponseGroup) (topology.Deployed, error) {
	d, err := topology.FromDescribe(group)
	if errors.Is(err, topology.ErrOtherType) {
		return d, &exit{exitRefused, err}
	}
	return d, err
}
