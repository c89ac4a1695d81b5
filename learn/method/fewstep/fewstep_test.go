package fewstep_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/fewstep"
	"github.com/landing-diffusion/landing/learn/method/methods"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/methodtest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The methods of all processes conform, on a set with a wall and with paths that fail too.
func TestConforms(t *testing.T) {
	hemisphere := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	for _, c := range []struct {
		name string
		set  constraint.Set
	}{
		{"few-ULLA", zoo.Sphere{D: 3}}, {"few-OLLA", zoo.Sphere{D: 3}}, {"few-ULLA-P", zoo.Sphere{D: 3}},
		{"few-OLLA-P", hemisphere}, {"few-ULLA", hemisphere},
	} {
		p := &langevin.Process{Set: c.set, Friction: 3}
		p.Schedule = langevin.Schedule{N: 6, T: 1.5, SigmaMin: 0.3, SigmaMax: 1.3}
		kind, _ := methods.Of(c.name)
		*p = kind.Forward(*p)
		options := map[string]float64{"levels": 2, "coarse": 0.4, "fine": 0.1}
		m := testkit.Must(methods.New(method.Config{Name: c.name, Process: p, Options: options}))
		testkit.Equal(t, m.Name(), c.name)
		data := testkit.Must(langevin.Start(t.Context(), p, 30, 1))
		prior := testkit.Must(langevin.UniformPrior(p))
		t.Run(c.name, func(t *testing.T) { methodtest.Run(t, m, data, 3, prior) })
	}
}

func TestRefusals(t *testing.T) {
	p := &langevin.Process{Set: zoo.Sphere{D: 3}, Friction: 1,
		Schedule: langevin.Schedule{N: 4, T: 1, SigmaMin: 1, SigmaMax: 1}}
	for field, c := range map[string]method.Config{
		"Window": {Window: 0.1}, "Paths": {Paths: 3}, "Output": {Output: "balanced"},
		"Levels": {Options: map[string]float64{"levels": 4}},
	} {
		c.Name, c.Process = "few-ULLA", p
		var e *method.ConfigError
		if _, err := methods.New(c); !errors.As(err, &e) || e.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	m := testkit.Must(fewstep.New(p, fewstep.Options{Levels: 2, Draws: 2, Coarse: 0.5, Fine: 0.3}))
	for _, n := range []int{0, 4} {
		var e *method.ConfigError
		if _, err := m.With(n); !errors.As(err, &e) || e.Field != "Evaluations" {
			t.Errorf("%d evaluations: %v", n, err)
		}
	}
	other := *p
	other.Schedule.N = 3
	var e *langevin.ConfigError
	if _, err := m.Redraw(&other); !errors.As(err, &e) || e.Field != "Schedule.N" {
		t.Errorf("another number of steps: %v", err)
	}
}

// On the line without momentum x_k = x_0 + s_k ζ, s_k² = Σ τ_i; levels are those of the spreads
// asked for, as near as steps allow, and gains these spreads; waves are read as at the last.
func TestLevels(t *testing.T) {
	p := line()
	m := testkit.Must(fewstep.New(p, fewstep.Options{Levels: 3, Draws: 2, Coarse: 1, Fine: 0.25}))
	// τ = 1/16: s_k = √k/4, so that 1, 1/2 and 1/4 are steps 16, 4 and 1.
	if got := m.Levels(); !slices.Equal(got, []int{64, 16, 4, 1}) {
		t.Fatalf("levels %v", got)
	}
	for i, want := range []float64{2, 1, 0.5, 0.25} {
		at := p.Schedule.Time(m.Levels()[i])
		testkit.Near(t, m.Gain()(at), want, 1e-12, "gain of level %d", i)
		if b, v := m.Start()(at); b != 0 || math.Abs(v-0.0625) > 1e-12 {
			t.Errorf("start of level %d is %v, %v", i, b, v)
		}
	}
}

// line is Brownian motion on the line x_2 = 0, in 64 steps of variance 1/16.
func line() *langevin.Process {
	set, err := formula.New(formula.Spec{Dim: 2, Equality: []formula.Component{{Name: "flat", Expr: "x[1]"}}})
	if err != nil {
		panic(err)
	}
	return &langevin.Process{Set: set, Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 64, T: 4, SigmaMin: 1, SigmaMax: 1}}
}

// exact is the few-step map of the law N(1, 1/4) on the line: x_0 given x_k is normal.
type exact struct{ p *langevin.Process }

const mean, variance = 1.0, 0.25

func (e exact) Eval(dst, x, ξ []float64, n int, t float64) {
	s2 := e.p.Spread(int(math.Round(t / e.p.Schedule.Dt())))
	s2 *= s2
	a := variance / (variance + s2)
	for i := range n {
		dst[2*i] = (1-a)*(mean-x[2*i]) + math.Sqrt(a*s2)*ξ[2*i]
		dst[2*i+1] = 5 // off Σ: the projection takes it away
	}
}

type gaussian struct{}

func (gaussian) Sample(dst []float64, s keyed.Stream, sample uint64) {
	s.Normals(dst, sample, 0)
	dst[0], dst[1] = mean+math.Sqrt(variance+4)*dst[0], 0
}

// With the exact map a sample is what its noise says, to round-off: x̂_0 of x_N, then forward to a level
// and x̂_0 of that, and so on.
func TestSampleOfExactMap(t *testing.T) {
	p := line()
	m := testkit.Must(fewstep.New(p, fewstep.Options{Levels: 3, Draws: 2, Coarse: 1, Fine: 0.25}))
	pool := testkit.Pool(t, 2)
	const n, first, seed = 9, 70, 5
	for evaluations, levels := range map[int][]int{1: {64}, 2: {64, 4}, 3: {64, 16, 4}, 4: {64, 16, 4, 1}} {
		by := testkit.Must(m.With(evaluations))
		got, failed := make([]float64, 2*n), make([]bool, n)
		r, err := by.Sampler(4, pool).Generate(context.Background(), got, failed, first, seed, gaussian{},
			func(int) method.Score { return exact{p} })
		if err != nil || r.Failed != 0 || slices.Contains(failed, true) {
			t.Fatalf("%d evaluations: %v, failed %v", evaluations, err, failed)
		}
		for i := range n {
			sample := uint64(first + i)
			x, ζ, ξ, v := make([]float64, 2), make([]float64, 2), make([]float64, 2), make([]float64, 2)
			gaussian{}.Sample(x, keyed.GeneratedStart.Stream(seed, 0), sample)
			for e, k := range levels {
				if e > 0 {
					for j := range k {
						keyed.GeneratedAgain.Stream(seed, uint64(e)).Normals(ζ, sample, j)
						x[0] += ζ[0] / 4
					}
				}
				keyed.GeneratedLatent.Stream(seed, uint64(e)).Normals(ξ, sample, 0)
				exact{p}.Eval(v, x, ξ, 1, p.Schedule.Time(k))
				x[0] += v[0]
			}
			if math.Abs(got[2*i]-x[0]) > 1e-12 || got[2*i+1] != 0 {
				t.Errorf("%d evaluations: sample %d is %v, want %v", evaluations, i, got[2*i:2*i+2], x[0])
			}
		}
	}
}

// With the exact map samples have the law of the data, whatever the number of evaluations. The
// largest distance of distribution functions of 40 000 samples is above 2.7/√n with probability below
// 2 exp(−2·2.7²) = 1e-6 each (Dvoretzky, Kiefer, Wolfowitz, Massart): 4e-6 in all. A law whose mean is
// off by 0.02 of its 0.5, or spread by 3 %, is further from it than what the test allows, 0.0135.
func TestLawOfExactMap(t *testing.T) {
	p := line()
	m := testkit.Must(fewstep.New(p, fewstep.Options{Levels: 3, Draws: 2, Coarse: 1, Fine: 0.25}))
	pool := testkit.Pool(t, 2)
	const n = 40_000
	x, failed := make([]float64, 2*n), make([]bool, n)
	for evaluations := 1; evaluations <= 4; evaluations++ {
		by := testkit.Must(m.With(evaluations))
		testkit.Must(by.Sampler(128, pool).Generate(context.Background(), x, failed, 0, 1, gaussian{},
			func(int) method.Score { return exact{p} }))
		first := make([]float64, n)
		for i := range first {
			first[i] = x[2*i]
		}
		slices.Sort(first)
		worst := 0.0
		for i, v := range first {
			f := math.Erfc((mean-v)/math.Sqrt(2*variance)) / 2
			worst = max(worst, math.Abs(f-float64(i)/n), math.Abs(f-float64(i+1)/n))
		}
		if bound := 2.7 / math.Sqrt(n); worst > bound {
			t.Errorf("%d evaluations: distribution functions differ by %.4f, above %.4f", evaluations, worst, bound)
		}
	}
}

// wild says that samples lie somewhere in a large box.
type wild struct{ nan bool }

func (w wild) Eval(dst, x, ξ []float64, n int, t float64) {
	for i := range dst[:len(x)/n*n] {
		dst[i] = 3*ξ[i] - x[i]
		if w.nan {
			dst[i] = math.NaN()
		}
	}
}

// Whatever the network says, samples are on Σ to round-off, and none fails: on a torus of formulas,
// rotations, and a sphere with a wall.
func TestSamplesAreFeasible(t *testing.T) {
	torus := testkit.Must(formula.New(formula.Spec{Dim: 3, Equality: []formula.Component{
		{Name: "torus", Expr: "(sqrt(x[0]^2 + x[1]^2) - 1)^2 + x[2]^2 - 0.16"}}}))
	lid := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	rotations := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true}))
	pool := testkit.Pool(t, 2)
	for name, set := range map[string]constraint.Set{"torus": torus, "SO(3)": rotations, "cap": lid} {
		p := &langevin.Process{Set: set, Method: langevin.OLLA,
			Schedule: langevin.Schedule{N: 20, T: 1, SigmaMin: 0.5, SigmaMax: 0.5}}
		m := testkit.Must(fewstep.New(p, fewstep.Options{Levels: 2, Draws: 2, Coarse: 0.3, Fine: 0.15}))
		start := testkit.Must(langevin.Start(t.Context(), p, 100, 1))
		const n = 500
		d := set.Dim()
		x, failed := make([]float64, n*d), make([]bool, n)
		r, err := m.Sampler(16, pool).Generate(context.Background(), x, failed, 0, 1, langevin.Empirical{States: start},
			func(int) method.Score { return wild{} })
		if err != nil || r.Failed != 0 || slices.Contains(failed, true) {
			t.Errorf("%s: %d failed, %v", name, r.Failed, err)
		}
		for i := range n {
			if selects := set.Capabilities().Selects; selects != nil && !selects(x[i*d:(i+1)*d]) {
				t.Errorf("%s: sample %d is on another component", name, i)
			}
			if v, c := constraint.Worst(constraint.Values(set, x[i*d:(i+1)*d]), len(set.Equalities())); !(v <= 1e-12) {
				t.Errorf("%s: sample %d violates component %d by %.3g", name, i, c, v)
				break
			}
		}
		// A network that says nothing: all fail, and say so; the rows hold finite numbers.
		if r, err = m.Sampler(16, pool).Generate(context.Background(), x, failed, 0, 1,
			langevin.Empirical{States: start}, func(int) method.Score { return wild{nan: true} }); err != nil ||
			r.Failed != n {
			t.Errorf("%s: of a network that says NaN %d of %d fail, %v", name, r.Failed, n, err)
		}
		if slices.ContainsFunc(x, func(v float64) bool { return v-v != 0 }) {
			t.Errorf("%s: a failed sample is not finite", name)
		}
	}
}

// A condition stays as it is: paths are paired with rows of their own condition, losses do not see it, and a sample is
// on the Σ of its own, whatever a network says of it.
func TestCondition(t *testing.T) {
	free := testkit.Must(formula.New(formula.Spec{Dim: 3, Equality: []formula.Component{
		{Name: "circle", Expr: "x[0]^2 + x[1]^2 - x[2]^2"}}}))
	const n, d = 40, 3
	p := &langevin.Process{Set: constraint.Hold(free, []int{2}), Method: langevin.OLLA,
		Schedule: langevin.Schedule{N: 20, T: 1, SigmaMin: 0.5, SigmaMax: 0.5}}
	m := testkit.Must(fewstep.New(p, fewstep.Options{Levels: 2, Draws: 2, Coarse: 0.3, Fine: 0.15}))
	pool := testkit.Pool(t, 2)
	data := make([]float64, n*d)
	for i := range n {
		r := 1 + float64(i)/n
		sin, cos := math.Sincos(float64(i))
		copy(data[i*d:], []float64{r * cos, r * sin, r})
	}
	src := fewstep.NewSource[float64](m, data, pool)
	testkit.Must(src.Refresh(t.Context(), 3, 2))
	src.Arrange(3, 2)
	reader := score.NewReader[float64](score.Reading{}, d, true)
	l := src.NewLoss(reader, 2*n)
	var terms []method.Term
	for i := range n {
		terms = append(terms, method.Term{Item: i, K: 2, Weight: 1})
	}
	rows := testkit.Must(l.Prepare(terms))
	out, ds := slices.Repeat([]float64{1, 2, 7}, 2*n), make([]float64, 2*n*d)
	l.Evaluate(ds, out)
	for i := range 2 * n {
		if row := rows[i*reader.In():]; row[2] != data[i/2*d+2] || row[d+2] != 0 || ds[i*d+2] != 0 || ds[i*d] == 0 {
			t.Fatalf("row %d: condition %v of %v, its noise %v, gradient %v", i, row[2], data[i/2*d+2], row[d+2],
				ds[i*d:(i+1)*d])
		}
	}
	x, failed := make([]float64, n*d), make([]bool, n)
	r, err := m.Sampler(16, pool).Generate(t.Context(), x, failed, 0, 1, fixed(data),
		func(int) method.Score { return wild{} })
	if err != nil || r.Failed != 0 {
		t.Fatalf("%d failed, %v", r.Failed, err)
	}
	for i := range n {
		if h := x[i*d]*x[i*d] + x[i*d+1]*x[i*d+1] - x[i*d+2]*x[i*d+2]; x[i*d+2] != data[i*d+2] ||
			math.Abs(h) > 1e-12 {
			t.Errorf("sample %d is off its circle by %.3g, with condition %v for %v", i, h, x[i*d+2], data[i*d+2])
		}
	}
}

// fixed are the states that samples begin with, by number.
type fixed []float64

func (f fixed) Sample(dst []float64, _ keyed.Stream, sample uint64) {
	copy(dst, f[int(sample)*len(dst):])
}
