package grid

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/fault"
)

// A Draw is states of a grid that keep all limits, each the load flow of drawn loads, generation and voltages. They
// are the same for a seed at any number of workers. Spreads are standard deviations.
type Draw struct {
	Grid       *Grid
	Count      int
	Seed       uint64
	Loads      float64 // of the logarithm of a load, half of its variance common to all; 0: points have no loads
	Generation float64 // of active generation, as a share of a bus's range
	Voltage    float64 // of the voltages of buses that generate reactive power, per unit
	Report     func(done, of int)
}

// Drawn is what a Draw made.
type Drawn struct {
	Set      *Set
	X        []float64      // Count rows
	Loads    float64        // the share of the file's loads that they are drawn about
	Flows    int            // how many load flows there were
	Violated map[string]int // of those not kept, the components that are worst; a balance: there is no solution
}

const (
	mostTries = 2000  // load flows for a row
	solved    = 1e-11 // largest mismatch, per unit
)

// Run draws the states. An error says which limit keeps a row from being found.
func (d *Draw) Run(ctx context.Context, pool *parallel.Pool) (*Drawn, error) {
	set, err := parallel.Until(ctx, func() (*Set, error) { return NewSet(d.Grid, d.Loads == 0) })
	if err != nil {
		return nil, err
	}
	loads := 1.0
	base, err := parallel.Until(ctx, func() (base []float64, err error) { // of a large grid a step takes long
		base, loads, err = d.base(ctx, set)
		return base, err
	})
	if err != nil {
		return nil, err
	}
	dim, m, names := set.Dim(), len(set.Equalities()), constraint.Components(set)
	out := &Drawn{Set: set, X: make([]float64, d.Count*dim), Loads: loads, Flows: d.Count, Violated: map[string]int{}}
	flows, rejected, done := make([]*geometry.Approach, pool.Workers()), make([][]string, d.Count), 0
	var mu sync.Mutex
	err = pool.DoUntil(ctx, d.Count, func(w, i int) {
		if flows[w] == nil {
			flows[w] = geometry.NewApproach(geometry.New(set.flow(), 1, 0), dim,
				geometry.ApproachOptions{Steps: 20, Roundoff: solved})
		}
		x := out.X[i*dim : (i+1)*dim]
		for try := 0; try < mostTries && ctx.Err() == nil; try++ {
			d.propose(x, base, set, i, try)
			flows[w].Run(x)
			worst, at := constraint.Worst(constraint.Values(set, x), m)
			if worst <= solved {
				break
			}
			rejected[i] = append(rejected[i], names[at])
		}
		mu.Lock()
		defer mu.Unlock()
		if done++; d.Report != nil {
			d.Report(done, d.Count)
		}
	})
	for _, violated := range rejected {
		for _, name := range violated {
			out.Violated[name]++
			out.Flows++
		}
		if n := len(violated); n == mostTries && err == nil {
			err = fault.Errorf(fault.Data, "", "none of %d load flows keeps all limits of the grid; the last one "+
				"violates %q; expected smaller spreads", n, violated[n-1])
		}
	}
	return out, err
}

// base returns a state that rows are drawn about, near that of the file: within limits that are pulled in by a share of
// their range, at the loads of the file or a little less, as the search finds one. It returns the share of the loads.
func (d *Draw) base(ctx context.Context, set *Set) (base []float64, loads float64, err error) {
	for _, loads := range []float64{1, 0.95, 0.9, 0.8} {
		for _, share := range []float64{0.3, 0.2, 0.1, 0.05, 0.02} {
			inner := *d.Grid
			inner.Buses, inner.Branches = slices.Clone(inner.Buses), slices.Clone(inner.Branches)
			for i := range inner.Buses {
				b := &inner.Buses[i]
				b.Load = Power{loads * b.Load.P, loads * b.Load.Q}
				for _, l := range [][2]*float64{{&b.VMin, &b.VMax}, {&b.Min.P, &b.Max.P}, {&b.Min.Q, &b.Max.Q}} {
					if by := share * (*l[1] - *l[0]); !math.IsInf(by, 0) {
						*l[0], *l[1] = *l[0]+by, *l[1]-by
					}
				}
			}
			for k := range inner.Branches {
				inner.Branches[k].Rate *= 1 - share
			}
			inside, err := NewSet(&inner, true)
			if err != nil {
				return nil, 0, err
			}
			// The coordinates of both sets are in one order, and the loads, if any, behind them.
			base := make([]float64, set.Dim())
			for k := range set.At {
				for i, c := range set.At[k] {
					if b := inner.Buses[i]; c.At >= 0 {
						low := [...]float64{b.VMin, c.Value, b.Min.P, b.Min.Q, loads * c.Value, loads * c.Value}[k]
						high := [...]float64{b.VMax, c.Value, b.Max.P, b.Max.Q, loads * c.Value, loads * c.Value}[k]
						base[c.At] = min(max(c.Value, low), high)
					}
				}
			}
			if inside.enter(ctx, base[:inside.Dim()]) || ctx.Err() != nil {
				return base, loads, ctx.Err()
			}
		}
	}
	return nil, 0, fault.Errorf(fault.Data, "", "the search for a state of grid %s within its limits found none",
		d.Grid.Name)
}

// enter moves x to a state that keeps the balances, and the limits but for nearly, and reports whether it could. With
// n_j the part of ∇g_j that is tangent to the balances, Levenberg's method brings the violated limits to 0 to first
// order,
//
//	x ← x − Nᵀ (N Nᵀ + μ I)⁻¹ g/‖n‖,  N the unit n_j,
//
// and a load flow follows. μ falls where Σ max(g, 0)² does. Else it grows, and the step is taken again.
func (s *Set) enter(ctx context.Context, x []float64) bool {
	const mostSteps, mostLimits, nearly = 100, 512, 1e-4
	d, m, e, support := s.Dim(), len(s.Equalities()), s.NewEvaluator(1), s.Capabilities().Support
	balances := constraint.EqualitiesOf(s)
	at := geometry.New(balances, 1, 0)
	flow := geometry.NewApproach(geometry.New(balances, 1, 0), d, geometry.ApproachOptions{Roundoff: solved})
	values, jac := make([]float64, len(support)), make([]float64, len(slices.Concat(support...)))
	y, μ, cost := slices.Clone(x), 0.01, math.Inf(1)
	var over, gram, w []float64
	var n [][]float64 // rows of N
	for step := 0; step < mostSteps && μ < 1e3 && ctx.Err() == nil; step++ {
		_, ok := flow.Run(y)
		e.SparseJacobians(values, jac, y, 1)
		now := 0.0
		for _, g := range values[m:] {
			now += max(g, 0) * max(g, 0)
		}
		if μ *= 5; ok && now < cost {
			copy(x, y)
			if cost, μ = now, μ/25; slices.Max(values[m:]) <= nearly {
				return true
			}
			if at.At(x, 1) != nil {
				return false
			}
			n, over = s.inward(at, values, jac, mostLimits)
			gram = make([]float64, len(n)*len(n))
			for i := range gram {
				gram[i] = dense.Dot4(n[i/len(n)], n[i%len(n)])
			}
		}
		w = append(w[:0], over...)
		system := slices.Clone(gram)
		for i := range n {
			system[i*len(n)+i] += μ
		}
		dense.Gauss(system, w, len(n))
		copy(y, x)
		for i, λ := range w {
			dense.Axpy(y, -λ, n[i])
		}
	}
	return false
}

// inward returns unit normals of the limits that are violated most, in the directions of the balances, and how far each
// limit is beyond, to first order.
func (s *Set) inward(at geometry.Geometry, values, jac []float64, most int) (n [][]float64, over []float64) {
	d, m, from := s.Dim(), len(s.Equalities()), 0
	limit := max(0, slices.Sorted(slices.Values(values[m:]))[max(0, len(values)-m-most)])
	t := make([]float64, d)
	for a, js := range s.Capabilities().Support {
		if a >= m && values[a] > limit {
			clear(t)
			for k, j := range js {
				t[j] = jac[from+k]
			}
			at.Tangent(t, t)
			if size := dense.Norm(t); size > 1e-9 {
				row := make([]float64, d)
				dense.Scaled(row, 1/size, t)
				n, over = append(n, row), append(over, values[a]/size)
			}
		}
		from += len(js)
	}
	return n, over
}

// flow returns the balances with loads, active generation but for the reference's, and voltages without a range held.
// Newton's method moves the rest to the nearest state: it has more freedom than there are balances.
func (s *Set) flow() constraint.Set {
	var held []int
	for _, k := range []Quantity{V, Pg, Pd, Qd} {
		for i, c := range s.At[k] {
			if b := s.Grid.Buses[i]; c.At >= 0 && (k != Pg || i != s.Grid.Reference) && (k != V || b.VMin == b.VMax) {
				held = append(held, c.At)
			}
		}
	}
	balances := make([]int, 2*len(s.Grid.Buses))
	for i := range balances {
		balances[i] = i
	}
	return constraint.Hold(constraint.View(s, balances, len(balances)), held)
}

// propose writes what a load flow begins from: base, with loads, generation and voltages drawn about it.
func (d *Draw) propose(x, base []float64, s *Set, row, try int) {
	z := make([]float64, len(x)+2)
	keyed.GridRows.Stream(d.Seed, 0).Normals(z, uint64(row), try)
	load, voltage, z := z[0], z[1], z[2:]
	copy(x, base)
	for _, of := range [][2]Quantity{{Pg, Pd}, {Qg, Qd}} {
		more, room := 0.0, 0.0
		for _, c := range s.At[of[1]] {
			if c.At >= 0 {
				x[c.At] *= math.Exp(d.Loads * (load + z[c.At]) / math.Sqrt2)
				more += x[c.At] - base[c.At]
			}
		}
		for i, c := range s.At[of[0]] {
			if c.At >= 0 {
				room += s.Grid.Buses[i].room(of[0])
			}
		}
		for i, c := range s.At[of[0]] { // generation follows the loads, by the room of each bus
			if b := s.Grid.Buses[i]; c.At >= 0 {
				low, high := b.limits(of[0])
				x[c.At] = reflected(x[c.At]+b.room(of[0])*(more/room+d.Generation*z[c.At]), low, high)
			}
		}
	}
	for i, c := range s.At[V] {
		low, high := s.Grid.Buses[i].limits(V)
		x[c.At] = reflected(x[c.At]+d.Voltage*voltage, low, high)
	}
}

// limits returns those of a quantity that has them.
func (b Bus) limits(k Quantity) (low, high float64) {
	return [...]float64{V: b.VMin, Pg: b.Min.P, Qg: b.Min.Q}[k], [...]float64{V: b.VMax, Pg: b.Max.P, Qg: b.Max.Q}[k]
}

// room is the range of a kind of generation; one without an end counts as 1. More of reactive power would flow far, to
// buses with limits of their own.
func (b Bus) room(k Quantity) float64 {
	const reactive = 0.5
	low, high := b.limits(k)
	if k == Qg {
		return min(high-low, reactive)
	}
	if math.IsInf(high-low, 0) {
		return 1
	}
	return high - low
}

// reflected mirrors v at the ends of [low, high], and takes the nearer end where one reflection is not enough.
func reflected(v, low, high float64) float64 {
	if v < low {
		v = 2*low - v
	} else if v > high {
		v = 2*high - v
	}
	return min(max(v, low), high)
}
