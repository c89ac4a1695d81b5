package trajectory

import "math"

// A Ball is a solid sphere.
type Ball struct {
	Centre [3]float64
	Radius float64
}

// Distance implements Obstacle.
func (b Ball) Distance(p [3]float64) float64 {
	x, y, z := p[0]-b.Centre[0], p[1]-b.Centre[1], p[2]-b.Centre[2]
	return math.Sqrt(x*x+y*y+z*z) - b.Radius
}

// At implements Obstacle: the unit vector away from the centre; 0 at the centre.
func (b Ball) At(p [3]float64) (float64, [3]float64) {
	v := [3]float64{p[0] - b.Centre[0], p[1] - b.Centre[1], p[2] - b.Centre[2]}
	r := norm(v)
	if r == 0 {
		return -b.Radius, [3]float64{}
	}
	return r - b.Radius, [3]float64{v[0] / r, v[1] / r, v[2] / r}
}

// HessianVector implements Obstacle: (v − n n·v)/r.
func (b Ball) HessianVector(p, v [3]float64) [3]float64 {
	φ, n := b.At(p)
	r := φ + b.Radius
	if r == 0 {
		return [3]float64{}
	}
	s := dot(n, v)
	return [3]float64{(v[0] - s*n[0]) / r, (v[1] - s*n[1]) / r, (v[2] - s*n[2]) / r}
}
