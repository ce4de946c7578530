package kafkatest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

const parentEnv = "KAFKATEST_PARENT"

// TestChildDiesWithParent kills a process that has started a child with
// startProcess.
func TestChildDiesWithParent(t *testing.T) {
	if os.Getenv(parentEnv) != "" {
		beParent(t)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildDiesWithParent$")
	cmd.Env = append(os.Environ(), parentEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	_, scanErr := fmt.Fscanf(out, "child %d\n", &pid)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if scanErr != nil {
		t.Fatal(scanErr)
	}
	for range 100 {
		if !alive(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the child %d lives on", pid)
}

// beParent tells the child's id once the child has outlived the goroutine that
// asked for it and the threads that came and went.
func beParent(t *testing.T) {
	var p *process
	asked := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		var err error
		p, err = startProcess(exec.Command("sleep", "60"))
		asked <- err
	}()
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if p.ended() {
		t.Fatal("the child died with the thread that asked for it")
	}
	fmt.Printf("child %d\n", p.cmd.Process.Pid)
	select {}
}

// alive also counts a process as dead that nobody has waited for.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(b), ") Z ")
}
