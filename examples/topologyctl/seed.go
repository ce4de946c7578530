package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/rollcall-go/rollcall/topology"
)

// Offsets that are committed for a group that is not there make a group of their own,
// without a type. From 4.2 on the first streams member takes it over. 4.1 refuses
// it with GROUP_ID_NOT_FOUND, "is not a streams group" (measured on 4.1.2, 4.2.2 and
// 4.4.0): there the streams group has to be there, and empty, when they are committed. So
// a member of our own joins with the new topology, and leaves at once.

// needsSeed reports whether there is no file to seed with, and a broker of a version that
// cannot do without.
func (r *resetting) needsSeed(ctx context.Context) (bool, error) {
	if r.topology != nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	all, err := r.adm.ApiVersions(ctx)
	if err != nil {
		return false, fmt.Errorf("versions of the brokers: %w", err)
	}
	for _, v := range all {
		if v.Err != nil {
			return false, fmt.Errorf("version of broker %d: %w", v.NodeID, v.Err)
		}
		// Versions of Kafka are not on the wire. ListOffsets has version 11 since 4.2, and not
		// before; a 4.1 that has streams groups has its unstable APIs on, which hides it from
		// kadm's guess.
		if _, newest, ok := v.KeyVersions(int16(kmsg.ListOffsets)); !ok || newest < 11 {
			return true, nil
		}
	}
	return false, nil
}

// seed makes the group with the new topology, and leaves it empty.
func (r *resetting) seed(ctx context.Context, s *saved) error {
	d, err := r.deployed(ctx)
	if err != nil && !errors.Is(err, topology.ErrOtherType) {
		return err
	}
	if d.Exists { // by a run that broke off, or members were started too early
		if err := (topology.Guard{}).Check(*r.topology, r.epoch, d); err != nil {
			return &exit{exitRefused, err}
		}
		return nil
	}
	id := uuid.NewString()
	// A join whose answer is lost may have been applied: the leave goes out in any case.
	joinErr := r.beat(ctx, id, 0)
	if errors.Is(joinErr, kerr.GroupIDNotFound) {
		if err := r.clear(ctx, s); err != nil {
			return err
		}
		joinErr = r.beat(ctx, id, 0)
	}
	leaveErr := r.beat(context.WithoutCancel(ctx), id, -1)
	if errors.Is(leaveErr, kerr.UnknownMemberID) || errors.Is(leaveErr, kerr.GroupIDNotFound) {
		leaveErr = nil
	}
	if err := errors.Join(joinErr, leaveErr); err != nil {
		return fmt.Errorf("make the group anew: %w; run this again to go on", err)
	}
	r.say("made the group with %s, epoch %v", r.topology.ID(), r.epoch)
	return nil
}

// clear takes away offsets that an earlier run restored without a streams group.
func (r *resetting) clear(ctx context.Context, s *saved) error {
	now, err := r.committed(ctx)
	if err != nil {
		return err
	}
	if _, other := s.changes(now); len(other) > 0 {
		return refused("there is a group %q of another type, with offsets of its own:\n  %s", r.group, strings.Join(other, "\n  "))
	}
	if err := r.drop(ctx); err != nil {
		return fmt.Errorf("delete the offsets of an earlier run: %w", err)
	}
	return nil
}

// beat joins (epoch 0) or leaves (-1), again and again while the coordinator loads.
func (r *resetting) beat(ctx context.Context, id string, epoch int32) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return again(ctx, steady, func() (retry bool, err error) {
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.EndpointInformationEpoch = r.group, id, epoch, -1
		if epoch == 0 {
			req.RebalanceTimeoutMillis, req.ProcessID, req.Topology = 60_000, &id, r.topology.Wire(r.epoch)
			req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
			req.ClientTags = []kmsg.StreamsGroupHeartbeatRequestClientTag{}
		}
		kresp, err := r.transport.Do(ctx, r.group, req)
		if resp, ok := kresp.(*kmsg.StreamsGroupHeartbeatResponse); err == nil && ok {
			if err = kerr.ErrorForCode(resp.ErrorCode); err != nil {
				err = fmt.Errorf("%w: %s", err, text(resp.ErrorMessage))
			}
		}
		var ke *kerr.Error
		return err != nil && (!errors.As(err, &ke) || passes(err)), err
	})
}
