// Package membertest helps to test programs that are members of a Kafka group.
//
// [NewCluster] makes brokers in memory, which work inside a testing/synctest
// bubble. Three wrappers then go around any member, on these brokers or on real
// ones:
//
//   - a [FaultTransport] loses, delays, repeats and forges requests and answers;
//   - a [Recorder] keeps all that the member's hooks tell, and waits for it;
//   - a [Verifier] checks every request and every callback against the rules that
//     keep a group correct, such as "one owner at a time" and "no ghost".
//
// A test that has all of them:
//
//	synctest.Test(t, func(t *testing.T) {
//		cluster := membertest.NewCluster(t, brokers.Config{Topics: map[string]int32{"orders": 12}})
//		cl := membertest.NewClient(t, cluster)
//		faults := membertest.NewFaultTransport(kgotransport.New(cl))
//		t.Cleanup(faults.Close)
//		check := membertest.NewVerifier(func(v membertest.Violation) { t.Error(v) })
//		rec := new(membertest.Recorder)
//		m, err := member.NewConsumer(cl, member.ConsumerConfig{
//			Group: "billing", Topics: []string{"orders"},
//			Transport: check.Transport(faults),
//			Hooks:     member.JoinHooks(rec.Hooks(), check.Hooks()),
//		})
//		...
//	})
//
// The brokers are in package brokers, and the coordinator that they play is in
// package coordinator, for tests that want more of them than this package shows.
package membertest
