package trajectory

import "github.com/landing-diffusion/landing/constraint"

func newNormals(s *Set) constraint.Projector { return nil }
