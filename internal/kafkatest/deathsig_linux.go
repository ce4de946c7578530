package kafkatest

import (
	"os/exec"
	"syscall"
)

// tieToParent has the kernel kill the child when the test process dies, and
// keeps a terminal's interrupt from reaching the child before the test.
func tieToParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
