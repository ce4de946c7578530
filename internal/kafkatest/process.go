package kafkatest

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// process is a child that does not outlive the test process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // of its Wait, once it has ended
}

// startProcess starts a child from a goroutine that keeps its OS thread until
// the child ends: Linux sends the parent death signal when the thread that
// started the child ends, not when the process does.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	tieToParent(cmd)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.done)
	}()
	return p, <-started
}

// runProcess runs a child to its end and returns all it wrote. The output is
// read to its end because mvn reports a reader that stops early as a failure.
func runProcess(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	p, err := startProcess(cmd)
	if err != nil {
		return nil, err
	}
	<-p.done
	return out.Bytes(), p.err
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process at once, also if it is paused, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(os.Kill)
	<-p.done
}

// waitFor says whether the process ended within d.
func (p *process) waitFor(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}
