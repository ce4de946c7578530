package topology

import (
	"context"
	"errors"
	"fmt"
)

// Describe looks a group up: [FromDescribe] on the answer of a coordinator. A group that
// does not exist is the zero [Deployed].
type Describe func(ctx context.Context) (Deployed, error)

// Finding is what [Guard.Ask] has found out.
type Finding struct {
	Deployed Deployed
	Comparison
	// Notice is what was let pass and should be told: a [GuardError] in mode [Warn], or
	// [ErrCannotTell] with the reason. nil: nothing.
	Notice error
}

// Ask describes the group once and checks. The error means: do not join. It is what
// [Guard.Check] says in mode [Enforce], [ErrOtherType], an [InvalidError] for a negative
// epoch, or the end of ctx. A describe that fails, for want of rights for example, is a
// notice: it must not stop a start. In mode [Off], describe is not called.
func (g Guard) Ask(ctx context.Context, own Topology, e Epoch, describe Describe) (Finding, error) {
	if g.Mode == Off {
		return Finding{}, (Guard{}).Check(own, e, Deployed{}) // the epoch alone
	}
	d, err := describe(ctx)
	switch {
	case ctx.Err() != nil:
		return Finding{}, context.Cause(ctx)
	case errors.Is(err, ErrOtherType):
		return Finding{}, err
	case err != nil:
		return Finding{Notice: fmt.Errorf("%w: %w", ErrCannotTell, err)}, (Guard{}).Check(own, e, Deployed{})
	}
	f := Finding{Deployed: d, Comparison: Compare(own, d)}
	refused := g.Check(own, e, d)
	_, guarded := errors.AsType[*GuardError](refused)
	switch {
	case refused != nil && !(guarded && g.Mode == Warn):
		return f, refused
	case refused != nil:
		f.Notice = refused
	case d.Exists && !d.known():
		f.Notice = fmt.Errorf("%w: the broker shows neither it nor its epoch", ErrCannotTell)
	case f.Verdict == CannotTell:
		f.Notice = fmt.Errorf("%w: the broker shows its epoch %v only", ErrCannotTell, d.Epoch)
	}
	return f, nil
}
