package kafkatest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lockFile waits for the exclusive lock of a file, which it creates. The lock
// ends with unlock or with the process. The file stays, because removing it
// would let two processes hold locks on two files of the same name.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := tryLock(f)
		if ok {
			return func() { f.Close() }, nil
		}
		if err == nil {
			// A blocking lock would not heed ctx.
			sleep(ctx, 100*time.Millisecond)
			err = ctx.Err()
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("kafkatest: waiting for the lock %s: %w", path, err)
		}
	}
}

// slot is this process's share in the machine's only slot for brokers.
var slot struct {
	mu     sync.Mutex
	users  int
	unlock func()
}

// takeSlot waits until no other test process has brokers. Every cluster of
// this process takes the slot; it is free again when all have left it.
func takeSlot(ctx context.Context) error {
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.users == 0 {
		// One file for all caches, hence not in cacheRoot.
		dir, err := os.UserCacheDir()
		if err != nil {
			dir = os.TempDir()
		}
		dir = filepath.Join(dir, "rollcall")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if slot.unlock, err = lockFile(ctx, filepath.Join(dir, "brokers.lock")); err != nil {
			return err
		}
		removeLeftovers()
	}
	slot.users++
	return nil
}

func leaveSlot() {
	slot.mu.Lock()
	defer slot.mu.Unlock()
	if slot.users--; slot.users == 0 {
		slot.unlock()
	}
}

const dataPrefix = "rollcall-kafka-data-"

// makeDataDir makes a folder for a cluster's data; its name has the process
// id, so that removeLeftovers can tell whose it is.
func makeDataDir() (string, error) {
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", dataPrefix, os.Getpid()))
}

// removeLeftovers removes the data of test processes that were killed.
func removeLeftovers() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dataPrefix+"*"))
	for _, dir := range dirs {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dataPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && n > 0 && dead(n) {
			_ = os.RemoveAll(dir)
		}
	}
}
