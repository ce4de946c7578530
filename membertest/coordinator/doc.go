// Package coordinator is a model of the broker's group coordinator for
// consumer groups (KIP-848), for tests.
//
// The model is pure: it has no clock, no goroutine, no lock and no random
// source. Every method that depends on time takes now as a parameter, and the
// same calls give the same answers. It is not safe for concurrent use; guard
// it with one lock, or own it with one goroutine.
//
//	c := coordinator.New(coordinator.Config{Version: coordinator.V44})
//	c.CreateTopic(now, "orders", id, 12)
//	resp := c.Heartbeat(now, req, coordinator.Client{ID: "app"})
//
// It answers as Apache Kafka 4.0 to 4.4 do, including where these versions
// differ; [Version] picks one. The rules were measured on real brokers, and one
// suite of scenarios runs on both (docs/coordinator-model.md); comments name
// the KIP section or the Kafka class that holds each rule.
//
// What it leaves out: classic groups and the migration between the two
// protocols (KIP-848 "Supporting Online Consumer Group Upgrade"), streams and
// share groups, authorization, and offsets themselves. It does say whether an
// offset commit or fetch with a member epoch would be let through.
package coordinator
