package landing

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/landing-diffusion/landing/tools/testkit"
)

const module = "github.com/landing-diffusion/landing/"

// A house is the two tables of docs/architecture.md.
type house struct {
	floors   map[string]int    // of the folders at the root
	packages map[string]string // package folders with a row, and the row's text
}

var (
	floorRow   = regexp.MustCompile("(?m)^\\| (\\d+) \\| `([^`]+)` \\|")
	packageRow = regexp.MustCompile("(?m)^\\| (`.*?`) \\| (.*) \\|$")
	coded      = regexp.MustCompile("`([^`]+)`")
)

func readHouse(t *testing.T, page string) house {
	t.Helper()
	h := house{map[string]int{}, map[string]string{}}
	for _, m := range floorRow.FindAllStringSubmatch(page, -1) {
		floor := testkit.Must(strconv.Atoi(m[1]))
		h.floors[m[2]] = floor
	}
	for _, m := range packageRow.FindAllStringSubmatch(page, -1) {
		for _, name := range coded.FindAllStringSubmatch(m[1], -1) {
			if _, twice := h.packages[name[1]]; twice {
				t.Errorf("%s has two rows", name[1])
			}
			h.packages[name[1]] = m[2]
		}
	}
	return h
}

// eachFile parses the Go files below a folder, tests left out.
func eachFile(t *testing.T, root fs.FS, mode parser.Mode, do func(dir string, f *ast.File)) {
	t.Helper()
	testkit.OK(t, fs.WalkDir(root, ".", func(at string, e fs.DirEntry, err error) error {
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
		f, err := parser.ParseFile(token.NewFileSet(), at, source, mode)
		if err == nil {
			do(path.Dir(at), f)
		}
		return err
	}))
}

// imported returns the packages of this module that each package below a folder imports.
func imported(t *testing.T, root fs.FS) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	eachFile(t, root, parser.ImportsOnly, func(dir string, f *ast.File) {
		all[dir] = append([]string{}, all[dir]...) // a package without imports is in the map too
		for _, s := range f.Imports {
			to, ok := strings.CutPrefix(testkit.Must(strconv.Unquote(s.Path.Value)), module)
			if ok && !slices.Contains(all[dir], to) {
				all[dir] = append(all[dir], to)
			}
		}
	})
	return all
}

// crowded lists the types below a folder that have more methods than a number.
func crowded(t *testing.T, root fs.FS, most int) (found []string) {
	t.Helper()
	count := map[string]int{}
	eachFile(t, root, parser.SkipObjectResolution, func(dir string, f *ast.File) {
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil {
				name := regexp.MustCompile(`\w+`).FindString(types.ExprString(m.Recv.List[0].Type))
				count[dir+"."+name]++
			}
		}
	})
	for _, name := range slices.Sorted(maps.Keys(count)) {
		if count[name] > most {
			found = append(found, fmt.Sprintf("%s has %d methods", name, count[name]))
		}
	}
	return found
}

func folder(name string) string { top, _, _ := strings.Cut(name, "/"); return top }

// within reports whether a package is one of some folders, or lies below one.
func within(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}

// faults lists where the tables differ from the imports.
func (h house) faults(imports map[string][]string) (faults []string) {
	named := func(name string) bool {
		for at := name; at != "."; at = path.Dir(at) {
			if text, ok := h.packages[at]; ok {
				rest := strings.TrimPrefix(name, at)
				return rest == "" || strings.Contains(rest, "/internal/") || strings.Contains(text, "`"+rest[1:]+"`")
			}
		}
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(h.packages)) {
		if imports[name] == nil {
			faults = append(faults, "there is no package "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if name == "." {
			continue
		}
		floor, ok := h.floors[folder(name)]
		if !ok {
			faults = append(faults, folder(name)+" is in no row of the folders")
			continue
		}
		if !within(name, "examples") && !named(name) {
			faults = append(faults, name+" is in no row of the packages")
		}
		for _, to := range imports[name] {
			if folder(to) != folder(name) && h.floors[folder(to)] >= floor {
				faults = append(faults, fmt.Sprintf("%s, of floor %d, imports %s, which is not below", name, floor, to))
			}
		}
	}
	return faults
}

// The tables of docs/architecture.md name every package, and no package imports from a higher folder.
func TestLayers(t *testing.T) {
	page := testkit.Must(os.ReadFile("docs/architecture.md"))
	h, imports := readHouse(t, string(page)), imported(t, os.DirFS("."))
	if len(h.floors) < 14 || len(h.floors) > 15 || len(imports) < 90 || len(imports["cmd/landing"]) < 20 {
		t.Fatalf("%d folders, %d packages", len(h.floors), len(imports))
	}
	for _, fault := range h.faults(imports) {
		t.Error(fault)
	}

	// The command contains nothing that only tests, examples and developers need.
	seen := map[string]bool{}
	var visit func(name, from string)
	visit = func(name, from string) {
		if seen[name] {
			return
		}
		seen[name] = true
		if within(name, "tools", "examples") {
			t.Errorf("%s imports %s, and the command contains it", from, name)
		}
		for _, to := range imports[name] {
			visit(to, name)
		}
	}
	visit("cmd/landing", "")
	for name, to := range imports {
		if slices.Contains(to, "problem/check") && !within(name, "experiment", "cmd/landing") {
			t.Errorf("%s imports problem/check", name)
		}
	}
}

// A wrong table is found.
func TestLayersSeesFaults(t *testing.T) {
	h := readHouse(t, "| floor | folder | its one job |\n| --- | --- | --- |\n| 1 | `low` | |\n| 2 | `high` | |\n\n"+
		"| package | its one job |\n| --- | --- |\n| `low/a`, `low/b` | low |\n| `high/c` | high. `d`: more |\n"+
		"| `low/f` | gone |\n")
	got := h.faults(map[string][]string{"low/a": {"high/c"}, "low/b": {"low/a"}, "high/c": {"low/a", "high/c/d"},
		"high/c/d": {"low/b"}, "high/c/g": {}, "high/c/internal/h": {}, "side/i": {"low/a"}})
	want := []string{"there is no package low/f", "high/c/g is in no row of the packages",
		"low/a, of floor 1, imports high/c, which is not below", "side is in no row of the folders"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// No type has more than 30 methods: one with more does several jobs.
func TestMethods(t *testing.T) {
	for _, fault := range crowded(t, os.DirFS("."), 30) {
		t.Errorf("%s; expected at most 30: make a group of them that uses the same fields a type of its own", fault)
	}

	// A type with too many is found, whatever its receivers.
	got := crowded(t, fstest.MapFS{
		"a/one.go": {Data: []byte("package a\ntype T[E any] struct{}\nfunc (t *T[E]) A() {}\nfunc (T[E]) B() {}\n")},
		"a/two.go": {Data: []byte("package a\nfunc (t *T[_]) C() {}\ntype S int\nfunc (S) A() {}\nfunc F(t S) {}\n")},
		"b/b.go":   {Data: []byte("package b\ntype T int\nfunc (T) A() {}\n")}}, 2)
	testkit.EqualSlices(t, got, []string{"a.T has 3 methods"}, "types with more than 2 methods")
}
