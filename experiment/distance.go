package experiment

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/metric"
)

// parts returns the statistics behind the distance of x to all data, or nil.
func (e *Experiment) parts(x []float64) map[string]Float {
	o, ok := e.Process.Set.(*zoo.Orthogonal)
	if !ok {
		return nil
	}
	each, _ := metric.PowerTraceJSD(x, e.Data.X, o.Order())
	out := map[string]Float{}
	for k, v := range each {
		out[fmt.Sprintf("trace%d", metric.TracePowers[k])] = Float(v)
	}
	return out
}

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
