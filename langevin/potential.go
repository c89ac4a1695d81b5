package langevin

// Quadratic is f(x) = ½ (x−c)ᵀ diag(w) (x−c): a Gaussian exp(−f) before Σ cuts
// it.
type Quadratic struct {
	Center []float64 // c; nil means 0
	Weight []float64 // w; nil means 1
}

// Gradient implements Potential.
func (q Quadratic) Gradient(dst, x []float64, n int) {
	d := len(x) / max(n, 1)
	for i := range n {
		for j := range d {
			v := x[i*d+j]
			if q.Center != nil {
				v -= q.Center[j]
			}
			if q.Weight != nil {
				v *= q.Weight[j]
			}
			dst[i*d+j] = v
		}
	}
}

// Linear is f(x) = −b·x: on a sphere exp(−f) is the von Mises–Fisher law.
type Linear struct{ B []float64 }

// Gradient implements Potential.
func (l Linear) Gradient(dst, _ []float64, n int) {
	d := len(l.B)
	for i := range n {
		for j, b := range l.B {
			dst[i*d+j] = -b
		}
	}
}
