package kafkatest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// JavaApp is a running Java program of one source file, with the jars of a Kafka version
// (clients, streams and tools) on its class path. It should end when its stdin does.
type JavaApp struct {
	proc  *process
	stdin io.Closer

	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed, and made anew, with each line and at the end
	over  bool
}

// StartJava starts a program; it is killed at the end of the test if it still runs.
// Needs a JDK, as java compiles the source.
func StartJava(tb testing.TB, version, source string, args ...string) *JavaApp {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	a, err := startJava(ctx, version, source, args)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		a.proc.kill()
		if tb.Failed() {
			tb.Logf("%s:\n%s", filepath.Base(source), strings.Join(a.Lines(), "\n"))
		}
	})
	return a
}

func startJava(ctx context.Context, version, source string, args []string) (*JavaApp, error) {
	java, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	libs, err := Libs(ctx, version)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(java.path, append([]string{"-Xmx192m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", filepath.Join(libs, "*"), source}, args...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = in, in
	p, err := startProcess(cmd)
	_ = in.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	a := &JavaApp{proc: p, stdin: stdin, more: make(chan struct{})}
	go a.read(out)
	return a, nil
}

func (a *JavaApp) read(out io.ReadCloser) {
	defer out.Close()
	for s := bufio.NewScanner(out); s.Scan(); {
		a.add(s.Text(), false)
	}
	a.add("", true)
}

func (a *JavaApp) add(line string, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over = over; !over {
		a.lines = append(a.lines, line)
	}
	close(a.more)
	a.more = make(chan struct{})
}

// Lines are what the program has written so far, on stdout and stderr.
func (a *JavaApp) Lines() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.lines)
}

// Wait waits until cond holds for the lines so far.
func (a *JavaApp) Wait(ctx context.Context, cond func(lines []string) bool) error {
	for {
		a.mu.Lock()
		lines, more, over := slices.Clone(a.lines), a.more, a.over
		a.mu.Unlock()
		if cond(lines) {
			return nil
		}
		if over {
			return fmt.Errorf("kafkatest: the Java program has ended")
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stop ends the program's stdin, and waits until it has ended, for 30 s at most.
func (a *JavaApp) Stop() error {
	_ = a.stdin.Close()
	if !a.proc.waitFor(30 * time.Second) {
		return fmt.Errorf("kafkatest: the Java program does not end")
	}
	return a.proc.err
}
