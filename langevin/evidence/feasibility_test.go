package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
