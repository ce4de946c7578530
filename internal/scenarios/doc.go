// Package scenarios is the proof that the coordinator model answers as real
// brokers do: one suite of raw ConsumerGroupHeartbeat requests with the
// expected answers, played on every peer there is.
//
//   - TestModel plays it on the pure model, for every version, in hand-written
//     time.
//   - TestBrokers plays it on the model inside kfake, through a real client and
//     the wire encoding, in virtual time.
//   - TestReal (build tag kafka) plays it on real brokers of the versions in
//     KAFKA_VERSIONS.
//
// Differences between versions stand in the scenarios, so a change of a broker's
// behaviour and a mistake of the model both fail a test.
//
// TestDifferential (build tag kafka) needs no expectations: it plays seeded
// random requests on a real broker and on the model, and compares every answer
// and the whole group after it.
package scenarios
