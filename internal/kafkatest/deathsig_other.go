//go:build !linux

package kafkatest

import "os/exec"

// tieToParent does nothing: only Linux has a parent death signal. Here brokers
// end in the cleanup of the tests and in Main.
func tieToParent(*exec.Cmd) {}
