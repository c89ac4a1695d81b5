package grid

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
)

// A Coordinate is a number of a state: x[At], or where At is −1 the constant Value.
type Coordinate struct {
	At    int
	Value float64
}

// In returns the number at a point.
func (c Coordinate) In(x []float64) float64 {
	if c.At < 0 {
		return c.Value
	}
	return x[c.At]
}

// A Layout says where the numbers of a state are in a point, by bus. In this order a point has
//
//	V_12       the voltage of each bus, by the bus's number
//	theta_12   its angle, but of the reference
//	Pg_12      the active power that its generators feed in, if its limits leave that a choice
//	Qg_12      their reactive power, likewise
//	Pd_12      the active power that its load draws, unless that is 0 or loads are fixed
//	Qd_12      its reactive power, likewise
type Layout struct {
	V, Theta, Pg, Qg, Pd, Qd []Coordinate
	Names                    []string
	Loads                    int // how many numbers at the end are of loads
}

// A Set is the states of a grid that keep, at each bus i with what flows into its branches and its shunt,
//
//	Pg_i − Pd_i − G_i V_i² − Σ P_branch = 0
//	Qg_i − Qd_i + B_i V_i² − Σ Q_branch = 0
//
// and the limits of voltages, generation, flows at both ends of branches, (|S|² − rate²)/(2 rate) ≤ 0, and angles.
type Set struct {
	constraint.Set
	Layout
	Grid     *Grid
	families []constraint.Family
	given    bool // the loads are held
}

// Layout returns where points have the numbers of a state; with fixed loads these are the file's.
func (g *Grid) Layout(fixed bool) (l Layout) {
	add := func(to *[]Coordinate, name string, b Bus, value float64, is bool) {
		c := Coordinate{-1, value}
		if is {
			c.At = len(l.Names)
			l.Names = append(l.Names, fmt.Sprintf("%s_%d", name, b.Number))
		}
		*to = append(*to, c)
	}
	for _, b := range g.Buses {
		add(&l.V, "V", b, b.V, true)
	}
	for i, b := range g.Buses {
		add(&l.Theta, "theta", b, b.Theta, i != g.Reference)
	}
	for _, b := range g.Buses {
		add(&l.Pg, "Pg", b, b.Min.P, b.Min.P < b.Max.P)
	}
	for _, b := range g.Buses {
		add(&l.Qg, "Qg", b, b.Min.Q, b.Min.Q < b.Max.Q)
	}
	l.Loads = -len(l.Names)
	for _, b := range g.Buses {
		add(&l.Pd, "Pd", b, b.Load.P, !fixed && b.Load.P != 0)
	}
	for _, b := range g.Buses {
		add(&l.Qd, "Qd", b, b.Load.Q, !fixed && b.Load.Q != 0)
	}
	l.Loads += len(l.Names)
	return l
}

// NewSet makes the set. Too many components for a set of formulas are an error.
func NewSet(g *Grid, fixedLoads bool) (*Set, error) {
	s := &Set{Grid: g, Layout: g.Layout(fixedLoads)}
	b := builder{Builder: formula.NewBuilder(len(s.Names)), Set: s}
	b.x = b.X()
	b.balances()
	b.limits()
	if n := b.m + b.l; n > formula.MaxComponents {
		return nil, fmt.Errorf("%d balances and limits; expected at most %d", n, formula.MaxComponents)
	}
	set, err := b.Builder.Set()
	if err != nil {
		return nil, err
	}
	for i, f := range b.families {
		for k := range f.Of {
			if !b.equal[i] {
				f.Of[k] += len(set.Equalities())
			}
		}
	}
	s.Set, s.families = set, b.families
	return s, nil
}

// GivenLoads returns the set with its loads held: they are given with each point.
func (s *Set) GivenLoads() constraint.Set {
	given := *s
	given.given = true
	var at []int
	for k := range s.Loads {
		at = append(at, len(s.Names)-s.Loads+k)
	}
	return constraint.Hold(&given, at)
}

func (s *Set) Unwrap() []constraint.Set { return []constraint.Set{s.Set} }

func (s *Set) String() string {
	return fmt.Sprintf("grid %s, %d buses and %d branches", s.Grid.Name, len(s.Grid.Buses), len(s.Grid.Branches))
}

// Capabilities adds names, families and where chains start to what formulas know.
func (s *Set) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Name, c.Families, c.Start = s.String(), s.families, s.start
	if s.given {
		c.HeldNames = s.Names[len(s.Names)-s.Loads:]
	}
	return c
}

// start writes the state of the file, moved by Gaussian noise.
func (s *Set) start(dst []float64, stream keyed.Stream, sample uint64, try int) {
	stream.Normals(dst, sample, try)
	for i, b := range s.Grid.Buses {
		for _, c := range []struct {
			Coordinate
			value, size float64
		}{{s.V[i], b.V, 0.01}, {s.Theta[i], b.Theta, 0.02}, {s.Pg[i], b.Generation.P, 0.05},
			{s.Qg[i], b.Generation.Q, 0.05}, {s.Pd[i], b.Load.P, 0.05 * b.Load.P},
			{s.Qd[i], b.Load.Q, 0.05 * b.Load.Q}} {
			if c.At >= 0 {
				dst[c.At] = c.value + c.size*dst[c.At]
			}
		}
	}
}

// A builder adds components family by family.
type builder struct {
	*formula.Builder
	*Set
	x        expr.Value
	families []constraint.Family
	equal    []bool // of each family
	m, l     int
}

func (b *builder) family(name, unit string, equal bool) {
	b.families, b.equal = append(b.families, constraint.Family{Name: name, Unit: unit}), append(b.equal, equal)
}

// add adds a component, v = 0 or v ≤ 0, to the last family.
func (b *builder) add(name string, v expr.Value) {
	f, equal := &b.families[len(b.families)-1], b.equal[len(b.equal)-1]
	count, to := &b.l, b.Inequality
	if equal {
		count, to = &b.m, b.Equality
	}
	if f.Of = append(f.Of, *count); b.m+b.l < formula.MaxComponents {
		to(name, v)
	}
	*count++
}

// between bounds a number from both sides; infinite bounds are none.
func (b *builder) between(name string, v expr.Value, low, high float64) {
	if !math.IsInf(low, 0) {
		b.add(name+" low", b.Const(low).Sub(v))
	}
	if !math.IsInf(high, 0) {
		b.add(name+" high", v.Sub(b.Const(high)))
	}
}

func (b *builder) of(c Coordinate) expr.Value {
	if c.At < 0 {
		return b.Const(c.Value)
	}
	return b.x.At(c.At)
}

// flow is Side.Flow as formulas.
func (b *builder) flow(s Side) (p, q expr.Value) {
	vi, delta := b.of(b.V[s.I]), b.of(b.Theta[s.I]).Sub(b.of(b.Theta[s.J]))
	w, sin, cos := vi.Mul(b.of(b.V[s.J])), expr.Sin(delta), expr.Cos(delta)
	scaled := func(c float64, v expr.Value) expr.Value { return b.Const(c).Mul(v) }
	square := vi.Mul(vi)
	return scaled(s.G, square).Add(w.Mul(scaled(s.A, cos).Add(scaled(s.B, sin)))),
		scaled(-s.S, square).Add(w.Mul(scaled(s.A, sin).Sub(scaled(s.B, cos))))
}

func (b *builder) balances() {
	n := len(b.Grid.Buses)
	p, q := make([]expr.Value, n), make([]expr.Value, n)
	for i, bus := range b.Grid.Buses {
		square := b.of(b.V[i]).Mul(b.of(b.V[i]))
		p[i] = b.of(b.Pg[i]).Sub(b.of(b.Pd[i])).Sub(b.Const(bus.G).Mul(square))
		q[i] = b.of(b.Qg[i]).Sub(b.of(b.Qd[i])).Add(b.Const(bus.B).Mul(square))
	}
	for _, br := range b.Grid.Branches {
		for _, s := range br.Sides() {
			fp, fq := b.flow(s)
			p[s.I], q[s.I] = p[s.I].Sub(fp), q[s.I].Sub(fq)
		}
	}
	for _, balance := range []struct {
		name string
		v    []expr.Value
	}{{"P", p}, {"Q", q}} {
		b.family("balance "+balance.name, "per unit", true)
		for i, bus := range b.Grid.Buses {
			b.add(fmt.Sprintf("balance %s bus %d", balance.name, bus.Number), balance.v[i])
		}
	}
	b.family("fixed voltage", "per unit", true)
	for i, bus := range b.Grid.Buses {
		if bus.VMin == bus.VMax {
			b.add(fmt.Sprintf("V bus %d", bus.Number), b.of(b.V[i]).Sub(b.Const(bus.VMin)))
		}
	}
}

func (b *builder) limits() {
	b.family("voltage", "per unit", false)
	for i, bus := range b.Grid.Buses {
		if bus.VMin < bus.VMax {
			b.between(fmt.Sprintf("V bus %d", bus.Number), b.of(b.V[i]), bus.VMin, bus.VMax)
		}
	}
	b.family("generation", "per unit", false)
	for i, bus := range b.Grid.Buses {
		if b.Pg[i].At >= 0 {
			b.between(fmt.Sprintf("Pg bus %d", bus.Number), b.of(b.Pg[i]), bus.Min.P, bus.Max.P)
		}
		if b.Qg[i].At >= 0 {
			b.between(fmt.Sprintf("Qg bus %d", bus.Number), b.of(b.Qg[i]), bus.Min.Q, bus.Max.Q)
		}
	}
	b.family("flow", "per unit", false)
	for _, br := range b.Grid.Branches {
		if br.Rate == 0 || math.IsInf(br.Rate, 0) {
			continue
		}
		for _, s := range br.Sides() {
			p, q := b.flow(s)
			over := p.Mul(p).Add(q.Mul(q)).Sub(b.Const(br.Rate * br.Rate)).Mul(b.Const(1 / (2 * br.Rate)))
			b.add(fmt.Sprintf("flow branch %d from bus %d to %d", br.Row, b.Grid.Buses[s.I].Number,
				b.Grid.Buses[s.J].Number), over)
		}
	}
	b.family("angle", "rad", false)
	for _, br := range b.Grid.Branches {
		b.between(fmt.Sprintf("angle branch %d", br.Row), b.of(b.Theta[br.From]).Sub(b.of(b.Theta[br.To])), br.AngleMin,
			br.AngleMax)
	}
}
