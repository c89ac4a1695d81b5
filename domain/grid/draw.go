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
			flows[w] = geometry.NewApproach(geometry.New(set.flow(), 1, 0), dim, geometry.ApproachOptions{Steps: 20})
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
		for _, share := range []float64{0.1, 0.05, 0.02} {
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
			solver := geometry.NewSolver(inside, 0.01).Until(ctx)
			for range 2 { // a second descent goes on where the first ran out of steps
				if solver.Descend(base[:inside.Dim()], 1e-12) || ctx.Err() != nil {
					return base, loads, ctx.Err()
				}
			}
		}
	}
	return nil, 0, fault.Errorf(fault.Data, "", "the search for a state of grid %s within its limits found none",
		d.Grid.Name)
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
