package conformation

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/internal/dense"
)

// Fixed returns the condition that a coordinate keeps its value at x, which must have one.
func Fixed(m *molecule.Molecule, x []float64, c Coordinate) (Condition, error) {
	v := c.Value(x)
	if v-v != 0 {
		names := ""
		for _, a := range c.Atoms {
			names += " " + m.Label(a)
		}
		return Condition{}, fmt.Errorf("the %v of%s has no value in the template: atoms lie on a line", c.Kind, names)
	}
	return Condition{Coordinate: c, Low: v, High: v}, nil
}

func allFixed(m *molecule.Molecule, x []float64, list []Coordinate) ([]Condition, error) {
	out := make([]Condition, len(list))
	var err error
	for i, c := range list {
		if out[i], err = Fixed(m, x, c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Bonds keeps the lengths of all bonds.
func Bonds(m *molecule.Molecule, x []float64) ([]Condition, error) {
	if len(m.Bonds) == 0 {
		_, doubt := m.Described(x)
		return nil, errors.New(strings.TrimSuffix("the template has no bonds: "+doubt, ": "))
	}
	var out []Coordinate
	for _, b := range m.Bonds {
		out = append(out, Coordinate{Distance, []int{b[0], b[1]}})
	}
	return allFixed(m, x, out)
}

// BondAngles keeps all angles between bonds. Those at an atom j with neighbours a, b, c, … are kept by the angle a–j–b
// and, for each further neighbour, the angle a–j–c and the dihedral c–j–a–b: 2n−3 numbers that fix the directions of n
// bonds to each other. All n(n−1)/2 angles would be dependent for n ≥ 4, and for three bonds in a plane, where their
// sum is largest, Σ would be singular. The dihedral depends on the directions alone, and keeps which hand the atom is
// of.
func BondAngles(m *molecule.Molecule, x []float64) ([]Condition, error) {
	var out []Coordinate
	for j, near := range m.Neighbours() {
		if len(near) < 2 {
			continue
		}
		// a and b: the pair that is least near to a line.
		a, b, best := 0, 0, -1.0
		for k, i := range near {
			for _, l := range near[k+1:] {
				if s := math.Sin(molecule.Angle(x, i, j, l)); s > best {
					a, b, best = i, l, s
				}
			}
		}
		for _, c := range near {
			if c == a {
				continue
			}
			if θ := molecule.Angle(x, a, j, c); !(math.Sin(θ) > math.Sin(straight)) {
				return nil, fmt.Errorf("the angle %s–%s–%s is %.4g° in the template: bonds in a line have no angle "+
					"that can be fixed; name the other angles one by one, and for it a range that ends at 180°",
					m.Label(a),
					m.Label(j), m.Label(c), θ*180/math.Pi)
			}
			if out = append(out, Coordinate{Angle, []int{a, j, c}}); c != b {
				out = append(out, Coordinate{Dihedral, []int{c, j, a, b}})
			}
		}
	}
	if out == nil {
		return nil, errors.New("the template has no two bonds at one atom")
	}
	return allFixed(m, x, out)
}

// Rigid keeps the shape of a group of atoms: 3n−6 conditions of n ≥ 3 atoms that are not all on a line, independent
// wherever they hold. Three atoms a, b, c have their distances; each other one its distance to a, the angle to b and
// the dihedral to c, with a, b and c in the order that is best for it. All n(n−1)/2 distances would be dependent,
// singular where the group is flat, and could not tell it from its mirror image.
func Rigid(m *molecule.Molecule, x []float64, atoms []int) ([]Condition, error) {
	if len(atoms) < 2 {
		return nil, errors.New("a rigid group has at least two atoms")
	}
	if len(atoms) == 2 {
		return allFixed(m, x, []Coordinate{{Distance, atoms}})
	}
	base, widest := widestTriangle(x, atoms)
	if !(widest > math.Sin(straight)) {
		return nil, fmt.Errorf("the atoms of the group of %s lie on a line in the template; expected three that do not",
			m.Label(atoms[0]))
	}
	var out []Coordinate
	for k := range base {
		out = append(out, Coordinate{Distance, []int{base[k], base[(k+1)%3]}})
	}
	for _, i := range atoms {
		if slices.Contains(base[:], i) {
			continue
		}
		a, b, c, best := 0, 0, 0, 0.0
		for _, p := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			s := math.Sin(molecule.Angle(x, i, base[p[0]], base[p[1]])) *
				math.Sin(molecule.Angle(x, base[p[0]], base[p[1]], base[p[2]]))
			if s > best {
				a, b, c, best = base[p[0]], base[p[1]], base[p[2]], s
			}
		}
		out = append(out, Coordinate{Distance, []int{i, a}}, Coordinate{Angle, []int{i, a, b}},
			Coordinate{Dihedral, []int{i, a, b, c}})
	}
	return allFixed(m, x, out)
}

// widestTriangle returns three atoms and the sine of the middle one's angle: the first
// with the atom furthest from it, and the one that is then furthest from their line.
func widestTriangle(x []float64, atoms []int) (base [3]int, sine float64) {
	a, b, far := atoms[0], -1, -1.0
	for _, i := range atoms[1:] {
		if r := molecule.Distance(x, a, i); r > far {
			b, far = i, r
		}
	}
	for _, i := range atoms[1:] {
		if i == b {
			continue
		}
		if s := math.Sin(molecule.Angle(x, a, i, b)); s > sine {
			base, sine = [3]int{a, i, b}, s
		}
	}
	return base, sine
}

// Separated returns the pairs of the atoms that are more than bonds bonds apart, or not joined at all.
func Separated(m *molecule.Molecule, atoms []int, bonds int) [][2]int {
	near := m.Neighbours()
	var out [][2]int
	for k, a := range atoms {
		far := map[int]int{a: 0}
		for queue := []int{a}; len(queue) > 0; queue = queue[1:] {
			if far[queue[0]] == bonds {
				break
			}
			for _, i := range near[queue[0]] {
				if _, seen := far[i]; !seen {
					far[i] = far[queue[0]] + 1
					queue = append(queue, i)
				}
			}
		}
		for _, b := range atoms[k+1:] {
			if _, close := far[b]; !close {
				out = append(out, [2]int{a, b})
			}
		}
	}
	return out
}

const (
	// near: a template that violates an equality by less lies on Σ, as far as singular
	// is concerned; files have three decimals.
	near = 1e-2
	// dependent: unit gradients with a smaller sine to the span of the others are
	// dependent at the template if they are not, by so much more, beside it.
	dependent = 5e-3
	// shaken is how far the points beside it are in each coordinate at most, Å.
	shaken = 0.05
)

// Singular returns an error if Σ is singular at the positions x, which lie on it: the equalities have fewer independent
// gradients there than at points beside them.
func (s *Set) Singular(x []float64) error {
	e := s.NewEvaluator(1)
	values := make([]float64, len(s.components))
	e.Values(values, x, 1)
	for _, v := range values[:len(s.equalities)] {
		if !(math.Abs(v) < near) {
			return nil
		}
	}
	sines, last := s.sines(e, x)
	var beside []float64
	y := make([]float64, len(x))
	for k := range 3 {
		for j, v := range x {
			y[j] = v + shaken*math.Sin(float64((2*k+1)*(j+1)*(j+2))) // in no direction of its own
		}
		if b, _ := s.sines(e, y); len(b) > len(beside) {
			beside = b
		}
	}
	rank := len(beside)
	if rank == 0 {
		return nil
	}
	least := 0.0
	if len(sines) >= rank {
		least = sines[rank-1]
	}
	if least < dependent && beside[rank-1] > 2*least {
		return fmt.Errorf("the gradient of %q lies in the span of the others' at the template (sine %.2g) and not "+
			"beside it: Σ has no tangents there, as where all angles of a flat ring are fixed; make that part rigid",
			s.equalities[last], least)
	}
	return nil
}

// sines returns the sine of each unit gradient of the equalities to the span of those before it, in an order that puts
// the most independent first, without those that round-off would make; and the last component of that order.
func (s *Set) sines(e constraint.Evaluator, x []float64) (sines []float64, last int) {
	m, d, c := len(s.equalities), s.Dim(), len(s.components)
	values, jac := make([]float64, c), make([]float64, c*d)
	e.Jacobians(values, jac, x, 1)
	rows, pivot := jac[:m*d], make([]int, m)
	for i := range m {
		pivot[i] = i
		row := rows[i*d : (i+1)*d]
		dense.Scaled(row, 1/dense.Norm(row), row)
	}
	r, scale := make([]float64, m*m), make([]float64, m)
	rank := dense.PivotedQR(rows, r, pivot, scale, m, m, d, 1e-9)
	for i := range rank {
		sines = append(sines, math.Abs(r[i*m+i]))
	}
	if rank > 0 {
		last = pivot[min(rank, m-1)]
	}
	return sines, last
}

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
