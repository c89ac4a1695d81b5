package grid

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/internal/fault"
)

// A Quantity is a number that each bus has in a state.
type Quantity int

// The quantities, in the order in which a point has them: voltage, angle, generation and load.
const (
	V Quantity = iota
	Theta
	Pg
	Qg
	Pd
	Qd
	quantities
)

// A Coordinate is a quantity of a bus: x[At], or the constant Value where At is −1. Value is else that of the file.
type Coordinate struct {
	At    int
	Value float64
}

// A Set is the states of a grid that keep, at each bus i with what flows into its branches and its shunt,
//
//	Pg_i − Pd_i − G_i V_i² − Σ P_branch = 0
//	Qg_i − Qd_i + B_i V_i² − Σ Q_branch = 0
//
// and the limits of voltages, generation, flows at both ends of branches, (|S|² − rate²)/(2 rate) ≤ 0, and angles.
type Set struct {
	constraint.Set
	Grid  *Grid
	At    [quantities][]Coordinate // by bus
	Names []string                 // of coordinates: V_12, theta_12, Pg_12, Qg_12, Pd_12, Qd_12 of bus number 12
	Loads int                      // how many coordinates, the last ones, are of loads
	given bool                     // the loads are held
}

// NewSet makes the set. The numbers of a state are coordinates but for the angle of the reference, generation whose
// limits leave no choice, loads that are 0, and with fixedLoads all loads. Too many components are an error.
func NewSet(g *Grid, fixedLoads bool) (*Set, error) {
	s := &Set{Grid: g}
	for k, name := range [quantities]string{"V", "theta", "Pg", "Qg", "Pd", "Qd"} {
		for i, b := range g.Buses {
			c := Coordinate{-1, [...]float64{b.V, b.Theta, b.Generation.P, b.Generation.Q, b.Load.P, b.Load.Q}[k]}
			if [...]bool{true, i != g.Reference, b.Min.P < b.Max.P, b.Min.Q < b.Max.Q, !fixedLoads && b.Load.P != 0,
				!fixedLoads && b.Load.Q != 0}[k] {
				c.At = len(s.Names)
				s.Names = append(s.Names, fmt.Sprintf("%s_%d", name, b.Number))
				s.Loads += k / int(Pd)
			} else if generation := Quantity(k); generation == Pg {
				c.Value = b.Min.P
			} else if generation == Qg {
				c.Value = b.Min.Q
			}
			s.At[k] = append(s.At[k], c)
		}
	}
	b := builder{Builder: formula.NewBuilder(len(s.Names)), Set: s}
	b.x = b.X()
	b.balances()
	b.limits()
	if b.count > formula.MaxComponents {
		return nil, fault.Errorf(fault.Data, "", "%d components; expected at most %d", b.count, formula.MaxComponents)
	}
	var err error
	s.Set, err = b.Builder.Set()
	return s, err
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

// Capabilities adds names, families and where chains start to what formulas know.
func (s *Set) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Name = fmt.Sprintf("grid of %d buses and %d branches", len(s.Grid.Buses), len(s.Grid.Branches))
	c.Start, c.Names, c.Profiles = s.start, s.Names, s.profiles()
	if s.given {
		c.HeldNames = s.Names[len(s.Names)-s.Loads:]
	}
	for i, name := range constraint.Components(s) { // "balance P bus 12" is of the family "balance P"
		name, _, _ = strings.Cut(name, " b")
		if n := len(c.Families); n == 0 || c.Families[n-1].Name != name {
			unit := map[bool]string{true: "rad", false: "per unit"}[name == "angle"]
			c.Families = append(c.Families, constraint.Family{Name: name, Unit: unit})
		}
		f := &c.Families[len(c.Families)-1]
		f.Of = append(f.Of, i)
	}
	return c
}

// profiles are voltages, generation, and flows |S| over their limits, where a set has those.
func (s *Set) profiles() (all []constraint.Profile) {
	for k, name := range []string{V: "voltage", Pg: "active generation", Qg: "reactive generation"} {
		p, at := constraint.Profile{Name: name + ", per unit", Along: "bus"}, []int{}
		for i, c := range s.At[k] {
			if name != "" && c.At >= 0 {
				low, high := s.Grid.Buses[i].limits(Quantity(k))
				p.Low, p.High, at = append(p.Low, low), append(p.High, high), append(at, c.At)
			}
		}
		p.Of = func(dst, x []float64) {
			for e, j := range at {
				dst[e] = x[j]
			}
		}
		all = append(all, p)
	}
	p, rates := constraint.Profile{Name: "flow over its limit", Along: "end of a branch"}, []float64{}
	for _, br := range s.Grid.Branches {
		for range 2 {
			if br.Rate > 0 && !math.IsInf(br.Rate, 0) {
				rates, p.Low, p.High = append(rates, br.Rate), append(p.Low, math.Inf(-1)), append(p.High, 1)
			}
		}
	}
	first := slices.IndexFunc(constraint.Components(s), func(c string) bool { return strings.HasPrefix(c, "flow") })
	p.Of = func(dst, x []float64) {
		for e, g := range constraint.Values(s.Set, x)[first:][:len(rates)] {
			dst[e] = math.Sqrt(max(0, 1+2*g/rates[e]))
		}
	}
	return slices.DeleteFunc(append(all, p), func(p constraint.Profile) bool { return len(p.Low) == 0 })
}

// start writes the state of the file, moved by Gaussian noise.
func (s *Set) start(dst []float64, stream keyed.Stream, sample uint64, try int) {
	stream.Normals(dst, sample, try)
	for k, size := range [quantities]float64{V: 0.01, Theta: 0.02, Pg: 0.05, Qg: 0.05, Pd: 0.01, Qd: 0.01} {
		for _, c := range s.At[k] {
			if c.At >= 0 {
				dst[c.At] = c.Value + size*dst[c.At]
			}
		}
	}
}

// A builder adds components to the formulas of a set.
type builder struct {
	*formula.Builder
	*Set
	x     expr.Value
	count int
}

// add adds v = 0 or v ≤ 0, as long as there is room.
func (b *builder) add(to func(name string, v expr.Value), v expr.Value, format string, names ...any) {
	if b.count++; b.count <= formula.MaxComponents {
		to(fmt.Sprintf(format, names...), v)
	}
}

// between bounds a number from both sides, by an equality where they are the same. Infinite bounds are none.
func (b *builder) between(v expr.Value, low, high float64, format string, names ...any) {
	if low == high {
		b.add(b.Equality, v.Sub(b.Const(low)), format, names...)
		return
	}
	if !math.IsInf(low, 0) {
		b.add(b.Inequality, b.Const(low).Sub(v), format+" low", names...)
	}
	if !math.IsInf(high, 0) {
		b.add(b.Inequality, v.Sub(b.Const(high)), format+" high", names...)
	}
}

// of returns a quantity of a bus.
func (b *builder) of(k Quantity, i int) expr.Value {
	if c := b.At[k][i]; c.At < 0 {
		return b.Const(c.Value)
	}
	return b.x.At(b.At[k][i].At)
}

// flow returns the power that flows into a branch at one end, i, from where j is the other. With the admittances
// y_ii = g + js and y_ij = a + jb as seen from there and δ = θ_i − θ_j,
//
//	P = g V_i² + V_i V_j (a cos δ + b sin δ)
//	Q = −s V_i² + V_i V_j (a sin δ − b cos δ)
func (b *builder) flow(br Branch, first bool) (p, q expr.Value) {
	i, j, tap, shift := br.To, br.From, 1.0, -br.Shift
	if first {
		i, j, tap, shift = br.From, br.To, br.Tap, br.Shift
	}
	own := (br.Y + complex(0, br.Charging/2)) / complex(tap*tap, 0)
	sin, cos := math.Sincos(shift)
	mutual := -br.Y * complex(cos/br.Tap, sin/br.Tap)
	c, δ := b.Const, b.of(Theta, i).Sub(b.of(Theta, j))
	square, w := b.of(V, i).Mul(b.of(V, i)), b.of(V, i).Mul(b.of(V, j))
	return c(real(own)).Mul(square).Add(w.Mul(c(real(mutual)).Mul(expr.Cos(δ)).Add(c(imag(mutual)).Mul(expr.Sin(δ))))),
		c(-imag(own)).Mul(square).Add(w.Mul(c(real(mutual)).Mul(expr.Sin(δ)).Sub(c(imag(mutual)).Mul(expr.Cos(δ)))))
}

func (b *builder) balances() {
	n := len(b.Grid.Buses)
	p, q := make([]expr.Value, n), make([]expr.Value, n)
	for i, bus := range b.Grid.Buses {
		square := b.of(V, i).Mul(b.of(V, i))
		p[i] = b.of(Pg, i).Sub(b.of(Pd, i)).Sub(b.Const(bus.G).Mul(square))
		q[i] = b.of(Qg, i).Sub(b.of(Qd, i)).Add(b.Const(bus.B).Mul(square))
	}
	for _, br := range b.Grid.Branches {
		for k, i := range []int{br.From, br.To} {
			flowP, flowQ := b.flow(br, k == 0)
			p[i], q[i] = p[i].Sub(flowP), q[i].Sub(flowQ)
		}
	}
	for i, bus := range b.Grid.Buses {
		b.add(b.Equality, p[i], "balance P bus %d", bus.Number)
	}
	for i, bus := range b.Grid.Buses {
		b.add(b.Equality, q[i], "balance Q bus %d", bus.Number)
	}
}

func (b *builder) limits() {
	for k, name := range []string{V: "V bus %d", Pg: "Pg bus %d", Qg: "Qg bus %d"} {
		for i, bus := range b.Grid.Buses {
			if low, high := bus.limits(Quantity(k)); name != "" && b.At[k][i].At >= 0 {
				b.between(b.of(Quantity(k), i), low, high, name, bus.Number)
			}
		}
	}
	for _, br := range b.Grid.Branches {
		for k, i := range []int{br.From, br.To} {
			if p, q := b.flow(br, k == 0); br.Rate > 0 && !math.IsInf(br.Rate, 0) {
				over := p.Mul(p).Add(q.Mul(q)).Sub(b.Const(br.Rate * br.Rate)).Mul(b.Const(1 / (2 * br.Rate)))
				b.add(b.Inequality, over, "flow branch %d at bus %d", br.Row, b.Grid.Buses[i].Number)
			}
		}
	}
	for _, br := range b.Grid.Branches {
		b.between(b.of(Theta, br.From).Sub(b.of(Theta, br.To)), br.AngleMin, br.AngleMax, "angle branch %d", br.Row)
	}
}
