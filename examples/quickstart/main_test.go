package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// In a bubble this takes no real time; the times that it prints are exact.
func TestQuickstart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var out bytes.Buffer
		if code := run(t.Context(), &out); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("took %v", took)
		}
		for _, want := range []string{
			"7. everybody leaves.", "members in the group: 4, no ghost", "members left in the group: 0", "OK: every expectation held",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in the output", want)
			}
		}
		if t.Failed() {
			t.Log(out.String())
		}
	})
}

func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var out bytes.Buffer
		code := run(ctx, &out)
		if s := out.String(); code != 1 || !strings.Contains(s, "interrupted") || !strings.Contains(s, "members left in the group: 0") {
			t.Errorf("exit code %d:\n%s", code, s)
		}
	})
}
