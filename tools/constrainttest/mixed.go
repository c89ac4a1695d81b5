package constrainttest

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
)

// mixed returns a set with the same Σ: equalities h → A h with a fixed invertible A of uneven scales, inequalities
// rescaled by positive factors. If repeat is set, every component appears once more, equalities scaled by 3 and
// inequalities by 5.
func mixed(s constraint.Set, repeat bool) constraint.Set {
	m, l := len(s.Equalities()), len(s.Inequalities())
	rows, more := m, 0
	if repeat {
		rows, more = 2*m, l
	}
	set := &linear{set: s, rows: rows + l + more, cols: m + l, m: rows}
	set.a = make([]float64, set.rows*set.cols)
	for i := range m {
		if repeat {
			set.a[i*set.cols+i] = 1
			set.a[(m+i)*set.cols+i] = 3
			continue
		}
		for j := range i + 1 { // lower triangular, diagonal 2, 20, 200, 2, …
			set.a[i*set.cols+j] = 0.5 / float64(1+i-j)
		}
		set.a[i*set.cols+i] = []float64{2, 20, 200}[i%3]
	}
	for j := range l {
		set.a[(rows+j)*set.cols+m+j] = float64(1 + j%3)
		if repeat {
			set.a[(rows+l+j)*set.cols+m+j] = 5
		}
	}
	return set
}

// rescaled returns a set with the same Σ: each component times its own positive factor.
func rescaled(s constraint.Set) constraint.Set {
	m, c := len(s.Equalities()), len(constraint.Components(s))
	set := &linear{set: s, rows: c, cols: c, m: m, a: make([]float64, c*c)}
	for i := range c {
		set.a[i*c+i] = []float64{1e-3, 1, 1e4}[i%3]
	}
	return set
}

// linear is the set whose components are rows×cols combinations of another's.
type linear struct {
	set           constraint.Set
	a             []float64
	rows, cols, m int
}

func (s *linear) Dim() int               { return s.set.Dim() }
func (s *linear) Equalities() []string   { return numbered("h", s.m) }
func (s *linear) Inequalities() []string { return numbered("g", s.rows-s.m) }

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s[%d]", prefix, i)
	}
	return names
}

func (s *linear) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s *linear) NewEvaluator(rows int) constraint.Evaluator {
	inner := s.set.NewEvaluator(rows)
	return constraint.Evaluator{Values: func(values, x []float64, n int) {
		v := make([]float64, n*s.cols)
		inner.Values(v, x, n)
		s.combine(values, v, n, 1)
	}, Jacobians: func(values, jac, x []float64, n int) {
		v, j := make([]float64, n*s.cols), make([]float64, n*s.cols*s.Dim())
		inner.Jacobians(v, j, x, n)
		s.combine(values, v, n, 1)
		s.combine(jac, j, n, s.Dim())
	}}
}

func (s *linear) combine(dst, src []float64, n, width int) {
	for p := range n {
		for r := range s.rows {
			out := dst[(p*s.rows+r)*width : (p*s.rows+r+1)*width]
			clear(out)
			for c := range s.cols {
				f := s.a[r*s.cols+c]
				for k := range out {
					out[k] += f * src[(p*s.cols+c)*width+k]
				}
			}
		}
	}
}
