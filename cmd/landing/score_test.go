package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// landing export --network describes a network, evaluates it, and says what is wrong with rows.
func TestScoreVerb(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir)
	v := wantJSON(t, ok(t, dir, "export", "r", "--network", "--json"))
	if v["kind"] != "mlp" || v["dim"].(float64) != 3 || v["momentum"] != true || len(v["times"].([]any)) != 50 {
		t.Errorf("got %v", v)
	}
	testkit.OK(t, testkit.Err(os.Stat(filepath.Join(dir, v["file"].(string)))))
	if r := ok(t, dir, "export", "r", "--network"); !strings.Contains(r.stdout, "rows (x, p, t), points of 3 numbers") {
		t.Errorf("got %s", r.stdout)
	}
	write := func(name, text string) {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("rows.csv", "0,0,1,0.1,0.2,0,0.04\n1,0,0,0,0.2,0.3,2\n")
	ok(t, dir, "export", "r", "--scores", "rows.csv", "--precision", "float32", "--json")
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "scores.npy"))
	if err != nil || len(a.Float64) != 6 || a.Shape[0] != 2 || a.Float64[0] == 0 {
		t.Errorf("%v, %v", a, err)
	}
	write("narrow.csv", "0,0,1,2\n")
	write("nan.csv", "0,0,1,0.1,0.2,NaN,0.04\n")
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{3, "--force", []string{"--scores", "rows.csv"}},
		{3, "rows have 4 numbers; expected 7", []string{"--scores", "narrow.csv", "-o", "n.npy"}},
		{3, "nan.csv:1", []string{"--scores", "nan.csv", "-o", "n.npy"}},
		{3, "gone.csv", []string{"--scores", "gone.csv", "-o", "n.npy"}},
		{2, "ends in .npy", []string{"--scores", "rows.csv", "-o", "n.csv"}},
		{2, "expected float32", []string{"--scores", "rows.csv", "-o", "n.npy", "--precision", "float16"}},
		{2, "expected --scores ROWS", []string{"--precision", "float32"}},
		{2, "this run has none", []string{"--scores", "rows.csv", "-o", "n.npy", "--hide-condition"}},
		{2, "--license changes nothing", []string{"--network", "--license", "mit"}},
		{2, "--float32 changes nothing", []string{"--network", "--float32"}},
		{2, "--force changes nothing", []string{"--network", "--force"}},
	} {
		if r := do(t, dir, append([]string{"export", "r"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.says) {
			t.Errorf("landing export r %v: exit %d, %s; expected %q", c.args, r.code, r.stderr, c.says)
		}
	}
}
