package rollcall

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/rollcall-go/rollcall"

// mayImport says which packages of this module a package may import, by folder.
// Imports go one way: examples -> member -> heartbeat and its transport.
var mayImport = map[string][]string{
	"":                       {},
	"internal/backoff":       {},
	"internal/kafkatest":     {},
	"heartbeat":              {"internal/backoff"},
	"heartbeat/kgotransport": {"heartbeat"},
	"member":                 {"heartbeat", "heartbeat/kgotransport", "internal/backoff"},
	"topology":               {},
	"membertest":             {"heartbeat", "member", "membertest/brokers", "membertest/coordinator"},
	"membertest/coordinator": {},
	"membertest/brokers":     {"membertest/coordinator"},
	"internal/scenarios":     {"membertest/coordinator", "membertest/brokers", "internal/kafkatest"},
	"examples/quickstart":    {"heartbeat", "heartbeat/kgotransport", "member", "membertest/brokers", "membertest/coordinator"},
	"examples/consumer":      {"heartbeat", "member", "membertest/brokers", "membertest/coordinator"},
	"examples/topologyctl":   {"heartbeat", "heartbeat/kgotransport", "internal/backoff", "topology"},
}

// mayDepend are the modules that production code may import.
var mayDepend = map[string][]string{
	"":                       {"github.com/twmb/franz-go/pkg/kgo", "github.com/twmb/franz-go/pkg/kmsg", "github.com/twmb/franz-go/pkg/kerr", "github.com/google/uuid"},
	"heartbeat/kgotransport": {"github.com/twmb/franz-go/pkg/kversion", "github.com/twmb/franz-go/pkg/sasl"},
	"membertest/brokers":     {"github.com/twmb/franz-go/pkg/kfake", "github.com/twmb/franz-go/pkg/kadm", "github.com/twmb/franz-go/pkg/kversion"},
	"internal/scenarios":     {"github.com/twmb/franz-go/pkg/kversion"},
	"examples/consumer":      {"golang.org/x/sync/errgroup"},
	"examples/topologyctl":   {"github.com/twmb/franz-go/pkg/kadm"},
	"internal/kafkatest":     {"github.com/twmb/franz-go/pkg/kadm", "github.com/twmb/franz-go/pkg/sasl/plain", "go.uber.org/goleak"},
	"membertest":             {"github.com/twmb/franz-go/pkg/kfake"},
}

// pure are the files in which rules are stated: no clock, channel, lock, goroutine,
// logger or random source of their own.
var pure = []string{
	"heartbeat/classify.go", "heartbeat/delta.go", "heartbeat/early.go", "heartbeat/request_consumer.go", "heartbeat/schedule.go", "heartbeat/waves.go",
	"member/answer.go", "member/assignment.go", "member/doubt.go", "member/faults.go", "member/fence.go", "member/joins.go", "member/lastanswers.go", "member/lastword.go", "member/leave.go",
	"member/machine.go", "member/reconcile.go", "member/remade.go", "member/rounds.go", "member/send.go", "member/siblings.go", "member/subscribe.go",
	"member/transitions.go", "member/trust.go", "internal/backoff/backoff.go",
}

type file struct {
	path, dir string
	ast       *ast.File
}

func sources(t *testing.T) (files []file) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if path != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "." {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		dir := filepath.ToSlash(filepath.Dir(path))
		if dir == "." {
			dir = ""
		}
		files = append(files, file{filepath.ToSlash(path), dir, f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files: the test looks at the wrong folder", len(files))
	}
	return files
}

func imports(f file) (paths []string) {
	for _, i := range f.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

func TestImportsGoOneWay(t *testing.T) {
	for _, f := range sources(t) {
		allowed, ok := mayImport[f.dir]
		if !ok {
			t.Errorf("%s: folder %q has no row in mayImport", f.path, f.dir)
			continue
		}
		for _, p := range imports(f) {
			if own, ok := strings.CutPrefix(p, module+"/"); ok && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s", f.path, own)
			}
		}
	}
}

func TestDependenciesAreFew(t *testing.T) {
	for _, f := range sources(t) {
		for _, p := range imports(f) {
			std := !strings.Contains(strings.SplitN(p, "/", 2)[0], ".")
			if std || strings.HasPrefix(p, module) || slices.Contains(mayDepend[""], p) || slices.Contains(mayDepend[f.dir], p) {
				continue
			}
			t.Errorf("%s imports %s", f.path, p)
		}
	}
}

// kgo is named only where a client is really used.
func TestKgoStaysAtTheEdge(t *testing.T) {
	edge := []string{"member/consumer.go", "member/scope.go"}
	for _, f := range sources(t) {
		if f.dir != "member" && f.dir != "heartbeat" || slices.Contains(edge, f.path) {
			continue
		}
		if slices.Contains(imports(f), "github.com/twmb/franz-go/pkg/kgo") {
			t.Errorf("%s imports kgo", f.path)
		}
	}
}

func TestPureFilesArePure(t *testing.T) {
	found := 0
	for _, f := range sources(t) {
		listed := slices.Contains(pure, f.path)
		if !listed && (f.dir != "topology" || f.path == "topology/env.go") {
			continue
		}
		if listed {
			found++
		}
		for _, p := range imports(f) {
			if slices.Contains([]string{"sync", "sync/atomic", "log", "log/slog", "os", "net", "runtime"}, p) {
				t.Errorf("%s imports %s", f.path, p)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if what := impure(n); what != "" {
				t.Errorf("%s has %s", f.path, what)
			}
			return true
		})
	}
	if found != len(pure) {
		t.Errorf("%d of the %d pure files exist", found, len(pure))
	}
}

func impure(n ast.Node) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a go statement"
	case *ast.ChanType, *ast.SendStmt, *ast.SelectStmt:
		return "a channel"
	case *ast.SelectorExpr:
		pkg, ok := n.X.(*ast.Ident)
		if !ok {
			return ""
		}
		clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Sleep", "Tick"}
		if pkg.Name == "time" && slices.Contains(clock, n.Sel.Name) {
			return "time." + n.Sel.Name
		}
		if pkg.Name == "rand" && n.Sel.Name != "Rand" {
			return "rand." + n.Sel.Name
		}
	}
	return ""
}

// Every exported name of a package that users import says what it is.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range sources(t) {
		if strings.HasPrefix(f.dir, "examples/") {
			continue
		}
		for _, d := range f.ast.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s has no doc comment", f.path, name)
			}
		}
	}
}

func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && s.Doc == nil && d.Doc == nil && s.Comment == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// exportedReceiver leaves out methods of unexported types, and those that only
// implement an interface whose contract is written down elsewhere.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	if slices.Contains([]string{"Error", "String", "Unwrap"}, d.Name.Name) {
		return false
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if idx, ok := typ.(*ast.IndexExpr); ok {
		typ = idx.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
