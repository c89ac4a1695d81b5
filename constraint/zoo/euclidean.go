package zoo

import "fmt"

// Euclidean is R^d: no constraint at all.
type Euclidean struct{ D int }

func (s Euclidean) String() string       { return fmt.Sprintf("R^%d", s.D) }
func (s Euclidean) Dim() int             { return s.D }
func (Euclidean) Equalities() []string   { return nil }
func (Euclidean) Inequalities() []string { return nil }

// Values writes nothing: there are no components.
func (Euclidean) Values(_, _ []float64, _ int) {}

// Jacobians writes nothing.
func (Euclidean) Jacobians(_, _, _ []float64, _ int) {}

// HessianVectors writes nothing.
func (Euclidean) HessianVectors(_, _, _ []float64, _ int) {}
