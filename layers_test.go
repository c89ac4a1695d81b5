package landing

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A layer is a row of the table of docs/architecture.md: packages, each with what lies below it and has no row.
type layer struct {
	floor    int
	packages []string
	text     string
}

var (
	tableRow = regexp.MustCompile(`(?m)^\| (\d+) \| (.*?) \| (.*) \|$`)
	coded    = regexp.MustCompile("`([^`]+)`")
)

// layers reads the table. The rows that a package has are by its path in the module.
func layers(t *testing.T, page string) map[string]*layer {
	t.Helper()
	of := map[string]*layer{}
	for _, m := range tableRow.FindAllStringSubmatch(page, -1) {
		floor, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		l := &layer{floor: floor, text: m[3]}
		for _, name := range coded.FindAllStringSubmatch(m[2], -1) {
			l.packages = append(l.packages, name[1])
			if of[name[1]] != nil {
				t.Errorf("%s has two rows", name[1])
			}
			of[name[1]] = l
		}
	}
	return of
}

// imported returns what the packages below a folder import of this module, tests left out.
func imported(t *testing.T, root fs.FS) map[string][]string {
	t.Helper()
	const module = "github.com/landing-diffusion/landing/"
	all := map[string][]string{}
	err := fs.WalkDir(root, ".", func(at string, e fs.DirEntry, err error) error {
		switch name := e.Name(); {
		case err != nil:
			return err
		case e.IsDir():
			if at != "." && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, at)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), at, source, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := path.Dir(at)
		all[dir] = append([]string{}, all[dir]...) // a package that imports nothing is one
		for _, s := range f.Imports {
			to, err := strconv.Unquote(s.Path.Value)
			if err != nil {
				return err
			}
			if to, ok := strings.CutPrefix(to, module); ok && !slices.Contains(all[dir], to) {
				all[dir] = append(all[dir], to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// within reports whether a package is one of some, or below one.
func within(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}

// misplaced says where a table of layers is not what packages import.
func misplaced(rows map[string]*layer, imports map[string][]string) (faults []string) {
	rowOf := func(name string) (at string) {
		for at = name; at != "." && rows[at] == nil; at = path.Dir(at) {
		}
		return at
	}
	for name := range rows {
		if imports[name] == nil {
			faults = append(faults, "there is no package "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if name == "." || within(name, "examples", "tools/testkit") { // told of beside the table
			continue
		}
		at := rowOf(name)
		if at == "." {
			faults = append(faults, name+" has no row")
			continue
		}
		row := rows[at]
		told := name == at
		for p := name; p != at && !told; p = path.Dir(p) {
			told = strings.Contains(row.text, "`"+strings.TrimPrefix(p, at+"/")+"`")
		}
		if !told && !strings.Contains(name, "/internal/") {
			faults = append(faults, name+" is not named in its row, that of "+at)
		}
		for _, to := range imports[name] {
			if within(to, "tools/testkit") {
				continue
			}
			if below := rows[rowOf(to)]; below != row && (below == nil || below.floor >= row.floor) {
				faults = append(faults, fmt.Sprintf("%s, of floor %d, imports %s, which is not below", name, row.floor,
					to))
			}
		}
	}
	return faults
}

// The table of docs/architecture.md has every package, and no package imports from its floor or above.
func TestLayers(t *testing.T) {
	page, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, imports := layers(t, string(page)), imported(t, os.DirFS("."))
	if len(rows) < 50 || len(imports) < 90 || len(imports["cmd/landing"]) < 30 {
		t.Fatalf("%d rows, %d packages", len(rows), len(imports))
	}
	for _, fault := range misplaced(rows, imports) {
		t.Error(fault)
	}

	// What the command is built of holds nothing that tests and examples alone are for.
	seen := map[string]bool{}
	var visit func(name, from string)
	visit = func(name, from string) {
		if seen[name] {
			return
		}
		seen[name] = true
		if within(name, "tools/testkit", "examples", "tools/bench/cmd", "tools/bench/conditions", "tools/bench/load", "tools/bench/planted",
			"tools/bench/problems", "tools/bench/rivals", "tools/bench/suite", "tools/site", "tools/release") || strings.HasSuffix(name, "test") {
			t.Errorf("%s imports %s, and the command is built of it", from, name)
		}
		for _, to := range imports[name] {
			visit(to, name)
		}
	}
	visit("cmd/landing", "")
	for name, to := range imports {
		if slices.Contains(to, "check") && !within(name, "experiment", "cmd/landing") {
			t.Errorf("%s imports check", name)
		}
	}
}

// A table that is wrong is seen to be.
func TestMisplaced(t *testing.T) {
	rows := layers(t, "| floor | package | its one job |\n| --- | --- | --- |\n| 1 | `a`, `b` | low |\n"+
		"| 2 | `c` | high. `d`: more |\n| 2 | `e` | beside |\n| 3 | `f` | gone |\n")
	got := misplaced(rows, map[string][]string{
		"a": {"b"}, "b": {}, "c": {"a", "c/d"}, "c/d": {"b"}, "c/g": {}, "c/internal/h": {}, "e": {"c/d"}, "i": {"a"}})
	want := []string{"there is no package f", "c/g is not named in its row, that of c",
		"e, of floor 2, imports c/d, which is not below", "i has no row"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
