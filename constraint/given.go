package constraint

import "fmt"

// Given returns Σ × R^n, Σ that of s, whose last n coordinates are held (Hold): points are (x, c) with x in Σ, whatever
// c. What s knows in closed form is true of it, but for its uniform law, which it leaves to those who know c.
func Given(s Set, n int) Set {
	if n == 0 {
		return s
	}
	if n < 0 || len(s.Capabilities().Held) > 0 {
		panic(fmt.Sprintf("constraint: %d coordinates given beside %s", n, Name(s)))
	}
	d := s.Dim()
	g := &given{product: product{factors: []Set{s}}}
	g.join = newJoin(g.factors, []int{0}, d+n, func(_ int, component string) string { return component })
	for j := range n {
		g.held = append(g.held, d+j)
	}
	return g
}

// Free returns the set of x alone that Given was told of, where s is one of its.
func Free(s Set) (Set, bool) {
	if g, ok := s.(*given); ok {
		return g.free(), true
	}
	return nil, false
}

// A given is a product of one factor, whose names it keeps, with held coordinates behind it. It has no Unwrap: points of
// the inner set are other points.
type given struct {
	product
	held []int
}

func (s *given) free() Set { return s.factors[0] }

func (s *given) Capabilities() Capabilities {
	c, d, n := s.free().Capabilities(), s.free().Dim(), len(s.held)
	c.Held, c.HeldNames, c.SampleUniform, c.Volume, c.Start = s.held, nil, nil, 0, nil
	if own := c.Equalities; own != nil {
		c.Equalities = func() Set { return Given(own(), n) }
	}
	if fault := c.Fault; fault != nil {
		c.Fault = func(x []float64) error { return fault(x[:d]) }
	}
	if selects := c.Selects; selects != nil {
		c.Selects = func(x []float64) bool { return selects(x[:d]) }
	}
	return c
}

func (s *given) NewEvaluator(rows int) Evaluator {
	e := s.product.NewEvaluator(rows)
	if s.free().Capabilities().Support == nil {
		e.SparseJacobians = nil
	}
	return e
}
