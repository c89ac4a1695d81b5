package euclidean

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/methodtest"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func init() { pathmatch.FitNumbers = 1 << 13 } // what is trained is small

var variants = []Variant{Plain, Projected, Lagrangian, Guided, Corrected}

// bowl is a set of formulas with a curved equality, walls and a component that is undefined in places.
func bowl(t testing.TB) constraint.Set {
	t.Helper()
	s := testkit.Must(formula.New(formula.Spec{Dim: 3,
		Equality: []formula.Component{{Name: "bowl", Expr: "x[2] = 0.5*(x[0]^2 + x[1]^2)"}},
		Inequality: []formula.Component{{Name: "rim", Expr: "x[2] <= 0.7"}, {Name: "left", Expr: "x[0] >= -0.4"},
			{Name: "far", Expr: "log(4 + x[1]) <= 2"}},
	}))
	return s
}

func process(set constraint.Set) *langevin.Process {
	return &langevin.Process{Set: set, Friction: 3,
		Schedule: langevin.Schedule{N: 7, T: 1.5, SigmaMin: 0.2, SigmaMax: 1}}
}

// rows are n points of a set near Σ.
func rows(set constraint.Set, n int) []float64 {
	x := make([]float64, n*set.Dim())
	keyed.OwnData.Stream(3, 0).Normals(x, 0, 0)
	for i := range x {
		x[i] *= 0.3
	}
	return x
}

// prior is the standard normal law.
type prior struct{}

func (prior) Sample(dst []float64, s keyed.Stream, sample uint64) { s.Normals(dst, sample, 0) }

// All variants conform, on sets of formulas and of the zoo, with and without walls, a force,
// windows and held coordinates, and as a problem file makes them.
func TestConforms(t *testing.T) {
	held := constraint.Hold(bowl(t), []int{1})
	pull := process(zoo.Sphere{D: 3})
	pull.Potential = langevin.Quadratic{Center: []float64{1, 0, 0}}
	for name, p := range map[string]*langevin.Process{
		"bowl": process(bowl(t)), "held": process(held), "pulled": pull, "R^2": process(zoo.Euclidean{D: 2}),
	} {
		for _, v := range variants {
			t.Run(name+" "+names[v], func(t *testing.T) {
				o := pathmatch.Options{}
				if name == "bowl" {
					o = pathmatch.Options{Window: 0.4, Output: pathmatch.Balanced}
				}
				methodtest.Run(t, New(v, p, o, Options{}), rows(p.Set, 20), p.Set.Dim(), prior{})
			})
		}
	}
	for v, kind := range []method.Kind{EuclideanKind, ProjectedKind, LagrangianKind, GuidedKind, CorrectedKind} {
		options := testkit.Must(score.Options{}.Resolve(kind.Name, kind.Options))
		c := method.Config{Name: kind.Name, Process: process(bowl(t)), Output: "scaled", Options: options}
		m, err := kind.New(c)
		if err != nil || kind.Name != names[v] || m.Name() != names[v] || m.Momentum() || m.Gain() == nil ||
			m.Prior() != nil {
			t.Fatalf("%v: %v", v, err)
		}
		if m.Capabilities().Follows != nil || !method.Leaves(m, bowl(t)) || method.Leaves(m, zoo.Euclidean{D: 3}) {
			t.Errorf("%v: it follows the process on the set", v)
		}
		c.Output = "loud"
		var e *method.ConfigError
		if _, err := kind.New(c); !errors.As(err, &e) || e.Field != "Output" {
			t.Errorf("%v", err)
		}
	}
}

// exact is the score of Gaussian data of variance 1/4 about (1, −1, …) at the variance 1/4 + v(t).
type exact struct{ p *langevin.Process }

func (e exact) Eval(dst, x, _ []float64, n int, t float64) {
	v := 0.25
	for k := range int(math.Round(t / e.p.Schedule.Dt())) {
		v += e.p.Schedule.Tau(k)
	}
	d := e.p.Set.Dim()
	for i := range n * d {
		dst[i] = -2 * (x[i] - 1 + 2*float64(i%d%2)) / v
	}
}

func generate(t testing.TB, m method.Method, n, workers int, s method.Score) ([]float64, []bool, method.Report) {
	t.Helper()
	pool := testkit.Pool(t, workers)
	set := m.Capabilities().Noising.Set
	x, failed := make([]float64, n*set.Dim()), make([]bool, n)
	r := testkit.Must(m.Sampler(16, pool).Generate(context.Background(), x, failed, 0, 5, prior{},
		func(int) method.Score { return s }))
	return x, failed, r
}

// Without constraints all variants are one process, that of OLLA, to the last bit: paths, loss and
// samples. With the exact score of Gaussian data, from where its paths end, the samples have its
// moments: 20 000 of them, five standard errors of each of four numbers, beyond by chance for one
// seed in 400 000, and the error of the steps, under which the variance is 0.25 to 0.02.
func TestUnconstrainedVariantsAgree(t *testing.T) {
	p := process(zoo.Euclidean{D: 2})
	p.Method = langevin.OLLA
	p.Schedule = langevin.Schedule{N: 200, T: 3, SigmaMin: 0.1, SigmaMax: 1.5}
	olla := pathmatch.New(p, pathmatch.Options{})
	want, _, _ := generate(t, olla, 500, 1, exact{p})
	for _, v := range variants {
		m := New(v, p, pathmatch.Options{}, Options{})
		got, failed, r := generate(t, m, 500, 2, exact{p})
		if !slices.Equal(got, want) || slices.Contains(failed, true) || r.Programs.Failed > 0 {
			t.Errorf("%s: other samples than OLLA's", names[v])
		}
		if !m.Feasible() {
			t.Errorf("%s: samples of R^2 are infeasible", names[v])
		}
	}
	const n = 20_000
	pool := testkit.Pool(t, 2)
	m := New(Plain, p, pathmatch.Options{}, Options{})
	s := m.Sampler(128, pool)
	data := make([]float64, 2*n)
	keyed.OwnData.Stream(4, 0).Normals(data, 0, 0)
	for i := range data {
		data[i] = 1 - 2*float64(i%2) + data[i]/2
	}
	ends, err := s.Ends(context.Background(), data, 1, 1)
	if err != nil || len(ends) != len(data) {
		t.Fatal(err)
	}
	x, failed := make([]float64, 2*n), make([]bool, n)
	testkit.Must(s.Generate(context.Background(), x, failed, 0, 2, langevin.Empirical{States: ends},
		func(int) method.Score { return exact{p} }))
	for j := range 2 {
		mean, sq := 0.0, 0.0
		for i := range n {
			mean += x[2*i+j] / n
		}
		for i := range n {
			sq += (x[2*i+j] - mean) * (x[2*i+j] - mean) / n
		}
		if off := mean - 1 + 2*float64(j); math.Abs(off) > 5*math.Sqrt(0.25/n)+0.01 {
			t.Errorf("coordinate %d: the mean is off by %v", j, off)
		}
		testkit.Near(t, sq, 0.25, 5*0.25*math.Sqrt(2./n)+0.02, "coordinate %d: the variance", j)
	}
}

// What a network of one variant has learned generates as another as that one would itself, on a coarser grid too, while
// its paths end where training's do; not on another process, nor by a method of another kind.
func TestRecast(t *testing.T) {
	p := process(bowl(t))
	coarse := *p
	coarse.Schedule.N = 4
	own := New(Guided, p, pathmatch.Options{}, Options{Strength: 3})
	data := rows(p.Set, 12)
	for _, v := range variants {
		by := New(v, &coarse, pathmatch.Options{}, Options{Strength: 2})
		m, err := own.Recast(by)
		if err != nil || m.Name() != names[v] || m.Feasible() != by.Feasible() {
			t.Fatalf("%v, %v", m, err)
		}
		got, _, r := generate(t, m, 30, 2, exact{p})
		want, _, s := generate(t, by, 30, 1, exact{p})
		if !slices.Equal(got, want) || r.Programs != s.Programs {
			t.Errorf("%s: other samples than of its own", names[v])
		}
		pool := testkit.Pool(t, 1)
		ends := testkit.Must(m.Sampler(8, pool).Ends(context.Background(), data, 1, 2))
		if want, _ := own.Sampler(8, pool).Ends(context.Background(), data, 1, 2); !slices.Equal(ends, want) {
			t.Errorf("%s: paths end elsewhere", names[v])
		}
	}
	fine := *p
	fine.Schedule.N = 8
	var e *langevin.ConfigError
	if _, err := own.Recast(New(Plain, &fine, pathmatch.Options{}, Options{})); !errors.As(err, &e) ||
		e.Field != "Schedule.N" {
		t.Errorf("more steps: %v", err)
	}
	if _, err := own.Recast(pathmatch.New(p, pathmatch.Options{})); !errors.As(err, &e) || e.Field != "Method" {
		t.Errorf("another method: %v", err)
	}
}

// On an affine set every state of projected and lagrangian is the exact projection of the
// unconstrained step, to 1e-8, and samples of these and of corrected are on the set to round-off.
// euclidean and guided end off it, and say so; more guidance ends nearer.
func TestAffine(t *testing.T) {
	set := testkit.Must(formula.New(formula.Spec{Dim: 3,
		Equality: []formula.Component{{Name: "plane", Expr: "2*x[0] - x[1] + 2*x[2] = 3"}}}))
	p := process(set)
	project := func(x []float64) {
		off := (2*x[0] - x[1] + 2*x[2] - 3) / 9
		x[0], x[1], x[2] = x[0]-2*off, x[1]+off, x[2]-2*off
	}
	const n = 40
	free := Forward(*p)
	stepper := free.NewStepper(1)
	want := make([]float64, 3*n)
	start, noise := keyed.GeneratedStart.Stream(5, 0), keyed.GeneratedNoise.Stream(5, 0)
	ζ, out := make([]float64, 3), make([]float64, 3)
	for i := range n {
		x := want[3*i : 3*i+3]
		prior{}.Sample(x, start, uint64(i))
		for k := p.Schedule.N - 1; k >= 0; k-- {
			noise.Normals(ζ, uint64(i), k)
			testkit.Must(stepper.Backward(out, x, nil, ζ, make([]bool, 1), 1, k, exact{p}))
			project(out)
			copy(x, out)
		}
	}
	off := map[Variant]float64{}
	strong := Variant(len(variants))
	for _, v := range append(slices.Clone(variants), strong) {
		m := New(v, p, pathmatch.Options{}, Options{})
		if v == strong {
			m = New(Guided, p, pathmatch.Options{}, Options{Strength: 20})
		}
		x, failed, r := generate(t, m, n, 2, exact{p})
		if slices.Contains(failed, true) || r.Programs.Failed > 0 {
			t.Errorf("%s: %+v", m.Name(), r)
		}
		for _, h := range constraint.Values(set, x) {
			off[v] += math.Abs(h) / n
		}
		if (off[v] <= 1e-12) != m.Feasible() {
			t.Errorf("%s: samples are %v off the plane; feasible %v", m.Name(), off[v], m.Feasible())
		}
		if v != Projected && v != Lagrangian {
			continue
		}
		for i, w := range want {
			if math.Abs(x[i]-w) > 1e-8 {
				t.Errorf("%s: number %d is %v, want %v", m.Name(), i, x[i], w)
			}
		}
		if r.Programs.Points != n*p.Schedule.N || r.Iterations < r.Programs.Points ||
			r.Iterations != r.Programs.Iterations {
			t.Errorf("%s counts %+v", m.Name(), r)
		}
	}
	if !(off[strong] < off[Guided] && off[Guided] < off[Plain]) {
		t.Errorf("off the plane by %v without guidance, %v with some and %v with more", off[Plain], off[Guided],
			off[strong])
	}
}

// The drift that guidance adds is −wτ∇V, by differences of V, and less where that would be longer
// than V's gradient over Σ‖∇c_i‖².
func TestGuidedDrift(t *testing.T) {
	set := bowl(t)
	p := process(set)
	const n, w = 12, 6
	a := New(Guided, p, pathmatch.Options{}, Options{Strength: w}).newAct(n).(*guided)
	a.lead(exact{p})
	x := rows(set, n)
	plain, guided := make([]float64, 3*n), make([]float64, 3*n)
	v := func(x []float64) (sum float64) {
		for i, v := range constraint.Values(set, x) {
			e := constraint.Excess(v, i < 1)
			sum += e * e / 2
		}
		return sum
	}
	bounded := 0
	for k := range p.Schedule.N {
		τ := p.BackTau(k)
		exact{p}.Eval(plain, x, nil, n, p.Schedule.Time(k+1))
		a.At(k)
		a.Eval(guided, x, nil, n, p.Schedule.Time(k+1))
		for i := range 3 * n {
			η := w * τ
			if η*a.steep[i/3] > 1 {
				η = 1 / a.steep[i/3]
				bounded++
			}
			row := slices.Clone(x[i/3*3 : i/3*3+3])
			row[i%3] = x[i] + 1e-6
			up := v(row)
			row[i%3] = x[i] - 1e-6
			want := -η * (up - v(row)) / 2e-6
			testkit.Near(t, τ/2*(guided[i]-plain[i]), want, 1e-8, "step %d: guidance moves number %d", k, i)
		}
	}
	if bounded == 0 || bounded == 3*n*p.Schedule.N {
		t.Errorf("%d steps are bounded", bounded)
	}
}

// The corrected score leads to the Gauss–Newton projection of the end that the score itself leads
// to: on a plane Σ_{i≤k} τ_i/2 times it ends on the plane, with and without a force.
func TestCorrectedEnds(t *testing.T) {
	set := testkit.Must(formula.New(formula.Spec{Dim: 2,
		Equality: []formula.Component{{Name: "line", Expr: "x[0] + x[1] = 1"}}}))
	for _, f := range []langevin.Potential{nil, langevin.Quadratic{}} {
		p := process(set)
		p.Potential = f
		const n = 9
		a := New(Corrected, p, pathmatch.Options{}, Options{}).newAct(n).(*corrected)
		a.lead(exact{p})
		x, s, plain := rows(set, n), make([]float64, 2*n), make([]float64, 2*n)
		v := 0.0
		for k := range p.Schedule.N {
			v += p.Schedule.Tau(k)
			a.At(k)
			exact{p}.Eval(plain, x, nil, n, p.Schedule.Time(k+1))
			a.Eval(s, x, nil, n, p.Schedule.Time(k+1))
			for i := range n {
				force := [2]float64{}
				if f != nil {
					force = [2]float64{x[2*i], x[2*i+1]}
				}
				sum, across := 0.0, 0.0
				for j := range 2 {
					sum += x[2*i+j] + v/2*(force[j]+s[2*i+j])
					across += float64(1-2*j) * (s[2*i+j] - plain[2*i+j])
				}
				if math.Abs(sum-1) > 1e-12 || math.Abs(across) > 1e-9 {
					t.Errorf("step %d: the end is off the line by %v; the score moves along it by %v", k, sum-1, across)
				}
			}
		}
	}
}

// wild is a score that sends some rows out of the finite numbers at the third step.
type wild struct{ p *langevin.Process }

func (w wild) Eval(dst, x, _ []float64, n int, t float64) {
	d := w.p.Set.Dim()
	for i := range n {
		for j := range d {
			dst[i*d+j] = -x[i*d+j]
		}
		if x[i*d] > 0.5 && t < 1 || x[i*d] < -0.1 && t < 0.3 {
			dst[i*d] = math.Inf(1)
		}
	}
}

// Samples whose scores are not finite, or that a program finds no point for at the end, are lost and counted, and the
// others are as they would be alone. A set without points loses all of what has to end on it, and none of what has not.
func TestLosses(t *testing.T) {
	p := process(bowl(t))
	for _, v := range variants {
		m := New(v, p, pathmatch.Options{}, Options{})
		x, failed, r := generate(t, m, 60, 2, wild{p})
		again, lost, _ := generate(t, m, 60, 1, wild{p})
		if !slices.Equal(x, again) || !slices.Equal(failed, lost) {
			t.Errorf("%s: other samples by other workers", m.Name())
		}
		if r.Broken == 0 || r.Broken > r.Failed || r.Failed == 60 || r.Break == nil {
			t.Errorf("%s: %+v", m.Name(), r)
		}
		var e *langevin.DivergedError
		if !errors.As(r.Break, &e) || !failed[e.Sample] || e.Step < 1 {
			t.Errorf("%s: %v", m.Name(), r.Break)
		}
		if v == Plain && e.Sample != slices.Index(failed, true) { // nothing else fails there
			t.Errorf("the first that breaks down is %d, told is %d", slices.Index(failed, true), e.Sample)
		}
		for i, v := range x {
			if v-v != 0 {
				t.Fatalf("%s: number %d is %v", m.Name(), i, v)
			}
		}
	}
	none := testkit.Must(formula.New(formula.Spec{Dim: 2,
		Equality:   []formula.Component{{Name: "circle", Expr: "dot(x, x) = 1"}},
		Inequality: []formula.Component{{Name: "beyond", Expr: "x[0] >= 3"}}}))
	p = process(none)
	for _, v := range variants {
		_, _, r := generate(t, New(v, p, pathmatch.Options{}, Options{}), 20, 1, exact{p})
		want := 0
		if v == Projected || v == Lagrangian || v == Corrected {
			want = 20
		}
		if r.Failed != want || v != Plain && v != Guided && r.Programs.Failed < 20 {
			t.Errorf("%s: %+v", names[v], r)
		}
	}
}

// A trace has every sample at every step, on the plane from the first step on where steps are projected,
// and only after the last act where ends are corrected.
func TestTrace(t *testing.T) {
	set := testkit.Must(formula.New(formula.Spec{Dim: 2,
		Equality: []formula.Component{{Name: "line", Expr: "x[0] + x[1] = 1"}}}))
	p, pool := process(set), parallel.New(2)
	defer pool.Close()
	for _, v := range []Variant{Projected, Corrected, Plain} {
		s := New(v, p, pathmatch.Options{}, Options{}).Sampler(8, pool).(*sampler)
		trace := s.NewTrace()
		s.Watch(trace)
		const n = 30
		testkit.Must(s.Generate(context.Background(), make([]float64, 2*n), make([]bool, n), 0, 1, prior{},
			func(int) method.Score { return exact{p} }))
		for k := range p.Schedule.N + 2 {
			on := v == Projected && k != p.Schedule.N || v == Corrected && k == p.Schedule.N+1
			if trace.Count(k) != n || (trace.Worst(k, 0) <= 1e-12) != on {
				t.Errorf("%s: at x_%d %d samples, up to %v off", names[v], k, trace.Count(k), trace.Worst(k, 0))
			}
		}
	}
}

// Nothing allocates per step: a generation of twice the steps allocates as often.
func TestStepsAllocateNothing(t *testing.T) {
	set, pool := bowl(t), parallel.New(1)
	defer pool.Close()
	for _, v := range variants {
		count := func(steps int) float64 {
			p := process(set)
			p.Schedule.N = steps
			s := New(v, p, pathmatch.Options{}, Options{}).Sampler(16, pool)
			x, failed := make([]float64, 48), make([]bool, 16)
			return testing.AllocsPerRun(3, func() {
				if _, err := s.Generate(context.Background(), x, failed, 0, 1, prior{},
					func(int) method.Score { return exact{p} }); err != nil {
					t.Fatal(err)
				}
			})
		}
		if few, many := count(10), count(40); many > few {
			t.Errorf("%s: %v allocations in 10 steps, %v in 40", names[v], few, many)
		}
	}
}

// half finds no point for the rows of odd number.
type half struct{}

func (half) Nearest(dst, x []float64, ok []bool, n int) (o geometry.Outcome) {
	for i := range n {
		if ok[i] = i%2 == 0; !ok[i] {
			o.Stalled++
		}
	}
	o.Points = n
	return o
}

// A program that finds no point on the way costs nothing but the count; at x_0 the sample is lost.
func TestOnlyTheLastStepLosesSamples(t *testing.T) {
	a := &nearest{by: half{}, ok: make([]bool, 4)}
	failed, x := make([]bool, 4), make([]float64, 8)
	var c geometry.Outcome
	for k := 3; k >= 0; k-- {
		if c.Add(a.After(x, 4, k, failed)); k > 0 && slices.Contains(failed, true) {
			t.Errorf("samples are lost on the way to x_%d: %v", k, failed)
		}
	}
	testkit.EqualSlices(t, failed, []bool{false, true, false, true}, "lost")
	testkit.Equal(t, [2]int{c.Points, c.Failed()}, [2]int{16, 8})
}

// New returns the method of a variant for points of a process's set: of p, which must be valid, it
// takes set, schedule, potential and convention. Targets are as in pathmatch.Options.
func New(v Variant, p *langevin.Process, targets pathmatch.Options, o Options) *Method {
	forward := Forward(*p)
	return &Method{v, pathmatch.New(&forward, targets), &forward, p.Set, !p.NoTerminal, o}
}
