package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/rollcall-go/rollcall/topology"
)

// diff compares two files, or the topology of a group with a file.
func diff(ctx context.Context, p *program, args []string) error {
	f := p.flags("diff", "OLD.json NEW.json, or with -group: NEW.json")
	f.ofGroup()
	asJSON := f.Bool("json", false, "print one JSON object")
	if err := f.read(args, 1, 2); err != nil {
		return err
	}
	to, err := load[topology.Topology](p, f.files[len(f.files)-1])
	if err != nil {
		return err
	}
	var c topology.Comparison
	if len(f.files) == 2 {
		if f.group != "" {
			return usage("either two files, or -group and one file")
		}
		from, err := load[topology.Topology](p, f.files[0])
		if err != nil {
			return err
		}
		c = topology.Comparison{Verdict: topology.Same, GroupID: from.ID()}
		if c.Changes = topology.Diff(from, to); len(c.Changes) > 0 {
			c.Verdict = topology.Different
		}
	} else if c, err = f.compare(ctx, to); err != nil {
		return err
	}
	return p.tell(c, to.ID(), *asJSON)
}

// compare compares with the group's topology.
func (f *flags) compare(ctx context.Context, to topology.Topology) (topology.Comparison, error) {
	g, err := f.connect()
	if err != nil {
		return topology.Comparison{}, err
	}
	defer g.cl.Close()
	d, err := g.deployed(ctx)
	if err != nil {
		return topology.Comparison{}, err
	}
	return topology.Compare(to, d), nil
}

// comparisonView is what diff prints with -json.
type comparisonView struct {
	topology.Comparison
	ID topology.ID `json:"id"` // of the new topology; group_id is the old one's
}

func (p *program) tell(c topology.Comparison, to topology.ID, asJSON bool) error {
	if asJSON {
		if err := p.print(comparisonView{c, to}); err != nil {
			return err
		}
	} else {
		p.tellText(c, to)
	}
	switch c.Verdict {
	case topology.Same:
		return nil
	case topology.NoGroup:
		return refused("there is no such group")
	case topology.CannotTell:
		return &exit{exitNotKnown, topology.ErrCannotTell}
	case topology.Different:
		return errDifferent
	}
	return fmt.Errorf("verdict %v", c.Verdict)
}

func (p *program) tellText(c topology.Comparison, to topology.ID) {
	fmt.Fprintf(p.out, "%v: %s -> %s\n", c.Verdict, orNone(c.GroupID), to)
	for _, change := range c.Changes {
		fmt.Fprintln(p.out, " ", change)
	}
	p.tellHidden(c)
}

func (p *program) tellHidden(c topology.Comparison) {
	for _, h := range c.Hidden {
		fmt.Fprintln(p.out, "  not shown, so not compared:", h)
	}
}

func orNone(id topology.ID) string {
	if id == "" {
		return "(not shown)"
	}
	return string(id)
}

// nextEpoch prints the plan of a rollout.
func nextEpoch(ctx context.Context, p *program, args []string) error {
	f := p.flags("next-epoch", "FILE.json")
	f.ofGroup()
	if err := f.read(args, 1); err != nil {
		return err
	}
	own, err := load[topology.Topology](p, f.files[0])
	if err != nil {
		return err
	}
	g, err := f.connect()
	if err != nil {
		return err
	}
	defer g.cl.Close()
	d, err := g.deployed(ctx)
	if err != nil {
		return err
	}
	plan := topology.Next(own, d)
	if err := p.print(plan); err != nil {
		return err
	}
	if plan.Verdict == topology.CannotTell {
		return &exit{exitNotKnown, topology.ErrCannotTell}
	}
	if !plan.Bump {
		fmt.Fprintln(p.log, "no bump is due: keep epoch", plan.Epoch)
	}
	return nil
}

// check is the guard of a member, asked before the rollout.
func check(ctx context.Context, p *program, args []string) error {
	f := p.flags("check", "FILE.json")
	f.ofGroup()
	var epoch topology.Epoch
	var guard topology.Guard
	f.epoch(&epoch, "topology `epoch` of the member; the environment variable TOPOLOGY_EPOCH if not given, and 0 without one")
	f.BoolVar(&guard.AllowUpdate, "allow-update", false, "let an epoch pass that is newer by one, where the broker can update")
	f.BoolVar(&guard.AllowSkip, "allow-skip", false, "let any newer epoch pass, where the broker can update")
	f.BoolVar(&guard.AllowRollback, "allow-rollback", false, "let an older epoch pass")
	if err := f.read(args, 1); err != nil {
		return err
	}
	own, err := load[topology.Topology](p, f.files[0])
	if err != nil {
		return err
	}
	if !f.given("epoch") && !f.given("topology-epoch") {
		if epoch, err = topology.EpochFromEnv("TOPOLOGY_EPOCH"); err != nil {
			return usage("%w", err)
		}
	}
	g, err := f.connect()
	if err != nil {
		return err
	}
	defer g.cl.Close()
	found, err := guard.Ask(ctx, own, epoch, g.deployed)
	return p.verdict(own, epoch, found, err)
}

// verdict says how the guard has judged.
func (p *program) verdict(own topology.Topology, epoch topology.Epoch, found topology.Finding, err error) error {
	var e *topology.GuardError
	switch {
	case errors.As(err, &e):
		for _, change := range e.Changes { // the error names the first ones only
			fmt.Fprintln(p.out, change)
		}
		return &exit{exitRefused, err}
	case errors.Is(err, topology.ErrOtherType):
		return &exit{exitRefused, err}
	case err != nil:
		return err
	case found.Notice != nil:
		return &exit{exitNotKnown, found.Notice}
	}
	fmt.Fprintf(p.out, "may join: %s with epoch %v, group %v at epoch %v\n", own.ID(), epoch, found.Verdict, found.Deployed.Epoch)
	p.tellHidden(found.Comparison)
	return nil
}

// given reports whether a flag is on the command line.
func (f *flags) given(name string) bool {
	found := false
	f.Visit(func(g *flag.Flag) { found = found || g.Name == name })
	return found
}

// graph draws.
func graph(ctx context.Context, p *program, args []string) error {
	f := p.flags("graph", "FILE.json, or with -description or -group: nothing")
	f.ofGroup()
	format := f.String("format", "mermaid", "\"dot\" (Graphviz) or \"mermaid\"")
	description := f.String("description", "", "`FILE` with a topology description (KIP-1331) to draw")
	if err := f.read(args, 0, 1); err != nil {
		return err
	}
	if *format != "dot" && *format != "mermaid" {
		return usage("-format %q: wanted dot or mermaid", *format)
	}
	sources := 0
	for _, has := range []bool{len(f.files) == 1, *description != "", f.group != ""} {
		if has {
			sources++
		}
	}
	if sources != 1 {
		return usage("wanted one of: a file, -description, -group")
	}
	d, err := f.drawable(ctx, p, *description)
	if err != nil {
		return err
	}
	if *format == "dot" {
		_, err = fmt.Fprint(p.out, d.DOT())
	} else {
		_, err = fmt.Fprint(p.out, d.Mermaid())
	}
	return err
}

type drawing interface {
	DOT() string
	Mermaid() string
}

func (f *flags) drawable(ctx context.Context, p *program, description string) (drawing, error) {
	switch {
	case description != "":
		return load[topology.Description](p, description)
	case len(f.files) == 1:
		return load[topology.Topology](p, f.files[0])
	}
	g, err := f.connect()
	if err != nil {
		return nil, err
	}
	defer g.cl.Close()
	group, err := g.describe(ctx)
	if err != nil {
		return nil, err
	}
	d, err := read(group)
	switch {
	case err != nil:
		return nil, err
	case !d.Exists:
		return nil, refused("there is no streams group %q", f.group)
	}
	// The description says more, where a broker has one.
	if desc, ok, err := topology.DescriptionFromDescribe(group); err == nil && ok {
		return desc, nil
	}
	if d.Topology == nil {
		return nil, &exit{exitNotKnown, topology.ErrCannotTell}
	}
	return *d.Topology, nil
}
