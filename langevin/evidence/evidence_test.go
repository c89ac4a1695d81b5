package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func capOf(t *testing.T, workers int) *Evidence {
	t.Helper()
	set := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	pool := testkit.Pool(t, workers)
	data := make([]float64, 3*100)
	for i := range 100 {
		set.SampleUniform(data[3*i:3*i+3], keyed.New(1, keyed.Probe, 90), uint64(i))
	}
	p := &langevin.Process{
		Set: set, Method: langevin.OLLA, Landing: langevin.Landing{Explicit: true, Rate: -1},
		Schedule: langevin.Schedule{N: 20, T: 1, SigmaMin: 0.1, SigmaMax: 1},
	}
	return Gather(t.Context(), Case{Process: p, Data: data, Seed: 3}, pool)
}

// Points are where they say they are, and in the order that they say.
func TestGather(t *testing.T) {
	e := capOf(t, 2)
	probe := e.Probe()
	if len(e.Sample) != 100 || e.Rows != (Tries{MaxPoints, MaxPoints}) || e.Starts.Tried != MaxPoints ||
		e.Starts.Arrived < 40 {
		t.Fatalf("%d rows sampled, %+v of data and %+v of starts arrived", len(e.Sample), e.Rows, e.Starts)
	}
	if len(e.On) != e.Rows.Arrived+e.Starts.Arrived || len(e.Near) != len(e.On) || len(e.Typical()) != MaxPoints {
		t.Fatalf("%d points on Σ, %d near, %d typical", len(e.On), len(e.Near), len(e.Typical()))
	}
	for i, p := range e.On {
		if !probe.At(p.X) || math.Abs(probe.Val[0]) > 1e-8 || probe.Val[1] > 1e-8 {
			t.Errorf("%s: values %v", p.From, probe.Val)
		}
		testkit.Contains(t, p.From, map[bool]string{true: "data row", false: "random start"}[i < MaxPoints],
			"point %d", i)
		far := 0.0
		for j, v := range e.Near[i].X {
			far += (v - p.X[j]) * (v - p.X[j])
		}
		testkit.Near(t, math.Sqrt(far), e.Radius*[]float64{1, 0.1}[i%2], 1e-12, "near point %d", i)
	}
	for _, p := range e.Boundary {
		if probe.At(p.X); math.Abs(probe.Val[0]) > 1e-8 || math.Abs(probe.Val[1]) > 1e-8 {
			t.Errorf("%s: values %v", p.From, probe.Val)
		}
	}
	if len(e.Boundary) != 3 {
		t.Errorf("%d points at the edge, want 3 of one inequality", len(e.Boundary))
	}
	if math.Abs(e.Scale-1) > 0.5 || e.D != 3 || e.M != 1 || e.C != 2 {
		t.Errorf("scale %v, d = %d, m = %d, c = %d", e.Scale, e.D, e.M, e.C)
	}
}

// Runnable repairs a process that cannot run in a copy, and examines the copy's paths.
func TestRunnable(t *testing.T) {
	e := capOf(t, 2)
	if e.Invalid == nil || e.Process.Landing.Rate != -1 || e.Running.Landing.Rate != e.Process.MonotoneRate() ||
		!e.Running.NoTerminal {
		t.Errorf("given %+v, running %+v, %v", e.Process.Landing, e.Running.Landing, e.Invalid)
	}
	if e.Broken != nil || e.Paths.Count != maxPaths || e.Paths.Steps != 20 || len(e.States(50)) != 50 {
		t.Errorf("%d paths of %d steps, %v", e.Paths.Count, e.Paths.Steps, e.Broken)
	}
	if s := e.States(1); !slices.Equal(s[0].X, e.Paths.At(0, 1)) || s[0].From != "step 1 of forward path 0" {
		t.Errorf("first state %+v", s[0])
	}
}

// Evidence is a function of the case: workers do not matter, nor does a probe change it.
func TestRepeats(t *testing.T) {
	a, b := capOf(t, 1), capOf(t, 3)
	a.Probe().At(a.On[0].X)
	for i := range a.On {
		if !slices.Equal(a.On[i].X, b.On[i].X) || !slices.Equal(a.Near[i].X, b.Near[i].X) {
			t.Fatalf("point %d differs", i)
		}
	}
	testkit.EqualSlices(t, a.Paths.X, b.Paths.X, "paths differ")
	if u, v := a.Direction(3, ForKinks), a.Direction(3, ForRanks); slices.Equal(u, v) {
		t.Error("two uses have the same directions")
	}
}

// What is appended to the first points of a list leaves the list alone.
func TestFirstIsClipped(t *testing.T) {
	list := []Point{{From: "a"}, {From: "b"}, {From: "c"}}
	_ = append(First(list, 1), Point{From: "x"})
	if list[1].From != "b" || len(First(list, 9)) != 3 {
		t.Errorf("%v", list)
	}
}

// Points that were not brought to Σ are kept, with the least violation found.
func TestStuck(t *testing.T) {
	set := testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{1, 1}))
	pool := testkit.Pool(t, 1)
	data := []float64{math.NaN(), 0, 0.5, 0.5}
	p := &langevin.Process{Set: set, Schedule: langevin.Schedule{N: 2, T: 1, SigmaMin: 1, SigmaMax: 1}}
	e := Gather(t.Context(), Case{Process: p, Data: data, Seed: 1}, pool)
	if e.Rows != (Tries{2, 1}) || len(e.Stuck) == 0 || e.Stuck[0].From != "data row 0" {
		t.Errorf("%+v, stuck %v", e.Rows, e.Stuck)
	}
}

// Long paths in many dimensions are few, and one at least.
func TestKept(t *testing.T) {
	for _, c := range []struct{ steps, d, want int }{{50, 3, 1000}, {1_000_000, 90, 4}, {1_000_000, 1000, 1}} {
		e := &Evidence{D: c.d}
		e.Running.Schedule.N = c.steps
		testkit.Equal(t, e.Kept(1000), c.want, "%d steps in R^%d", c.steps, c.d)
	}
}

// A probe evaluates where it is, and says what is not finite.
func TestProbe(t *testing.T) {
	e := capOf(t, 1)
	p := e.Probe()
	if !p.At([]float64{0, 0, 2}) || p.Val[0] == 0 || math.Abs(p.Val[1]+1.8) > 1e-12 || p.Grad(1)[2] != -1 {
		t.Errorf("values %v, gradients %v", p.Val, p.Jac)
	}
	if p.At([]float64{math.NaN(), 0, 1}) {
		t.Error("values at NaN are called finite")
	}
}

// Without data every point of Σ is typical, and so are edges next to them: three different ones for each inequality.
func TestWithoutData(t *testing.T) {
	set := testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{1, 1}))
	pool := testkit.Pool(t, 1)
	p := &langevin.Process{Set: set, Schedule: langevin.Schedule{N: 2, T: 1, SigmaMin: 1, SigmaMax: 1}}
	e := Gather(t.Context(), Case{Process: p, Seed: 1}, pool)
	if len(e.Typical()) != len(e.On) || len(e.On) < 40 || e.Rows.Tried != 0 || len(e.Boundary) != 12 {
		t.Fatalf("%d of %d points are typical, %+v, %d edges", len(e.Typical()), len(e.On), e.Rows, len(e.Boundary))
	}
	from := map[string]bool{}
	for _, b := range e.Boundary {
		from[b.From] = true
	}
	if len(from) != 12 {
		t.Errorf("edges are next to %d points: %v", len(from), from)
	}
}

// The spread of points is relative to where they are: round-off about one place is none.
func TestSpread(t *testing.T) {
	at := func(x ...float64) (out []Point) {
		for _, v := range x {
			out = append(out, Point{X: []float64{v}})
		}
		return out
	}
	for _, c := range []struct {
		points []Point
		want   float64
	}{
		{at(1e9-30, 1e9+30), 1}, {at(-2, 2), 2}, {at(98, 102), 2}, {at(5, 5), 1}, {nil, 1},
		{at(1e-4-1e-9, 1e-4+1e-9), 1e-9},
	} {
		if got := spread(c.points, 1); math.Abs(got/c.want-1) > 1e-6 {
			t.Errorf("%v: %v, want %v", c.points, got, c.want)
		}
	}
}

// Random starts are one and a half times as wide as the data, or of three widths
// about the origin: over 300 of them a ratio of spreads has a standard error of 4 %.
func TestStarts(t *testing.T) {
	e := &Evidence{Set: zoo.Euclidean{D: 1}, D: 1, stream: keyed.New(5, keyed.Probe, 91)}
	width := func(centre float64, every, from int) float64 {
		sum, n := 0.0, 0.0
		for i, p := range e.starts(900) {
			if i%every == from {
				sum, n = sum+(p.X[0]-centre)*(p.X[0]-centre), n+1
			}
		}
		return math.Sqrt(sum / n)
	}
	for i, want := range []float64{1, 0.3, 3} {
		if got := width(0, 3, i); math.Abs(got/want-1) > 0.2 {
			t.Errorf("width %d is %v, want %v", i, got, want)
		}
	}
	e.Sample = []Point{{X: []float64{9.9}}, {X: []float64{10.1}}}
	if got := width(10, 1, 0); math.Abs(got/0.15-1) > 0.12 {
		t.Errorf("about data: width %v, want 0.15", got)
	}
}

// A process that no mending makes run, and a set that nothing reaches, have no paths.
func TestNoPaths(t *testing.T) {
	pool := testkit.Pool(t, 1)
	s := langevin.Schedule{N: 2, T: 1, SigmaMin: 1, SigmaMax: 1}
	bad := &langevin.Process{Set: zoo.Sphere{D: 3}, Method: langevin.ULLA, Friction: -1, Schedule: s}
	e := Gather(t.Context(), Case{Process: bad, Seed: 1}, pool)
	if e.Invalid == nil || e.Paths.Count != 0 || e.Broken != nil || len(e.On) == 0 || len(e.States(9)) != 0 {
		t.Errorf("invalid: %v, %d paths, %v", e.Invalid, e.Paths.Count, e.Broken)
	}
	one := &langevin.Process{Set: zoo.Affine{A: [][]float64{{0, 0}}, B: []float64{1}}, Schedule: s} // 0 = 1
	if e := Gather(t.Context(), Case{Process: one, Seed: 1}, pool); len(e.On) != 0 || e.Paths.Count != 0 {
		t.Errorf("%d points on the empty set, %d paths", len(e.On), e.Paths.Count)
	}
}

// beside returns n points of the circle of radius r in the plane, the last of them off by δ times r.
func beside(n int, r, δ float64) []float64 {
	x := make([]float64, 0, 2*n)
	for i := range n {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		if i == n-1 {
			s, c = s*(1+δ), c*(1+δ)
		}
		x = append(x, r*c, r*s)
	}
	return x
}

// The share of a row is its distance over √½ radii, what a coordinate of points all around a
// circle varies by, in every unit; and workers do not change it.
func TestFeasible(t *testing.T) {
	const n, δ = 200, 1e-3
	for _, r := range []float64{1, 1e3, 1e-3, 1e9, 1e-9} {
		var first *Feasibility
		for _, workers := range []int{1, 3} {
			pool := testkit.Pool(t, workers)
			f := Feasible(t.Context(), zoo.Sphere{D: 2, R: r}, beside(n, r, δ), pool)
			testkit.Near(t, f.Share(n-1), δ*math.Sqrt2, 2*δ*δ, "radius %g: share", r)
			if at, worst, rows := f.Beyond(f.Rounded()); at != n-1 || worst != n-1 || rows != 1 {
				t.Errorf("radius %g: %d rows beyond, from %d, worst %d", r, rows, at, worst)
			}
			if at, worst, rows := f.Beyond(Far); at != -1 || worst != -1 || rows != 0 {
				t.Errorf("radius %g: %d rows far, from %d, worst %d", r, rows, at, worst)
			}
			if first == nil {
				first = f
			}
			for i, g := range f.Gaps {
				if g != first.Gaps[i] {
					t.Fatalf("row %d depends on the workers", i)
				}
			}
		}
	}
}

// A share is of what a coordinate varies by where one component is violated, and of what rows
// do, √d times as much, where many are; coordinates that are held count for nothing.
func TestShares(t *testing.T) {
	pool := testkit.Pool(t, 1)
	const n = 50
	var flat, held []float64
	for i := range n {
		s, c := math.Sincos(2 * math.Pi * float64(i) / n)
		off := 0.0
		if i == 3 {
			off = 0.02
		}
		flat = append(flat, s, c, s, c, off, off, off, -off) // sd √½ in four of eight coordinates: ½
		held = append(held, s, c, 1000*float64(i))
	}
	a := make([][]float64, 4)
	for k := range a {
		a[k] = make([]float64, 8)
		a[k][4+k] = 1
	}
	f := Feasible(t.Context(), zoo.Affine{A: a, B: make([]float64, 4)}, flat, pool)
	if math.Abs(f.Spread-0.5) > 1e-4 || math.Abs(f.Share(3)-0.02/f.Spread) > 1e-12 || f.Share(2) != 0 {
		t.Errorf("spread %v, shares %v and %v", f.Spread, f.Share(3), f.Share(2))
	}
	if got := f.Tell(3); !strings.HasPrefix(got, "about 0.02 from it, 4 % of the spread of a coordinate (0.5)") {
		t.Error(got)
	}
	// Two lines that meet at an angle of 0.01: a row on one is as far from both as from their
	// meeting, a hundred times its distance from the other.
	slope := zoo.Affine{A: [][]float64{{0, 1}, {-0.01, 1}}, B: []float64{0, 0}}
	f = Feasible(t.Context(), slope, []float64{1, 0, -1, 0}, pool)
	if want := 1.; math.Abs(f.Share(0)-want) > 1e-9 || f.Gaps[0].Single > 0.011 {
		t.Errorf("share %v, want %v; %+v", f.Share(0), want, f.Gaps[0])
	}
	testkit.Equal(t, f.Tell(1), "about 1 from it, 1 times the spread of a row (1)")
	g := Feasible(t.Context(), constraint.Given(zoo.Sphere{D: 2}, 1), held, pool)
	testkit.Near(t, g.Spread, math.Sqrt(0.5), 1e-12, "the spread with a held coordinate")
	// Rows that are all alike have no spread but their size.
	if f := Feasible(t.Context(), zoo.Sphere{D: 2, R: 5}, []float64{3, 4, 3, 4}, pool); f.Spread != math.Sqrt(12.5) {
		t.Errorf("the spread of equal rows is %v", f.Spread)
	}
	if f := Feasible(t.Context(), zoo.Sphere{D: 2}, make([]float64, 4), pool); f.Spread != 1 ||
		!math.IsInf(f.Share(0), 1) ||
		f.Tell(0) != "its gradient is not finite or 0 there, so no direction leads to the set" {
		t.Errorf("zeros: spread %v, share %v, %q", f.Spread, f.Share(0), f.Tell(0))
	}
}

// What single precision makes of numbers that lie far from 0 is no fault of the rows.
func TestRounded(t *testing.T) {
	pool := testkit.Pool(t, 1)
	for _, shift := range []float64{0, 1, 1e3, 1e4} {
		x := beside(100, 1, 0)
		for i := range x {
			x[i] = float64(float32(x[i] + shift))
		}
		set := moved{zoo.Sphere{D: 2}, shift}
		f := Feasible(t.Context(), set, x, pool)
		if _, _, rows := f.Beyond(f.Rounded()); rows > 0 || f.Rounded() > Far {
			t.Errorf("shifted by %g: %d rows beyond %g", shift, rows, f.Rounded())
		}
		for i := range x[:4] { // of two rows, what is more
			x[i] = shift + (1+3*f.Rounded())*(x[i]-shift)
		}
		f = Feasible(t.Context(), set, x, pool)
		if _, _, rows := f.Beyond(f.Rounded()); rows != 2 {
			t.Errorf("shifted by %g: %d rows beyond %g; expected two", shift, rows, f.Rounded())
		}
	}
}

// moved is a set about another origin.
type moved struct {
	constraint.Set
	by float64
}

func (s moved) Capabilities() (c constraint.Capabilities) { return c }

func (s moved) NewEvaluator(rows int) constraint.Evaluator {
	in := s.Set.NewEvaluator(rows)
	back := func(x []float64) []float64 {
		y := make([]float64, len(x))
		for i, v := range x {
			y[i] = v - s.by
		}
		return y
	}
	return constraint.Evaluator{
		Values:    func(v, x []float64, n int) { in.Values(v, back(x), n) },
		Jacobians: func(v, j, x []float64, n int) { in.Jacobians(v, j, back(x), n) },
	}
}

// Rows on the edge of a box are counted in any unit, those beside it and those of an inequality without a gradient
// are not.
func TestOnWalls(t *testing.T) {
	for _, unit := range []float64{1, 1e6, 1e-6} {
		var x []float64
		for i := range 200 {
			a, b := 0.05+float64(i)/250, 0.3+0.001*float64(i)
			switch {
			case i%10 == 0:
				a = 0
			case i%10 == 1:
				a = 1e-8
			case i == 15:
				b = 1
			}
			x = append(x, unit*a, unit*b)
		}
		box := testkit.Must(zoo.NewBox([]float64{0, 0}, []float64{unit, unit}))
		on, looked := OnWalls(box, x)
		testkit.Equal(t, looked, 200)
		testkit.EqualSlices(t, on, []int{20, 0, 0, 1}, "unit %g", unit)
		if !Walled(on[0], 200) || Walled(on[3], 200) || Walled(4, 8) || Walled(9, 1000) {
			t.Error("what is a part of the law")
		}
	}
	flat := testkit.Must(formula.New(formula.Spec{Dim: 1, Inequality: []formula.Component{{Name: "g",
		Expr: "relu(x[0])^2 <= 0"}}}))
	if on, _ := OnWalls(flat, []float64{-1, -2, -3, -4, -5, -6, -7}); on[0] != 0 {
		t.Errorf("%d rows on the edge of what has none", on[0])
	}
}
