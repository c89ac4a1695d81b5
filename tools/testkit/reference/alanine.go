// Package reference holds feasible sets as the paper's reference implementation
// writes them, for tests against its numbers.
package reference

import (
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Alanine is the set on ten atoms in R³ where the torsion φ of atoms 1, 3, 4, 6
// is fixed and ψ of 3, 4, 6, 8 stays in a window, written as one maximum.
var Alanine = testkit.Must(formula.New(formula.Spec{Dim: 30,
	Let: formula.Definitions{{Name: "ψ", Expr: "dihedral(x[9:12], x[12:15], x[18:21], x[24:27])"}},
	Equality: []formula.Component{{Name: "φ",
		Expr: "dihedral(x[3:6], x[9:12], x[12:15], x[18:21]) + 1.2217304763960306"}},
	Inequality: []formula.Component{{Name: "ψ", Expr: "max(ψ - 2.9670597283903604, 2.2689280275926285 - ψ)"}},
}))
