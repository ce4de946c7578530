//go:build kafka

package kafkatest

import (
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	check(t, takeSlot(t.Context()))
	defer leaveSlot()
	for _, n := range []int{1, 1, 3} {
		for _, v := range AllVersions {
			b := time.Now()
			c, err := Open(t.Context(), Config{Version: v, Nodes: n})
			check(t, err)
			d := time.Since(b)
			b = time.Now()
			c.Stop()
			t.Logf("START %s %d nodes: %v stop %v", v, n, d.Round(10*time.Millisecond), time.Since(b))
		}
	}
}
