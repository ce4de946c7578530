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
	pause := 50 * time.Millisecond
	for {
		group, err := g.describeOnce(ctx)
		if err == nil || errors.Is(err, kerr.UnsupportedVersion) {
			return group, err
		}
		select {
		case <-ctx.Done():
			return group, fmt.Errorf("describe %q: %w", g.group, err)
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
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
	switch err := kerr.ErrorForCode(resp.Groups[0].ErrorCode); {
	case errors.Is(err, kerr.CoordinatorLoadInProgress), errors.Is(err, kerr.CoordinatorNotAvailable), errors.Is(err, kerr.NotCoordinator):
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
