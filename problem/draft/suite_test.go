package draft_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/draft"
	"github.com/landing-diffusion/landing/tools/bench/problems"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// gradients of a set's equalities at x, m×d.
func gradients(set constraint.Set, x []float64) []float64 {
	m, d := len(set.Equalities()), set.Dim()
	all := len(constraint.Components(set))
	h, g := make([]float64, all), make([]float64, all*d)
	set.NewEvaluator(1).Jacobians(h, g, x, 1)
	return g[:m*d]
}

// rank of m gradients by singular values: those beyond it are round-off.
func rank(g []float64, d int) int {
	if len(g) == 0 {
		return 0
	}
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(len(g)/d, d, slices.Clone(g)), mat.SVDNone) {
		panic("no singular values")
	}
	s := svd.Values(nil)
	n := 0
	for _, v := range s {
		if v > 1e-7*s[0] {
			n++
		}
	}
	return n
}

// anyRows returns n rows of a problem's set, by chains that need not have arrived at any law: equations
// are the same of all.
func anyRows(pool *parallel.Pool, p problems.Problem, n int) ([]float64, error) {
	const chains = 100
	sample := fmt.Appendf(p.Source(), "sample: {method: chmc, step: 0.08, chains: %d, draws: %d, burn: 4, thin: 1}\n",
		chains, n/chains)
	loaded, err := problem.Load(sample, p.Name, "", nil)
	if err != nil {
		return nil, err
	}
	run, err := loaded.BuildChains()
	if err != nil {
		return nil, err
	}
	x0, err := langevin.Start(context.Background(), run.Process, run.Count, run.Seed)
	if err != nil {
		return nil, err
	}
	draws, err := run.Run(context.Background(), pool, x0)
	if err != nil {
		return nil, err
	}
	return draws.X, nil
}

// Of each problem of the suite, whose set is known, the draft has the same equations, up to how they are written: all
// rows are on it, and at rows both have normal spaces of one rank that together have no more. The draft loads as it is.
// The whole text of each is as it was.
func TestSuite(t *testing.T) {
	kept := testkit.Must(filepath.Abs("testdata"))
	t.Chdir(t.TempDir())
	// No polynomials of low degree, and sets under a condition, whose rows the draft sees whole.
	other := []string{"curve", "helix", "shells", "chain-end", "latitude", "wind"}
	chained := []string{"ring6", "ring8", "ball-chain"}
	pool := testkit.Pool(t, 1)
	for _, p := range testkit.Must(problems.Named(nil)) {
		if testing.Short() && (p.Name == "d300" || slices.Contains(chained, p.Name)) {
			continue // its rows are long, or take chains
		}
		n := 600
		if p.Name == "d300" {
			n = 700
		}
		var x []float64
		var err error
		if slices.Contains(chained, p.Name) {
			x, err = anyRows(pool, p, n)
		} else {
			x, err = p.Draw(context.Background(), pool, 3, 0, n)
		}
		if err != nil {
			t.Fatal(p.Name, err)
		}
		data, err := p.Data(x)
		if err != nil {
			t.Fatal(p.Name, err)
		}
		testkit.OK(t, os.WriteFile(p.DataFile(), data, 0o666))
		d, err := draft.New(draft.Options{Path: p.DataFile()})
		if err != nil {
			t.Error(p.Name, err)
			continue
		}
		testkit.Kept(t, filepath.Join(kept, p.Name+".yaml"), d.YAML)
		loaded, err := problem.Load([]byte(d.YAML), p.Name, "", nil)
		if err != nil {
			t.Error(p.Name, err)
			continue
		}
		drafted, err := loaded.Build()
		if err != nil {
			t.Error(p.Name, err)
			continue
		}
		if slices.Contains(other, p.Name) {
			continue
		}
		own := testkit.Must(testkit.Must(problem.Load(p.Source(), p.Name, "", nil)).Build())
		for i := 0; i < n; i += n / 10 {
			row := x[i*p.Dim : (i+1)*p.Dim]
			a, b := gradients(drafted.Set, row), gradients(own.Set, row)
			ra, rb, both := rank(a, p.Dim), rank(b, p.Dim), rank(slices.Concat(a, b), p.Dim)
			if ra != rb || both != ra {
				t.Errorf("%s, row %d: %d normals drafted, %d of the set, %d together\n%s", p.Name, i, ra, rb, both,
					d.YAML)
				break
			}
		}
	}
}
