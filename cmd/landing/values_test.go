package main

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Values are h and g of each row, where a part that does not count may be NaN.
func TestValues(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte("set: {dim: 2, equality: [{name: h, "+
		"expr: 'x[0]'}], inequality: [{name: g, expr: 'where(x[0], sqrt(x[0]), x[1]) <= 1'}]}\n"), 0o666))
	x := []float64{4, 7, -4, 7, math.Copysign(0, -1), 3}
	for name, n := range map[string]int{"p.npy": 6, "odd.npy": 5} {
		f := testkit.Must(os.Create(filepath.Join(dir, name)))
		testkit.OK(t, arrayfile.EncodeNPY(f, arrayfile.Of(x[:n], n)))
		testkit.OK(t, f.Close())
	}
	got := wantJSON(t, ok(t, dir, "dev", "values", "p.yaml", "--data", "p.npy", "-o", "v.npy", "--json"))
	testkit.Equal(t, len(got["equalities"].([]any)), 1, "equalities")
	v := testkit.Must(arrayfile.ReadNPY(filepath.Join(dir, "v.npy")))
	testkit.EqualSlices(t, v.Float64, []float64{4, 1, -4, 6, 0, -1}, "values")
	r := do(t, dir, "dev", "values", "p.yaml", "--data", "odd.npy", "--force", "-o", "v.npy")
	testkit.Equal(t, r.code, 3, "exit code")
	testkit.Contains(t, r.stderr, "expected rows of 2")
}
