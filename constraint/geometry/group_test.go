package geometry

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// steps is a chain of blocks of 2k coordinates (c_0 … c_{k−1}, s_0 … s_{k−1}), as the joints of an arm at each of its
// time steps: k equalities c² + s² = 1, more ones that couple all of a block, and one inequality a block that bounds
// Σc, or none. Components are ordered by kind, so blocks interleave. The last coordinates may belong to no component.
type steps struct {
	blocks, k, more int
	wall            float64 // of Σc; +Inf for none
	spare           int     // coordinates of no component, the last ones
}

func (s steps) Dim() int { return s.blocks*2*s.k + s.spare }

func (s steps) Equalities() []string {
	var names []string
	for t := range s.blocks {
		for j := range s.k {
			names = append(names, fmt.Sprintf("unit[%d,%d]", t, j))
		}
	}
	for a := range s.more {
		for t := range s.blocks {
			names = append(names, fmt.Sprintf("more[%d,%d]", t, a))
		}
	}
	return names
}

func (s steps) Inequalities() []string {
	if math.IsInf(s.wall, 1) {
		return nil
	}
	return make([]string, s.blocks)
}

// each calls f for every component with its block and kind: unit j < k, more, wall < 0.
func (s steps) each(f func(comp, block, kind int)) {
	comp := 0
	for t := range s.blocks {
		for j := range s.k {
			f(comp, t, j)
			comp++
		}
	}
	for a := range s.more {
		for t := range s.blocks {
			f(comp, t, s.k+a)
			comp++
		}
	}
	for t := range len(s.Inequalities()) {
		f(comp, t, -1)
		comp++
	}
}

func (s steps) Support() (out [][]int) {
	s.each(func(_, t, kind int) {
		o, js := t*2*s.k, []int{}
		switch {
		case kind < 0:
			for j := range s.k {
				js = append(js, o+j)
			}
		case kind < s.k:
			js = append(js, o+kind, o+s.k+kind)
		default:
			for j := range 2 * s.k {
				js = append(js, o+j)
			}
		}
		out = append(out, js)
	})
	return out
}

// gradient writes a component's derivatives along its support and returns its value.
func (s steps) gradient(g, x []float64, kind int) (v float64) {
	switch {
	case kind < 0:
		v = -s.wall
		for j := range s.k {
			g[j] = 1
			v += x[j]
		}
	case kind < s.k:
		c, sn := x[kind], x[s.k+kind]
		v, g[0], g[1] = c*c+sn*sn-1, 2*c, 2*sn
	default: // Σ w_j x_j + 0.1 x_j² − 0.3
		v = -0.3
		for j := range 2 * s.k {
			w := math.Sin(float64(1 + j*(kind-s.k+2)))
			v += w*x[j] + 0.1*x[j]*x[j]
			g[j] = w + 0.2*x[j]
		}
	}
	return v
}

func (s steps) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Support: s.Support()}
}

func (s steps) NewEvaluator(int) constraint.Evaluator {
	e := sets.Evaluator(s)
	e.SparseJacobians = s.SparseJacobians
	return e
}

func (s steps) SparseJacobians(values, jac, x []float64, n int) {
	d, c := s.Dim(), len(constraint.Components(s))
	for i := range n {
		s.each(func(comp, t, kind int) {
			k := 2 * s.k
			if kind < 0 {
				k = s.k
			} else if kind < s.k {
				k = 2
			}
			values[i*c+comp] = s.gradient(jac[:k], x[i*d+t*2*s.k:i*d+(t+1)*2*s.k], kind)
			jac = jac[k:]
		})
	}
}

func (s steps) Jacobians(values, jac, x []float64, n int) {
	d, support := s.Dim(), s.Support()
	c, nnz := len(support), 0
	for _, js := range support {
		nnz += len(js)
	}
	packed := make([]float64, n*nnz)
	s.SparseJacobians(values, packed, x, n)
	clear(jac[:n*c*d])
	for i := range n {
		for a, js := range support {
			for _, j := range js {
				jac[(i*c+a)*d+j], packed = packed[0], packed[1:]
			}
		}
	}
}

func (s steps) Values(values, x []float64, n int) {
	s.Jacobians(values, make([]float64, n*len(constraint.Components(s))*s.Dim()), x, n)
}

func (s steps) HessianVectors(dst, _, v []float64, n int) {
	d, c := s.Dim(), len(constraint.Components(s))
	clear(dst[:n*c*d])
	for i := range n {
		s.each(func(comp, t, kind int) {
			out, in := dst[(i*c+comp)*d:(i*c+comp+1)*d], v[i*d:(i+1)*d]
			o := t * 2 * s.k
			switch {
			case kind < 0:
			case kind < s.k:
				out[o+kind], out[o+s.k+kind] = 2*in[o+kind], 2*in[o+s.k+kind]
			default:
				for j := range 2 * s.k {
					out[o+j] = 0.2 * in[o+j]
				}
			}
		})
	}
}

// near1 returns n points of the arm near its unit circles.
func (s steps) near1(n int) []float64 {
	d := s.Dim()
	x := make([]float64, n*d)
	keyed.New(3, keyed.Probe, 9).Normals(x, 0, 0)
	for i := range n {
		for t := range s.blocks {
			for j := range s.k {
				c, sn := &x[i*d+t*2*s.k+j], &x[i*d+t*2*s.k+s.k+j]
				r := math.Hypot(*c, *sn) * (1 - 0.02*float64(j))
				*c, *sn = *c/r, *sn/r
			}
		}
	}
	return x
}

// Factored by groups, everything is what the whole factorisation gives, to round-off; and a row is the same alone.
func TestGroups(t *testing.T) {
	for _, s := range []steps{{3, 4, 1, math.Inf(1), 1}, {4, 3, 2, 0.3, 2}, {1, 3, 1, 0.5, 0}} {
		const n = 6
		d, c := s.Dim(), len(constraint.Components(s))
		x, v := s.near1(n), make([]float64, n*d)
		keyed.New(3, keyed.Probe, 10).Normals(v, 0, 0)
		u := make([]float64, n*c)
		keyed.New(3, keyed.Probe, 11).Normals(u, 0, 0)
		y := append([]float64(nil), x...)
		for i := range y {
			y[i] += 0.05 * v[i]
		}
		results := func(set constraint.Set, x, y, v, u []float64, n int) map[string][]float64 {
			b := newTested(set, n, 0.05)
			testkit.OK(t, b.At(x, n))
			out := map[string][]float64{"values": append([]float64(nil), b.Values()...)}
			make1 := func(name string, f func(dst []float64)) {
				dst := make([]float64, n*d)
				for i := range dst {
					dst[i] = math.NaN()
				}
				f(dst)
				out[name] = dst
			}
			make1("tangent", func(dst []float64) { b.Tangent(dst, v) })
			make1("landing", b.Landing)
			make1("normal", func(dst []float64) { b.Normal(dst, u) })
			k := testkit.Must(NewCurvature(set, n))
			make1("mean curvature", func(dst []float64) { k.Mean(dst, b) })
			make1("momentum curvature", func(dst []float64) { k.Momentum(dst, b, v, 2) })
			ok, ranks := make([]bool, n), []float64{}
			make1("projection", func(dst []float64) { b.project(dst, y, ok, 0.01) })
			for i := range n {
				reached := 0.0 // 1 if projected
				if ok[i] {
					reached = 1
				}
				ranks = append(ranks, float64(b.Rank(i)), float64(b.Active(i)), reached)
			}
			out["ranks"] = ranks
			return out
		}
		grouped := results(s, x, y, v, u, n)
		for name, want := range results(sets.Dense(s), x, y, v, u, n) {
			for i, w := range want {
				if !(math.Abs(grouped[name][i]-w) <= 1e-12*(1+math.Abs(w))) {
					t.Fatalf("%+v: %s by groups %v, whole %v", s, name, grouped[name][i], w)
				}
			}
		}
		reached := 0
		for i := range n {
			reached += int(grouped["ranks"][3*i+2])
		}
		if reached < n/2 {
			t.Errorf("%+v: %d of %d rows have a projection", s, reached, n)
		}
		testkit.Equal(t, Groups(s), s.blocks, "%+v falls into", s)
		for i := range n {
			alone := results(s, x[i*d:(i+1)*d], y[i*d:(i+1)*d], v[i*d:(i+1)*d], u[i*c:(i+1)*c], 1)
			for name, a := range alone {
				for j, w := range a {
					if grouped[name][i*len(a)+j] != w {
						t.Fatalf("%+v: %s of row %d differs alone", s, name, i)
					}
				}
			}
		}
	}
}

// A component that touches nothing of Σ's coordinates, and components that meet
// only through a third, are grouped as the graph says.
func TestGroupsFollowTheGraph(t *testing.T) {
	s := sparseSupport{d: 7, support: [][]int{{0, 2}, {4}, {3, 5}, {2, 3}, {1}}}
	groups, place := makeGroups(s, fewer)
	want := "[[0 2 3] [1] [4]] [[0 2 3 5] [4] [1]]"
	var comps, coords [][]int
	for _, g := range groups {
		comps, coords = append(comps, g.comp), append(coords, g.coord)
	}
	testkit.Equal(t, fmt.Sprint(comps, coords), want, "groups")
	// Rows {0,2}, {4}, {3,5}, {2,3}, {1} among matrices of 3×4, 1×1, 1×1.
	testkit.Equal(t, fmt.Sprint(place), "[0 1 12 6 7 9 10 13]", "packed derivatives go")
}

type sparseSupport struct {
	formula
	d       int
	support [][]int
}

func (s sparseSupport) Dim() int               { return s.d }
func (s sparseSupport) Equalities() []string   { return make([]string, len(s.support)) }
func (s sparseSupport) Inequalities() []string { return nil }
func (s sparseSupport) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Support: s.support}
}
