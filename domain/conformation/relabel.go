package conformation

import (
	"cmp"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/domain/molecule"
)

// A Relabeller exchanges the names of equivalent atoms in conformations, where a condition on a dihedral or a volume
// asks for the other one: programs that make conformers number the hydrogens of CH₂ and CH₃, and prochiral groups, as
// they come. Only branches at one atom change places (molecule.Exchanges).
type Relabeller struct {
	groups   []exchange
	near     [][]int   // of centres whose hand an exchange must keep
	template []float64 // that has the right ones; nil: each conformation has its own
}

type exchange struct {
	branches   [][]int
	conditions []Condition // that no exchange after this one decides
	orders     [][]int     // permutations of the branches, not the identity
}

const (
	worthwhile = 0.5 // rad or Å³, of all conditions, by which an exchange must bring a conformation nearer to Σ
	handed     = 0.5 // Å³: three bonds that span less have no hand
)

// NewRelabeller makes the Relabeller of a set's conditions for a molecule of the same atoms, which has bonds. It is nil
// if no equivalent atoms are in a condition.
func (s *Set) NewRelabeller(m *molecule.Molecule) *Relabeller {
	groups := m.Exchanges()
	slices.SortStableFunc(groups, func(a, b [][]int) int { return cmp.Compare(len(b[0]), len(a[0])) })
	own := make([][]Condition, len(groups))
	for _, c := range s.conditions {
		moves := func(g [][]int) bool {
			return slices.ContainsFunc(c.Atoms, func(a int) bool { return slices.Contains(slices.Concat(g...), a) })
		}
		if c.Kind != Dihedral && c.Kind != Volume {
			continue
		}
		for k := len(groups) - 1; k >= 0; k-- {
			if moves(groups[k]) {
				own[k] = append(own[k], c)
				break
			}
		}
	}
	r := &Relabeller{near: make([][]int, m.N()), template: s.template}
	for k, g := range groups {
		if own[k] != nil {
			r.groups = append(r.groups, exchange{g, own[k], permutations(len(g))[1:]})
		}
	}
	if r.groups == nil {
		return nil
	}
	class := m.Classes()
	for i, near := range m.Neighbours() {
		of := map[int]bool{}
		for _, a := range near {
			of[class[a]] = true
		}
		if len(near) > 2 && len(of) == len(near) {
			r.near[i] = near
		}
	}
	return r
}

// permutations returns those of 0, …, n−1, the identity first.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for at := n - 1; at >= 0; at-- {
			out = append(out, slices.Insert(slices.Clone(p), at, n-1))
		}
	}
	return out
}

// Relabel changes the conformation x in place, larger branches first, and reports whether it has.
func (r *Relabeller) Relabel(x []float64) (changed bool) {
	var y, best []float64
	for _, g := range r.groups {
		was := g.excess(x)
		if !(was > worthwhile) {
			continue
		}
		least := was - worthwhile
		y, best = append(y[:0], x...), append(best[:0], x...)
		for _, order := range g.orders {
			for k, from := range order {
				for i, to := range g.branches[k] {
					copy(y[3*to:3*to+3], x[3*g.branches[from][i]:])
				}
			}
			if now := g.excess(y); now < least && r.keeps(&g, x, y) {
				least, changed = now, true
				copy(best, y)
			}
		}
		copy(x, best)
	}
	return changed
}

// excess returns by how much the conditions are violated.
func (g *exchange) excess(x []float64) (sum float64) {
	for _, c := range g.conditions {
		sum += c.Excess(x)
	}
	return sum
}

// keeps reports whether centres in the branches that have unlike neighbours have in y the hands of the template, or of
// x without one: branches with a centre of the other hand are not equivalent, whatever the bond graph says.
func (r *Relabeller) keeps(g *exchange, x, y []float64) bool {
	if r.template != nil {
		x = r.template
	}
	for _, branch := range g.branches {
		for _, o := range branch {
			if n := r.near[o]; n != nil {
				v, w := molecule.Volume(x, o, n[0], n[1], n[2]), molecule.Volume(y, o, n[0], n[1], n[2])
				if v*w < 0 && min(math.Abs(v), math.Abs(w)) > handed {
					return false
				}
			}
		}
	}
	return true
}

// Excess returns by how much a conformation violates the condition, in its unit; 0 if it does not.
func (c *Condition) Excess(x []float64) float64 {
	v := c.Value(x)
	if c.Kind != Dihedral {
		return max(0, c.Low-v, v-c.High)
	}
	half := (c.High - c.Low) / 2
	return max(0, math.Abs(math.Remainder(v-c.Low-half, 2*math.Pi))-half)
}
