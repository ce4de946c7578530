//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kafkatest

import (
	"errors"
	"os"
	"syscall"
)

var (
	pauseSignal  os.Signal = syscall.SIGSTOP
	resumeSignal os.Signal = syscall.SIGCONT
	termSignal   os.Signal = syscall.SIGTERM
)

// tryLock takes an exclusive lock on an open file if nobody has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK), errors.Is(err, syscall.EINTR):
		return false, nil
	}
	return false, err
}

// dead says whether there is certainly no such process.
func dead(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
