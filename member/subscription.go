package member

import "context"

// Subscription is what a member wants to be assigned.
type Subscription struct {
	Topics []string // names
	Regex  string   // as ConsumerConfig.Regex
}

// Subscribe replaces the subscription of a running member, without a rejoin, and
// waits until the coordinator has accepted it or ctx ends; then it may still be accepted
// later. A member that is not in the group now (FENCED, STALE) joins again with it, and a
// running one that leaves gives [ErrNotJoined]. If it is refused (a bad regex, no
// DESCRIBE on a topic) the member stays as it was, and the error says why; it is a
// [*ConfigError] for what is wrong by itself, an [*Error] otherwise. What is not
// subscribed any more is revoked by the answer. (Brokers 4.0 do not drop what only
// the old regex matched.) With the context of a callback it does not wait.
func (c *Consumer) Subscribe(ctx context.Context, s Subscription) error {
	check := c.cfg
	check.Topics, check.Regex = s.Topics, s.Regex
	if err := check.Validate(); err != nil {
		return err
	}
	result := make(chan error, 1)
	c.mu.Lock()
	c.changeN++
	n := c.changeN
	c.changes[n] = result
	c.mu.Unlock()
	if !c.isRunning() || !c.loop.Post(inChange{n, s.Topics, s.Regex}) {
		c.changed(changeResult{n, ErrNotJoined})
	}
	if ctx.Value(callbackKey{}) == c {
		return nil
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SetTopics is Subscribe with names only.
func (c *Consumer) SetTopics(ctx context.Context, topics ...string) error {
	return c.Subscribe(ctx, Subscription{Topics: topics})
}

func (c *Consumer) isRunning() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started && !c.ended
}

func (c *Consumer) changed(r changeResult) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ch := c.changes[r.id]; ch != nil {
		ch <- r.err
		delete(c.changes, r.id)
	}
}

func (c *Consumer) failChanges() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, ch := range c.changes {
		ch <- ErrNotJoined
		delete(c.changes, id)
	}
}
