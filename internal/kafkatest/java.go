package kafkatest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

const minJava = 17

var javaVersionLine = regexp.MustCompile(`version "((\d+)[\w.+-]*)"`)

// needs is what every error about a missing tool ends with.
const needs = "real brokers need a JDK 17 or newer (java on the PATH, or JAVA_HOME) and, " +
	"to fetch Kafka's jars once, Maven 3.6 or newer (mvn on the PATH); " +
	"ROLLCALL_KAFKA_CACHE names a folder with jars that were fetched before, " +
	"KAFKA_VERSIONS the Kafka versions to run"

func missing(what string) error { return fmt.Errorf("kafkatest: %s: %s", what, needs) }

// jdk is a Java to run brokers with.
type jdk struct{ path, version string }

// findJava returns a java that is new enough for a broker.
func findJava(ctx context.Context) (jdk, error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	path, err := exec.LookPath(java)
	if err != nil {
		return jdk{}, missing("no java found")
	}
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return jdk{}, fmt.Errorf("kafkatest: %s -version: %w\n%s", path, err, out)
	}
	m := javaVersionLine.FindSubmatch(out)
	if m == nil {
		return jdk{}, fmt.Errorf("kafkatest: %s -version says nothing known: %s", path, bytes.TrimSpace(out))
	}
	if v, _ := strconv.Atoi(string(m[2])); v < minJava {
		return jdk{}, missing(fmt.Sprintf("%s is Java %s", path, m[1]))
	}
	return jdk{path, string(m[1])}, nil
}

// findMaven returns an mvn; whether it is new enough only its run can tell.
func findMaven(ctx context.Context) (string, error) {
	_, javaErr := findJava(ctx)
	path, err := exec.LookPath("mvn")
	switch {
	case err != nil && javaErr != nil:
		return "", missing("no mvn and no usable java found")
	case err != nil:
		return "", missing("no mvn found")
	}
	return path, javaErr
}
