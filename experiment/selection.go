package experiment

// unselected returns the first row of x that the set does not select, or −1.
func (e *Experiment) unselected(x []float64) int {
	selects := e.Process.Set.Capabilities().Selects
	if selects == nil {
		return -1
	}
	d := e.Process.Set.Dim()
	for i := range len(x) / d {
		if !selects(x[i*d : (i+1)*d]) {
			return i
		}
	}
	return -1
}

// selection names the condition that tells a set's own components from others.
func (e *Experiment) selection() string {
	return e.Process.Set.Capabilities().Selection
}

// reject marks the samples lo … hi−1 that the set does not select as lost, and
// counts them.
func (e *Experiment) reject(s *Samples, lo, hi int) {
	selects := e.Process.Set.Capabilities().Selects
	if selects == nil {
		return
	}
	for i := lo; i < hi; i++ {
		if !s.Lost[i] && !selects(s.X[i*s.Dim:(i+1)*s.Dim]) {
			s.Lost[i] = true
			s.Wrong++
		}
	}
}
