package langevin

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/geometry"
	"github.com/landing-diffusion/landing/internal/testkit/golden"
)

// summedArm is the reference's set for trajectories of a seven-joint arm, ten
// steps of (cos q, sin q), summed up in one equality and one inequality:
//
//	h = Σ (c²+s²−1)² + Σ_t (z_t − 0.205)² + ‖e_0 − S‖² + ‖e_9 − E‖²
//	g = Σ_t,o max(0, 0.11 − distance of obstacle o to the nearest link origin)
//
// with the positions at the angles atan2(s, c). Both gradients vanish on Σ.
type summedArm struct{}

const armSteps = 10

func (summedArm) Dim() int               { return 14 * armSteps }
func (summedArm) Equalities() []string   { return []string{"sum of squares"} }
func (summedArm) Inequalities() []string { return []string{"sum of overlaps"} }

func (s summedArm) Values(values, x []float64, n int) {
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

func (summedArm) Jacobians(values, jac, x []float64, n int) {
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

// The values of ../shared/golden/robot10_ops.npz: the ridge is what keeps the
// vanishing gradients from being an error, at the price that Π is no projector.
func TestGoldenArmOps(t *testing.T) {
	g := golden.Read(t, "robot10_ops.npz")
	f := func(name string) []float64 { return g[name].AsFloat64() }
	const n, d, α, τ, ε = 6, 140, 200.0, 0.002, 0.001
	for _, where := range []string{"on", "off"} {
		x := f("x_" + where)
		b := geometry.NewBlock(summedArm{}, n, ε, geometry.Ridge(1e-6))
		if err := b.At(x, n); err != nil {
			t.Fatal(err)
		}
		jac := make([]float64, 2*d*n)
		summedArm{}.Jacobians(make([]float64, 2*n), jac, x, n)
		for i := range n {
			near(t, "h", b.Values()[2*i:2*i+1], f("h_" + where)[i:i+1])
			near(t, "g", b.Values()[2*i+1:2*i+2], f("g_" + where)[i:i+1])
			near(t, "∇h", jac[2*i*d:(2*i+1)*d], f("jac_h_" + where)[i*d:(i+1)*d])
			near(t, "∇g", jac[(2*i+1)*d:(2*i+2)*d], f("jac_g_" + where)[i*d:(i+1)*d])
			if b.Active(i) != 2 {
				t.Errorf("point %d has %d active components", i, b.Active(i))
			}
		}
		tangent, landing := make([]float64, d*n), make([]float64, d*n)
		b.Tangent(tangent, f("y"))
		near(t, "Πy", tangent, f("tangent_"+where))
		b.Landing(landing)
		explicit, implicit := make([]float64, d*n), make([]float64, d*n)
		for i, x := range x {
			explicit[i] = x + 0.1*tangent[i] - α*τ*landing[i]
			implicit[i] = x - landing[i]
		}
		near(t, "explicit landing", explicit, f("explicit_"+where))
		near(t, "implicit landing", implicit, f("implicit_"+where))
	}
}

// Trajectories of OLLA and ULLA up to their projections, whose result on such a
// set depends on when the reference gives up.
func TestGoldenArmTrajectories(t *testing.T) {
	for _, c := range goldenCases("robot10") {
		if c.method.Projected() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			replayLanding(t, c, &Process{
				Set: summedArm{}, Method: c.method, Friction: 1, Convention: Reference, Terminal: true, Ridge: 1e-6, Repulsion: 0.001,
				Schedule: Schedule{N: 3, T: 0.006, SigmaMin: 0.1, SigmaMax: 2},
				Landing:  Landing{Implicit: c.implicit, Rate: 200},
			}, nil)
		})
	}
}
