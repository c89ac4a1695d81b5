package figure

import "math"

// The Equal Earth projection: B. Šavrič, T. Patterson and B. Jenny, "The Equal Earth map projection", International
// Journal of Geographical Information Science 33 (2019). Parallels are straight, areas are true, and poles are lines.
const (
	ee1 = 1.340264
	ee2 = -0.081106
	ee3 = 0.000893
	ee4 = 0.003796
)

// eeWidth and eeHeight are half the extent of the map of the unit sphere.
var (
	eeWidth, _  = equalEarth(0, math.Pi)
	_, eeHeight = equalEarth(math.Pi/2, 0)
)

// equalEarth projects latitude φ and longitude λ in radians on the plane of the unit sphere: with sin θ = (√3/2) sin φ,
//
//	y = A₁θ + A₂θ³ + A₃θ⁷ + A₄θ⁹,   x = λ cos θ / ((√3/2) dy/dθ).
func equalEarth(phi, lambda float64) (x, y float64) {
	const m = 0.86602540378443864676 // √3/2
	t := math.Asin(m * math.Sin(phi))
	t2 := t * t
	t6 := t2 * t2 * t2
	y = t * (ee1 + ee2*t2 + t6*(ee3+ee4*t2))
	dy := ee1 + 3*ee2*t2 + t6*(7*ee3+9*ee4*t2)
	return lambda * math.Cos(t) / (m * dy), y
}
