package zoo_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Retract exists up to ‖W‖₂ = 1, W the skew part of Bᵀv, and not beyond: for a
// turn of the plane by v = w J the result has angle arcsin w.
func TestRetractAngle(t *testing.T) {
	set := testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{Special: true}))
	base, y := []float64{1, 0, 0, 1}, make([]float64, 4)
	for _, w := range []float64{0.01, 0.5, 0.999} {
		if !set.Retract(y, base, []float64{0.3, -w, w, -0.2}) {
			t.Fatalf("no point for w = %v", w)
		}
		if e := math.Abs(math.Atan2(y[2], y[0]) - math.Asin(w)); e > 1e-13 {
			t.Errorf("w = %v: angle off by %.3g", w, e)
		}
	}
	if set.Retract(y, base, []float64{0, -1.001, 1.001, 0}) {
		t.Error("a point beyond the last one")
	}
	if set.Retract(y, make([]float64, 4), make([]float64, 4)) {
		t.Error("a point from the zero matrix")
	}
	if set.Retract(y, []float64{math.NaN(), 0, 0, 1}, make([]float64, 4)) {
		t.Error("a point from NaN")
	}
}

// Off the group, Retract meets h = 0 by a move A S with symmetric S.
func TestRetractOffGroup(t *testing.T) {
	const n = 5
	set := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{}))
	st := keyed.New(1, keyed.Probe, 41)
	base, v, y, noise := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	h := make([]float64, n*(n+1)/2)
	for i := range uint64(50) {
		set.SampleUniform(base, st, i)
		st.Normals(noise, i, 90)
		st.Normals(v, i, 91)
		size := []float64{0.02, 1e-4, 1e-8}[i%3]
		for e := range base {
			base[e] += size * noise[e]
			v[e] *= 0.03
			if i%2 == 0 {
				v[e] = 0
			}
		}
		if !set.Retract(y, base, v) {
			t.Fatalf("sample %d: no point", i)
		}
		set.Values(h, y, 1)
		for _, e := range h {
			if math.Abs(e) > 1e-13 {
				t.Fatalf("sample %d: h = %.3g", i, e)
			}
		}
		normal, work, regular := make([]float64, n*n), make([]float64, set.WorkSize()), make([]bool, 1)
		for e := range y {
			normal[e] = y[e] - base[e] - v[e]
		}
		set.Factor(h, work, regular, base, 1)
		set.Tangent(normal, normal, base, work, 1)
		for _, e := range normal {
			if math.Abs(e) > 1e-13 {
				t.Fatalf("sample %d: moved %.3g along the tangent space", i, e)
			}
		}
	}
}

// A turn B of the plane by φ, stretched by r, and v = B w J: with S = sI the result is B (c I + w J), c² = 1/r² − w², a
// turn by φ + arcsin(w r) as long as w r < 1. Newton's method gets there from moves that are not small.
func TestRetractLongMoves(t *testing.T) {
	set := testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{}))
	y := make([]float64, 4)
	for _, r := range []float64{0.9, 1.2} {
		for _, w := range []float64{-0.7, 0.1, 0.5, 0.75} {
			const φ = 2.1
			sin, cos := math.Sincos(φ)
			base := []float64{r * cos, -r * sin, r * sin, r * cos}
			v := []float64{-r * w * sin, -r * w * cos, r * w * cos, -r * w * sin}
			if !set.Retract(y, base, v) {
				t.Fatalf("r = %v, w = %v: no point", r, w)
			}
			sin, cos = math.Sincos(φ + math.Asin(r*w))
			for e, want := range []float64{cos, -sin, sin, cos} {
				if math.Abs(y[e]-want) > 1e-13 {
					t.Errorf("r = %v, w = %v: %v, want the turn by φ + arcsin(w r)", r, w, y)
					break
				}
			}
		}
	}
}

// The polar factor is exact to round-off or refused: of diag(1, δ) with δ² lost in the rounding of BᵀB there is none.
func TestRetractNearlySingular(t *testing.T) {
	set := testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{}))
	y, still := make([]float64, 4), make([]float64, 4)
	sin, cos := math.Sincos(0.3)
	for δ, want := range map[float64]bool{0.5: true, 1e-4: true, 1e-7: false} {
		// A turn times diag(1, δ) times a turn: the polar factor is the product of both.
		base := []float64{cos*cos - δ*sin*sin, -cos*sin - δ*sin*cos, sin*cos + δ*cos*sin, -sin*sin + δ*cos*cos}
		if ok := set.Retract(y, base, still); ok != want {
			t.Errorf("δ = %v: a point is found: %v", δ, ok)
		} else if e := math.Abs(math.Atan2(y[2], y[0]) - 0.6); ok && e > 1e-15/(δ*δ)+1e-14 {
			t.Errorf("δ = %v: angle off by %.3g", δ, e)
		}
	}
}

// The closed forms end within rounding of Σ, thanks to their last step: without it
// they miss by up to 6e-15 here, with it by 9e-16.
func TestRetractRoundOff(t *testing.T) {
	const n = 10
	set := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{}))
	st := keyed.New(1, keyed.Probe, 45)
	x, v, noise, h := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n), make([]float64, n*(n+1)/2)
	for i := range uint64(60) {
		set.SampleUniform(x, st, i)
		st.Normals(noise, i, 90)
		clear(v)
		move := v // of a point of the group, or the point itself
		if i%2 == 0 {
			move = x
		}
		for e := range noise {
			move[e] += 0.05 * noise[e]
		}
		if !set.Retract(x, x, v) {
			t.Fatalf("sample %d: no point", i)
		}
		set.Values(h, x, 1)
		for _, e := range h {
			if math.Abs(e) > 1.5e-15 {
				t.Fatalf("sample %d: h = %.3g", i, e)
			}
		}
	}
}

// The closed forms allocate nothing once warm.
func TestOrthogonalAllocates(t *testing.T) {
	const n = 10
	set := testkit.Must(zoo.NewOrthogonal(n, zoo.OrthogonalOptions{Special: true}))
	x, v, h := make([]float64, n*n), make([]float64, n*n), make([]float64, 55)
	set.SampleUniform(x, keyed.New(1, keyed.Probe, 42), 0)
	work, regular, e := make([]float64, set.WorkSize()), make([]bool, 1), set.NewEvaluator(1)
	if a := testing.AllocsPerRun(100, func() {
		set.Factor(h, work, regular, x, 1)
		set.Tangent(v, x, x, work, 1)
		set.Landing(v, x, work, 1)
		clear(v)
		e.Retract(v, x, v)
		e.Geodesic(v, nil, x, x)
	}); a >= 1 {
		t.Errorf("%v allocations", a)
	}
}
