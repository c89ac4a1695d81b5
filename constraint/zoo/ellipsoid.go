package zoo

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Ellipsoid is {x ∈ R^d : ½(Σ x_j²/a_j² − 1) = 0}.
type Ellipsoid struct {
	Axes []float64 // the semi-axes a_j > 0
}

func (s Ellipsoid) String() string       { return fmt.Sprintf("ellipsoid in R^%d", len(s.Axes)) }
func (s Ellipsoid) Dim() int             { return len(s.Axes) }
func (Ellipsoid) Equalities() []string   { return []string{"surface"} }
func (Ellipsoid) Inequalities() []string { return nil }

func (s Ellipsoid) Capabilities() constraint.Capabilities {
	return constraint.Capabilities{Name: s.String(), SampleUniform: s.SampleUniform}
}

func (s Ellipsoid) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians, HessianVectors: s.HessianVectors}
}

func (s Ellipsoid) Values(values, x []float64, n int) {
	d := len(s.Axes)
	for i := range n {
		sum := -1.0
		for j, a := range s.Axes {
			q := x[i*d+j] / a
			sum += q * q
		}
		values[i] = sum / 2
	}
}

func (s Ellipsoid) Jacobians(values, jac, x []float64, n int) {
	s.Values(values, x, n)
	s.HessianVectors(jac, nil, x, n) // ∇h(x) = A⁻²x
}

// HessianVectors: ∇²h v = A⁻²v, whatever x is.
func (s Ellipsoid) HessianVectors(dst, _, v []float64, n int) {
	d := len(s.Axes)
	for i := range n {
		for j, a := range s.Axes {
			dst[i*d+j] = v[i*d+j] / (a * a)
		}
	}
}

// SampleUniform maps a uniform point u of the unit sphere to (a_j u_j) and
// accepts it with the ratio of areas, ∝ ‖A⁻¹u‖.
func (s Ellipsoid) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	amin := math.Inf(1)
	for _, a := range s.Axes {
		amin = min(amin, a)
	}
	u := make([]float64, 1)
	for step := 0; ; step += 2 {
		st.Normals(dst, sample, step)
		q, w := dense.Norm(dst), 0.0
		if q == 0 {
			continue
		}
		for j, a := range s.Axes {
			dst[j] /= q
			w += (dst[j] / a) * (dst[j] / a)
		}
		st.Uniforms(u, sample, step+1)
		if u[0] < math.Sqrt(w)*amin {
			for j, a := range s.Axes {
				dst[j] *= a
			}
			return
		}
	}
}
