package main

import (
	"context"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// module writes a module with a package whose test sees some faults, and one that uses it.
func module(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n",
		"a/a.go": "package a\n\nfunc Sum(x, y int) int { return x + y }\n\nfunc Loose(x int) int {\n\tif x > 3 " +
			"{\n\t\treturn 3\n\t}\n\treturn x\n}\n\n//go:noinline\nfunc Far(x float64) float64 { return -x * 0.5 }\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(2, 3) != 5 " +
			"{\n\t\tt.Fail()\n\t}\n}\n",
		"b/b.go": "package b\n\nimport \"example.org/m/a\"\n\nfunc Twice(x float64) float64 { return a.Far(2 * " +
			"x) }\n",
		"b/b_test.go": "package b\n\nimport \"testing\"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(3) != -3 " +
			"{\n\t\tt.Fail()\n\t}\n}\n",
	} {
		path := filepath.Join(root, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	return root
}

// A fault that the package's own test sees, one that a dependent's test sees and one
// that nobody sees are told apart, and the checkout is left as it was.
func TestFates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds modules")
	}
	root := module(t)
	cache := testkit.Must(exec.Command("go", "env", "GOCACHE").Output())
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache))) // which else would move with the baselines
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	before := testkit.Must(os.ReadFile(filepath.Join(root, "a/a.go")))
	c := config{n: 1000, workers: 2, packages: []string{"a"}, root: root, limit: time.Minute}
	var progress strings.Builder
	s := testkit.Must(run(context.Background(), c, &progress))
	fates := map[string]result{}
	for _, r := range s.Results {
		fates[r.Name] = r
	}
	for name, want := range map[string]result{
		"a/a.go Sum: operator: x + y -> x - y": {Fate: caught, Killer: "a"},
		"a/a.go Far: sign: -x -> +x":           {Fate: caught, Killer: "b"},
		"a/a.go Far: constant: 0.5 -> (2 * 0.5) in func Far(x float64) float64 { return -x * 0.5 }": {
			Fate: caught, Killer: "b",
		},
		"a/a.go Loose: operator: x > 3 -> x >= 3":    {Fate: survived},
		"a/a.go Loose: condition: x > 3 -> !(x > 3)": {Fate: survived},
		"a/a.go Loose: constant: 3 -> 4 in return 3": {Fate: survived},
		"a/a.go Far: operator: -x * 0.5 -> -x / 0.5": {Fate: caught, Killer: "b"},
	} {
		if got := fates[name]; got.Fate != want.Fate || got.Killer != want.Killer {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	testkit.Equal(t, s.count(caught), 4)
	testkit.Equal(t, s.count(survived), 4)
	testkit.Equal(t, s.Possible, 8)
	after, err := os.ReadFile(filepath.Join(root, "a/a.go"))
	if err != nil || string(after) != string(before) {
		t.Errorf("the checkout was changed: %v", err)
	}
	if !strings.Contains(s.String(), "4 of 8 caught (50.0 %)") ||
		!strings.Contains(s.String(), "survived: line 6 of a/a.go Loose: operator") {
		t.Errorf("the score reads\n%s", s)
	}
	measuredOnce(t, c, progress.String())
}

// measuredOnce holds the baseline of TestFates to what its module is: the tests were measured
// once for the same code. Suites that do not come to a fault are not run, and the
// quicker of two is run first; a test that fails on sound code is an error.
func measuredOnce(t *testing.T, c config, first string) {
	t.Helper()
	root := c.root
	var second strings.Builder
	tr := testkit.Must(newTrial(t.Context(), c))
	testkit.OK(t, tr.measure(&second))
	for _, s := range []string{"a short: ", "b short: ", "a: "} {
		if strings.Count("\n"+first, "\n"+s) != 1 || second.String() != "" {
			t.Errorf("measured %q, then %q; want %s once", first, second.String(), s)
		}
	}
	all := testkit.Must(tr.plant())
	for _, s := range []struct {
		suite
		function, tests string
	}{
		{suite{"a", true}, "Sum", "TestSum"}, {suite{"a", true}, "Far", ""}, {suite{"a", false}, "Loose", ""},
		{suite{"b", true}, "Sum", ""}, {suite{"b", true}, "Far", "TestTwice"},
	} {
		for _, m := range all {
			var names []string
			for _, k := range tr.sound.reach(s.suite, m) {
				names = append(names, k.Name)
			}
			if m.Function == s.function && strings.Join(names, " ") != s.tests {
				t.Errorf("%v of %s come to %s, want %q", names, s.suite, m.name(), s.tests)
			}
		}
	}
	// The rest of a fault's own package is last, quick dependents first, those that do not come to it not at all.
	tr.dependents["a"] = []string{"a", "slow", "away", "quick"}
	tr.sound.Tests["slow short"], tr.sound.Tests["quick short"] = []test{{"S", 0, 2}}, []test{{"Q", 0, 1}}
	tr.sound.Tests["away short"] = []test{{"A", 0, 0.1}}
	tr.sound.Runs["away short"] = map[string][]int{"a/a.go:1.1,99.1": {}}
	for _, m := range all {
		want := []suite{{"quick", true}, {"slow", true}}
		if m.Function == "Sum" {
			want = []suite{{"a", true}, {"quick", true}, {"slow", true}, {"a", false}}
		}
		if got := tr.order(m); !slices.Equal(got, want) {
			t.Errorf("%s: the order is %v", m.name(), got)
		}
	}
	// Tests that do not end are given up, those that work much longer than on sound code are caught.
	dir, stuck := filepath.Join(root, "s"), suite{"s", true}
	text := "package s\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n" +
		"func TestWaits(t *testing.T) { time.Sleep(time.Second) }\n\n" +
		"func TestWorks(t *testing.T) {\n\tfor {\n\t}\n}\n"
	testkit.OK(t, errors.Join(os.Mkdir(dir, 0o777), os.WriteFile(filepath.Join(dir, "s_test.go"), []byte(text), 0o666),
		tr.compile(filepath.Join(dir, "s.test"), "s")))
	for _, c := range []struct {
		test  string
		limit time.Duration
		work  float64
		want  fate
	}{
		{"TestWaits", time.Minute, 0, survived}, {"TestWaits", 100 * time.Millisecond, 0, undecided},
		{"TestWorks", time.Minute, -4.6, caught}, // it may take 2·work + 10 s
	} {
		tr.limit, tr.sound.Tests["s short"] = c.limit, []test{{c.test, 0, c.work}}
		testkit.Equal(t, tr.tried(filepath.Join(dir, "s.test"), stuck, all[0]), c.want, "%s within %v", c.test, c.limit)
	}
	broken := "package b\n\nimport \"testing\"\n\nfunc TestNo(t *testing.T) { t.Fail() }\n"
	testkit.OK(t, os.WriteFile(filepath.Join(root, "b/b_test.go"), []byte(broken), 0o666))
	second.Reset()
	tr = testkit.Must(newTrial(t.Context(), c))
	testkit.OK(t, tr.measure(&second))
	testkit.Contains(t, second.String(), "TestNo of b short fails before")
	testkit.Equal(t, len(tr.sound.Tests["b short"]), 0)
}

// Faults of several files and packages are laid over one checkout: each file once, with the package
// that it is of, and one more in each package.
func TestWeaveManyFiles(t *testing.T) {
	root := module(t)
	for name, text := range map[string]string{
		"a/more.go": "package a\n\nfunc More(_ int, y ...int) int { return len(y) - 1 }\n",
		"a/last.go": "package a\n\ntype T struct{}\n\nfunc (T) Last(int) (a, b int) { return 1, 2 }\n\n" +
			"func Loop(n int) {\n" +
			"outer:\n\tfor {\n\t\tif n > 3 {\n\t\t\tbreak outer\n\t\t}\n\t\tn++\n\t}\n}\n",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o666))
	}
	tr := testkit.Must(newTrial(t.Context(), config{root: root, packages: []string{"a", "b"}}))
	faults := testkit.Must(tr.plant())
	for i, m := range faults {
		m.number = i + 1
	}
	dir := t.TempDir()
	b := &built{dir: dir, overlay: filepath.Join(dir, "overlay.json"), unbuilt: map[*mutant]bool{faults[0]: true}}
	testkit.Equal(t, len(testkit.Must(b.weave(root, faults))), 2)
	data := testkit.Must(os.ReadFile(b.overlay))
	var list struct{ Replace map[string]string }
	testkit.OK(t, json.Unmarshal(data, &list))
	copies, laid := 0, map[string]bool{}
	for at, by := range list.Replace {
		text := testkit.Must(os.ReadFile(by))
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, at, text, 0)
		if err != nil || file.Name.Name != filepath.Base(filepath.Dir(at)) || laid[by] {
			t.Fatalf("%s is\n%s\n%v", at, text, err)
		}
		laid[by] = true
		copies += strings.Count(string(text), "//line fault")
	}
	want := []string{"a/a.go", "a/last.go", "a/more.go", "a/plantedfault.go", "b/b.go", "b/plantedfault.go"}
	for _, name := range want {
		if list.Replace[filepath.Join(root, name)] == "" {
			t.Errorf("nothing is laid over %s", name)
		}
	}
	if len(list.Replace) != len(want) || copies != len(faults)-1 {
		t.Errorf("%d files with %d copies of %d faults", len(list.Replace), copies, len(faults))
	}
	if said, err := tr.command("build", "-overlay", b.overlay,
		"./..."); err != nil {
		t.Errorf("they do not build: %s", said)
	}
}

// Every kind of mutation is made, none in messages, and each file still parses.
func TestMutants(t *testing.T) {
	source := "package p\n\nimport \"math\"\n\nfunc f(x []float64, i int) float64 {\n\ts := 0.0\n\tfor j := range x " +
		"{\n\t\ts += x[j] * 2\n\t\ts = max(s, 1)\n\t}\n" +
		"\tif i < 3 && s != 0 {\n\t\tpanic(\"p: 3 + 4\")\n\t}\n\treturn -math.Sin(s)\n}\n\nfunc String() string { " +
		"return \"a\" + \"b\" }\n"
	all := testkit.Must(mutants("p/p.go", []byte(source)))
	seen := map[string]bool{}
	for _, m := range all {
		seen[m.Kind+": "+m.Was+" -> "+m.Is] = true
		if _, err := mutants("p/p.go", weave([]byte(source), []*mutant{m})); err != nil {
			t.Errorf("%s: %v", m.name(), err)
		}
		if strings.Contains(m.Was, "panic") {
			t.Errorf("planted in a message: %s", m.name())
		}
	}
	for _, want := range []string{
		"operator: s += x[j] * 2 -> s -= x[j] * 2", "operator: x[j] * 2 -> x[j] / 2", "index: x[j] -> x[j-1]",
		"constant: 2 -> 3",
		"call: max(s, 1) -> min(s, 1)", "statement: s = max(s, 1) -> nothing", "operator: i < 3 -> i <= 3",
		"operator: s != 0 -> s == 0",
		"operator: i < 3 && s != 0 -> i < 3 || s != 0", "condition: i < 3 && s != 0 -> !(i < 3 && s != 0)",
		"sign: -math.Sin(s) -> +math.Sin(s)", "call: math.Sin -> math.Cos",
	} {
		if !seen[want] {
			t.Errorf("no %q among %v", want, seen)
		}
	}
}
