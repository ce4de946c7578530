package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// committed is what the group has committed. It waits for transactions that are under way:
// an application that was killed leaves one behind until its timeout.
func (r *resetting) committed(ctx context.Context) ([]savedOffset, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	var rs kadm.OffsetResponses
	err := again(ctx, steady, func() (retry bool, err error) {
		if rs, err = r.adm.FetchOffsets(kadm.RequireStable(ctx), r.group); err == nil {
			err = rs.Error()
		}
		return errors.Is(err, kerr.UnstableOffsetCommit), err
	})
	switch {
	case err == nil:
		return toSaved(rs), nil
	case errors.Is(err, kerr.GroupIDNotFound):
		return []savedOffset{}, nil
	}
	return nil, fmt.Errorf("committed offsets: %w", err)
}

// commit writes the saved offsets, in a group that nobody is in.
func (r *resetting) commit(ctx context.Context, s *saved) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// Source: a commit without a member ID, at generation -1, is taken for a group that is
	// not there or empty: OffsetMetadataManager.validateOffsetCommit, Kafka 4.x.
	return r.adm.CommitAllOffsets(ctx, r.group, s.offsets())
}

// drop deletes the group. One that is not there is no error: the answer to an attempt
// before may have been lost.
func (r *resetting) drop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	resp, err := r.adm.DeleteGroup(ctx, r.group)
	if err = errors.Join(err, resp.Err); errors.Is(err, kerr.GroupIDNotFound) {
		return nil
	}
	return err
}
