package langevin

import (
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/keyed"
)

// The gradient of every potential with values is theirs, by central differences, at every row.
func TestGradientsOfEnergies(t *testing.T) {
	const n = 3
	three, err := zoo.NewOrthogonal(2, zoo.OrthogonalOptions{}) // three equations in R⁴
	if err != nil {
		t.Fatal(err)
	}
	centred := Quadratic{Center: []float64{1, -2, 0.3, 0.7}, Weight: []float64{1, 2, 0.5, 3}}
	energies := map[string]Potential{
		"quadratic": Quadratic{}, "centred": Quadratic{Center: centred.Center}, "weighted": centred,
		"linear": Linear{B: []float64{1, -2, 3, 0.5}}, "before": Before(Quadratic{Center: []float64{1, 2}}, 2, 2),
	}
	for name, f := range map[string]Potential{"level": nil, "level of a potential": centred} {
		if energies[name], err = Level(three, f); err != nil {
			t.Fatal(err)
		}
	}
	const d = 4
	x := make([]float64, n*d)
	keyed.New(3, keyed.Probe, 8).Normals(x, 0, 0)
	for name, f := range energies {
		grad, value, up, down := make([]float64, n*d), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range grad {
			grad[i] = math.NaN()
		}
		f.Gradient(grad, x, n)
		e := f.(Energy)
		e.Value(value, x, n)
		for j := range d {
			const h = 1e-5
			y := append([]float64(nil), x...)
			for i := range n {
				y[i*d+j] = x[i*d+j] + h
			}
			e.Value(up, y, n)
			for i := range n {
				y[i*d+j] = x[i*d+j] - h
			}
			e.Value(down, y, n)
			for i := range n {
				if got, want := grad[i*d+j], (up[i]-down[i])/(2*h); !(math.Abs(got-want) < 1e-7*(1+math.Abs(want))) {
					t.Errorf("%s: ∂f/∂x_%d of row %d is %v, by differences %v", name, j, i, got, want)
				}
				one := []float64{math.NaN()}
				if e.Value(one, x[i*d:(i+1)*d], 1); one[0] != value[i] {
					t.Errorf("%s: row %d has the value %v, alone %v", name, i, value[i], one[0])
				}
			}
		}
	}
	// The values by hand.
	got := []float64{0}
	for f, want := range map[Energy]float64{
		&weighted{centred}: (1*4 + 2*9 + 0.5*0.49 + 3*0.09) / 2, &weighted{Quadratic{}}: 4.0*9/8 + 1./2 + 1./2 + 1./2,
	} {
		f.Value(got, []float64{3, 1, 1, 1}, 1)
		if math.Abs(got[0]-want) > 1e-12 {
			t.Errorf("the value is %v, want %v", got[0], want)
		}
	}
}

// weighted is a potential that can be a map's key.
type weighted struct{ Quadratic }

// r_k is what least squares say: v = x_{k+1} − x_0, m = p_{k+1} and q = p̃ are sums of independent
// units of noise, which are written out, and u is regressed on v and q.
func TestTargetSizeByRegression(t *testing.T) {
	for _, c := range []Convention{Paper, Reference} {
		p := process(zoo.Euclidean{D: 1}, ULLA)
		p.Convention = c
		N := p.Schedule.N
		for k := range N {
			unit := func(i int) []float64 { e := make([]float64, N+3); e[i] = 1; return e }
			combine := func(a float64, x []float64, b float64, y []float64) []float64 {
				out := make([]float64, len(x))
				for i := range out {
					out[i] = a*x[i] + b*y[i]
				}
				return out
			}
			v, m := make([]float64, N+3), unit(0)
			for i := range k + 1 {
				τ := p.Schedule.Tau(i)
				a := p.Decay(τ)
				m = combine(a, m, math.Sqrt(1-a*a), unit(i+1))
				v = combine(1, v, τ, m)
			}
			q := unit(N + 2)
			if k+1 < N {
				τ := p.Schedule.Tau(k + 1)
				a := p.Decay(τ)
				r := τ / p.MomentumTau(k)
				q = combine(r*a, m, r*math.Sqrt(1-a*a), unit(N+1))
			}
			back := p.BackTau(k)
			a := p.Decay(back)
			u := combine(a/math.Sqrt(1-a*a), q, -p.Schedule.Tau(k)/back/math.Sqrt(1-a*a), m)
			// Orthonormal v and q; what the noise of m alone adds to u is not known from them, but
			// p̃ is: of u, a q stands whole.
			e := combine(1/dense.Norm(v), v, 0, v)
			w := combine(1, q, -dense.Dot(q, e), e)
			w = combine(1/dense.Norm(w), w, 0, w)
			want := math.Hypot(dense.Dot(u, e), dense.Dot(u, w))
			if got := p.TargetSize(k); !(math.Abs(got-want) < 1e-9*want) {
				t.Errorf("%v: r_%d = %v, by regression %v", c, k, got, want)
			}
		}
	}
}

// Every name is read as what prints it, and no other is read.
func TestNames(t *testing.T) {
	for _, w := range []Walls{ElasticWalls, PaperWalls} {
		if got, err := ParseWalls(fmt.Sprint(w)); err != nil || got != w {
			t.Errorf("%v is read as %v, %v", w, got, err)
		}
	}
	if _, err := ParseWalls("rubber"); err == nil {
		t.Error("walls of rubber")
	}
	for _, m := range []Method{OLLA, OLLAP, ULLA, ULLAP} {
		if got, err := ParseMethod(fmt.Sprint(m)); err != nil || got != m {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
}
