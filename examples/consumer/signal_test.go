//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram makes the test binary the program.
const asProgram = "ROLLCALL_EXAMPLE_CONSUMER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process runs the program, in real time, until line says that it has seen enough.
// It then sends the signals and returns the exit code and everything that was
// printed.
func process(t *testing.T, enough func(line) bool, signals []os.Signal, args ...string) (int, []line) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer kill.Stop()
	var all strings.Builder
	done := false
	for sc := bufio.NewScanner(pipe); sc.Scan(); {
		all.WriteString(sc.Text() + "\n")
		if !done && enough(readLine(t, sc.Text())) {
			done = true
			for _, s := range signals {
				cmd.Process.Signal(s)
				time.Sleep(100 * time.Millisecond) // two at once are one
			}
		}
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ok && !exit.Exited() {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), read(t, []byte(all.String()))
}

// stable says that each of n members owns something and all of it is acknowledged.
func stable(n int) func(line) bool {
	owned := map[int]int{}
	return func(l line) bool {
		delete(owned, l.Member)
		if l.State == "STABLE" {
			owned[l.Member] = len(l.Owned[defaultTopic])
		}
		sum := 0
		for _, v := range owned {
			sum += v
		}
		return len(owned) == n && sum == partitionsEach
	}
}

func TestSignalLeaves(t *testing.T) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		code, lines := process(t, stable(3), []os.Signal{s}, "-members", "3")
		if code != 0 || exclusive(t, lines) != partitionsEach {
			t.Errorf("%v: exit code %d", s, code)
		}
		for i := range 3 {
			if len(of(lines, i, "left")) != 1 {
				t.Errorf("%v: member %d: %s", s, i, events(lines, i))
			}
		}
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	began := time.Now()
	code, lines := process(t, stable(1), []os.Signal{os.Interrupt, syscall.SIGTERM}, "-revoke-delay", "1m")
	if code != 1 || len(of(lines, 0, "left", "revoked")) != 0 {
		t.Errorf("exit code %d, events %s", code, events(lines, 0))
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// A reader that goes away does not kill the program: the members leave.
func TestClosedPipe(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asProgram+"=1")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(pipe).ReadString('\n'); err != nil {
		t.Error(err)
	}
	pipe.Close()
	cmd.Wait()
	if s := cmd.ProcessState; !s.Exited() || s.ExitCode() != 1 {
		t.Errorf("ended with %v", s)
	}
}
