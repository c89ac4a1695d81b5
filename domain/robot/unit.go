package robot

import "math"

// Unit writes the configuration x with every pair (c, s) brought to length 1, which is what angles atan2(s, c) read off
// the circles; sliding joints stay as they are. A pair (0, 0) is read as the angle 0. y may be x.
func (a *Arm) Unit(y, x []float64) {
	turning := a.Turning()
	for i := range turning {
		c, s := x[i], x[turning+i]
		if ρ := math.Hypot(c, s); ρ == 0 {
			y[i], y[turning+i] = 1, 0
		} else {
			y[i], y[turning+i] = c/ρ, s/ρ
		}
	}
	copy(y[2*turning:a.Dim()], x[2*turning:])
}
