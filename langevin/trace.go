package langevin

import "github.com/landing-diffusion/landing/constraint"

// A Trace gathers how far generated states are from Σ on the way: |h_i| and max(g_j, 0) at each of x_N, …, x_0 and at
// what terminal projection makes of x_0. A sample that loses a projection counts up to the state before.
//
// Means do not depend on the order of what is added (but for a rounding in 10¹⁵): sums
// are kept in twice float64's digits.
type Trace struct {
	steps, equalities, components int

	count []int // of states, by k; k = N+1 is the projected x_0
	sums  []sum // by k and component
	worst []float64
}

// A sum is s + e, e being what rounding lost of s.
type sum struct{ s, e float64 }

func (a *sum) add(s, e float64) {
	t := a.s + s
	z := t - a.s
	a.e += (a.s - (t - z)) + (s - z) + e
	a.s = t
}

// NewTrace makes an empty trace of the backward paths of p.
func NewTrace(p *Process) *Trace {
	n, c := p.Schedule.N+2, len(constraint.Components(p.Set))
	return &Trace{
		steps: p.Schedule.N, equalities: len(p.Set.Equalities()), components: c,
		count: make([]int, n), sums: make([]sum, n*c), worst: make([]float64, n*c),
	}
}

// Steps returns N.
func (t *Trace) Steps() int { return t.steps }

// Count returns how many samples were at x_k; k = N+1 is x_0 after terminal projection.
func (t *Trace) Count(k int) int { return t.count[k] }

// Mean returns the mean violation of a component at x_k, k as in Count; NaN if no sample was there.
func (t *Trace) Mean(k, component int) float64 {
	s := t.sums[k*t.components+component]
	return (s.s + s.e) / float64(t.count[k])
}

// Worst returns the largest violation of a component at x_k.
func (t *Trace) Worst(k, component int) float64 { return t.worst[k*t.components+component] }

// See adds the states x_k with these values of all components, but for those that failed.
func (t *Trace) See(k int, values []float64, failed []bool) {
	sums, worst := t.sums[k*t.components:][:t.components], t.worst[k*t.components:][:t.components]
	for i, lost := range failed {
		if lost {
			continue
		}
		t.count[k]++
		for a, v := range values[i*t.components : (i+1)*t.components] {
			e := constraint.Excess(v, a < t.equalities)
			sums[a].add(e, 0)
			worst[a] = max(worst[a], e)
		}
	}
}

// Add adds what o saw.
func (t *Trace) Add(o *Trace) {
	for k, n := range o.count {
		t.count[k] += n
	}
	for i, s := range o.sums {
		t.sums[i].add(s.s, s.e)
		t.worst[i] = max(t.worst[i], o.worst[i])
	}
}
