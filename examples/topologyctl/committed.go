package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// committed is what the group has committed. It waits for transactions that are under way:
// an application that was killed leaves one behind until its timeout.
func (r *resetting) committed(ctx context.Context) ([]savedOffset, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for {
		rs, err := r.adm.FetchOffsets(kadm.RequireStable(ctx), r.group)
		if err == nil {
			err = rs.Error()
		}
		switch {
		case err == nil:
			return toSaved(rs), nil
		case errors.Is(err, kerr.GroupIDNotFound):
			return []savedOffset{}, nil
		case !errors.Is(err, kerr.UnstableOffsetCommit):
			return nil, fmt.Errorf("committed offsets: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("committed offsets: %w", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
