package problems

import (
	"bytes"
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func draw(t *testing.T, p *Problem, workers int, seed, batch uint64, n int) []float64 {
	t.Helper()
	pool := testkit.Pool(t, workers)
	return testkit.Must(p.Draw(t.Context(), pool, seed, batch, n))
}

// Every problem's file is accepted as it stands, its rows keep all constraints to 1e-12 of
// their size, are the same for a seed whatever the workers and however many are drawn, and
// others for another seed or batch; what is written is read back to the last bit.
func TestProblems(t *testing.T) {
	names, firsts := map[string]bool{}, map[[2]float64]string{}
	for _, p := range all {
		t.Run(p.Name, func(t *testing.T) {
			if names[p.Name] {
				t.Error("two problems have this name")
			}
			names[p.Name] = true
			n := 300
			loaded := testkit.Must(problem.Load(p.Source(), p.Name, "", nil))
			proc := testkit.Must(loaded.Build())
			testkit.Equal(t, loaded.Data.Path, p.DataFile())
			if d := proc.Set.Dim(); d != p.Dim || p.Rows < 2 {
				t.Fatalf("%d rows in R^%d, the set is in R^%d", p.Rows, p.Dim, d)
			}
			o, err := p.Observables()
			if err != nil || len(o.List) < 2 {
				t.Fatal(o, err)
			}
			var x []float64
			if p.chains != nil {
				x = hurried(t, &p, 2, n/chainCount)
			} else {
				x = draw(t, &p, 2, 1, 0, n)
			}
			worst(t, proc.Set, x, n)
			pool := testkit.Pool(t, 1)
			if _, err := o.Over(x, p.Dim, pool); err != nil {
				t.Error(err)
			}
			law := cmp.Or(p.like, p.Name)
			if of := firsts[[2]float64(x)]; of != "" && of != law {
				t.Error("its first numbers are those of another problem")
			}
			firsts[[2]float64(x)] = law
			if p.chains == nil {
				same := draw(t, &p, 1, 1, 0, n/2)
				testkit.EqualSlices(t, same, x[:len(same)], "rows depend on the workers, or on how many there are")
				for _, other := range [][]float64{draw(t, &p, 2, 2, 0, n), draw(t, &p, 2, 1, 1, n)} {
					if slices.Equal(other[:p.Dim], x[:p.Dim]) {
						t.Error("another seed or batch has the same rows")
					}
				}
			}
			reread(t, &p, x)
		})
	}
	if len(names) < 45 {
		t.Errorf("%d problems", len(names))
	}
}

// worst checks that rows keep the constraints of a set to 1e-12 of their largest coordinate, or of 1.
func worst(t *testing.T, set constraint.Set, x []float64, n int) {
	t.Helper()
	values, c, size := constraint.Values(set, x), len(constraint.Components(set)), 1.0
	for _, v := range x {
		size = max(size, math.Abs(v))
	}
	for i := range n {
		w, at := constraint.Worst(values[i*c:(i+1)*c], len(set.Equalities()))
		if !(w <= 1e-12*size) {
			t.Fatalf("row %d violates %q by %g", i, constraint.Components(set)[at], w)
		}
	}
	if selects := set.Capabilities().Selects; selects != nil && !selects(x[:set.Dim()]) {
		t.Error("row 0 is on a component that is not the set's")
	}
}

// reread writes data and problem file as the suite does, and loads them as a user would.
func reread(t *testing.T, p *Problem, x []float64) {
	t.Helper()
	data := testkit.Must(p.Data(x))
	again, err := p.Data(slices.Clone(x))
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("other bytes the second time (%v)", err)
	}
	path := filepath.Join(t.TempDir(), p.DataFile())
	testkit.OK(t, os.WriteFile(path, data, 0o666))
	read := testkit.Must(dataset.ReadPoints(path))
	if read.D != p.Dim || !slices.Equal(read.X, x) {
		t.Error("the file holds other numbers")
	}
	for _, line := range strings.Split(string(p.Source()), "\n") {
		key, _, top := strings.Cut(line, ":")
		if top && !strings.HasPrefix(key, " ") && key != "name" && key != "data" && key != "set" && key != "condition" {
			t.Errorf("the problem file has the key %q", key)
		}
	}
}

// hurried returns draws of a problem's chains that have not moved far: rows of the set, if not of the law.
func hurried(t *testing.T, p *Problem, workers, keep int) []float64 {
	t.Helper()
	pool := testkit.Pool(t, workers)
	c := *p.chains
	c.burn, c.thin = 3, 1
	draws := testkit.Must(c.run(t.Context(), pool, p, 1, keep))
	return c.turned(draws, p.stream(1, 0))
}

// Chains too short to forget where they began are an error that names what differs among them.
func TestUnmixed(t *testing.T) {
	p := problemOf(t, "ring6")
	still := *p.chains
	still.burn, still.thin, still.step = 0, 1, 1e-4
	p.chains = &still
	pool := testkit.Pool(t, 2)
	_, err := p.Draw(t.Context(), pool, 1, 0, 10)
	testkit.Refused(t, err, "ring6 have not mixed")
}

// Rows of chains are the same whatever the workers, and moved by symmetries: the side of a chain around the ball has
// its law, wherever its chain has come, and the first atom of a ring points anywhere.
func TestTurned(t *testing.T) {
	p := problemOf(t, "ball-chain")
	x := hurried(t, &p, 2, 20)
	testkit.EqualSlices(t, x, hurried(t, &p, 1, 20), "rows depend on the workers")
	var of []func(θ float64) float64
	for _, s := range sides {
		of = append(of, vonMises(s.at, s.κ))
	}
	law := cdf(-math.Pi, math.Pi, func(θ float64) (f float64) {
		for k, s := range sides {
			f += s.weight * of[k](θ)
		}
		return f
	})
	const far = 0.0852 // of 1000 rows: a false alarm of 1e-6
	marginalOf(t, "side", slices.Collect(slices.Chunk(x, p.Dim)), func(x []float64) float64 {
		return math.Atan2(x[5]+x[8]+x[11], x[4]+x[7]+x[10])
	}, law, far)
	p = problemOf(t, "ring6")
	marginalOf(t, "height", slices.Collect(slices.Chunk(hurried(t, &p, 2, 20), p.Dim)), func(x []float64) float64 {
		return x[2] / math.Sqrt(x[0]*x[0]+x[1]*x[1]+x[2]*x[2])
	}, func(v float64) float64 { return (1 + v) / 2 }, far) // the height of a uniform direction is uniform
}

// The chains of the suite mix.
func TestMixed(t *testing.T) {
	if !testkit.Longest() {
		t.Skip("runs chains for a quarter of a minute: LANDING_LONG=all")
	}
	p := problemOf(t, "ring6")
	if x := draw(t, &p, 2, 1, 0, 700); len(x) != 700*p.Dim {
		t.Errorf("%d numbers", len(x))
	}
}

// Names that are not there are an error with those that are; the others come in the suite's order.
func TestNamed(t *testing.T) {
	some, err := Named([]string{"box", "arm3"})
	if err != nil || len(some) != 2 || some[0].Name != "arm3" || some[1].Name != "box" {
		t.Error(some, err)
	}
	testkit.Equal(t, len(testkit.Must(Named(nil))), len(all))
	_, err = Named([]string{"curve", "tori"})
	testkit.Refused(t, err, `"tori"`)
	testkit.Refused(t, err, "half-torus")
}

// Rows in another unit are the same rows.
func TestUnits(t *testing.T) {
	const n = 200
	base := problemOf(t, "torus")
	x := draw(t, &base, 2, 1, 0, n)
	for name, unit := range map[string]float64{"unit-large": 1000, "unit-small": 0.001} {
		p := problemOf(t, name)
		for i, v := range draw(t, &p, 2, 1, 0, n) {
			if math.Abs(v-unit*x[i]) > 1e-14*unit {
				t.Fatalf("%s: number %d is %v, of the torus %v", name, i, v, x[i])
			}
		}
	}
}

func problemOf(t *testing.T, name string) Problem {
	t.Helper()
	some := testkit.Must(Named([]string{name}))
	return some[0]
}
