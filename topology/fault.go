package topology

import (
	"fmt"
	"strings"
)

// InvalidError has every fault of a topology or a description, not just the first.
type InvalidError struct {
	// Of is what is invalid: "topology" or "topology description".
	Of string
	// Faults has one at least. Its order is the same each time.
	Faults []Fault
}

// Fault is one fault: where, and what is wrong.
type Fault struct {
	// Path as in the JSON form, with indexes from 0: "subtopologies[1].id". "" is the whole.
	Path string
	// Problem in words: "used twice: see subtopologies[0].id".
	Problem string
}

func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = f.String()
	}
	n := fmt.Sprintf("%d faults: ", len(e.Faults))
	if len(e.Faults) == 1 {
		n = ""
	}
	return "invalid " + e.Of + ": " + n + strings.Join(parts, "; ")
}

// String is "path: problem".
func (f Fault) String() string {
	if f.Path == "" {
		return f.Problem
	}
	return f.Path + ": " + f.Problem
}

type faults []Fault

func (fs *faults) add(path, format string, args ...any) {
	*fs = append(*fs, Fault{path, fmt.Sprintf(format, args...)})
}

// err is nil when there are none.
func (fs faults) err(of string) error {
	if len(fs) == 0 {
		return nil
	}
	return &InvalidError{of, fs}
}
