// Package member makes a Go program a member of a Kafka group: it joins, keeps the
// membership alive from a background goroutine, reconciles the assignment (revoke,
// acknowledge, assign) and leaves cleanly, without leaving a ghost behind when
// answers get lost.
//
// A [Consumer] is a member of a consumer group (KIP-848). It does membership only:
// it does not fetch and does not commit.
//
//	m, err := member.NewConsumer(cl, member.ConsumerConfig{
//		Group: "orders", Topics: []string{"orders"},
//		OnAssigned: start, OnRevoked: stop, OnLost: drop,
//	})
//	...
//	g.Go(func() error { return m.Run(ctx) })
//
// # Who calls whom
//
// Run drives a pure state machine from one loop. Callbacks run one at a time on a
// goroutine of their own, hooks on another; heartbeats wait for neither. A
// [Snapshot] can be taken at any time.
package member
