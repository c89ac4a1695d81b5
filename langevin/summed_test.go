package langevin

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// summedArm is the set for trajectories of a seven-joint arm, ten
// steps of (cos q, sin q), summed up in one equality and one inequality:
//
//	h = Σ (c²+s²−1)² + Σ_t (z_t − 0.205)² + ‖e_0 − S‖² + ‖e_9 − E‖²
//	g = Σ_t,o max(0, 0.11 − distance of obstacle o to the nearest link origin)
//
// with the positions at the angles atan2(s, c). Both gradients vanish on Σ.
func summedArm() *formula.Set {
	const steps = 10
	s := formula.Spec{Dim: 14 * steps}
	let := func(name, format string, v ...any) string {
		s.Let = append(s.Let, formula.Definition{Name: name, Expr: fmt.Sprintf(format, v...)})
		return name
	}
	h, g := "0", "0"
	for t := range steps {
		h += fmt.Sprintf(" + sum(j in %d..%d, (x[j]^2 + x[j+7]^2 - 1)^2)", 14*t, 14*t+6)
		origins, flange := links(t, let)
		h += fmt.Sprintf(" + (%s[2] - 0.205)^2", flange)
		if t == 0 || t == steps-1 {
			side := math.Copysign(0.5, float64(t)-1)
			h += fmt.Sprintf(" + distance(%s, [0.4, %v, 0.205])^2", flange, side)
		}
		for _, y := range []float64{0.3, -0.3} {
			near := "1e9"
			for _, p := range origins {
				near += fmt.Sprintf(", distance(%s, [0.4, %v, 0.205])", p, y)
			}
			g += fmt.Sprintf(" + max(0, 0.11 - min(%s))", near)
		}
	}
	s.Equality = []formula.Component{{Name: "sum of squares", Expr: h}}
	s.Inequality = []formula.Component{{Name: "sum of overlaps", Expr: g}}
	return testkit.Must(formula.New(s))
}

// links defines the origins of the seven link frames and the flange of a Panda arm (modified Denavit–Hartenberg) at a
// step, and returns their names.
func links(step int, let func(name, format string, v ...any) string) (origins []string, flange string) {
	a := [7]float64{0, 0, 0, 0.0825, -0.0825, 0, 0.088}
	d := [7]float64{0.333, 0, 0.316, 0, 0.384, 0, 0}
	twist := [7]float64{0, -1, 1, 1, -1, 1, 1} // times π/2
	r, p := "identity(3)", "[0, 0, 0]"
	for i := range 7 {
		name := func(what string) string { return fmt.Sprintf("%s%d_%d", what, step, i) }
		c, s := 14*step+i, 14*step+7+i
		ρ := let(name("n"), "norm([x[%d], x[%d]])", c, s)
		cos, sin, t := let(name("c"), "x[%d]/%s", c, ρ), let(name("s"), "x[%d]/%s", s, ρ), twist[i]
		turn := fmt.Sprintf("[[%s, -%s, 0], [0, 0, %v], [%v*%[2]s, %[4]v*%[1]s, 0]]", cos, sin, -t, t)
		shift := [3]float64{a[i], -d[i] * t, 0}
		if t == 0 {
			turn = fmt.Sprintf("[[%s, -%s, 0], [%[2]s, %[1]s, 0], [0, 0, 1]]", cos, sin)
			shift = [3]float64{a[i], 0, d[i]}
		}
		p = let(name("p"), "%s + %s*[%v, %v, %v]", p, r, shift[0], shift[1], shift[2])
		r = let(name("r"), "%s*%s", r, turn)
		origins = append(origins, p)
	}
	return origins, let(fmt.Sprint("e", step), "%s + %s*[0, 0, 0.107]", p, r)
}
