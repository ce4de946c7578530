//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package kafkatest

import "os"

// There are no such signals here: pausing a node is an error.
var pauseSignal, resumeSignal, termSignal os.Signal = os.Interrupt, os.Interrupt, os.Interrupt

// tryLock always succeeds: without file locks, run one package at a time.
func tryLock(*os.File) (bool, error) { return true, nil }

func dead(int) bool { return false }
