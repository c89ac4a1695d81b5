package choose

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// earth are the lengths of rows all over the unit sphere.
var earth = Measures{Rows: 5000, Coordinates: 3, Dim: 2, Spread: 1, Diameter: 2, Narrow: 0.02, RadiusMedian: 1,
	RadiusThin: 1, WindowMedian: math.Inf(1)}

func (n Noise) schedule() langevin.Schedule {
	return langevin.Schedule{N: n.Steps, T: n.Horizon, SigmaMin: n.Min, SigmaMax: n.Max, Geometric: n.Geometric}
}

// travel returns the variance of x_N − x_0 in one direction of a flat Σ, p_0 being stationary: the sum over
// pairs of steps of the correlations of their momenta.
func (n Noise) travel() float64 {
	s, v, vm := n.schedule(), 0.0, 0.0
	for k := range s.N {
		τ := s.Tau(k)
		if !n.Underdamped {
			v += τ
			continue
		}
		a := math.Exp(-n.Friction * τ)
		v, vm = v+2*τ*a*vm+τ*τ, a*vm+τ
	}
	return v
}

// Paths travel by a fifth of the data's variance in each direction, or where generation begins elsewhere by
// ten times that, whatever is given; the schedule is a sum, so the integral that the rule takes for it may be off
// by a step's share.
func TestScheduleTravels(t *testing.T) {
	for _, c := range []struct {
		name string
		open Noise
		by   float64 // of v over ℓ²/5
	}{
		{"far", Noise{Underdamped: true, Far: true}, 10},
		{"nothing", Noise{Underdamped: true}, 1},
		{"overdamped", Noise{}, 1},
		{"friction", Noise{Underdamped: true, Friction: 1.5}, 1},
		{"a friction so low that paths are straight", Noise{Underdamped: true, Friction: 0.1}, 1},
		{"steps", Noise{Underdamped: true, Steps: 400}, 1},
		{"horizon", Noise{Underdamped: true, Horizon: 2.5}, 1},
		{"sigma.max", Noise{Underdamped: true, Max: 3}, 1},
		{"sigma.min", Noise{Underdamped: true, Min: 0.3}, 1},
		{"sigma", Noise{Underdamped: true, Min: 0.3, Max: 3}, 1},
		{"schedule", Noise{Underdamped: true, Min: 0.1, Max: 1, Horizon: 2}, 1},
		{"geometric", Noise{Underdamped: true, Geometric: true}, 1},
		{"geometric overdamped", Noise{Geometric: true, Steps: 300}, 1},
	} {
		n, _ := Schedule(&earth, c.open)
		if v := n.travel(); math.Abs(v/0.1-c.by) > 0.08*c.by {
			t.Errorf("%s: paths travel %.3f, want %.3f: %+v", c.name, v, c.by, n)
		}
		if !(n.Min > 0 && n.Max >= n.Min && n.Horizon > 0 && n.Steps > 0) || n.Underdamped && !(n.Friction > 0) {
			t.Errorf("%s: %+v", c.name, n)
		}
		o := c.open
		if o.Steps > 0 && n.Steps != o.Steps || o.Horizon > 0 && n.Horizon != o.Horizon ||
			o.Max > 0 && n.Max != o.Max || o.Min > 0 && n.Min != o.Min || o.Friction > 0 && n.Friction != o.Friction {
			t.Errorf("%s: %+v became %+v", c.name, o, n)
		}
	}
}

// The momentum that generation draws anew knows little of the way.
func TestScheduleForgets(t *testing.T) {
	n, _ := Schedule(&earth, Noise{Underdamped: true})
	s, v, vm := n.schedule(), 0.0, 0.0
	for k := range s.N {
		τ := s.Tau(k)
		a := math.Exp(-n.Friction * τ)
		v, vm = v+2*τ*a*vm+τ*τ, a*vm+τ
	}
	if r := vm / math.Sqrt(v); !(r < 0.3) {
		t.Errorf("its correlation with the way is %.3f", r)
	}
}

// The largest step turns by at most 0.4, and crosses at most half a window, where that takes from 50 to 200 steps.
func TestScheduleSteps(t *testing.T) {
	largest := func(n Noise) float64 { return n.Max * n.Max * n.Horizon / float64(n.Steps) }
	round := earth
	round.RadiusMedian = 0.1
	n, _ := Schedule(&round, Noise{Underdamped: true})
	if τ := largest(n); n.Steps <= fewestSteps || n.Steps >= mostSteps ||
		τ*math.Sqrt2/0.1 > 0.4001 || τ*math.Sqrt2/0.1 < 0.38 {
		t.Errorf("radius 0.1: %d steps of %.3f", n.Steps, τ)
	}
	thin := earth
	thin.WindowMedian = 0.05
	n, _ = Schedule(&thin, Noise{Underdamped: true})
	if τ := largest(n); n.Steps <= fewestSteps || n.Steps >= mostSteps || τ > 0.02501 || τ < 0.024 {
		t.Errorf("window 0.05: %d steps of %.3f", n.Steps, τ)
	}
	flat := earth
	flat.RadiusMedian, flat.RadiusThin = math.Inf(1), math.Inf(1)
	if n, why := Schedule(&flat, Noise{Underdamped: true}); n.Steps != fewestSteps ||
		!strings.Contains(why[1].Reason, "neither curvature nor walls") {
		t.Errorf("flat: %d steps, %+v", n.Steps, why)
	}
	round.RadiusMedian = 0.01
	n, why := Schedule(&round, Noise{Underdamped: true})
	if n.Steps != mostSteps || !strings.Contains(why[1].Reason, "should be") {
		t.Errorf("radius 0.01: %d steps, %+v", n.Steps, why)
	}
	if n, _ := Schedule(&earth, Noise{}); n.Max*math.Sqrt(2*n.Horizon/float64(n.Steps)) > 0.4001 {
		t.Errorf("overdamped: %d steps of %.3f", n.Steps, n.Max*math.Sqrt(n.Horizon/float64(n.Steps)))
	}
}

// Where Σ is thin the largest step is at most twice the radius of curvature there, with the fewest steps that do, up to
// 1000. Where fewer than 50 steps do, or as many as the median asks for, the choice is that of a body without a rim.
func TestScheduleThin(t *testing.T) {
	for _, kind := range []Noise{{Underdamped: true}, {}, {Underdamped: true, Geometric: true}, {Projected: true}} {
		step := func(n Noise) float64 {
			τ := n.Max * n.Max * n.Horizon / float64(n.Steps)
			if !n.Underdamped {
				τ = math.Sqrt(τ)
			}
			return τ * math.Sqrt2
		}
		wide := earth
		wide.Radius, wide.RadiusThin = math.Inf(1), math.Inf(1)
		free, _ := Schedule(&wide, kind)
		wide.RadiusThin = 2 * step(free) / thin
		same, _ := Schedule(&wide, kind)
		testkit.Equal(t, same, free, "%+v", kind)

		wide.RadiusThin = step(free) / thin / 2
		n, why := Schedule(&wide, kind)
		fewer := kind
		fewer.Steps, fewer.Min, fewer.Max, fewer.Horizon = n.Steps-1, n.Min, n.Max, n.Horizon
		if !(step(n) <= thin*wide.RadiusThin*(1+1e-9)) || !(step(fewer) > thin*wide.RadiusThin) {
			t.Errorf("%+v: %d steps, the largest of %v at a radius of %v", kind, n.Steps, step(n), wide.RadiusThin)
		}
		if !slices.ContainsFunc(why, func(c Choice) bool { return strings.Contains(c.Reason, "hundredth") }) {
			t.Errorf("%+v: %+v", kind, why)
		}
		wide.RadiusThin = 1e-9
		n, _ = Schedule(&wide, kind)
		testkit.Equal(t, n.Steps, mostThin, "%+v", kind)
	}
}

// A projected step finds the sphere of radius R along the normal of the point that it leaves unless it is
// longer than R: so long is the Gaussian of m directions once in a million steps or less often.
func TestScheduleProjected(t *testing.T) {
	const beyond = 1e-6
	for _, dim := range []int{1, 2, 5, 40} {
		l := earth
		l.Dim, l.Radius = dim, 0.9
		for _, underdamped := range []bool{false, true} {
			n, _ := Schedule(&l, Noise{Underdamped: underdamped, Projected: true, Steps: 0})
			free, _ := Schedule(&l, Noise{Underdamped: underdamped})
			if n.Steps < free.Steps {
				t.Errorf("%d directions: %d projected steps, %d others", dim, n.Steps, free.Steps)
			}
			τ := n.Max * n.Max * n.Horizon / float64(n.Steps)
			if !underdamped {
				τ = math.Sqrt(τ)
			}
			if n.Steps == mostSteps {
				continue
			}
			z := l.Radius / τ // P(χ² of dim > z²)
			if p := 1 - math.Exp(logGamma(float64(dim)/2, z*z/2)); p > beyond {
				t.Errorf("%d directions, underdamped %v: a step of %.3g is beyond the radius with p = %.2g", dim,
					underdamped, τ, p)
			}
		}
	}
}

// Strain reports given keys that do not go with the data, and no key that follows from the data.
func TestStrain(t *testing.T) {
	unit := earth
	unit.Radius = 1
	for _, c := range []struct {
		open Noise
		want []string
	}{
		{Noise{Underdamped: true}, nil},
		{Noise{}, nil},
		{Noise{Underdamped: true, Friction: 1.5}, nil},
		{Noise{Underdamped: true, Min: 10}, nil},
		{Noise{Underdamped: true, Steps: 20}, nil},
		{Noise{Underdamped: true, Horizon: 1000, Min: 5, Max: 10}, []string{"process.horizon, process.sigma.min, " +
			"process.sigma.max as given make steps of up to "}},
		{Noise{Underdamped: true, Horizon: 1e-3, Min: 0.01, Max: 0.1}, []string{"make paths that end within "}},
		{Noise{Horizon: 1e-3, Min: 0.01, Max: 0.1}, []string{"make paths that end within "}},
		{Noise{Far: true, Steps: 1}, []string{"process.steps as given makes steps of up to "}},
	} {
		n, _ := Schedule(&unit, c.open)
		got := Strain(&unit, c.open, n)
		if len(got) != len(c.want) {
			t.Errorf("%+v: %q", c.open, got)
			continue
		}
		for i, w := range c.want {
			if !strings.Contains(got[i], w) || !strings.Contains(got[i], "left out, ") {
				t.Errorf("%+v: %q, want %q", c.open, got[i], w)
			}
		}
	}
}

// The first step is a tenth of the narrowest width, within bounds of σ.
func TestScheduleFirst(t *testing.T) {
	for _, c := range []struct{ narrow, low, high float64 }{
		{0.01, 0.0009, 0.0011}, {1e-6, 1e-6, 1e-4}, {10, 0.001, 0.01},
	} {
		l := earth
		l.Narrow = c.narrow
		n, _ := Schedule(&l, Noise{Underdamped: true})
		if τ := n.schedule().Tau(0); τ < c.low || τ > c.high {
			t.Errorf("width %v: the first step is %.3g", c.narrow, τ)
		}
	}
}

// Data in a unit that is a power of two as large give exactly the same process in that unit.
func TestScheduleScales(t *testing.T) {
	for _, c := range []float64{1024, 1.0 / 1024} {
		l := earth
		l.Spread, l.Diameter, l.Narrow, l.RadiusMedian = c, 2*c, 0.02*c, c
		l.RadiusThin = c
		l.WindowMedian = 0.3 * c
		unit := earth
		unit.WindowMedian = 0.3
		for _, open := range []Noise{{}, {Underdamped: true}} {
			a, _ := Schedule(&unit, open)
			b, _ := Schedule(&l, open)
			by := c // of σ²
			if !open.Underdamped {
				by = c * c
			}
			if a.Steps != b.Steps || a.Horizon != b.Horizon || math.Abs(b.Max*b.Max/(by*a.Max*a.Max)-1) > 1e-12 ||
				math.Abs(b.Min*b.Min/(by*a.Min*a.Min)-1) > 1e-12 ||
				math.Abs(b.Friction*c-a.Friction) > 1e-12*a.Friction {
				t.Errorf("×%v: %+v and %+v", c, a, b)
			}
		}
	}
}

// travelled is what is undone by timeFor and frictionFor; and where a straight path is too short the friction is 1/S.
func TestTravelled(t *testing.T) {
	for _, γ := range []float64{1e-3, 0.1, 1, 30, 1e4} {
		for _, S := range []float64{1e-3, 0.5, 20} {
			v := travelled(γ, S)
			if γ*S > 1e-5 && math.Abs(timeFor(v, γ)/S-1) > 1e-5 {
				t.Errorf("γ = %v, S = %v: timeFor gives %v", γ, S, timeFor(v, γ))
			}
			switch got := frictionFor(v, S); {
			case γ*S > 1 && math.Abs(got/γ-1) > 1e-8:
				t.Errorf("γ = %v, S = %v: frictionFor gives %v", γ, S, got)
			case γ*S <= 1 && got != 1/S:
				t.Errorf("γ = %v, S = %v: frictionFor gives %v, want 1/S", γ, S, got)
			}
		}
	}
}

// Paths travel so far that the ends' density, of Gaussian rows, is in L² off by itself and no more. Means
// over draws of rows, all integrals in closed form.
func TestTravelsSoFarThatRowsMeet(t *testing.T) {
	const n, m, draws = 300, 12, 20
	l := Measures{Rows: n, Dim: m}
	u, _ := l.travels(false)
	if !(u > nearest && u < farthest) {
		t.Fatalf("u = %v is a bound", u)
	}
	density := func(r2, v float64) float64 { return math.Exp(-r2/(2*v)) / math.Pow(2*math.Pi*v, m/2.) }
	sum, r := 0.0, rand.New(rand.NewPCG(1, 2))
	for range draws {
		x := make([]float64, n*m)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		own, both := 0.0, 0.0 // ∫ p̂², ∫ p̂p
		for i := range n {
			a := x[i*m : (i+1)*m]
			both += density(dense.SquaredDistance(a, make([]float64, m)), 1+2*u) / n
			for j := range n {
				own += density(dense.SquaredDistance(a, x[j*m:(j+1)*m]), 2*u) / (n * n)
			}
		}
		p := density(0, 2*(1+u))
		sum += (own - 2*both + p) / p / draws
	}
	want := (math.Pow((1+u)/u, m/2.) - 1) / n
	if math.Abs(sum/want-1) > 0.1 || math.Abs(want*company-1) > 0.01 {
		t.Errorf("u = %.3f: the density is off by %.4f, want %.4f, and 1 but for 1/n", u, sum, want)
	}
}

// Few rows, and many directions, take the farthest way; the earth's many rows the nearest. Where
// generation begins elsewhere it is the farthest.
func TestTravelsBounds(t *testing.T) {
	for _, c := range []struct {
		rows, dim int
		far       bool
		want      float64
	}{{20, 30, false, farthest}, {8000, 45, false, farthest}, {5000, 2, false, nearest}, {5000, 2, true, farthest},
		{1, 0, false, farthest}} {
		if u, why := (&Measures{Rows: c.rows, Dim: c.dim}).travels(c.far); u != c.want || why == "" {
			t.Errorf("%+v: %v, %s", c, u, why)
		}
	}
}
