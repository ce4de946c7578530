// Package rollcall is the root of the Rollcall module: Kafka group membership for
// Go. It has no code of its own.
//
//   - package member: a member of a consumer group, what programs use
//   - package topology: the topology of a streams group as a contract
//   - package heartbeat: the transport and the pure parts below it
//   - package membertest: recorder, fault transport and wire verifier for tests
//   - package membertest/brokers: an in-process cluster for tests
package rollcall
