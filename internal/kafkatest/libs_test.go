package kafkatest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseVersions(t *testing.T) {
	for list, want := range map[string][]string{
		"":                {DefaultVersion},
		" , ":             {DefaultVersion},
		"4.0.2":           {"4.0.2"},
		" 4.0.2, 4.3.1 ,": {"4.0.2", "4.3.1"},
		"all":             AllVersions,
	} {
		if got := parseVersions(list); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", list, got, want)
		}
	}
	for v, ok := range map[string]bool{"4.4.0": true, "4.4": false, "../4.4.0": false, "4.4.0-rc1": false, "": false} {
		if err := checkVersion(v); (err == nil) != ok {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for _, cfg := range []Config{{Nodes: 2}, {Version: "new"}} {
		if _, err := Open(t.Context(), cfg); err == nil {
			t.Errorf("%+v started", cfg)
		}
	}
}

func TestMissingTools(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("ROLLCALL_KAFKA_CACHE", t.TempDir())
	_, err := Libs(t.Context(), DefaultVersion)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"mvn", "JDK 17 or newer", "Maven 3.6", "JAVA_HOME", "ROLLCALL_KAFKA_CACHE", "KAFKA_VERSIONS"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
	if _, err := Open(t.Context(), Config{}); err == nil || !strings.Contains(err.Error(), "JDK 17 or newer") {
		t.Errorf("open: %v", err)
	}
}

// scripts makes a folder for scripts that stand in for java and mvn, the first
// on the PATH, with an empty cache.
func scripts(t *testing.T) (bin, cache string, script func(name, body string)) {
	bin, cache = t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("JAVA_HOME", "")
	t.Setenv("ROLLCALL_KAFKA_CACHE", cache)
	return bin, cache, func(name, body string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

const newJava = `echo 'openjdk version "25-ea" 2025-09-16' >&2`

func TestJavaVersion(t *testing.T) {
	_, _, script := scripts(t)
	script("mvn", "exit 1")
	script("java", `echo 'openjdk version "11.0.2" 2019-01-15' >&2`)
	if _, err := Libs(t.Context(), "4.4.0"); err == nil || !strings.Contains(err.Error(), "is Java 11") {
		t.Errorf("old java: %v", err)
	}
	script("java", newJava)
	if j, err := findJava(t.Context()); err != nil || j.version != "25-ea" {
		t.Errorf("new java: %v, %v", j, err)
	}
}

// TestFetch has several ask at once for what only the second try can fetch.
func TestFetch(t *testing.T) {
	defer func(d time.Duration) { fetchPause = d }(fetchPause)
	fetchPause = 10 * time.Millisecond
	bin, cache, script := scripts(t)
	script("java", newJava)
	script("mvn", `
for a; do case $a in -DoutputDirectory=*) dir=${a#*=};; esac; done
if [ ! -e "$0.tried" ]; then touch "$0.tried"; echo no network; exit 1; fi
grep -q '<artifactId>kafka-tools</artifactId><version>4.4.0<' pom.xml || exit 1
echo run >> "$0.ran"
mkdir "$dir" && touch "$dir/kafka_2.13-4.4.0.jar" "$dir/kafka-tools-4.4.0.jar"`)
	results := make(chan error)
	for range 3 {
		go func() {
			dir, err := Libs(context.Background(), "4.4.0")
			if err == nil && dir != filepath.Join(cache, "4.4.0") {
				err = errors.New("it is " + dir)
			}
			results <- err
		}()
	}
	for range 3 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if ran, _ := os.ReadFile(filepath.Join(bin, "mvn.ran")); string(ran) != "run\n" {
		t.Errorf("mvn ran: %q", ran)
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := Libs(t.Context(), "4.4.0"); err != nil {
		t.Errorf("with a complete cache: %v", err)
	}
}

func TestLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	if _, err := lockFile(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second lock: %v", err)
	}
	unlock()
	unlock, err = lockFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
