// Package kgotransport carries the requests of members over franz-go.
//
// [New] gives the one [Transport] of a *kgo.Client. It sends nothing through
// that client: it only reads the client's connection options (seeds, dialer with
// TLS, SASL, client ID, versions, logger) and builds clients of its own from
// them, on demand. A blocked produce or fetch of the application so never delays
// a heartbeat. Two such clients exist at most; the second is made when a
// connection of the first one hangs.
//
// Each call is one attempt. The coordinator of a group is looked up by the
// package itself and kept until an answer or a failure says that it moved.
//
// Two limits: seeds that kgo.Client.UpdateSeedBrokers replaced later are not
// seen, as the option still shows the first ones, and a SASL mechanism that the
// application closes (through Close of its client) is closed for the members too.
package kgotransport
