package discover

import "math"

// power reports whether a polynomial is about a power h^k, k ≥ 2, of something simpler: it then seems a k-th as far
// from the rows as {h = 0} is, and has no gradient where it holds, so that no process can keep it. Newton's step
// from a row leaves (1 − 1/k)^k of it, a quarter or more; of a polynomial that is none, at the distance of relations
// that are nearly kept, a few hundredths.
func (s *search) power(r *Relation) bool {
	if r.Kind != Quadratic && r.Kind != Polynomial {
		return false
	}
	const much = 0.15
	set := s.compile([]*Relation{r})
	e, columns := set.NewEvaluator(1), set.Support()[0]
	x, h, g := make([]float64, s.D), make([]float64, 1), make([]float64, len(columns))
	left, rows := 0, 0
	for _, i := range s.span.rows {
		copy(x, s.X[i*s.D:(i+1)*s.D])
		e.SparseJacobians(h, g, x, 1)
		before, slope := h[0], 0.0
		for k, j := range columns {
			slope += g[k] * s.scale[j] * g[k] * s.scale[j]
		}
		if before == 0 || !(slope > 0) {
			continue
		}
		for k, j := range columns {
			x[j] -= before / slope * g[k] * s.scale[j] * s.scale[j]
		}
		e.SparseJacobians(h, g, x, 1)
		if rows++; !(math.Abs(h[0]) <= much*math.Abs(before)) {
			left++
		}
	}
	return 2*left > rows
}

// roots adds to the nearly kept relations those that powers are powers of, if they are at most twice as far as that.
func (s *search) roots() {
	for _, p := range s.powers {
		for k, r := range s.almost {
			if r != nil && s.along(p, r) {
				s.near, s.almost[k] = append(s.near, r), nil
			}
		}
	}
}

// along reports whether the gradients of two relations are parallel at most of the rows of the span.
func (s *search) along(a, b *Relation) bool {
	const cosine = 0.95
	alike := 0
	for i := range s.span.rows {
		dot, aa, bb := 0.0, 0.0, 0.0
		for k, j := range a.Columns {
			s.scratch.dense[j] = a.gradient[i*len(a.Columns)+k]
			aa += s.scratch.dense[j] * s.scratch.dense[j]
		}
		for k, j := range b.Columns {
			v := b.gradient[i*len(b.Columns)+k]
			dot, bb = dot+s.scratch.dense[j]*v, bb+v*v
		}
		for _, j := range a.Columns {
			s.scratch.dense[j] = 0
		}
		if math.Abs(dot) >= cosine*math.Sqrt(aa*bb) && aa*bb > 0 {
			alike++
		}
	}
	return 4*alike >= 3*len(s.span.rows)
}
