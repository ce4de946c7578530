package kafkatest

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Allow lets a user do an operation on a resource, for example
// kmsg.ACLOperationRead on the kmsg.ACLResourceTypeGroup of that name, and
// waits until every running node heeds it. Needs [Config.ACL].
func (c *Cluster) Allow(ctx context.Context, user string, typ kmsg.ACLResourceType, name string, op kmsg.ACLOperation) error {
	req := kmsg.NewPtrCreateACLsRequest()
	cr := kmsg.NewCreateACLsRequestCreation()
	cr.Principal, cr.Host, cr.PermissionType = principal(user), "*", kmsg.ACLPermissionTypeAllow
	cr.ResourceType, cr.ResourceName, cr.ResourcePatternType = typ, name, kmsg.ACLResourcePatternTypeLiteral
	cr.Operation = op
	req.Creations = append(req.Creations, cr)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return err
	}
	for _, r := range resp.Results {
		if err := codeError(r.ErrorCode, r.ErrorMessage); err != nil {
			return fmt.Errorf("kafkatest: allow: %w", err)
		}
	}
	return c.waitACL(ctx, user, typ, name, op, true)
}

// RemoveAllow takes back what [Cluster.Allow] gave.
func (c *Cluster) RemoveAllow(ctx context.Context, user string, typ kmsg.ACLResourceType, name string, op kmsg.ACLOperation) error {
	req := kmsg.NewPtrDeleteACLsRequest()
	f := kmsg.NewDeleteACLsRequestFilter()
	p := principal(user)
	f.Principal, f.PermissionType = &p, kmsg.ACLPermissionTypeAllow
	f.ResourceType, f.ResourceName, f.ResourcePatternType = typ, &name, kmsg.ACLResourcePatternTypeLiteral
	f.Operation = op
	req.Filters = append(req.Filters, f)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return err
	}
	for _, r := range resp.Results {
		if err := codeError(r.ErrorCode, r.ErrorMessage); err != nil {
			return fmt.Errorf("kafkatest: remove allow: %w", err)
		}
	}
	return c.waitACL(ctx, user, typ, name, op, false)
}

func principal(user string) string { return "User:" + user }

func (c *Cluster) waitACL(ctx context.Context, user string, typ kmsg.ACLResourceType, name string, op kmsg.ACLOperation, there bool) error {
	return c.untilAll(ctx, func(n *node) error {
		req := kmsg.NewPtrDescribeACLsRequest()
		p := principal(user)
		req.Principal, req.PermissionType = &p, kmsg.ACLPermissionTypeAllow
		req.ResourceType, req.ResourceName, req.ResourcePatternType = typ, &name, kmsg.ACLResourcePatternTypeLiteral
		req.Operation = op
		r, err := c.ask(ctx, n, req)
		if err != nil {
			return err
		}
		resp := r.(*kmsg.DescribeACLsResponse)
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return err
		}
		if got := len(resp.Resources) > 0; got != there {
			return fmt.Errorf("node %d: rule is there: %t, to be: %t", n.id, got, there)
		}
		return nil
	})
}
