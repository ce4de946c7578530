package kafkatest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

const (
	doneMark     = ".done"
	copyGoal     = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
	fetchTries   = 3
	slf4jVersion = "1.7.36" // the slf4j-api of all these Kafka versions
)

// fetchPause is the time before the second try; a test shortens it.
var fetchPause = 2 * time.Second

// The jars of kafka_2.13 come without a logger, and a broker that cannot start
// would then not say why: slf4j-simple writes to stderr.
var pom = template.Must(template.New("pom").Parse(`<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>kafkatest</groupId><artifactId>kafka-libs</artifactId><version>1</version><dependencies>
{{- range .Artifacts}}
<dependency><groupId>org.apache.kafka</groupId><artifactId>{{.}}</artifactId><version>{{$.Version}}</version></dependency>
{{- end}}
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>{{.Slf4j}}</version></dependency>
</dependencies></project>
`))

// Libs returns the folder with the jars of a Kafka version, which it fetches
// through Maven if the cache does not have them. Test processes that ask for
// the same version at the same time fetch it once.
func Libs(ctx context.Context, version string) (string, error) {
	if err := checkVersion(version); err != nil {
		return "", err
	}
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, version)
	if complete(dir) {
		return dir, nil
	}
	mvn, err := findMaven(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete(dir) { // another process fetched them meanwhile
		return dir, nil
	}
	for try := 1; ; try++ {
		if err = fetch(ctx, mvn, version, dir); err == nil {
			return dir, nil
		}
		if try == fetchTries || ctx.Err() != nil {
			return "", fmt.Errorf("kafkatest: fetching Kafka %s (try %d): %w", version, try, err)
		}
		sleep(ctx, time.Duration(try)*fetchPause)
	}
}

// cacheRoot is the folder that has one folder of jars per version.
func cacheRoot() (string, error) {
	if dir := os.Getenv("ROLLCALL_KAFKA_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("kafkatest: no place for Kafka's jars, set ROLLCALL_KAFKA_CACHE: %w", err)
	}
	return filepath.Join(dir, "rollcall", "kafka"), nil
}

func complete(dir string) bool { return hasFile(filepath.Join(dir, doneMark)) }

func hasFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// fetch fills dir; the mark comes last, so that a fetch that was cut short is
// not mistaken for a complete one.
func fetch(ctx context.Context, mvn, version, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "rollcall-kafka-pom-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	var b bytes.Buffer
	err = pom.Execute(&b, map[string]any{
		"Version": version, "Slf4j": slf4jVersion,
		"Artifacts": []string{"kafka_2.13", "kafka-tools", "kafka-streams"},
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work, "pom.xml"), b.Bytes(), 0o644); err != nil {
		return err
	}
	// -U: a failed try leaves a mark in Maven's local repository that keeps
	// the next one from asking again.
	cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "-U", copyGoal, "-DoutputDirectory="+dir, "-DincludeScope=runtime")
	cmd.Dir = work
	if out, err := runProcess(cmd); err != nil {
		return fmt.Errorf("mvn: %w\n%s", err, lastLines(out, 30))
	}
	for _, jar := range []string{"kafka_2.13-", "kafka-tools-"} {
		if !hasFile(filepath.Join(dir, jar+version+".jar")) {
			return fmt.Errorf("mvn ended well but left no %s%s.jar", jar, version)
		}
	}
	return os.WriteFile(filepath.Join(dir, doneMark), nil, 0o644)
}

// lastLines returns the last n lines of some output.
func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// sleep waits, but not longer than ctx lasts.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
