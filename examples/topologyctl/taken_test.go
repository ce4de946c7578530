package main

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describesAs answers DescribeGroups, as it is on real brokers.
func (b *broker) describesAs(code int16, state, protocolType string) {
	b.c.ControlKey(int16(kmsg.DescribeGroups), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.c.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.DescribeGroupsResponse)
		g := kmsg.NewDescribeGroupsResponseGroup()
		g.Group, g.ErrorCode, g.State, g.ProtocolType = "g", code, state, protocolType
		resp.Groups = append(resp.Groups, g)
		return resp, nil, true
	})
}

// brokeOff is a reset that has noted the delete, and nothing after.
func (b *broker) brokeOff() {
	b.t.Helper()
	_, err := b.reset("", nil)
	wantCode(b.t, err, exitRefused, "not confirmed")
	s, err := readSaved(b.save, "g")
	if err != nil {
		b.t.Fatal(err)
	}
	b.drop()
	s.Stage = stageDeleted
	if err := s.write(b.save); err != nil {
		b.t.Fatal(err)
	}
}

// A reset that broke off after the delete was finished in a consumer group that had taken the name: its
// offsets were written, or it was deleted, without a question.
func TestResetLeavesAGroupThatTookTheName(t *testing.T) {
	for name, c := range map[string]struct {
		code         int16
		state, typ   string
		seed, dryRun bool
		left         bool
	}{
		"consumer group":            {code: kerr.GroupIDNotFound.Code, state: "Dead", left: true},
		"consumer group, seeded":    {code: kerr.GroupIDNotFound.Code, state: "Dead", seed: true, left: true},
		"consumer group, dry run":   {code: kerr.GroupIDNotFound.Code, state: "Dead", dryRun: true, left: true},
		"classic group":             {state: "Empty", typ: "consumer", left: true},
		"classic group with one":    {state: "Stable", typ: "consumer", left: true},
		"offsets of an earlier run": {state: "Empty"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(t)
			b.brokeOff()
			b.exists, b.deletes = true, 0
			b.group.ErrorCode, b.group.ErrorMessage = kerr.GroupIDNotFound.Code, kmsg.StringPtr("Group g is not a streams group.")
			b.describesAs(c.code, c.state, c.typ)
			_, err := b.reset("y\n", func(r *resetting) {
				r.yes, r.dryRun = true, c.dryRun
				if c.seed {
					r.topology = &b.topo
				}
			})
			if !c.left {
				if err != nil {
					t.Error(err)
				}
				b.committed(all)
				return
			}
			wantCode(t, err, exitRefused, "has taken the name")
			if b.deletes != 0 || len(b.joined) != 0 {
				t.Errorf("%d deletes, joined by %v", b.deletes, b.joined)
			}
			if _, err := b.adm.FetchOffsets(t.Context(), "g"); !errors.Is(err, kerr.GroupIDNotFound) {
				t.Errorf("the offsets were written: %v", err)
			}
		})
	}
}

// A right that is missing is no verdict on the type.
func TestResetCannotTellWhoTookTheName(t *testing.T) {
	b := newBroker(t)
	b.group.ErrorCode, b.group.ErrorMessage = kerr.GroupIDNotFound.Code, kmsg.StringPtr("Group g is not a streams group.")
	b.describesAs(kerr.GroupAuthorizationFailed.Code, "", "")
	s := &saved{Group: "g", Stage: stageDeleted}
	if err := s.write(b.save); err != nil {
		t.Fatal(err)
	}
	_, err := b.reset("y\n", nil)
	if code := (&program{log: t.Output()}).ended("reset", err); code != exitNotKnown {
		t.Errorf("exit code %d: %v", code, err)
	}
}
