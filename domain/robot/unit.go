package robot

import "math"

// The reference implementation reads joint angles as atan2(s, c) everywhere, so its functions off the circles are f(y)
// with y = x/ρ in each pair, ρ = ‖(c, s)‖. The methods of this file carry values and gradients of f from y to x;
// sliding joints stay as they are. With u = (c, s)/ρ the derivative of a pair is ∂y/∂x = (I − uuᵀ)/ρ. A pair (0, 0) is
// read as the angle 0, and has zero derivatives.

// Unit writes y, the configuration x with every pair brought to length 1. y may be x.
func (a *Arm) Unit(y, x []float64) {
	turning := a.Turning()
	for i := range turning {
		y[i], y[turning+i], _ = a.pair(x, i)
	}
	copy(y[2*turning:a.Dim()], x[2*turning:])
}

// pair returns u and 1/ρ of the i-th of the turning joints.
func (a *Arm) pair(x []float64, i int) (c, s, inverse float64) {
	c, s = x[i], x[a.Turning()+i]
	ρ := math.Hypot(c, s)
	if ρ == 0 {
		return 1, 0, 0
	}
	return c / ρ, s / ρ, 1 / ρ
}

// UnitTangent writes ∂y/∂x v into out, which may be v. The matrix is symmetric: a
// gradient by y goes to one by x the same way.
func (a *Arm) UnitTangent(out, x, v []float64) {
	turning := a.Turning()
	for i := range turning {
		c, s, inverse := a.pair(x, i)
		vc, vs := v[i], v[turning+i]
		along := c*vc + s*vs
		out[i], out[turning+i] = inverse*(vc-along*c), inverse*(vs-along*s)
	}
	copy(out[2*turning:a.Dim()], v[2*turning:])
}
