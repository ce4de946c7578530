package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rollcall-go/rollcall/topology"
)

// flags are those of one command, and where its group is.
type flags struct {
	*flag.FlagSet
	brokers string
	group   string
	timeout time.Duration
	files   []string
}

func (p *program) flags(name, files string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet("topologyctl "+name, flag.ContinueOnError)}
	f.SetOutput(p.log)
	f.Usage = func() {
		fmt.Fprintf(p.log, "usage: topologyctl %s [flags] %s\n", name, files)
		f.PrintDefaults()
	}
	return f
}

// ofGroup adds the flags that say which group.
func (f *flags) ofGroup() {
	f.StringVar(&f.brokers, "brokers", "", "comma-separated `addresses` of brokers to begin with")
	f.StringVar(&f.group, "group", "", "group `ID`: a Kafka Streams application.id")
	f.DurationVar(&f.timeout, "timeout", 15*time.Second, "how long to try to get an answer from the brokers")
}

// epoch adds the flags for a topology epoch.
func (f *flags) epoch(e *topology.Epoch, usage string) {
	f.Var(e, "topology-epoch", "as -epoch")
	f.Var(e, "epoch", usage)
}

// read parses args: flags, and as many files as said, in any order.
func (f *flags) read(args []string, files ...int) error {
	f.Func("topology", "a topology `file`, which may as well stand alone", func(s string) error {
		f.files = append(f.files, s)
		return nil
	})
	for {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			return err
		} else if err != nil {
			return usage("%w", err)
		}
		if f.NArg() == 0 {
			break
		}
		f.files = append(f.files, f.Arg(0))
		args = f.Args()[1:]
	}
	if !slices.Contains(files, len(f.files)) {
		return usage("%d files given, %v wanted: %v", len(f.files), files, f.files)
	}
	return nil
}

// wantGroup reports every flag that is missing.
func (f *flags) wantGroup() error {
	var missing []string
	if len(f.addresses()) == 0 {
		missing = append(missing, "-brokers")
	}
	if f.group == "" {
		missing = append(missing, "-group")
	}
	if f.timeout <= 0 {
		missing = append(missing, "a positive -timeout")
	}
	if len(missing) > 0 {
		return usage("wanted: %s", strings.Join(missing, ", "))
	}
	return nil
}

func (f *flags) addresses() []string {
	return strings.FieldsFunc(f.brokers, func(r rune) bool { return r == ',' || r == ' ' })
}

// load reads a JSON file; "-" is standard input. Both kinds validate themselves, and name every fault.
func load[T topology.Topology | topology.Description](p *program, name string) (T, error) {
	var v T
	var text []byte
	var err error
	if name == "-" {
		text, err = io.ReadAll(p.in)
	} else {
		text, err = os.ReadFile(name)
	}
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		return v, usage("%s: %w", name, err)
	}
	return v, nil
}

// print writes v as indented JSON.
func (p *program) print(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
