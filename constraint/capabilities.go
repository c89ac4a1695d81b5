package constraint

// An Exactness is a Projector that says whether its Tangent is exact beside Σ. Of a
// set that says nothing it is: there Π² = Π, which the loss of training relies on.
type Exactness interface {
	// ExactProjector reports whether Tangent writes the orthogonal projector Π(x),
	// with Π² = Π = Πᵀ and ∇h Π = 0, at every regular x. If not, it does so for x on
	// Σ only.
	ExactProjector() bool
}

// An Explainer is a set that can say why it is not finite at a point.
type Explainer interface {
	// Fault returns an error that names the first component, and in it the first
	// operation, whose value or derivative is not finite at the point x (d numbers),
	// or nil if all are finite.
	Fault(x []float64) error
}
