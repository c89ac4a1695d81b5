package main

import (
	"os"
	"path/filepath"
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
			"{\n\t\treturn 3\n\t}\n\treturn x\n}\n\n//go:noinline\nfunc Far(x float64) float64 { return -x * 0.5 }\n" +
			"\nfunc Loop(n int) int {\n\tfor n > 0 {\n\t\tn -= 1\n\t}\n\treturn n\n}\n",
		"a/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(2, 3) != 5 " +
			"{\n\t\tt.Fail()\n\t}\n\tLoop(3)\n}\n",
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

// The fates of faults: the package's own test sees it, the test of a package that imports it sees it, nobody sees it,
// or a test does not end with it. The checkout stays as it was. A test that fails on sound code is an error.
func TestFates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds modules")
	}
	root := module(t)
	before := testkit.Must(os.ReadFile(filepath.Join(root, "a/a.go")))
	c := config{n: 1000, workers: 2, packages: []string{"a"}, root: root, limit: 5 * time.Second}
	var progress strings.Builder
	s := testkit.Must(run(t.Context(), c, &progress))
	fates := map[string]fate{}
	for m, f := range s.fates {
		fates[m.name()] = f
	}
	for name, want := range map[string]fate{
		"a/a.go Sum: operator: x + y -> x - y": caught,
		"a/a.go Far: sign: -x -> +x":           caught,
		"a/a.go Far: constant: 0.5 -> (2 * 0.5) in func Far(x float64) float64 { return -x * 0.5 }": caught,
		"a/a.go Loose: operator: x > 3 -> x >= 3":                                                   survived,
		"a/a.go Loose: condition: x > 3 -> !(x > 3)":                                                survived,
		"a/a.go Loose: constant: 3 -> 4 in return 3":                                                survived,
		"a/a.go Far: operator: -x * 0.5 -> -x / 0.5":                                                caught,
		"a/a.go Loop: operator: n -= 1 -> n += 1":                                                   undecided,
		"a/a.go Loop: operator: n > 0 -> n >= 0":                                                    survived,
	} {
		testkit.Equal(t, fates[name], want, name)
	}
	testkit.Equal(t, s.possible, len(fates))
	after := testkit.Must(os.ReadFile(filepath.Join(root, "a/a.go")))
	testkit.Equal(t, string(after), string(before))
	testkit.Contains(t, s.String(), "4 of 11 caught (36.4 %)")
	testkit.Contains(t, s.String(), "survived: line 6 of a/a.go Loose: operator")

	broken := "package b\n\nimport \"testing\"\n\nfunc TestNo(t *testing.T) { t.Fail() }\n"
	testkit.OK(t, os.WriteFile(filepath.Join(root, "b/b_test.go"), []byte(broken), 0o666))
	_, err := run(t.Context(), c, &progress)
	testkit.Refused(t, err, "the tests of a, or of those that import it, fail before any fault is planted")
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
		seen[m.kind+": "+m.was+" -> "+m.is] = true
		if _, err := mutants("p/p.go", m.planted([]byte(source))); err != nil {
			t.Errorf("%s: %v", m.name(), err)
		}
		if strings.Contains(m.was, "panic") {
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
