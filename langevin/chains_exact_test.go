package langevin

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Chains of every kind keep the draws that they say, and count what they do: of burn + keep·thin steps every thin-th
// behind burn, each of all kept is where the chain was; projections of a step are one, of the splitting two, of HMC two
// a leap, there and back; only HMC refuses; progress is heard every 256 steps, of one block.
func TestChainsCount(t *testing.T) {
	const count, burn, keep, thin = 40, 490, 8, 3
	const steps = burn + keep*thin
	ellipsoid := zoo.Ellipsoid{Axes: []float64{1, 0.8, 0.6}}
	for name, c := range map[string]struct {
		method           Method
		symmetric        bool
		leaps, a, points int // projections of a step, and of a draw
	}{
		"OLLA": {OLLA, false, 0, 0, 1}, "ULLA": {ULLA, false, 0, 0, 1}, "OLLA-P": {OLLAP, false, 0, 1, 0},
		"ULLA-P": {ULLAP, false, 0, 1, 0}, "splitting": {ULLA, true, 0, 2, 0}, "HMC": {ULLA, false, 3, 6, 0},
	} {
		p := &Process{Set: ellipsoid, Method: c.method, Friction: 2, Potential: Linear{[]float64{2, 0, 1}},
			Schedule: Schedule{N: 1, T: 0.1, SigmaMin: 1, SigmaMax: 1}}
		if c.leaps > 0 {
			p.Schedule.T = 0.3
		} else if !c.method.Underdamped() {
			p.Schedule.T = 0.01
		}
		x0 := testkit.Must(Start(t.Context(), p, count, 1))
		var heard []int
		base := Chains{Process: p, Symmetric: c.symmetric, Leaps: c.leaps, Count: count, Seed: 3}
		thinned, all := base, base
		thinned.Burn, thinned.Keep, thinned.Thin = burn, keep, thin
		thinned.Progress = func(step int) { heard = append(heard, step) }
		all.Keep = steps // Thin 0 is 1
		some, every := chains(t, thinned, x0), chains(t, all, x0)
		testkit.EqualSlices(t, heard, []int{256, 512}, "%s: heard of steps", name)
		for i := range count {
			for s := range steps {
				at := every.X[3*(i*steps+s):][:3]
				if k := s + 1 - burn; k > 0 && k%thin == 0 {
					if got := some.X[3*(i*keep+k/thin-1):][:3]; !slices.Equal(got, at) {
						t.Fatalf("%s: draw %d of chain %d is %v, its step %d %v", name, k/thin-1, i, got, s+1, at)
					}
				}
			}
		}
		if got, want := some.Series(1)[5][2], some.X[3*(5*keep+2)+1]; got != want || len(some.Series(2)) != count {
			t.Errorf("%s: the series has %v, want %v", name, got, want)
		}
		want := c.a*count*steps + c.points*count*keep
		testkit.Equal(t, some.Report.Projections.Points, want, "%s", name)
		testkit.Equal(t, some.Refused > 0, (c.leaps > 0), "%s: %v refused", name, some.Refused)
	}
}

// A context that is done stops chains at the next look, after 256 steps, and before the first.
func TestChainsStop(t *testing.T) {
	p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLA, Schedule: Schedule{N: 1, T: 0.01, SigmaMin: 1, SigmaMax: 1}}
	pool := testkit.Pool(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	heard := 0
	c := &Chains{Process: p, Count: 1, Keep: 2000, Seed: 1, Progress: func(step int) {
		if heard = step; step >= 512 {
			cancel()
		}
	}}
	x0 := []float64{0, 0, 1}
	if _, err := c.Run(ctx, pool, x0); !errors.Is(err, context.Canceled) || heard != 512 {
		t.Errorf("%v after %d steps", err, heard)
	}
	heard = 0
	if _, err := c.Run(ctx, pool, x0); !errors.Is(err, context.Canceled) || heard != 0 {
		t.Errorf("%v after %d steps", err, heard)
	}
}

// A wall whose gradient is normal to Σ has no mirror: where less than 10⁻⁸ of it is tangent a step
// turns back, where more is it is sent back as at any wall.
func TestWallsAlongNormals(t *testing.T) {
	for share, mirrored := range map[float64]bool{3e-8: true, 1.1e-8: true, 0.9e-8: false, 1e-9: false} {
		// {x₂ = 0, share·x₀ + x₂ ≤ 0}: the wall is at x₀ = 0.
		set := walls{zoo.Affine{A: [][]float64{{0, 0, 1}, {share, 0, 1}}, B: []float64{0, 0}}, 1}
		s := flying(set, ULLAP, 1, 1).NewStepper(1)
		x, prev, y, failed := []float64{-0.3, 0, 0}, []float64{-0.8, 0.2, 0}, make([]float64, 3), make([]bool, 1)
		info, err := s.Forward(y, x, prev, make([]float64, 3), failed, 1, 0) // by (0.5, −0.2)
		if err != nil || failed[0] {
			t.Fatal(err, failed)
		}
		want := []float64{-0.2, -0.2, 0}
		if !mirrored {
			want = x
		}
		if distance(y, want) > 1e-6 || (info.Reflected == 1) != mirrored || (info.TurnedBack == 1) == mirrored {
			t.Errorf("a tangent share of %v: to %v, %+v", share, y, info.Bounces)
		}
	}
}

// A state is inside up to 10⁻¹²: a step from there that no mirror brings back stays, one from further out is projected.
func TestInsideToRoundOff(t *testing.T) {
	hill := wall(func(x float64) (float64, float64) { return 1 - (x-2)*(x-2), -2 * (x - 2) })         // beyond: (1, 3)
	for out, stays := range map[float64]bool{0: true, 0.45e-12: true, 0.55e-12: false, 1e-9: false} { // g is twice that
		x, y, failed := []float64{1 + out}, make([]float64, 1), make([]bool, 1)
		prev := []float64{0.1 + out} // to 1.9, where the linear mirror throws far
		info, err := flying(hill, ULLA, 1, 1).NewStepper(1).Forward(y, x, prev, []float64{0}, failed, 1, 0)
		if err != nil || failed[0] {
			t.Fatal(err, failed)
		}
		if (info.TurnedBack == 1) != stays || (info.Pushed == 1) == stays || stays && y[0] != x[0] {
			t.Errorf("%v outside: to %v, %+v", out, y, info.Bounces)
		}
	}
}

// A flight's projection may go ten times as far as the momentum takes it, or one of the Gaussian law,
// and not further; a state off Σ, by more than 10⁻¹⁰, as far as it must.
func TestHowFarFlightsGo(t *testing.T) {
	p := flying(zoo.Affine{A: [][]float64{{0, 1}}, B: []float64{0}}, ULLAP, 0.5, 1)
	s := newSplitting(p, 3)
	far := 10 * s.h * (math.Sqrt2 + 5) // ‖p‖ = 5
	for _, c := range []struct {
		off, times float64
		ok         bool
	}{{0, 0.999, true}, {0, 1.001, false}, {0.9e-10, 1.001, false}, {1.1e-10, 1.001, true}, {-1.1e-10, 50, true},
		{-0.9e-10, 50, false}} {
		x, momentum := []float64{0, 0, 7, c.off, 0, 0}, []float64{0, 0, 3, 4, 0, 0}
		testkit.OK(t, s.set.At(x, 3))
		copy(s.y, x)
		s.y[2] += c.times * far
		var o geometry.Outcome
		for i := range s.ok {
			s.ok[i] = true
		}
		if s.near(x, momentum, 3, &o); !slices.Equal(s.ok, []bool{true, c.ok, true}) || (o.Unreachable == 1) == c.ok {
			t.Errorf("%v off Σ, %v times as far: %v, %+v", c.off, c.times, s.ok, o)
		}
	}
}

// All that chains draw is the ledger's, so that another version draws as this one: first momenta, the
// noise of each step from 1 on, and what Metropolis compares with, by chain and step.
func TestDrawsOfChains(t *testing.T) {
	const count, seed = 20, 9
	noise, start := keyed.ChainSteps.Stream(seed, 0), keyed.ChainMomenta.Stream(seed, 0)
	plane := zoo.Affine{A: [][]float64{{0, 0, 1}}, B: []float64{0}}
	x0 := make([]float64, 3*count)
	for i := range count {
		x0[3*i] = float64(i)
	}
	p := &Process{Set: plane, Friction: 2, Schedule: Schedule{N: 1, T: 0.3, SigmaMin: 1, SigmaMax: 1}}
	const τ = 0.3
	a := math.Exp(-2 * τ)
	b := math.Sqrt(1 - a*a)
	for name, c := range map[string]struct {
		method Method
		chains Chains
		move   func(momentum, ζ []float64, j int) float64
	}{
		"OLLA-P": {OLLAP, Chains{}, func(_, ζ []float64, j int) float64 { return math.Sqrt(τ) * ζ[j] }},
		"ULLA-P": {ULLAP, Chains{}, func(p, ζ []float64, j int) float64 { return τ * (a*p[j] + b*ζ[j]) }},
		"splitting": {ULLAP, Chains{Symmetric: true}, func(p, ζ []float64, j int) float64 {
			return τ/2*p[j] + τ/2*(a*p[j]+b*ζ[j])
		}},
		"HMC": {ULLAP, Chains{Leaps: 2}, func(_, ζ []float64, j int) float64 { return 2 * τ * ζ[j] }},
	} {
		p.Method = c.method
		c.chains.Process, c.chains.Count, c.chains.Keep, c.chains.Seed = p, count, 1, seed
		draws := chains(t, c.chains, x0)
		momentum, ζ := make([]float64, 3), make([]float64, 3)
		for i := range count {
			start.Normals(momentum, uint64(i), 0)
			noise.Normals(ζ, uint64(i), 1)
			for j := range 2 {
				if got, want := draws.X[3*i+j]-x0[3*i+j], c.move(momentum, ζ, j); math.Abs(got-want) > 1e-12 {
					t.Fatalf("%s: chain %d moves by %v along %d, want %v", name, i, got, j, want)
				}
			}
		}
	}
	// One leap of HMC in a well, by hand, whose second step is accepted or not by its own number.
	p.Potential, p.Schedule.T = Quadratic{}, 1.9
	one := chains(t, Chains{Process: p, Leaps: 1, Count: count, Keep: 3, Seed: seed}, x0)
	refused := 0
	for i := range count {
		x := append([]float64(nil), x0[3*i:3*i+3]...)
		for step := 1; step <= 3; step++ {
			ζ, u, y := make([]float64, 3), make([]float64, 1), make([]float64, 3)
			noise.Normals(ζ, uint64(i), step)
			start.Uniforms(u, uint64(i), step)
			change := 0.0
			for j := range 2 {
				half := ζ[j] - 0.95*x[j]
				y[j] = x[j] + 1.9*half
				end := half - 0.95*y[j]
				change += (y[j]*y[j] + end*end - x[j]*x[j] - ζ[j]*ζ[j]) / 2
			}
			if u[0] < math.Exp(-change) {
				x = y
			} else {
				refused++
			}
			for j := range 2 {
				if got := one.X[3*(3*i+step-1)+j]; math.Abs(got-x[j]) > 1e-9*(1+math.Abs(x[j])) {
					t.Fatalf("chain %d is at %v after step %d, want %v", i, got, step, x[j])
				}
			}
		}
	}
	if refused == 0 || refused == 3*count || math.Abs(one.Refused-float64(refused)/(3*count)) > 1e-12 {
		t.Errorf("%d of %d refused, as a share %v", refused, 3*count, one.Refused)
	}
}

// A flight that does not lead back fails, on sets of equalities too: from the far side of a circle the
// nearer of two points along the normal is another one.
func TestFlightsThatDoNotLeadBack(t *testing.T) {
	p := flying(zoo.Ellipsoid{Axes: []float64{1, 1}}, ULLAP, 1, 1)
	for degrees, back := range map[float64]bool{10: true, 80: true, 100: false, 140: false} {
		h := newHMC(p, 1, 2)
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		x := []float64{1, 0, 0, 1}
		copy(h.y, []float64{cos, sin, 0, 1})
		copy(h.ok, []bool{true, true})
		var o geometry.Outcome
		testkit.OK(t, h.returns(x, 2, &o))
		if h.ok[0] != back || !h.ok[1] || o.Points != 2 {
			t.Errorf("by %v degrees: %v, %+v", degrees, h.ok, o)
		}
	}
}

// Chains in a box, step by step and by hand: a flight that ends beyond a wall stays, and its momentum
// is mirrored at the wall that its end is furthest beyond, if the flight with the mirrored momentum
// reversed ends furthest beyond the same one, and else reversed. Of the splitting and of HMC, on the
// box alone and where its plane is an equality of a larger space; every share is that of all flights.
func TestChainsInABoxByHand(t *testing.T) {
	const count, steps, seed, τ = 20, 40, 9, 0.6
	upper := []float64{1, 0.7}
	most := func(x []float64) (at int) { // the wall that x is furthest beyond, −1 inside
		at, worst := -1, 0.0
		for j, u := range upper {
			for side, g := range []float64{-x[j], x[j] - u} {
				if g > worst {
					at, worst = 2*j+side, g
				}
			}
		}
		return at
	}
	turned := 0
	flight := func(x, p []float64, h float64) {
		y := []float64{x[0] + h*p[0], x[1] + h*p[1]}
		hit := most(y)
		if hit < 0 {
			copy(x, y)
			return
		}
		turned++
		p[hit/2] = -p[hit/2]
		if most([]float64{x[0] - h*p[0], x[1] - h*p[1]}) != hit {
			p[hit/2] = -p[hit/2]
			p[0], p[1] = -p[0], -p[1]
		}
	}
	box := boxOf(t, []float64{0, 0}, upper)
	raised := walls{zoo.Affine{ // {x₂ = 0} and the walls
		A: [][]float64{{0, 0, 1}, {-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}},
		B: []float64{0, 0, upper[0], 0, upper[1]},
	}, 4}
	noise, start := keyed.ChainSteps.Stream(seed, 0), keyed.ChainMomenta.Stream(seed, 0)
	a := math.Exp(-2 * τ)
	for _, set := range []constraint.Set{box, raised} {
		for _, leaps := range []int{0, 3} {
			d := set.Dim()
			x0 := make([]float64, d*count)
			for i := range count {
				x0[d*i], x0[d*i+1] = float64(i+1)/25, 0.7-float64(i+1)/40
			}
			proc := &Process{Set: set, Method: ULLAP, Friction: 2,
				Schedule: Schedule{N: 1, T: τ, SigmaMin: 1, SigmaMax: 1}}
			draws := chains(t, Chains{Process: proc, Symmetric: leaps == 0, Leaps: leaps, Count: count, Keep: steps,
				Seed: seed}, x0)
			turned = 0
			for i := range count {
				x, p, ζ := append([]float64(nil), x0[d*i:d*i+2]...), make([]float64, d), make([]float64, d)
				start.Normals(p, uint64(i), 0)
				for step := 1; step <= steps; step++ {
					noise.Normals(ζ, uint64(i), step)
					if leaps == 0 {
						flight(x, p, τ/2)
						for j := range 2 {
							p[j] = a*p[j] + math.Sqrt(1-a*a)*ζ[j]
						}
						flight(x, p, τ/2)
					} else {
						copy(p, ζ)
						for range leaps {
							flight(x, p, τ)
						}
					}
					if got := draws.X[d*(i*steps+step-1):][:2]; distance(got, x) > 1e-9 {
						t.Fatalf("R^%d, %d leaps: chain %d is at %v after step %d, want %v", d, leaps, i, got, step, x)
					}
				}
			}
			flights := count * steps * max(leaps, 2)
			if math.Abs(draws.Turned-float64(turned)/float64(flights)) > 1e-12 || turned < flights/20 {
				t.Errorf("R^%d, %d leaps: a share %v turned, want %d of %d", d, leaps, draws.Turned, turned, flights)
			}
			if draws.Refused != 0 || draws.Report.Failed != 0 {
				t.Errorf("R^%d, %d leaps: %v refused, %d failed", d, leaps, draws.Refused, draws.Report.Failed)
			}
		}
	}
}

// A point on a wall is not beyond it, one outside is beyond the wall that it is furthest outside of, and one that is no
// number is beyond.
func TestBeyondWalls(t *testing.T) {
	s := newSplitting(flying(testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{1, 2})), ULLAP, 0.5, 1), 1)
	values := make([]float64, s.c)
	for _, c := range []struct {
		y      []float64
		beyond bool
	}{{[]float64{0, 2}, false}, {[]float64{1, 1}, false}, {[]float64{1.5, 2.25}, true}, {[]float64{-1, 3.5}, true},
		{[]float64{math.NaN(), 1}, true}} {
		at := s.beyond(c.y)
		s.all.Values(values, c.y, 1)
		if (at >= 0) != c.beyond || at >= 0 && values[at] == values[at] && values[at] != slices.Max(values) {
			t.Errorf("%v: wall %d of %v", c.y, at, values)
		}
	}
}
