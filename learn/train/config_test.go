package train

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The zero Config trains, with the numbers that are documented.
func TestZeroConfig(t *testing.T) {
	proc, data := gaussian(langevin.OLLA, 150)
	pool := testkit.Pool(t, 1)
	net := model(score.Reading{}, kernel.Float32, false)
	tr := trainer(Config{}, proc, pathmatch.Options{}, data, net, pool)
	want := Config{Epochs: 1000, Batch: 128, Refresh: 1, TimesPerPath: proc.Schedule.N, LearningRate: 2e-3}
	testkit.Equal(t, tr.cfg, want, "the zero Config")
	if c := (Config{Batch: 1000, TimesPerPath: 99}).Resolved(50, 7); c.Batch != 50 || c.TimesPerPath != 7 {
		t.Errorf("of 50 items and 7 times a batch takes %d and %d", c.Batch, c.TimesPerPath)
	}
	if _, err := tr.Epoch(context.Background()); err != nil || tr.State.Updates != 1 {
		t.Errorf("%d updates, %v", tr.State.Updates, err)
	}
}

func TestConfigErrors(t *testing.T) {
	for field, c := range map[string]Config{
		"Epochs": {Epochs: -1}, "Batch": {Batch: -1}, "Refresh": {Refresh: -1}, "TimesPerPath": {TimesPerPath: -1},
		"LearningRate": {LearningRate: -1}, "Anneal": {Anneal: 2}, "Clip": {Clip: -1}, "Average": {Average: 1.1},
		"MaxFailed": {MaxFailed: -0.1}, "Optimizer": {Optimizer: 7},
	} {
		var e *ConfigError
		if err := c.Validate(); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	testkit.OK(t, smallConfig.Validate())
}

// prepared counts how often a source is prepared.
type prepared struct {
	method.Source[float32]
	times int
}

func (p *prepared) Prepare(ctx context.Context, seed uint64) error {
	p.times++
	return p.Source.Prepare(ctx, seed)
}

func TestSourceIsPreparedOnce(t *testing.T) {
	proc, data := gaussian(langevin.OLLA, 50)
	pool := testkit.Pool(t, 1)
	src := &prepared{Source: pathmatch.New(proc, pathmatch.Options{}).Source(data, pool)}
	tr := New(smallConfig, src, model(score.Reading{}, kernel.Float32, false), pool)
	for range 3 {
		testkit.Must(tr.Epoch(context.Background()))
	}
	testkit.Equal(t, src.times, 1, "in 3 epochs the source was prepared")
}

// Every number may be at its limits and nothing beyond, and NaN is none.
func TestConfigLimits(t *testing.T) {
	set := map[string]func(c *Config, v float64){
		"Epochs":       func(c *Config, v float64) { c.Epochs = int(v) },
		"Batch":        func(c *Config, v float64) { c.Batch = int(v) },
		"Refresh":      func(c *Config, v float64) { c.Refresh = int(v) },
		"TimesPerPath": func(c *Config, v float64) { c.TimesPerPath = int(v) },
		"LearningRate": func(c *Config, v float64) { c.LearningRate = v },
		"Clip":         func(c *Config, v float64) { c.Clip = v },
		"Anneal":       func(c *Config, v float64) { c.Anneal = v },
		"Average":      func(c *Config, v float64) { c.Average = v },
		"MaxFailed":    func(c *Config, v float64) { c.MaxFailed = v },
		"Hidden":       func(c *Config, v float64) { c.Hidden = v },
		"Optimizer":    func(c *Config, v float64) { c.Optimizer = Optimizer(v) },
	}
	above := map[string][2]float64{ // the largest, and one that is too large
		"LearningRate": {1e15, 1.1e15}, "Clip": {1e15, 1.1e15}, "Anneal": {1, 1.001}, "Average": {1, 1.001},
		"MaxFailed": {1, 1.001}, "Hidden": {1, 1.001}, "Optimizer": {1, 2},
	}
	for field, put := range set {
		values := map[float64]bool{0: true, -1: false}
		if limits, ok := above[field]; ok {
			values[limits[0]], values[limits[1]] = true, false
			if field != "Optimizer" {
				values[math.NaN()], values[-1e-9] = false, false
			}
		} else {
			values[1], values[1<<30] = true, true
		}
		for v, want := range values {
			var c Config
			put(&c, v)
			var e *ConfigError
			if err := c.Validate(); want && err != nil || !want && (!errors.As(err, &e) || e.Field != field) {
				t.Errorf("%s of %v: %v", field, v, err)
			}
		}
	}
}

// The rate falls when the metric has not improved by the threshold for more than Patience epochs. It never falls below
// the least rate, and rests after a fall. A fall that is too small to matter does not happen.
func TestPlateauByHand(t *testing.T) {
	p := Plateau{Factor: 0.5, Patience: 2, Threshold: 0.1, Cooldown: 1, MinRate: 0.2}
	var s PlateauState
	rate := 1.0
	for i, c := range []struct{ loss, rate float64 }{
		{10, 1}, {9, 1}, {8.9, 1}, {8.9, 1}, // 9 is no improvement by a tenth, 8.9 is; then one bad epoch
		{8.9, 1}, {8.9, 0.5}, // three bad epochs
		{8.9, 0.5},                          // rest
		{8.9, 0.5}, {8.9, 0.5}, {8.9, 0.25}, // three more
		{8, 0.25}, {8, 0.25}, {8, 0.25}, {8, 0.2}, // at the least rate
		{8, 0.2}, {8, 0.2}, {8, 0.2}, {8, 0.2}, {8, 0.2},
	} {
		if rate = p.Step(&s, rate, c.loss); rate != c.rate {
			t.Fatalf("epoch %d, loss %v: the rate is %v, want %v; %+v", i, c.loss, rate, c.rate, s)
		}
	}
	off := Plateau{Patience: 0}
	testkit.Equal(t, off.Step(&PlateauState{}, 3, 1), 3, "without a factor the rate")
	for rate, want := range map[float64]float64{4e-8: 2e-8, 1.9e-8: 1.9e-8} { // a fall of 10⁻⁸ at least
		s := PlateauState{}
		small := Plateau{Factor: 0.5}
		small.Step(&s, rate, 1)
		testkit.Equal(t, small.Step(&s, rate, 1), want, "a rate of %v falls", rate)
	}
	if clip(2, 0) != 1 || clip(2, 4) != 1 || clip(4, 2) != 2/(4+1e-6) {
		t.Errorf("the factors are %v, %v, %v", clip(2, 0), clip(2, 4), clip(4, 2))
	}
	for n, want := range map[int]float64{1: 2. / 11, 8: 0.5, 30: 31. / 40, 1000: 0.9} {
		testkit.Equal(t, averageDecay(0.9, n), want, "decay %d", n)
	}
}

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
