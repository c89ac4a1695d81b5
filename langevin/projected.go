package langevin

// OLLA-P (= RDDPM) and ULLA-P replace the landing and curvature terms by a
// Newton solve at every step (paper, Forward-OLLA-P and Forward-ULLA-P):
//
//	x_{k+1} = x_k + Π[…] + ∇J(x_k)ᵀ λ   with λ such that h(x_{k+1}) = 0
//
// and the same backward, from x_{k+1}. The tangential parts are those of
// olla.go and ulla.go.

// project moves the proposals in dst to Σ along the normals at x. A row whose
// solve fails goes back to x and is marked.
func (s *Stepper) project(dst, x []float64, failed []bool, n int) {
	s.Iterations += s.at.Project(dst, dst, s.ok)
	for i, ok := range s.ok[:n] {
		if !ok {
			failed[i] = true
			copy(dst[i*s.d:(i+1)*s.d], x[i*s.d:(i+1)*s.d])
		}
	}
}
