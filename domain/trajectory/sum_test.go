package trajectory_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The paper's sums are those of the separate components, and their derivatives are exact.
func TestPaperSums(t *testing.T) {
	parts := published(3)
	parts.Margin = 0.3 // violated at many points
	s := set(t, parts)
	sum := parts
	sum.Summed = true
	p := set(t, sum)
	d := p.Dim()
	e := p.NewEvaluator(1)
	for sample := range uint64(20) {
		x, dx := make([]float64, d), make([]float64, d)
		stream := keyed.New(1, keyed.Probe, 5)
		s.Capabilities().Start(x, stream, sample, 0)
		stream.Normals(dx, sample, 9)
		for j := range x {
			x[j] += 0.05 * dx[d-1-j]
		}
		// h from the separate components: circles are half of the paper's, the heights of the ends stand in the path.
		v, h, ends := constraint.Values(s, x), 0.0, [2]float64{}
		for i, name := range s.Equalities() {
			switch {
			case name[:3] == "cir":
				h += 4 * v[i] * v[i]
			case name[:3] == "too":
				h += v[i] * v[i]
				if l := name[len(name)-2] - '0'; l != 1 {
					ends[l/2] += v[i] * v[i]
				}
			case name[:3] == "sta":
				ends[0] += v[i] * v[i]
			default:
				ends[1] += v[i] * v[i]
			}
		}
		h += ends[0]*ends[0] + ends[1]*ends[1]
		got := constraint.Values(p, x)
		testkit.Near(t, got[0], h, 1e-12*(1+h), "h")
		// g: links 5 and 6 share their origin and count twice.
		want := 0.0
		for i, name := range s.Inequalities() {
			if u := v[len(s.Equalities())+i]; u > 0 {
				if want += u; name[9:20] == "panda_link5" || name[8:19] == "panda_link5" {
					want += u
				}
			}
		}
		testkit.Near(t, got[1], want, 1e-12*(1+want), "g")
		jac, hv := make([]float64, 2*d), make([]float64, 2*d)
		e.Jacobians(got, jac, x, 1)
		e.HessianVectors(hv, x, dx, 1)
		const step = 1e-5
		at := func(s float64) (v, j []float64) {
			y := make([]float64, d)
			for k := range y {
				y[k] = x[k] + s*dx[k]
			}
			v, j = make([]float64, 2), make([]float64, 2*d)
			e.Jacobians(v, j, y, 1)
			return v, j
		}
		vp, jp := at(step)
		vm, jm := at(-step)
		for a := range 2 {
			slope := 0.0
			for k := range d {
				slope += jac[a*d+k] * dx[k]
			}
			testkit.Near(t, (vp[a]-vm[a])/(2*step), slope, 1e-6*(1+math.Abs(slope)), "component %d: slope", a)
			for k := range d {
				fd := (jp[a*d+k] - jm[a*d+k]) / (2 * step)
				testkit.Near(t, fd, hv[a*d+k], 1e-5*(1+math.Abs(fd)), "component %d: ∇²v[%d]", a, k)
			}
		}
	}
}
