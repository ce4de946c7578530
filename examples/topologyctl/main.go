// Command topologyctl looks after the topology of a streams group (KIP-1071):
// what a group has, how it stands to a file, what a rollout has to set, and how
// a group gets another topology with its committed offsets kept.
//
//	topologyctl describe   -brokers B -group G [-json]
//	topologyctl diff       OLD.json NEW.json
//	topologyctl diff       -brokers B -group G NEW.json
//	topologyctl next-epoch -brokers B -group G FILE.json
//	topologyctl check      -brokers B -group G -epoch N [-allow-update] [-allow-skip] [-allow-rollback] FILE.json
//	topologyctl graph      [-format dot|mermaid] FILE.json
//	topologyctl graph      [-format dot|mermaid] -description FILE.json
//	topologyctl graph      [-format dot|mermaid] -brokers B -group G
//	topologyctl reset      -brokers B -group G [-save FILE] [-dry-run] [-yes] [-epoch N] [NEW.json]
//
// Flags and files may stand in any order. A file is a topology in the JSON form of package
// topology; "-" is standard input. What was asked for is on stdout, everything
// else on stderr. "topologyctl COMMAND -h" lists the flags of a command.
//
// # Exit code
//
// 0: same, or done. 1: different, refused, or there is no such streams group. 2:
// wrong flags, or a file that cannot be used. 3: cannot tell: no broker answers, a
// right is missing, or the broker does not show it. "go run" makes a 1 of 2 and 3: build it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const (
	exitDone     = 0
	exitRefused  = 1
	exitUsage    = 2
	exitNotKnown = 3
)

// exit is an error with the code that the program ends with.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

func refused(format string, args ...any) error {
	return &exit{exitRefused, fmt.Errorf(format, args...)}
}

func usage(format string, args ...any) error { return &exit{exitUsage, fmt.Errorf(format, args...)} }

// errDifferent ends a command that has said on stdout what is different.
var errDifferent = &exit{exitRefused, errors.New("different")}

// program is where a command reads and writes.
type program struct {
	in       io.Reader
	out, log io.Writer
}

type command struct {
	name, what string
	run        func(ctx context.Context, p *program, args []string) error
}

var commands = []command{
	{"describe", "shows a streams group: state, epochs, topology, members and their tasks", describe},
	{"diff", "says field by field how one topology differs from another, or from a group's", diff},
	{"next-epoch", "says, as JSON, which topology epoch a rollout of a file has to set", nextEpoch},
	{"check", "says whether a member with a file and an epoch may join a group: the guard, for CI", check},
	{"graph", "draws a topology or a description as DOT or Mermaid", graph},
	{"reset", "deletes an empty group, which frees its topology, and keeps its committed offsets", reset},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, &program{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// run is the program, and returns the exit code.
func run(ctx context.Context, p *program, args []string) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		fmt.Fprintln(p.log, "usage: topologyctl COMMAND [flags] [files]; the commands:")
		for _, c := range commands {
			fmt.Fprintf(p.log, "  %-11s %s\n", c.name, c.what)
		}
		if len(args) == 0 {
			return exitUsage
		}
		return exitDone
	}
	for _, c := range commands {
		if c.name == args[0] {
			return p.ended(c.name, c.run(ctx, p, args[1:]))
		}
	}
	fmt.Fprintf(p.log, "topologyctl: no command %q: see topologyctl -h\n", args[0])
	return exitUsage
}

// ended says what went wrong, if something did, and is the exit code.
func (p *program) ended(command string, err error) int {
	var e *exit
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.Is(err, errDifferent):
		return exitRefused
	case errors.As(err, &e):
		fmt.Fprintf(p.log, "topologyctl %s: %v\n", command, err)
		return e.code
	}
	fmt.Fprintf(p.log, "topologyctl %s: %v\n", command, err)
	return exitNotKnown
}
