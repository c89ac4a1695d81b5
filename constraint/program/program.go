// Package program brings points to Σ = {h = 0, g ≤ 0} by general-purpose programs of constrained optimisation, which
// know of Σ its components and their first derivatives. The rivals of the paper's tables are made of them:
//
//	Interior    the nearest point, by an interior-point method
//	Lagrangian  the nearest point, by an augmented Lagrangian with dual ascent
//	Guidance    the gradient of the violation ½‖h‖² + ½‖max(g, 0)‖²
//	Correction  Gauss–Newton steps, as of an extrapolated end state
//
// It is not for the house's own dynamics: these use package geometry, which knows more of Σ.
package program
