package check

import (
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
)

// A view has the components it says, with the values and gradients of the set it
// looks at, dense and packed.
func TestView(t *testing.T) {
	s := read(t, `
dim: 4
equality:
  - {name: a, expr: "x[0]^2 + x[1]"}
  - {name: b, expr: "x[2] - 1"}
inequality:
  - {name: p, expr: "x[0] - x[3]"}
  - {name: q, expr: "x[1]^3"}
  - {name: r, expr: "x[2]*x[3]"}
`)
	const n, d = 2, 4
	x := []float64{0.5, -1, 2, 3, 0.1, 0.2, -0.3, 0.4}
	all := constraint.Components(s)
	values, jac := make([]float64, n*5), make([]float64, n*5*d)
	s.Jacobians(values, jac, x, n)
	for _, c := range []struct {
		view   constraint.Set
		h, g   []string
		sparse bool
	}{
		{edge(s, 1), []string{"a", "b", "q"}, []string{"p", "r"}, true},
		{edge(s, 0), []string{"a", "b", "p"}, []string{"q", "r"}, true},
		{equalities(s), []string{"a", "b"}, nil, true},
		{edge(struct{ constraint.Set }{s}, 2), []string{"a", "b", "r"}, []string{"p", "q"}, false},
	} {
		names := append(slices.Clone(c.h), c.g...)
		if !slices.Equal(c.view.Equalities(), c.h) || !slices.Equal(c.view.Inequalities(), c.g) {
			t.Fatalf("got %v %v, want %v %v", c.view.Equalities(), c.view.Inequalities(), c.h, c.g)
		}
		k := len(names)
		v, j, v2 := make([]float64, n*k), make([]float64, n*k*d), make([]float64, n*k)
		c.view.Jacobians(v, j, x, n)
		c.view.Values(v2, x, n)
		p, ok := c.view.(constraint.Sparse)
		if ok != c.sparse {
			t.Fatalf("%v: sparse is %v", names, ok)
		}
		var packed []float64
		if ok {
			total := 0
			for _, s := range p.Support() {
				total += len(s)
			}
			packed = make([]float64, n*total)
			p.SparseJacobians(make([]float64, n*k), packed, x, n)
		}
		for i := range n {
			for a, name := range names {
				o := slices.Index(all, name)
				if want := values[i*5+o]; v[i*k+a] != want || v2[i*k+a] != want {
					t.Errorf("%v: value of %s is %v, want %v", names, name, v[i*k+a], want)
				}
				row := jac[(i*5+o)*d : (i*5+o+1)*d]
				if !slices.Equal(j[(i*k+a)*d:(i*k+a+1)*d], row) {
					t.Errorf("%v: gradient of %s differs", names, name)
				}
				if ok {
					for _, at := range p.Support()[a] {
						if packed[0] != row[at] {
							t.Errorf("%v: packed gradient of %s differs", names, name)
						}
						packed = packed[1:]
					}
				}
			}
		}
	}
}
