package conformation

import (
	"cmp"
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
	handed     = 0.5 // Å³: three bonds that span less have no hand
	passes     = 4   // over all exchanges at most: one may make room for another
)

// NewRelabeller makes the Relabeller of a set's conditions for a molecule of the same atoms, which has bonds. Centres
// of unlike neighbours in branches have the hands of the template too: branches with a centre of the other hand are not
// equivalent, whatever the bond graph says.
func (s *Set) NewRelabeller(m *molecule.Molecule) Relabeller {
	var r Relabeller
	for _, pairs := range m.Exchanges() {
		r = append(r, exchange{pairs: pairs})
	}
	slices.SortStableFunc(r, func(a, b exchange) int { return cmp.Compare(len(b.pairs), len(a.pairs)) })
	moving := make([][]int, m.N()) // the exchanges that move an atom
	for k, e := range r {
		for _, p := range e.pairs {
			moving[p[0]], moving[p[1]] = append(moving[p[0]], k), append(moving[p[1]], k)
		}
	}
	for _, c := range s.conditions {
		var all []int
		for _, a := range c.Atoms {
			all = append(all, moving[a]...)
		}
		slices.Sort(all)
		all = slices.Compact(all)
		for _, k := range all {
			hand := c.Kind == Dihedral || c.Kind == Volume
			if last := r[all[len(all)-1]]; hand && len(r[k].pairs) == len(last.pairs) {
				r[k].conditions = append(r[k].conditions, c)
			}
		}
	}
	class := m.Classes()
	for o, near := range m.Neighbours() {
		of := map[int]bool{}
		for _, a := range near {
			of[class[a]] = true
		}
		if len(near) < 3 || len(of) < len(near) || s.template == nil {
			continue
		}
		c := Condition{Coordinate: Coordinate{Volume, []int{o, near[0], near[1], near[2]}}, High: math.Inf(1)}
		if v := c.Value(s.template); v < -handed {
			c.Low, c.High = math.Inf(-1), 0
		} else if v < handed {
			continue
		}
		for _, k := range moving[o] {
			if r[k].conditions != nil {
				r[k].conditions = append(r[k].conditions, c)
			}
		}
	}
	return slices.DeleteFunc(r, func(e exchange) bool { return e.conditions == nil })
}

// Relabel changes the conformation x in place, larger branches first, and reports whether it has.
func (r Relabeller) Relabel(x []float64) (changed bool) {
	for again, pass := true, 0; again && pass < passes; pass++ {
		again = false
		for _, e := range r {
			was := e.excess(x)
			if !(was > worthwhile) {
				continue
			}
			if e.swap(x); e.excess(x) < was-worthwhile {
				again, changed = true, true
			} else {
				e.swap(x)
			}
		}
	}
	return changed
}

func (e *exchange) swap(x []float64) {
	for _, p := range e.pairs {
		for k := range 3 {
			i, j := 3*p[0]+k, 3*p[1]+k
			x[i], x[j] = x[j], x[i]
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
