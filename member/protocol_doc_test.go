package member_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Example)\w+)\(`)
	testName  = regexp.MustCompile("`((?:Test|Example)\\w+)`")
	namesIn   = regexp.MustCompile("((?:`(?:Test|Example)\\w+`(?:, )?)+) \\(([\\w./]+_test\\.go)\\)")
	specTest  = regexp.MustCompile(`^Test(K\d|S\d|X\d|Rule\d|Case\d)`)
	specFiles = regexp.MustCompile(`^member/(spec_.*|.*_internal|joins)_test\.go$`)
)

// testFuncs is the test functions of the module: name -> files, from its root.
func testFuncs(t *testing.T, root string) map[string][]string {
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		for _, f := range testFunc.FindAllSubmatch(src, -1) {
			out[string(f[1])] = append(out[string(f[1])], filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// docs/protocol.md and the tests are in step: each test that it names is where it says, and
// each test that is named for a row is in it.
func TestProtocolDocument(t *testing.T) {
	raw, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, funcs := string(raw), testFuncs(t, "..")
	named := map[string]bool{}
	for _, m := range testName.FindAllStringSubmatch(doc, -1) {
		named[m[1]] = true
		if funcs[m[1]] == nil {
			t.Errorf("docs/protocol.md names %s, which does not exist", m[1])
		}
	}
	for _, m := range namesIn.FindAllStringSubmatch(doc, -1) {
		file := m[2]
		if !strings.Contains(file, "/") {
			file = path.Join("member", file)
		}
		for _, n := range testName.FindAllStringSubmatch(m[1], -1) {
			if !slices.Contains(funcs[n[1]], file) {
				t.Errorf("docs/protocol.md has %s in %s; it is in %v", n[1], file, funcs[n[1]])
			}
		}
	}
	rows := 0
	for name, files := range funcs {
		if specTest.MatchString(name) && specFiles.MatchString(files[0]) {
			rows++
			if !named[name] {
				t.Errorf("%s in %s is not in docs/protocol.md", name, files[0])
			}
		}
	}
	if rows < 100 {
		t.Errorf("%d tests are named for rows: is this the right folder?", rows)
	}
}
