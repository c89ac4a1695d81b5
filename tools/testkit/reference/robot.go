package reference

import (
	"math"

	"github.com/landing-diffusion/landing/constraint"
)

// SummedArm is the set for trajectories of a seven-joint arm, ten
// steps of (cos q, sin q), summed up in one equality and one inequality:
//
//	h = Σ (c²+s²−1)² + Σ_t (z_t − 0.205)² + ‖e_0 − S‖² + ‖e_9 − E‖²
//	g = Σ_t,o max(0, 0.11 − distance of obstacle o to the nearest link origin)
//
// with the positions at the angles atan2(s, c). Both gradients vanish on Σ.
type SummedArm struct{}

const armSteps = 10

func (SummedArm) Dim() int               { return 14 * armSteps }
func (SummedArm) Equalities() []string   { return []string{"sum of squares"} }
func (SummedArm) Inequalities() []string { return []string{"sum of overlaps"} }

func (SummedArm) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }

func (s SummedArm) NewEvaluator(int) constraint.Evaluator {
	return constraint.Evaluator{Values: s.Values, Jacobians: s.Jacobians}
}

func (s SummedArm) Values(values, x []float64, n int) {
	s.Jacobians(values, make([]float64, 2*s.Dim()*n), x, n)
}

type vec3 [3]float64

func (a vec3) minus(b vec3) vec3  { return vec3{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
func (a vec3) dot(b vec3) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func (a vec3) length() float64    { return math.Sqrt(a.dot(a)) }
func (a vec3) cross(b vec3) vec3 {
	return vec3{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}

// links returns the origins of the seven link frames, the directions of their
// joint axes and the flange of a Panda arm (modified Denavit–Hartenberg).
func links(x []float64) (origin, axis [7]vec3, flange vec3) {
	a := [7]float64{0, 0, 0, 0.0825, -0.0825, 0, 0.088}
	d := [7]float64{0.333, 0, 0.316, 0, 0.384, 0, 0}
	twist := [7]float64{0, -1, 1, 1, -1, 1, 1} // times π/2
	r, p := [3]vec3{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, vec3{}
	for i := range 7 {
		ρ := math.Hypot(x[i], x[7+i])
		c, s, t := x[i]/ρ, x[7+i]/ρ, twist[i]
		step := [3]vec3{{c, -s, 0}, {0, 0, -t}, {s * t, c * t, 0}}
		if t == 0 {
			step = [3]vec3{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}
		}
		shift := vec3{a[i], -d[i] * t, 0}
		if t == 0 {
			shift = vec3{a[i], 0, d[i]}
		}
		var next [3]vec3
		for u := range 3 {
			p[u] += r[u].dot(shift)
			for v := range 3 {
				next[u][v] = r[u].dot(vec3{step[0][v], step[1][v], step[2][v]})
			}
		}
		r = next
		origin[i], axis[i] = p, vec3{r[0][2], r[1][2], r[2][2]}
	}
	for u := range 3 {
		flange[u] = p[u] + 0.107*axis[6][u]
	}
	return origin, axis, flange
}

func (SummedArm) Jacobians(values, jac, x []float64, n int) {
	d := 14 * armSteps
	clear(jac[:2*d*n])
	for i := range n {
		h, g := 0.0, 0.0
		for t := range armSteps {
			xt, dh, dg := x[i*d+14*t:][:14], jac[2*i*d+14*t:][:14], jac[(2*i+1)*d+14*t:][:14]
			origin, axis, flange := links(xt)
			// move adds w·∂p/∂x for a point p carried by the joints up to last.
			move := func(grad []float64, w, p vec3, last int) {
				for j := range last + 1 {
					dq := w.dot(axis[j].cross(p.minus(origin[j])))
					c, s := xt[j], xt[7+j]
					grad[j] += dq * -s / (c*c + s*s)
					grad[7+j] += dq * c / (c*c + s*s)
				}
			}
			for j := range 7 {
				u := xt[j]*xt[j] + xt[7+j]*xt[7+j] - 1
				h += u * u
				dh[j] += 4 * u * xt[j]
				dh[7+j] += 4 * u * xt[7+j]
			}
			off := vec3{0, 0, flange[2] - 0.205}
			h += off.dot(off)
			move(dh, vec3{0, 0, 2 * off[2]}, flange, 6)
			if t == 0 || t == armSteps-1 {
				end := vec3{0.4, math.Copysign(0.5, float64(t)-1), 0.205}
				off := flange.minus(end)
				h += off.dot(off)
				move(dh, vec3{2 * off[0], 2 * off[1], 2 * off[2]}, flange, 6)
			}
			for _, y := range []float64{0.3, -0.3} {
				near, away := 0, vec3{}
				for j, p := range origin {
					if v := p.minus(vec3{0.4, y, 0.205}); j == 0 || v.length() < away.length() {
						near, away = j, v
					}
				}
				if overlap := 0.11 - away.length(); overlap > 0 {
					g += overlap
					l := -away.length()
					move(dg, vec3{away[0] / l, away[1] / l, away[2] / l}, origin[near], near)
				}
			}
		}
		values[2*i], values[2*i+1] = h, g
	}
}
