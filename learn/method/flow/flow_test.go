package flow

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/methodtest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
	"github.com/landing-diffusion/landing/tools/testkit/octahedron"
)

// surface is a level set with a mesh of 128 faces.
func surface() constraint.Set {
	return testkit.Must(levelset.NewSurface(octahedron.Network(), ball.Mesh(0).Subdivided().Subdivided()))
}

// sets are those of each kind that a flow has paths on.
func sets() map[string]constraint.Set {
	so3 := testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{Special: true}))
	return map[string]constraint.Set{
		"sphere": zoo.Sphere{D: 3}, "large sphere": zoo.Sphere{D: 4, R: 50}, "SO(3)": so3,
		"torus":   constraint.Product(zoo.Sphere{D: 2}, zoo.Sphere{D: 2, R: 2}),
		"box":     testkit.Must(zoo.NewBox([]float64{-1, 0}, []float64{1, 3})),
		"simplex": testkit.Must(zoo.NewSimplex(3)),
		"plane":   zoo.Affine{A: [][]float64{{1, 1, 1}}, B: []float64{2}},
		"space":   zoo.Euclidean{D: 2},
		"product": constraint.Product(so3, zoo.Sphere{D: 3}, testkit.Must(zoo.NewSimplex(2))),
		"mesh":    surface(),
	}
}

// rows are n points of the method's prior, as data.
func rows(m *Method, n int) []float64 {
	d := m.set.Dim()
	x := make([]float64, n*d)
	for i := range n {
		m.prior.Sample(x[i*d:(i+1)*d], keyed.New(3, keyed.Probe, 90), uint64(i))
	}
	return x
}

// On each kind of set flows conform, by either order, with correction, and where rows take turns.
func TestConforms(t *testing.T) {
	for name, set := range sets() {
		for k, o := range []Options{{Steps: 6}, {Steps: 3, Order: 4, Paths: 9}, {Steps: 5, Correct: true}} {
			if k > 0 && name != "sphere" && name != "mesh" && name != "simplex" {
				continue
			}
			o.Functions, o.PathSteps = 12, 40
			m := testkit.Must(New(set, nil, o))
			t.Run(name, func(t *testing.T) {
				data := rows(m, 30)
				if o.Paths > 0 {
					turns(t, m, data)
					return
				}
				methodtest.Run(t, m, data, set.Dim(), nil)
			})
		}
	}
}

// turns checks that rows take turns: two refreshes of 15 rows see all 30 of them.
func turns(t *testing.T, m *Method, data []float64) {
	m.opt.Paths = 15
	pool := testkit.Pool(t, 2)
	s := NewSource[float64](m, data, pool)
	testkit.OK(t, s.Prepare(context.Background(), 1))
	seen := map[int]bool{}
	for refresh := range uint64(2) {
		if _, err := s.Refresh(context.Background(), 1, refresh); err != nil || s.Items() != 15 {
			t.Fatal(s.Items(), err)
		}
		for _, r := range s.row {
			seen[r] = true
		}
	}
	if len(seen) != 30 {
		t.Errorf("%d of 30 rows had their turn", len(seen))
	}
}

// Targets are the derivatives of the paths, tangent to Σ, of paths that stay on it and lead from the
// draw of the prior to the row.
func TestPathOfGeodesics(t *testing.T) {
	pool := testkit.Pool(t, 1)
	for name, set := range sets() {
		m := testkit.Must(New(set, nil, Options{}))
		if m.surface != nil {
			continue
		}
		d, data := set.Dim(), rows(m, 12)
		src := NewSource[float64](m, data, pool)
		testkit.Must(src.Refresh(context.Background(), 5, 1))
		l := src.NewLoss(score.NewReader[float64](score.Reading{}, d, false), 1).(*loss[float64])
		g := geometry.New(m.smooth, 1, 0)
		x, u, before, after, scratch := make([]float64, d), make([]float64, d), make([]float64, d), make([]float64, d),
			make([]float64, d)
		at := func(x, u []float64, item int, time float64) {
			testkit.OK(t, l.path(x, u, item, 3, time))
		}
		for item := range 12 {
			const h = 1e-5
			for _, time := range []float64{h, 0.3, 0.99} {
				at(x, u, item, time)
				for k, h := range constraint.Values(set, x) {
					if v := constraint.Excess(h, k < len(set.Equalities())); v > 1e-12 {
						t.Errorf("%s: component %d is off by %g at time %v", name, k, v, time)
					}
				}
				testkit.OK(t, g.At(x, 1))
				size := dense.Norm(u)
				if g.Tangent(scratch, u); floats.Distance(scratch, u, 2) > 1e-11*(1+size) {
					t.Errorf("%s: a target leaves the tangent space by %g", name, floats.Distance(scratch, u, 2))
				}
				at(before, scratch, item, time-h)
				at(after, scratch, item, time+h)
				for j := range d {
					testkit.Near(t, (after[j]-before[j])/(2*h), u[j], 1e-7*(1+size),
						"%s, time %v: target %d", name, time, j)
				}
			}
			at(x, u, item, 0)
			m.prior.Sample(scratch, src.starts, uint64(item)*Times+3)
			if floats.Distance(x, scratch, 2) > 1e-11*m.speed {
				t.Errorf("%s: a path begins %g from its draw", name, floats.Distance(x, scratch, 2))
			}
			at(x, u, item, 1-1e-12)
			if end := data[item*d : (item+1)*d]; floats.Distance(x, end, 2) > 1e-10*(1+m.speed) {
				t.Errorf("%s: a path ends %g from its row", name, floats.Distance(x, end, 2))
			}
		}
	}
}

// On a mesh the states are on Σ, the targets tangent to it, and the premetric to the row falls as
// 1 − t; the terms of the loss are those of the paths.
func TestPathOfPremetric(t *testing.T) {
	pool := testkit.Pool(t, 2)
	m := testkit.Must(New(surface(), nil, Options{Functions: 20}))
	data := rows(m, 25)
	src := NewSource[float64](m, data, pool)
	reader := score.NewReader[float64](score.Reading{}, 3, false)
	l := src.NewLoss(reader, Times)
	testkit.OK(t, src.Prepare(context.Background(), 1))
	report, err := src.Refresh(context.Background(), 1, 0)
	if err != nil || report.Failed > 2 {
		t.Fatalf("%d of 25 failed, %v", report.Failed, err)
	}
	w, g, tangent := src.distance.NewWalker(), geometry.New(m.smooth, 1, 0), make([]float64, 3)
	for item := range 25 {
		if src.Failed(item) {
			continue
		}
		var terms []method.Term
		for k := range Times {
			terms = append(terms, method.Term{Item: item, K: k, Weight: 1})
		}
		in := testkit.Must(l.Prepare(terms))
		x0 := make([]float64, 3)
		m.prior.Sample(x0, src.starts, uint64(item))
		w.To(src.distance.Nearest([3]float64(data[3*item:])))
		d0, _ := w.Distance(src.distance.Nearest([3]float64(x0)))
		for k := range Times {
			x, u, time := in[4*k:4*k+3], src.u[3*(Times*item+k):][:3], in[4*k+3]
			if time < float64(k)/Times || time >= float64(k+1)/Times {
				t.Errorf("time %v in stratum %d", time, k)
			}
			if h := constraint.Values(m.set, x)[0]; math.Abs(h) > 1e-12 {
				t.Errorf("a state with h = %g", h)
			}
			testkit.OK(t, g.At(x, 1))
			g.Tangent(tangent, u)
			for j, v := range l.(*loss[float64]).u[3*k : 3*k+3] {
				if math.Abs(v*reader.Gain(time)-tangent[j]) > 1e-12*(1+dense.Norm(u)) {
					t.Fatalf("a target is %v in units of %v, want %v", v, reader.Gain(time), tangent[j])
				}
			}
			// The mesh and Σ are 0.02 apart at edges and corners of the octahedron.
			d, _ := w.Distance(src.distance.Nearest([3]float64(x)))
			if math.Abs(d/d0-(1-time)) > 0.05 {
				t.Errorf("item %d: the distance is %v of the first at time %v", item, d/d0, time)
			}
		}
	}
}

// known is a field that is given as a function.
type known func(dst, x []float64, t float64)

func (f known) Eval(dst, x, _ []float64, n int, t float64) {
	d := len(x) / n
	for i := range n {
		f(dst[i*d:(i+1)*d], x[i*d:(i+1)*d], t)
	}
}

// follow returns where n samples end, and where they began.
func follow(t *testing.T, m *Method, f method.Score, n int) (ends, starts []float64, r method.Report, failed []bool) {
	t.Helper()
	pool := testkit.Pool(t, 2)
	d := m.set.Dim()
	ends, starts, failed = make([]float64, n*d), make([]float64, n*d), make([]bool, n)
	r = testkit.Must(m.Sampler(7, pool).Generate(context.Background(), ends, failed, 0, 1, m.prior,
		func(int) method.Score { return f }))
	for i := range n {
		m.prior.Sample(starts[i*d:(i+1)*d], keyed.GeneratedStart.Stream(1, 0), uint64(i))
	}
	return ends, starts, r, failed
}

// Along a field that turns the sphere, faster with time, samples end where it turns them: with twice the steps Euler's
// are half as far from there and those of Runge and Kutta a sixteenth. A part of the field across Σ changes nothing.
func TestFollowsRotation(t *testing.T) {
	const angle = 1.5 // of ∫ 2t dt about z
	spin := known(func(dst, x []float64, time float64) {
		ω := 2 * time * angle
		dst[0], dst[1], dst[2] = -ω*x[1]+5*x[0], ω*x[0]+5*x[1], 5*x[2]
	})
	sin, cos := math.Sincos(angle)
	for order, want := range map[int]float64{1: 2, 4: 16} {
		off := func(steps int) (worst float64) {
			m := testkit.Must(New(zoo.Sphere{D: 3, R: 2}, nil, Options{Steps: steps, Order: order}))
			x, from, _, _ := follow(t, m, spin, 40)
			for i := 0; i < len(x); i += 3 {
				to := []float64{cos*from[i] - sin*from[i+1], sin*from[i] + cos*from[i+1], from[i+2]}
				worst = max(worst, floats.Distance(x[i:i+3], to, 2))
				if h := dense.Norm(x[i:i+3]) - 2; math.Abs(h) > 1e-13 {
					t.Errorf("a sample with h = %g", h)
				}
			}
			return worst
		}
		coarse, fine := off(20), off(40)
		if ratio := coarse / fine; ratio < 0.8*want || ratio > 1.3*want {
			t.Errorf("order %d: off by %.3g with 20 steps and %.3g with 40", order, coarse, fine)
		}
	}
}

// The field of all paths to two opposite points, each with half of the data, is known: with θ the angle
// to a point, a path to it is at θ with density p_t(θ) = sin(θ/(1−t))/(2(1−t) sin θ), and
//
//	v_t(x) = Σ p_t(θ_i) Log_x(x_i)/(1−t) / Σ p_t(θ_i).
//
// Samples end at the point that they begin nearer to, and half way their heights have the law of
// the paths there: of 4000, that of the Kolmogorov test at a rate of 10⁻⁶.
func TestFollowsTwoPoints(t *testing.T) {
	toward := func(s float64) known {
		return func(dst, x []float64, time float64) {
			poles := [2][]float64{{0, 0, 1}, {0, 0, -1}}
			clear(dst)
			sum, v := 0.0, make([]float64, 3)
			for _, pole := range poles {
				θ := math.Acos(max(-1, min(1, dense.Dot(pole, x))))
				left := 1 - time*s
				p := 0.0
				if θ < math.Pi*left {
					p = math.Sin(θ/left) / max(math.Sin(θ), 1e-12)
				}
				if θ < 1e-9 {
					p = 1 / left
				}
				if p <= 0 || !(zoo.Sphere{D: 3}).Log(v, x, pole) {
					continue
				}
				sum += p
				floats.AddScaled(dst, s*p/left, v)
			}
			if sum > 0 {
				floats.Scale(1/sum, dst)
			}
		}
	}
	m := testkit.Must(New(zoo.Sphere{D: 3}, nil, Options{Steps: 400}))
	x, from, _, _ := follow(t, m, toward(1), 200)
	for i := 0; i < len(x); i += 3 {
		pole := []float64{0, 0, math.Copysign(1, from[i+2])}
		if far := floats.Distance(x[i:i+3], pole, 2); far > 1e-6 {
			t.Errorf("from height %.3f a sample ends %g from the pole", from[i+2], far)
		}
	}
	m.opt.Order, m.opt.Steps = 4, 200
	const n = 4000
	x, _, _, _ = follow(t, m, toward(0.5), n) // ends where t = ½
	var z []float64
	for i := 2; i < len(x); i += 3 {
		z = append(z, math.Abs(x[i]))
	}
	slices.Sort(z)
	worst := 0.0
	for i, v := range z {
		// The angle to the nearer or the farther pole is half of one whose cosine is uniform: at most π/2,
		// so the height over the pole's own is cos(θ_0/2) ≥ 0, and all heights are |z|.
		below := (1 - math.Cos(2*math.Acos(v))) / 2 // P(θ_0/2 < acos v)
		worst = max(worst, math.Abs(1-below-float64(i)/n), math.Abs(1-below-float64(i+1)/n))
	}
	if limit := math.Sqrt(-math.Log(1e-6/2) / 2 / n); worst > limit {
		t.Errorf("heights half way differ from the law of the paths by %.4f, limit %.4f", worst, limit)
	}
}

// With correction samples follow the field to one point to it too, by the same states on an affine
// set, where the end that a velocity leads to is on Σ already; and each state is on Σ.
func TestCorrects(t *testing.T) {
	pole := []float64{0, 0.6, 0.8}
	for name, set := range map[string]constraint.Set{"sphere": zoo.Sphere{D: 3},
		"plane": zoo.Affine{A: [][]float64{{0, 0.6, 0.8}}, B: []float64{1}}} {
		log := set.NewEvaluator(1).Log
		field := known(func(dst, x []float64, time float64) {
			if clear(dst); log(dst, x, pole) {
				floats.Scale(1/(1-time), dst)
			}
		})
		m := testkit.Must(New(set, nil, Options{Steps: 20}))
		plain, _, _, _ := follow(t, m, field, 40)
		m.opt.Correct = true
		x, _, r, _ := follow(t, m, field, 40)
		if r.Iterations < 20*40 {
			t.Errorf("%s: %d iterations", name, r.Iterations)
		}
		same := floats.Distance(x, plain, math.Inf(1)) < 1e-12
		if same != (name == "plane") {
			t.Errorf("%s: steps that are corrected differ from others: %v", name, !same)
		}
		// One Gauss-Newton step from far above a sphere leads back short of where the geodesic goes.
		for i := 0; i < len(x); i += 3 {
			if far := floats.Distance(x[i:i+3], pole, 2); far > 1e-9 && (same || far > 0.2) {
				t.Errorf("%s: a sample ends %g from the point", name, far)
			}
			if v := constraint.Excess(constraint.Values(set, x[i:i+3])[0], true); v > 1e-13 {
				t.Errorf("%s: a sample with h = %g", name, v)
			}
		}
	}
}

// A row whose field is not finite is lost and counted, and those beside it are as without it.
func TestLostRows(t *testing.T) {
	m := testkit.Must(New(zoo.Sphere{D: 3}, nil, Options{Steps: 5}))
	calm := func(dst, x []float64, _ float64) { dst[0], dst[1], dst[2] = x[1], -x[0], 0.3 }
	want, _, _, _ := follow(t, m, known(calm), 20)
	for _, bad := range []float64{math.NaN(), math.Inf(1), 1e300} {
		got, from, r, failed := follow(t, m, known(func(dst, x []float64, time float64) {
			if calm(dst, x, time); x[2] > 0.5 {
				dst[1] = bad
			}
		}), 20)
		lost := 0
		for i, f := range failed {
			if f {
				lost++
			} else if !slices.Equal(got[3*i:3*i+3], want[3*i:3*i+3]) {
				t.Errorf("%v: row %d is another", bad, i)
			}
			if from[3*i+2] > 0.5 && !f {
				t.Errorf("%v: row %d is not lost", bad, i)
			}
		}
		if lost == 0 || lost == 20 || r.Failed != lost || bad != 1e300 && r.Broken == 0 {
			t.Errorf("%v: %d lost, %+v", bad, lost, r)
		}
	}
}

// Steps allocate nothing, on any set, by any order.
func TestStepsAllocateNothing(t *testing.T) {
	still := known(func(dst, x []float64, _ float64) { copy(dst, x) })
	for name, set := range sets() {
		for _, o := range []Options{{}, {Order: 4}, {Correct: true}} {
			m := testkit.Must(New(set, nil, o))
			s, x := m.newStepper(5), rows(m, 5)
			s.begin(x, still)
			s.step(x, 5, 0, 0.1)
			testkit.Equal(t, testing.AllocsPerRun(5, func() { s.step(x, 5, 0.1, 0.1) }), 0,
				"%s, %+v: a step allocates", name, o)
		}
	}
}

// What a flow cannot do is refused by name, before anything runs.
func TestRefuses(t *testing.T) {
	process := func(set constraint.Set, f langevin.Potential) *langevin.Process {
		return &langevin.Process{Set: set, Potential: f, Schedule: langevin.Schedule{N: 10}}
	}
	ball := process(zoo.Sphere{D: 3}, nil)
	for field, c := range map[string][]method.Config{
		"Process": {
			{Process: process(zoo.Torus{Major: 2, Minor: 1}, nil)},
			{Process: process(testkit.Must(zoo.NewOrthogonal(3, zoo.OrthogonalOptions{})), nil)},
			{Process: process(testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2)), nil)},
			{Process: process(levelset.New(octahedron.Network()), nil)},
			{Process: process(testkit.Must(zoo.NewBox([]float64{0}, nil)), nil)},
			{Process: process(constraint.Product(zoo.Sphere{D: 3}, zoo.Torus{Major: 2, Minor: 1}), nil)},
		},
		"Potential": {
			{Process: process(zoo.Sphere{D: 3}, langevin.Quadratic{})},
			{Process: process(zoo.Euclidean{D: 2}, langevin.Linear{B: []float64{1, 0}})},
		},
		"Window": {{Process: ball, Window: 0.1}},
		"Output": {{Process: ball, Output: "balanced"}},
	} {
		for i, c := range c {
			c.Options, _ = c.Options.Resolve("flow", Kind.Options)
			var e *method.ConfigError
			if _, err := Kind.New(c); !errors.As(err, &e) || e.Field != field || e.Want == "" {
				t.Errorf("%s %d: %v", field, i, err)
			}
		}
	}
	for _, o := range []score.Options{{"order": 2}, {"order": 4, "correct": 1}} {
		c := method.Config{Process: ball}
		c.Options, _ = o.Resolve("flow", Kind.Options)
		var e *score.OptionError
		if _, err := Kind.New(c); !errors.As(err, &e) {
			t.Errorf("%v: %v", o, err)
		}
	}
	q := langevin.Quadratic{Center: []float64{3, -1}, Weight: []float64{4, 0.25}}
	m, sum, n := testkit.Must(New(zoo.Euclidean{D: 2}, q, Options{})), make([]float64, 4), 4000.0
	x := make([]float64, 2)
	for i := range uint64(n) {
		m.prior.Sample(x, keyed.New(1, keyed.Probe, 91), i)
		for j, v := range x {
			sum[j] += v / n
			sum[2+j] += (v - q.Center[j]) * (v - q.Center[j]) * q.Weight[j] / n
		}
	}
	for j := range 2 { // of 4 numbers, 5 standard errors each: one seed in 400 000
		if math.Abs(sum[j]-q.Center[j])*math.Sqrt(q.Weight[j]*n) > 5 || math.Abs(sum[2+j]-1)*math.Sqrt(n/2) > 5 {
			t.Errorf("coordinate %d begins with mean %v and variance %v of the potential's", j, sum[j], sum[2+j])
		}
	}
}

// A row that no geodesic leads to is named.
func TestCut(t *testing.T) {
	so2 := testkit.Must(zoo.NewOrthogonal(2, zoo.OrthogonalOptions{Special: true}))
	m := testkit.Must(New(so2, nil, Options{}))
	data := rows(m, 12)
	copy(data[4*3:], []float64{1, 0, 0, -1})
	pool := testkit.Pool(t, 1)
	s := NewSource[float64](m, data, pool)
	testkit.Must(s.Refresh(context.Background(), 1, 0))
	l := s.NewLoss(score.NewReader[float64](score.Reading{}, 4, false), 2)
	testkit.Refused(t, testkit.Err(l.Prepare([]method.Term{{Item: 2}, {Item: 3}})), "row 3 (from 0)",
		"a reflection among rotations")
}
