package topology_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const guide = "../docs/topology.md"

// block is the first code block of a language in a text.
func block(t *testing.T, text, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("no %s in %s", language, guide)
	}
	return code
}

// The file and the drawing in the guide belong together, and are what the package makes.
func TestGuideIsCurrent(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	topo := load(t, []byte(block(t, string(text), "json")))
	equal(t, "drawing", block(t, string(text), "mermaid"), topo.Mermaid())
}

// Every row has its test, or says where it is.
func TestGuideNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	commands, err := filepath.Glob("../examples/topologyctl/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, commands...)
	var code strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(b)
	}
	names := regexp.MustCompile(`(Test|Fuzz)[A-Z]\w+`).FindAllString(string(text), -1)
	for _, n := range names {
		if !strings.Contains(code.String(), "\nfunc "+n+"(") {
			t.Errorf("%s names %s, which does not exist", guide, n)
		}
	}
	equal(t, "rows", len(regexp.MustCompile(`(?m)^\| K1071-\d+ \|`).FindAllString(string(text), -1)), 30)
}

// The JSON form in the package documentation is read as it stands there.
func TestPackageDocumentationIsCurrent(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "# The JSON form\n")
	form, _, _ := strings.Cut(rest, "// All but")
	load(t, []byte(strings.ReplaceAll(form, "//", "")))
}
