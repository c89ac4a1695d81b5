package experiment

import "github.com/landing-diffusion/landing/constraint"

// unselected returns the first row of x that the set does not select, or −1.
func (e *Experiment) unselected(x []float64) int {
	s, ok := e.Process.Set.(constraint.Selector)
	if !ok {
		return -1
	}
	d := e.Process.Set.Dim()
	for i := range len(x) / d {
		if !s.Selects(x[i*d : (i+1)*d]) {
			return i
		}
	}
	return -1
}

// selection names the condition that tells a set's own components from others.
func (e *Experiment) selection() string {
	return e.Process.Set.(constraint.Selector).Selection()
}

// reject marks the samples lo … hi−1 that the set does not select as lost, and
// counts them.
func (e *Experiment) reject(s *Samples, lo, hi int) {
	set, ok := e.Process.Set.(constraint.Selector)
	if !ok {
		return
	}
	for i := lo; i < hi; i++ {
		if !s.Lost[i] && !set.Selects(s.X[i*s.Dim:(i+1)*s.Dim]) {
			s.Lost[i] = true
			s.Wrong++
		}
	}
}
