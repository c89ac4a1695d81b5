package train

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A step moves W by 0.2 √max(out, in) η times U S Vᵀ, where U and V are the singular vectors of the momentum and S is
// near 1: singular values above 1e-2 of the largest end within 0.65 … 1.25.
func TestMuonOrthogonalises(t *testing.T) {
	for _, sizes := range [][2]int{{20, 20}, {12, 30}, {30, 12}} {
		o := newMuon[float64](score.Matrix{Out: sizes[1], In: sizes[0]}, kernel.Float32)
		n := o.In * o.Out
		w, m, g := make([]float64, n), make([]float64, n), make([]float64, n)
		keyed.New(2, keyed.Probe, 0).Normals(g, 0, 0)
		keyed.New(2, keyed.Probe, 1).Normals(m, 0, 0)
		const scale, rate = 0.5, 0.1
		direction := mat.NewDense(o.Out, o.In, nil)
		for i := range g {
			next := muonMomentum*m[i] + (1-muonMomentum)*scale*g[i]
			direction.RawMatrix().Data[i] = muonMomentum*next + (1-muonMomentum)*scale*g[i]
		}
		o.step(w, m, g, scale, rate)
		var svd mat.SVD
		if !svd.Factorize(direction, mat.SVDThin) {
			t.Fatal("no decomposition")
		}
		var u, v, s mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		move := mat.NewDense(o.Out, o.In, w)
		move.Scale(-1/(rate*0.2*math.Sqrt(float64(max(o.In, o.Out)))), move)
		s.Product(u.T(), move, &v) // must be diagonal
		values := svd.Values(nil)
		for i, σ := range values {
			for j := range values {
				e := s.At(i, j)
				if i != j && math.Abs(e) > 1e-9 || i == j && σ > 1e-2*values[0] && (e < 0.65 || e > 1.25) {
					t.Errorf("%v: entry %d, %d is %v, where the momentum has singular value %v", sizes, i, j, e, σ)
				}
			}
		}
	}
	o := newMuon[float64](score.Matrix{Out: 4, In: 4}, kernel.Float32)
	w, zero := []float64{15: 1}, make([]float64, 16)
	o.step(w, make([]float64, 16), zero, 1, 0.1)
	if w[15] != 1 || w[0] != 0 {
		t.Errorf("no gradient moved the weights to %v", w)
	}
}

// Muon moves the hidden matrix its own way, and the first update of everything else is Adam's.
func TestMuonLeavesTheRestToAdam(t *testing.T) {
	first := func(o Optimizer) *Trainer[float32] {
		cfg := smallConfig
		cfg.Optimizer, cfg.Batch, cfg.Epochs = o, 50, 1
		tr := small(t, cfg, 1, langevin.ULLA)
		testkit.Must(tr.Epoch(context.Background()))
		return tr
	}
	adam, muon := first(Adam), first(Muon)
	lo := (5 + 1) * 16
	same := 0
	for i, v := range adam.opt.params {
		hidden := i >= lo && i < lo+16*16
		if equal := v == muon.opt.params[i]; !hidden && !equal {
			t.Fatalf("parameter %d outside the hidden matrix: %v and %v", i, v, muon.opt.params[i])
		} else if hidden && equal {
			same++
		}
	}
	if same > 16 {
		t.Errorf("%d hidden weights moved alike", same)
	}
}

// Where all singular values are equal each iteration is a polynomial in them: from
// the identity, W becomes −0.2 √4 η q⁽⁵⁾(½) I, q(x) = 3.4445x − 4.7750x³ + 2.0315x⁵.
func TestMuonPolynomial(t *testing.T) {
	o := newMuon[float64](score.Matrix{Out: 4, In: 4}, kernel.Float32)
	w, m, g := make([]float64, 16), make([]float64, 16), make([]float64, 16)
	for i := range 4 {
		g[5*i] = 7
	}
	o.step(w, m, g, 1, 0.1)
	if math.Abs(m[0]-0.05*7) > 1e-15 {
		t.Errorf("the momentum is %v, want 0.05 of the gradient 7", m[0])
	}
	x := 0.5
	for range 5 {
		x = 3.4445*x - 4.7750*x*x*x + 2.0315*x*x*x*x*x
	}
	for i, v := range w {
		want := 0.0
		if i%5 == 0 {
			want = -0.1 * 0.2 * 2 * x
		}
		testkit.Near(t, v, want, 1e-14, "entry %d", i)
	}
}

// Every weight has its share in the average, and weights that Muon moves have no
// second moment: Adam does not move them too.
func TestMuonIsAveraged(t *testing.T) {
	cfg := smallConfig
	cfg.Optimizer = Muon
	tr := small(t, cfg, 2, langevin.ULLA)
	testkit.OK(t, tr.prepare(context.Background()))
	tr.State.Epoch = 1
	want := make([]float64, len(tr.opt.params))
	for i, v := range tr.opt.params {
		want[i] = float64(v)
	}
	for n := range 3 {
		testkit.OK(t, tr.batch())
		decay := averageDecay(cfg.Average, n+1)
		for i, v := range tr.opt.params {
			want[i] = decay*want[i] + (1-decay)*float64(v)
			if math.Abs(float64(tr.opt.average[i])-want[i]) > 1e-6 {
				t.Fatalf("update %d: average of parameter %d is %v, want %v", n+1, i, tr.opt.average[i], want[i])
			}
		}
	}
	lo := (5 + 1) * 16
	for i, v := range tr.opt.v {
		if hidden := i >= lo && i < lo+16*16; hidden != (v == 0) {
			t.Fatalf("parameter %d has the second moment %v", i, v)
		}
	}
}

func TestParseOptimizer(t *testing.T) {
	for _, o := range []Optimizer{Adam, Muon} {
		if got, err := ParseOptimizer(o.String()); err != nil || got != o {
			t.Errorf("%v: %v, %v", o, got, err)
		}
	}
	if got, err := ParseOptimizer("sgd"); err == nil || got != 0 {
		t.Errorf("sgd is %v", got)
	}
}
