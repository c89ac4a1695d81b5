package draft_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/bench/problems"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/parallel"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/draft"
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

// Of each problem of the suite, whose set is known, the draft has the same equations, up to how they are
// written: all rows are on it, and at rows both have normal spaces of one rank that together have no
// more. The draft loads as it is.
func TestSuite(t *testing.T) {
	t.Chdir(t.TempDir())
	rows := map[string]int{"d300": 700, "ring8": 4000} // fewer draws of the ring's chains have not mixed
	pool := parallel.New(1)
	defer pool.Close()
	for _, p := range problems.All() {
		if testing.Short() && slices.Contains([]string{"ring6", "ring8", "ball-chain", "d300"}, p.Name) {
			continue // their rows take chains, or are long
		}
		n := 600
		if rows[p.Name] > 0 {
			n = rows[p.Name]
		}
		x, err := p.Draw(context.Background(), pool, 3, 0, n)
		for seed := uint64(4); errors.As(err, new(*problems.MixingError)) && seed < 7; seed++ {
			x, err = p.Draw(context.Background(), pool, seed, 0, n) // any rows of the law will do
		}
		if err != nil {
			t.Fatal(p.Name, err)
		}
		data, err := p.Data(x)
		if err != nil {
			t.Fatal(p.Name, err)
		}
		if err := os.WriteFile(p.DataFile(), data, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := draft.New(draft.Options{Path: p.DataFile()})
		if err != nil {
			t.Error(p.Name, err)
			continue
		}
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
		_, own, err := p.Load()
		if err != nil {
			t.Fatal(p.Name, err)
		}
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
