package langevin

import "github.com/landing-diffusion/landing/constraint/geometry"

// OLLA-P (= RDDPM) and ULLA-P replace the landing and curvature terms by a
// Newton solve at every step (paper, Forward-OLLA-P and Forward-ULLA-P):
//
//	x_{k+1} = x_k + Π[…] + ∇J(x_k)ᵀ λ   with λ such that J(x_{k+1}) = 0
//
// with J = h where walls are elastic (walls.go). With the paper's J = [h; g_I + ε] and I the inequalities that the
// proposal violates, so a point that meets the boundary is put ε inside it and can leave again. Backward it is the
// same, from x_{k+1}. The tangential parts are those of OLLA and ULLA.

// project moves the proposals in dst to Σ along the normals at x. A row whose solve fails goes back to x and is marked.
func (s *Stepper) project(dst, x []float64, failed []bool, n int) geometry.Outcome {
	margin := s.proc.Repulsion
	if s.walls != nil {
		margin = 0
	}
	o := s.projection.Project(s.at, dst, dst, s.ok, margin)
	for i, ok := range s.ok[:n] {
		if !ok {
			failed[i] = true
			copy(dst[i*s.d:(i+1)*s.d], x[i*s.d:(i+1)*s.d])
		}
	}
	return o
}
