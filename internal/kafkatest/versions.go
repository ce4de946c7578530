package kafkatest

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// DefaultVersion is the Kafka version that a [Config] without one gets.
const DefaultVersion = "4.4.0"

// AllVersions are the versions that KAFKA_VERSIONS=all stands for: the newest
// patch release of each minor release that has the consumer group protocol.
var AllVersions = []string{"4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"}

var versionForm = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// Versions returns the Kafka versions to test with, as KAFKA_VERSIONS says.
func Versions() []string {
	return parseVersions(os.Getenv("KAFKA_VERSIONS"))
}

func parseVersions(list string) []string {
	var vs []string
	for v := range strings.SplitSeq(list, ",") {
		switch v = strings.TrimSpace(v); v {
		case "":
		case "all":
			vs = append(vs, AllVersions...)
		default:
			vs = append(vs, v)
		}
	}
	if len(vs) == 0 {
		return []string{DefaultVersion}
	}
	return vs
}

// checkVersion keeps anything that is not a version out of paths and of the
// Maven project.
func checkVersion(v string) error {
	if !versionForm.MatchString(v) {
		return fmt.Errorf("kafkatest: %q is not a Kafka version such as %s", v, DefaultVersion)
	}
	return nil
}

// unstable says whether a version has streams groups only behind switches.
func unstable(version string) bool { return strings.HasPrefix(version, "4.1.") }
