package constraint

import "fmt"

// Ambient returns the space that points of s lie in, without its components: R^d, with the
// coordinates that s holds. Steps of a process on it know nothing of Σ.
func Ambient(s Set) Set {
	if len(s.Equalities())+len(s.Inequalities()) == 0 {
		return s
	}
	return &ambient{s}
}

type ambient struct{ Set }

func (*ambient) Equalities() []string   { return nil }
func (*ambient) Inequalities() []string { return nil }
func (s *ambient) Unwrap() []Set        { return []Set{s.Set} }

func (s *ambient) Capabilities() Capabilities {
	c := s.Set.Capabilities()
	return Capabilities{Name: fmt.Sprintf("R^%d", s.Dim()), Held: c.Held, HeldNames: c.HeldNames, Parts: c.Parts,
		Steps: c.Steps, StepDim: c.StepDim}
}

func (*ambient) NewEvaluator(int) Evaluator {
	return Evaluator{Values: func(_, _ []float64, _ int) {}, Jacobians: func(_, _, _ []float64, _ int) {},
		HessianVectors: func(_, _, _ []float64, _ int) {}}
}
