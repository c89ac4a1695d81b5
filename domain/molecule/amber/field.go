package amber

import (
	"fmt"
	"math"
	"slices"
)

// A Solvent is what surrounds the molecule.
type Solvent int

const (
	OBC2      Solvent = iota // implicit water with its surface term: OpenMM's implicit/obc2.xml
	OBC2Polar                // without: AMBER's igb = 5, gbsa = 0
	Vacuum
)

var solventNames = [...]string{"obc2", "obc2-polar", "vacuum"}

func (s Solvent) String() string { return solventNames[s] }

// ParseSolvent reads a solvent's name.
func ParseSolvent(name string) (Solvent, error) {
	for s, n := range solventNames {
		if n == name {
			return Solvent(s), nil
		}
	}
	return 0, fmt.Errorf("solvent is %q; want obc2, obc2-polar or vacuum", name)
}

// A ForceField is a System prepared for evaluation. It does not change, and any number of evaluators may share it.
type ForceField struct {
	n        int
	bonds    []Bond
	angles   []Angle
	torsions []quadruple
	terms    []harmonic // of all quadruples

	first  []int32 // pairs of atom i are first[i] to first[i+1]
	pairs  []pair
	scaled []scaledPair // 1–4 pairs
	born   *born        // nil in vacuum
}

// A pair is atom j with the coefficients of one Coulomb and Lennard-Jones term.
type pair struct {
	j       int32 // its first coordinate
	a, b, q float64
}

type scaledPair struct {
	i int32
	pair
}

// A quadruple is four atoms with the terms of their dihedral, so that its angle is computed once.
type quadruple struct {
	i, j, k, l int32 // first coordinates
	from, to   int32 // in ForceField.terms
	improper   bool
}

// harmonic is K + c cos nφ + s sin nφ, with c = K cos δ and s = K sin δ.
type harmonic struct {
	n       int
	k, c, s float64
}

// New prepares a system, if it passes Check and the solvent has the numbers that it needs.
func New(s *System, solvent Solvent) (*ForceField, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	f := &ForceField{n: len(s.Atoms), bonds: slices.Clone(s.Bonds), angles: slices.Clone(s.Angles)}
	f.addTorsions(s.Torsions)
	f.addPairs(s)
	if solvent == Vacuum {
		return f, nil
	}
	var err error
	f.born, err = newBorn(s, solvent == OBC2)
	return f, err
}

// Dim returns the number of coordinates of a point.
func (f *ForceField) Dim() int { return 3 * f.n }

func (f *ForceField) addTorsions(torsions []Torsion) {
	type key struct {
		atoms    [4]int
		improper bool
	}
	at, order := map[key][]Torsion{}, []key{}
	for _, t := range torsions {
		if t.Barrier == 0 {
			continue
		}
		k := key{[4]int{t.I, t.J, t.K, t.L}, t.Improper}
		if at[k] == nil {
			order = append(order, k)
		}
		at[k] = append(at[k], t)
	}
	for _, k := range order {
		q := quadruple{i: int32(3 * k.atoms[0]), j: int32(3 * k.atoms[1]), k: int32(3 * k.atoms[2]),
			l: int32(3 * k.atoms[3]), from: int32(len(f.terms)), improper: k.improper}
		list := at[k]
		slices.SortStableFunc(list, func(a, b Torsion) int { return a.N - b.N })
		for _, t := range list {
			sin, cos := math.Sincos(t.Phase)
			f.terms = append(f.terms, harmonic{t.N, t.Barrier, t.Barrier * cos, t.Barrier * sin})
		}
		q.to = int32(len(f.terms))
		f.torsions = append(f.torsions, q)
	}
}

func (f *ForceField) addPairs(s *System) {
	excluded := make(map[[2]int]bool, len(s.Excluded))
	for _, p := range s.Excluded {
		excluded[ordered(p[0], p[1])] = true
	}
	term := func(i, j int) pair {
		a, b := s.Atoms[i], s.Atoms[j]
		k := a.Kind*s.Kinds + b.Kind
		return pair{int32(3 * j), s.A[k], s.B[k], Coulomb * a.Charge * b.Charge}
	}
	for i := range f.n {
		f.first = append(f.first, int32(len(f.pairs)))
		for j := i + 1; j < f.n; j++ {
			if !excluded[[2]int{i, j}] {
				f.pairs = append(f.pairs, term(i, j))
			}
		}
	}
	f.first = append(f.first, int32(len(f.pairs)))
	for _, p := range s.OneFour {
		t := term(p.I, p.J)
		t.a, t.b, t.q = t.a/p.SCNB, t.b/p.SCNB, t.q/p.SCEE
		f.scaled = append(f.scaled, scaledPair{int32(3 * p.I), t})
	}
}

// Terms are the parts of an energy, in kcal/mol.
type Terms struct {
	Bonds, Angles, Dihedrals, Impropers float64
	LennardJones, Coulomb               float64 // without pairs three bonds apart
	LennardJones14, Coulomb14           float64 // these
	Polar, Surface                      float64 // of the solvent
}

// Sum is U.
func (t Terms) Sum() float64 {
	return t.Bonds + t.Angles + t.Dihedrals + t.Impropers + t.LennardJones + t.Coulomb + t.LennardJones14 +
		t.Coulomb14 + t.Polar + t.Surface
}

// An Evaluator is scratch space for one goroutine. It allocates nothing after it is made.
type Evaluator struct {
	*ForceField
	born *bornScratch
	grad []float64 // where only an energy is wanted
}

// NewEvaluator makes room for evaluations.
func (f *ForceField) NewEvaluator() *Evaluator {
	e := &Evaluator{ForceField: f, grad: make([]float64, 3*f.n)}
	if f.born != nil {
		e.born = f.born.scratch()
	}
	return e
}

// Energy returns the energy of a point (x, y and z of each atom, Å) by terms, and writes
// its gradient in kcal/(mol Å). grad may be nil.
//
// Where two atoms coincide the energy is infinite or not a number; so is the gradient. Where three neighbours of a
// dihedral lie in a line it has no angle; its energy there is that of φ = 0, and its gradient 0. At an angle of 0 or π
// the gradient of the angle, which has no direction there, is left out.
func (e *Evaluator) Energy(grad, x []float64) Terms {
	if grad == nil {
		grad = e.grad
	}
	grad, x = grad[:3*e.n], x[:3*e.n]
	clear(grad)
	var t Terms
	t.Bonds = e.stretch(grad, x)
	t.Angles = e.bend(grad, x)
	t.Dihedrals, t.Impropers = e.twist(grad, x)
	t.LennardJones, t.Coulomb = e.apart(grad, x)
	t.LennardJones14, t.Coulomb14 = e.oneFour(grad, x)
	if e.born != nil {
		t.Polar, t.Surface = e.ForceField.born.energy(e.born, grad, x)
	}
	return t
}

// stretch adds the bonds: ∂U/∂x_i = 2K(r − r₀) (x_i − x_j)/r.
func (f *ForceField) stretch(grad, x []float64) (u float64) {
	for _, b := range f.bonds {
		i, j := 3*b.I, 3*b.J
		dx, dy, dz := x[i]-x[j], x[i+1]-x[j+1], x[i+2]-x[j+2]
		r := math.Sqrt(dx*dx + dy*dy + dz*dz)
		off := r - b.R
		u += b.K * off * off
		g := 2 * b.K * off / r
		push(grad, i, j, g*dx, g*dy, g*dz)
	}
	return u
}

// push adds a gradient to atom i and its opposite to atom j.
func push(grad []float64, i, j int, gx, gy, gz float64) {
	a, b := grad[i:i+3], grad[j:j+3]
	a[0] += gx
	a[1] += gy
	a[2] += gz
	b[0] -= gx
	b[1] -= gy
	b[2] -= gz
}

// bend adds the angles. With a = x_i − x_j, b = x_k − x_j and w = a×b, tan θ = ‖w‖/(a·b), and
//
//	∂θ/∂x_i = a×w/(‖a‖²‖w‖),  ∂θ/∂x_k = w×b/(‖b‖²‖w‖).
func (f *ForceField) bend(grad, x []float64) (u float64) {
	for _, t := range f.angles {
		i, j, k := 3*t.I, 3*t.J, 3*t.K
		ax, ay, az := x[i]-x[j], x[i+1]-x[j+1], x[i+2]-x[j+2]
		bx, by, bz := x[k]-x[j], x[k+1]-x[j+1], x[k+2]-x[j+2]
		wx, wy, wz := ay*bz-az*by, az*bx-ax*bz, ax*by-ay*bx
		w := math.Sqrt(wx*wx + wy*wy + wz*wz)
		off := math.Atan2(w, ax*bx+ay*by+az*bz) - t.Straight
		u += t.Stiff * off * off
		if w == 0 {
			continue
		}
		g := 2 * t.Stiff * off / w
		p, q := g/(ax*ax+ay*ay+az*az), g/(bx*bx+by*by+bz*bz)
		push(grad, i, j, p*(ay*wz-az*wy), p*(az*wx-ax*wz), p*(ax*wy-ay*wx))
		push(grad, k, j, q*(wy*bz-wz*by), q*(wz*bx-wx*bz), q*(wx*by-wy*bx))
	}
	return u
}

// twist adds the dihedrals. With b₁ = x_j − x_i, b₂ = x_k − x_j, b₃ = x_l − x_k, m = b₁×b₂ and n = b₂×b₃,
//
//	‖m‖‖n‖ cos φ = m·n,  ‖m‖‖n‖ sin φ = ‖b₂‖ b₁·n
//	∂φ/∂x_i = −(‖b₂‖/‖m‖²) m,  ∂φ/∂x_l = (‖b₂‖/‖n‖²) n
//	∂φ/∂x_j = −(1 + b₁·b₂/‖b₂‖²) ∂φ/∂x_i + (b₂·b₃/‖b₂‖²) ∂φ/∂x_l
//
// (Blondel and Karplus 1996): nothing is divided by sin φ. cos nφ and sin nφ come from powers of cos φ + i sin φ.
func (f *ForceField) twist(grad, x []float64) (proper, improper float64) {
	for t := range f.torsions {
		q := &f.torsions[t]
		a, b, c, d := x[q.i:q.i+3], x[q.j:q.j+3], x[q.k:q.k+3], x[q.l:q.l+3]
		b1x, b1y, b1z := b[0]-a[0], b[1]-a[1], b[2]-a[2]
		b2x, b2y, b2z := c[0]-b[0], c[1]-b[1], c[2]-b[2]
		b3x, b3y, b3z := d[0]-c[0], d[1]-c[1], d[2]-c[2]
		mx, my, mz := b1y*b2z-b1z*b2y, b1z*b2x-b1x*b2z, b1x*b2y-b1y*b2x
		nx, ny, nz := b2y*b3z-b2z*b3y, b2z*b3x-b2x*b3z, b2x*b3y-b2y*b3x
		mm, nn, bb := mx*mx+my*my+mz*mz, nx*nx+ny*ny+nz*nz, b2x*b2x+b2y*b2y+b2z*b2z
		cos, sin, length := 1.0, 0.0, math.Sqrt(bb)
		product := math.Sqrt(mm * nn)
		if product > 0 {
			cos = (mx*nx + my*ny + mz*nz) / product
			sin = length * (b1x*nx + b1y*ny + b1z*nz) / product
		}
		u, slope := 0.0, 0.0 // U and dU/dφ
		at, cn, sn := 0, 1.0, 0.0
		for _, h := range f.terms[q.from:q.to] {
			for ; at < h.n; at++ {
				cn, sn = cn*cos-sn*sin, sn*cos+cn*sin
			}
			u += h.k + h.c*cn + h.s*sn
			slope += float64(h.n) * (h.s*cn - h.c*sn)
		}
		if q.improper {
			improper += u
		} else {
			proper += u
		}
		if product == 0 {
			continue
		}
		gi, gl := -slope*length/mm, slope*length/nn
		ix, iy, iz := gi*mx, gi*my, gi*mz
		lx, ly, lz := gl*nx, gl*ny, gl*nz
		s, r := (b1x*b2x+b1y*b2y+b1z*b2z)/bb, (b2x*b3x+b2y*b3y+b2z*b3z)/bb
		// ∂φ/∂x_j + ∂φ/∂x_k = −∂φ/∂x_i − ∂φ/∂x_l
		vx, vy, vz := s*ix-r*lx, s*iy-r*ly, s*iz-r*lz
		ga, gb, gc, gd := grad[q.i:q.i+3], grad[q.j:q.j+3], grad[q.k:q.k+3], grad[q.l:q.l+3]
		ga[0] += ix
		ga[1] += iy
		ga[2] += iz
		gb[0] -= ix + vx
		gb[1] -= iy + vy
		gb[2] -= iz + vz
		gc[0] += vx - lx
		gc[1] += vy - ly
		gc[2] += vz - lz
		gd[0] += lx
		gd[1] += ly
		gd[2] += lz
	}
	return proper, improper
}

func (f *ForceField) apart(grad, x []float64) (lj, coulomb float64) {
	for i := range f.n {
		row := f.pairs[f.first[i]:f.first[i+1]]
		xi, yi, zi := x[3*i], x[3*i+1], x[3*i+2]
		gx, gy, gz := 0.0, 0.0, 0.0
		for p := range row {
			t := &row[p]
			y, g := x[t.j:t.j+3], grad[t.j:t.j+3]
			dx, dy, dz := xi-y[0], yi-y[1], zi-y[2]
			v := 1 / (dx*dx + dy*dy + dz*dz)
			v3 := v * v * v
			far, near := t.q*math.Sqrt(v), t.a*v3*v3
			disp := t.b * v3
			lj += near - disp
			coulomb += far
			s := (6*disp - 12*near - far) * v
			gx += s * dx
			gy += s * dy
			gz += s * dz
			g[0] -= s * dx
			g[1] -= s * dy
			g[2] -= s * dz
		}
		grad[3*i] += gx
		grad[3*i+1] += gy
		grad[3*i+2] += gz
	}
	return lj, coulomb
}

func (f *ForceField) oneFour(grad, x []float64) (lj, coulomb float64) {
	for p := range f.scaled {
		t := &f.scaled[p]
		i, j := int(t.i), int(t.j)
		dx, dy, dz := x[i]-x[j], x[i+1]-x[j+1], x[i+2]-x[j+2]
		v := 1 / (dx*dx + dy*dy + dz*dz)
		v3 := v * v * v
		far, near, disp := t.q*math.Sqrt(v), t.a*v3*v3, t.b*v3
		lj += near - disp
		coulomb += far
		s := (6*disp - 12*near - far) * v
		push(grad, i, j, s*dx, s*dy, s*dz)
	}
	return lj, coulomb
}
