// Package brokers runs an in-process Kafka cluster for tests, whose consumer
// groups behave as those of a chosen Kafka release.
//
//	c, err := brokers.New(brokers.Config{
//		Version: coordinator.V44,
//		Topics:  map[string]int32{"orders": 12},
//	})
//	defer c.Close()
//	cl, err := kgo.NewClient(c.Opts()...)
//
// The brokers are kfake's. Group membership of the consumer protocol (KIP-848)
// is answered by the model in package coordinator instead, because kfake's own
// coordinator differs from real brokers in the rules a membership client
// depends on: epochs, fencing, static members, revocation timeouts and the
// interval between two assignments.
//
// Without Config.Listen everything runs over an in-memory network, and works
// inside a testing/synctest bubble with exact virtual time. Make the cluster
// and the clients inside the bubble, and close both before it ends.
//
// Timers (sessions, rebalance timeouts) run when the next request or the next
// call looks at the clock, so they need no goroutine; no client can tell the
// difference.
//
// What differs from a real cluster: a classic consumer cannot join a live
// consumer group or the other way round (it is refused, a broker would
// migrate), ListGroups shows only what kfake holds itself, and the model does
// not see client IDs.
package brokers
