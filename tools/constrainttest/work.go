package constrainttest

import "github.com/landing-diffusion/landing/constraint"

// Working returns the set, whose points are said to take so many multiply-adds (constraint.Capabilities.Work).
func Working(s constraint.Set, work float64) constraint.Set { return working{s, work} }

type working struct {
	constraint.Set
	work float64
}

func (s working) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Work = s.work
	return c
}
