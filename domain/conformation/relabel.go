package conformation

import (
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// A Relabeller exchanges the names of equivalent atoms in conformations (molecule.Exchanges) where a condition on a
// dihedral or a volume asks for it: programs that make conformers number the hydrogens of CH₂ and CH₃, and prochiral
// groups, as they come.
type Relabeller []exchange

type exchange struct {
	pairs      [][2]int
	conditions []Condition // that no exchange of fewer atoms decides
}

const (
	worthwhile = 0.5 // rad and Å³, of all conditions, by which an exchange must bring a conformation nearer to Σ
	passes     = 4   // over all exchanges at most: one may make room for another
)

// NewRelabeller makes the Relabeller of a set's conditions for a molecule of the same atoms, which has bonds.
func (s *Set) NewRelabeller(m *molecule.Molecule) (r Relabeller) {
	for _, pairs := range m.Exchanges() {
		r = append(r, exchange{pairs: pairs})
	}
	slices.SortStableFunc(r, func(a, b exchange) int { return len(a.pairs) - len(b.pairs) })
	for _, c := range s.conditions {
		fewest, hand := len(s.molecule.Atoms), c.Kind == Dihedral || c.Kind == Volume
		moves := func(p [2]int) bool { return slices.Contains(c.Atoms, p[0]) || slices.Contains(c.Atoms, p[1]) }
		for k := range r {
			if e := &r[k]; hand && len(e.pairs) <= fewest && slices.ContainsFunc(e.pairs, moves) {
				e.conditions, fewest = append(e.conditions, c), len(e.pairs)
			}
		}
	}
	slices.Reverse(r) // larger branches first
	return slices.DeleteFunc(r, func(e exchange) bool { return e.conditions == nil })
}

// Relabel changes the conformation x in place, and reports whether it has.
func (r Relabeller) Relabel(x []float64) (changed bool) {
	for again, pass := true, 0; again && pass < passes; pass++ {
		again = false
		for _, e := range r {
			if was := e.excess(x); was > worthwhile {
				if e.swap(x); e.excess(x) < was-worthwhile {
					again, changed = true, true
				} else {
					e.swap(x)
				}
			}
		}
	}
	return changed
}

func (e *exchange) swap(x []float64) {
	for _, p := range e.pairs {
		for k := range 3 {
			x[3*p[0]+k], x[3*p[1]+k] = x[3*p[1]+k], x[3*p[0]+k]
		}
	}
}

func (e *exchange) excess(x []float64) (sum float64) {
	for _, c := range e.conditions {
		sum += c.Excess(x)
	}
	return sum
}

// Excess returns by how much a conformation violates the condition, in its unit; 0 if it does not.
func (c *Condition) Excess(x []float64) float64 { return c.beyond(c.Value(x)) }

func (c *Condition) beyond(v float64) float64 {
	switch {
	case c.Given:
		return 0
	case c.Kind != Dihedral:
		return max(0, c.Low-v, v-c.High)
	}
	least := math.Inf(1)
	for _, w := range c.Arcs() {
		half := (w[1] - w[0]) / 2
		least = min(least, math.Abs(math.Remainder(v-w[0]-half, 2*math.Pi))-half)
	}
	return max(0, least)
}

// Arcs are the windows of a dihedral, one of Low and High.
func (c *Condition) Arcs() [][2]float64 {
	if c.Windows != nil {
		return c.Windows
	}
	return [][2]float64{{c.Low, c.High}}
}
