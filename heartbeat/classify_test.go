package heartbeat

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A code that kerr learns must get a decision, not slip into the default.
func TestEveryCodeOfKerrHasARow(t *testing.T) {
	known := 0
	for code := int16(-1); code < 1000; code++ {
		if code != 0 && code != -1 && kerr.TypedErrorForCode(code) == kerr.UnknownServerError {
			if _, ok := verdicts[code]; ok || slices.Contains(unexpected[:], code) {
				t.Errorf("code %d has a row, but kerr does not know it", code)
			}
			continue
		}
		known++
		_, ok := verdicts[code]
		if ok == slices.Contains(unexpected[:], code) {
			t.Errorf("code %d must be in exactly one of verdicts and unexpected", code)
		}
	}
	if known < 100 {
		t.Fatalf("kerr knows only %d codes: the test looks at the wrong thing", known)
	}
}

func TestRule13CoordinatorCodes(t *testing.T) {
	for _, p := range []Phase{PhaseJoin, PhaseBeat, PhaseLeave} {
		if got := Classify(p, 14); got != OutcomeRetry {
			t.Errorf("%v, 14: %v", p, got)
		}
		for _, code := range []int16{15, 16} {
			if got := Classify(p, code); got != OutcomeRediscover {
				t.Errorf("%v, %d: %v", p, code, got)
			}
		}
	}
}

// Rule 5: a refusal is a known outcome; only 7, 13 to 16 and 129 leave it open.
func TestRule5RefusalsAreKnownOutcomes(t *testing.T) {
	for code := int16(-1); code <= 140; code++ {
		want := slices.Contains([]int16{7, 13, 14, 15, 16, 129}, code)
		for _, p := range []Phase{PhaseJoin, PhaseBeat, PhaseLeave} {
			if got := Classify(p, code).Unknown(); got != want {
				t.Errorf("%v, %d: unknown outcome %v, want %v", p, code, got, want)
			}
		}
	}
}

func TestRule14UnknownCodesAreServerErrors(t *testing.T) {
	for _, code := range []int16{-1, 137, 999, -32768, 32767} {
		if got := Classify(PhaseBeat, code); got != OutcomeServerError {
			t.Errorf("%d: %v", code, got)
		}
	}
}

// Rule 14: GROUP_ID_NOT_FOUND is lost-and-rejoin at an epoch above 0, success
// for a leave, and the end of a join (a group of another type).
func TestRule14GroupIDNotFound(t *testing.T) {
	for p, want := range map[Phase]Outcome{PhaseJoin: OutcomeFatal, PhaseBeat: OutcomeGone, PhaseLeave: OutcomeGone} {
		if got := Classify(p, 69); got != want {
			t.Errorf("%v: %v, want %v", p, got, want)
		}
	}
}
