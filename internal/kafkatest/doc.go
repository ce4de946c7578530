// Package kafkatest runs real Apache Kafka brokers for tests, and a proxy that
// understands enough of the Kafka protocol to inject faults into group
// membership.
//
// Brokers are plain JVM processes made of the jars that Maven fetches, one
// process per node, each a combined KRaft broker and controller on ports of
// 127.0.0.1. They need a JDK 17 or newer and, until the jars are cached,
// Maven 3.6 or newer. They end with the test process, however it ends.
//
// Environment:
//
//   - KAFKA_VERSIONS: the versions [Each] runs on, separated by commas, or "all".
//   - ROLLCALL_KAFKA_CACHE: where the jars are kept, by default
//     rollcall/kafka in the user's cache directory.
//   - JAVA_HOME: the JDK to use, by default the java on the PATH.
//
// Tests that start brokers have the build tag kafka; the package itself has
// none. A package that uses [Shared] or [Each] hands over its TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }
//
// On one machine one test process at a time has brokers running: go test runs
// the tests of several packages at once, and their brokers together would be
// too much for a small machine. The other processes wait, which counts
// towards the timeout of go test.
package kafkatest
