package check

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Each fault is named, with its component, and by the check whose business it is; nothing else about it fails.
func TestFaults(t *testing.T) {
	sphere := func() *set { return equality(3).equal("h", ball(1)) }
	for name, c := range map[string]struct {
		set              *set
		check, component string
		status           Status
		words            []string
	}{
		"square": {equality(3).equal("sq", through(ball(1), square)), "gradient on Σ", "sq", Fail,
			[]string{"square", "|c|^0.50"}},
		"fourth power": {equality(3).equal("p4",
			through(ball(1), func(v float64) (float64, float64) { return v * v * v * v, 4 * v * v * v })),
			"gradient on Σ", "p4", Fail, []string{"power 4", "never negative"}},
		"cube": {equality(3).
			equal("p3", through(ball(1), func(v float64) (float64, float64) { return v * v * v, 3 * v * v })),
			"gradient on Σ", "p3", Fail, []string{"power 3", "take the root"}},
		"sum of squares": {equality(3).equal("good", ball(1)).
			equal("ss", sum(through(linear(0, 1, 0, 0), square), through(linear(0.5, 0, 1, 0), square))),
			"gradient on Σ", "ss", Fail, []string{"sum of squares"}},
		"nothing": {sphere().equal("zero", through(ball(1), func(float64) (float64, float64) { return 0, 0 })),
			"feasible points", "zero", Fail, []string{"gradient is 0", "depend on x"}},
		"nothing alone": {equality(3).equal("zero", through(ball(1), func(float64) (float64, float64) { return 0, 0 })),
			"gradient on Σ", "zero", Fail, []string{"constrains nothing"}},
		"relu": {sphere().add("r", sum(through(linear(0.5, 1, 0, 0), relu), through(linear(0.5, 0, 1, 0), relu))),
			"gradient on Σ", "r", Fail, []string{"ReLU", "separate inequalities"}},
		"duplicate": {sphere().equal("again", through(ball(1), func(v float64) (float64, float64) { return 3 * v, 3 })),
			"rank", "again", Warn, []string{"redundant", `"h"`}},
		"combination": {equality(4).equal("a", linear(1, 1, 0, 0, 0)).equal("b", linear(0, 0, 1, 0, 0)).
			equal("c", linear(1, 1, 1, 0, 0)),
			"rank", "c", Warn, []string{"redundant", `"a"`, `"b"`}},
		"tangent spheres": {equality(3).equal("h", ball(1)).equal("plane", linear(1, 0, 0, 1)), "rank", "plane", Fail,
			[]string{`"h"`, "not beside it"}},
		"empty": {equality(3).equal("low", linear(0, 1, 0, 0)).equal("high", linear(1, 1, 0, 0)), "feasible points",
			"high", Fail, []string{"stays violated by 0.5"}},
		"too many": {equality(2).equal("a", linear(0, 1, 0)).equal("b", linear(0, 0, 1)).equal("c", linear(0, 1, 1)),
			"dimension", "", Warn, []string{"m = 3", "R^2", "redundant"}},
		"isolated": {equality(2).equal("a", linear(0, 1, 0)).equal("b", linear(0, 0, 1)), "rank", "", Fail,
			[]string{"isolated points"}},
		"kink": {equality(2).equal("corner", func(x []float64) (float64, []float64) { // |x| + |y| = 1
			return math.Abs(x[0]) + math.Abs(x[1]) - 1, []float64{math.Copysign(1, x[0]), math.Copysign(1, x[1])}
		}), "kinks", "corner", Warn, []string{"slope jumps", "smooth it"}},
		"max of two": {sphere().add("max", func(x []float64) (float64, []float64) {
			if x[0] > x[1] {
				return x[0] - 0.3, []float64{1, 0, 0}
			}
			return x[1] - 0.3, []float64{0, 1, 0}
		}), "kinks", "max", Warn, []string{"kink"}},
		"always active": {equality(3).equal("h", ball(1)).
			add("g", func(x []float64) (float64, []float64) { return ball(1)(x) }),
			"activity", "g", Warn, []string{"acts as an equality", "is 0 at all of them"}},
		"two pieces": {equality(2).equal("hyperbola", func(x []float64) (float64, []float64) {
			return x[0]*x[0] - x[1]*x[1] - 1, []float64{2 * x[0], -2 * x[1]}
		}), "components", "", Warn, []string{"2 components", "prior"}},
	} {
		t.Run(name, func(t *testing.T) {
			says(t, examine(t, c.set), c.check, c.component, c.status, c.words...)
		})
	}
}

// product is the product of two terms.
func product(a, b term) term {
	return func(x []float64) (float64, []float64) {
		v, g := a(x)
		w, h := b(x)
		out := make([]float64, len(x))
		dense.AddScaled(out, out, w, g)
		dense.AddScaled(out, out, v, h)
		return v * w, out
	}
}

// Where paths cross singular points, the finding names the number of paths, the data's sheet and a remedy. There is a
// remedy only if it helped, and no finding if no path crosses. Sheets that curve and gradients that grow are not called
// singular.
func TestSingular(t *testing.T) {
	lines := equality(2).equal("xy", product(linear(0, 1, 0), linear(0, 0, 1)))
	says(t, examine(t, lines), "singular points", "", Warn, "turn the normal", "∇h falls to 0.0")
	cone := equality(3).equal("cone", sum(circle(0, 1, 0), through(linear(0, 0, 0, 1),
		func(v float64) (float64, float64) { return -v * v, -2 * v })))
	var data []float64 // on the upper half
	for i := range 100 {
		r, a := 0.002+0.0006*float64(i), 2.4*float64(i)
		data = append(data, r*math.Cos(a), r*math.Sin(a), r)
	}
	r := run(t, Input{Process: gentle(cone), Data: data})
	says(t, r, "singular points", "", Warn, "on another sheet than all of the data", `(−∂/∂x[2]) of "cone" ≥ 0`)
	// With that inequality no path ends on the other sheet.
	kept := run(t, Input{Process: gentle(cone.add("sheet", linear(0, 0, 0, -1))), Data: data})
	if n := find(kept, "singular points", "")[0].Numbers["other_sheet"]; n > 0 {
		t.Errorf("%v paths end on another sheet in spite of the inequality", n)
	}
	steep := equality(2).equal("steep", func(x []float64) (float64, []float64) { // e^(5x) = 1 + y²
		return math.Exp(5*x[0]) - 1 - x[1]*x[1], []float64{5 * math.Exp(5*x[0]), -2 * x[1]}
	})
	for _, s := range []*set{steep, arm(3, false)} {
		says(t, examine(t, s), "singular points", "", Pass, "no path crosses")
	}
	cusp := equality(2).equal("cusp", func(x []float64) (float64, []float64) {
		return x[0]*x[0] - x[1]*x[1]*x[1], []float64{2 * x[0], -3 * x[1] * x[1]}
	})
	data = nil
	for i := range 200 {
		v := float64(i)/100 - 0.995
		data = append(data, v*v*v, v*v)
	}
	says(t, run(t, Input{Process: gentle(cusp), Data: data}), "forward paths", "", Fail, "no projection leads to Σ")
}

// Inequalities without room between them, or with less than a step finds, fail.
func TestNoRoom(t *testing.T) {
	for _, width := range []float64{0, 1e-6} {
		s := equality(3).add("low", linear(0.5, 1, 0, 0)).add("high", linear(width-0.5, -1, 0, 0))
		p := gentle(s)
		p.Walls, p.Repulsion = langevin.ElasticWalls, 0
		var data []float64
		for i := range 60 {
			data = append(data, 0.5-width/2, math.Sin(float64(i)), math.Cos(2*float64(i)))
		}
		says(t, run(t, Input{Process: p, Data: data}), "forward paths", "", Fail, `"low", "high" leave no room`)
	}
}

// Coordinates far from 0 beside their spread fail; rows that are all alike do not.
func TestFarFromZero(t *testing.T) {
	for _, c := range []struct {
		centre, spread float64
		want           Status
	}{{1e12, 1, Fail}, {1e8, 1, Warn}, {1e6, 1, Pass}, {1e12, 0, Pass}} {
		var data []float64
		for i := range 60 {
			data = append(data, c.centre+c.spread*math.Sin(float64(i)), c.spread*math.Cos(float64(i)))
		}
		s := equality(2).add("g", linear(2e12, 1, 0))
		worst := Pass
		for _, f := range find(run(t, Input{Process: gentle(s), Data: data}), "data", "") {
			worst = max(worst, f.Status)
		}
		testkit.Equal(t, worst, c.want, "rows about %g", c.centre)
	}
}

// The components that a dependent one depends on, and no others, are named,
// whatever the angles between those before it.
func TestDependsOn(t *testing.T) {
	s := equality(5).equal("a", linear(0, 1, 0, 0, 0, 0)).equal("b", linear(0, 1, 1, 0, 0, 0)).
		equal("c", linear(0, 1, 1, 1, 0, 0)).
		equal("twice b", linear(0, 2, 2, 0, 0, 0)).equal("a and c", linear(0, 3, 2, 2, 0, 0))
	r := examine(t, s)
	for name, want := range map[string]string{"twice b": `in the span of "b" at`,
		"a and c": `in the span of "a", "c" at`} {
		says(t, r, "rank", name, Warn, "redundant", want)
	}
}

// Where a wall touches the corner of two others, elastic walls cope; a wall of the paper counts as an equality there.
func TestCorner(t *testing.T) {
	s := equality(3).add("a", linear(0, -1, 0, 0)).add("b", linear(0, 0, -1, 0)).
		add("c", sum(linear(0, -1, -1, 0), product(linear(0, 1, 0, 0), linear(0, 0, 0, 1))))
	var data []float64
	for i := range 60 {
		data = append(data, 1+math.Sin(float64(i)), 1+math.Cos(2*float64(i)), 0.3*math.Sin(3*float64(i)))
	}
	for walls, want := range map[langevin.Walls]Status{langevin.PaperWalls: Fail, langevin.ElasticWalls: Pass} {
		p, worst := gentle(s), Pass
		p.Walls, p.Repulsion = walls, 0
		for _, f := range find(run(t, Input{Process: p, Data: data}), "rank", "c") {
			worst = max(worst, f.Status)
		}
		testkit.Equal(t, worst, want, "%v walls", walls)
	}
}

// By the pattern of the equalities the same components depend on others as by the whole matrix.
func TestRanksBySupport(t *testing.T) {
	s := read(t, `
dim: 7
equality:
  - {name: circle, expr: "x[0]^2 + x[1]^2 - 1"}
  - {name: sum, expr: "x[2] + x[3] - 0.5"}
  - {name: twice, expr: "x[0]^2 + x[1]^2 + x[2] + x[3] - 1.5"}
  - {name: free, expr: "x[1] + x[6] - 1"}
inequality:
  - {name: low, expr: "x[4] <= 0"}
  - {name: both, expr: "x[4] + x[2] + x[3] <= 0.5"}
  - {name: other, expr: "x[5] + x[4]*x[0] <= 0"}
`)
	e := testkit.Must(gather(t.Context(), Input{Process: gentle(s)}, testkit.Pool(t, 1)))
	e.flat = make([]bool, e.C)
	dense, sparse := e.ranked(), e.ranked()
	sparse.h, sparse.normals = geometry.New(constraint.EqualitiesOf(s), 1, 0), geometry.NewNormals(s, true)
	x := []float64{0.6, 0.8, 0.2, 0.3, 0, 0, 0.2}
	told := func(p *ranked) string {
		if !p.At(x) {
			t.Fatal("not finite")
		}
		out, lost := []string{}, 0
		for _, l := range e.factor(p, e.present(p)) {
			if l.component < e.M && l.sine <= geometry.RankTolerance {
				lost++ // of equalities, which one is a question of their order
			} else if l.component >= e.M {
				slices.Sort(l.on)
				out = append(out, fmt.Sprintf("%s %.6f %v", e.Names[l.component], l.sine, l.on))
			}
		}
		return fmt.Sprint(lost, out)
	}
	testkit.Equal(t, told(dense), "1 [low 1.000000 [] both 0.000000 [1 4] other 0.857493 []]")
	testkit.Equal(t, told(sparse), "1 [low 1.000000 [] both 0.000000 [1 2 4] other 0.857493 []]")
}

// A set that selects one branch of a hyperbola is looked at on that branch.
func TestSelected(t *testing.T) {
	s := upper{equality(2).equal("hyperbola", func(x []float64) (float64, []float64) {
		return x[0]*x[0] - x[1]*x[1] - 1, []float64{2 * x[0], -2 * x[1]}
	})}
	says(t, examine(t, s), "components", "", Pass, "one:")
}

type upper struct{ *set }

func (s upper) Capabilities() constraint.Capabilities {
	c := s.set.Capabilities()
	c.Selects = func(x []float64) bool { return x[0] > 0 }
	return c
}

// An inequality that nothing satisfies is not called a ReLU.
func TestNeverSatisfied(t *testing.T) {
	s := equality(2).equal("h", circle(0, 1, 1)).add("g", func(x []float64) (float64, []float64) {
		return math.Exp(x[0]), []float64{math.Exp(x[0]), 0}
	})
	r := examine(t, s)
	says(t, r, "feasible points", "g", Fail, "stays violated")
	for _, f := range find(r, "gradient on Σ", "g") {
		testkit.Equal(t, f.Status, Pass, "got %+v", f)
	}
}

// Good sets raise no alarm: curved, flat, with edges, with several constraints of unlike scales, unconstrained.
func TestNoFalseAlarms(t *testing.T) {
	for name, s := range map[string]*set{
		"sphere":       equality(3).equal("h", ball(1)),
		"large sphere": equality(3).equal("h", ball(1e4)),
		"quadric":      equality(3).equal("h", circle(0, 1, 2)),
		"circle on it": equality(3).equal("h", ball(1)).equal("plane", linear(0.3, 0.2, 0.5, 1)),
		"two scales": equality(4).equal("a", through(circle(0, 1, 1),
			func(v float64) (float64, float64) { return 1e6 * v, 1e6 })).equal("b", circle(2, 3, 1)),
		"cap": equality(3).equal("h", ball(1)).add("height", linear(-0.2, 0, 0, -1)),
		"box": equality(2).add("left", linear(0, -1, 0)).add("right", linear(1, 1, 0)).
			add("low", linear(0, 0, -1)).add("high", linear(1, 0, 1)),
		"unconstrained": equality(2),
		"brick": equality(3).add("0-", linear(0, -1, 0, 0)).add("0+", linear(1, 1, 0, 0)).
			add("1-", linear(0, 0, -1, 0)).add("1+", linear(2, 0, 1, 0)).
			add("2-", linear(1, 0, 0, -1)).add("2+", linear(1, 0, 0, 1)),
		"kink far inside": equality(2).equal("h", circle(0, 1, 1)).add("max", func(x []float64) (float64, []float64) {
			if x[0] > x[1] {
				return x[0] - 5, []float64{1, 0}
			}
			return x[1] - 5, []float64{0, 1}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			elastic := gentle(s)
			elastic.Walls, elastic.Repulsion = langevin.ElasticWalls, 0
			for _, r := range []*Report{examine(t, s), run(t, Input{Process: elastic})} {
				for _, f := range r.Findings {
					none := f.Check == "terminal law" && f.Status == Skip // there is no prior to compare with
					if f.Status != Pass && f.Check != "data" && !none {
						t.Errorf("%+v", f)
					}
				}
			}
		})
	}
}

// On a sphere of radius 1 the offset is (d−1)/(2α) for OLLA and τ(d−1)/(2α) for ULLA, in the mean.
func TestOffset(t *testing.T) {
	s := equality(6).equal("h", ball(1))
	for _, method := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		const τ = 0.01
		ρ := 0.5
		p := &langevin.Process{Set: s, Method: method, Friction: 1, Landing: langevin.Landing{Explicit: true,
			Rate: ρ / τ}, Schedule: langevin.Schedule{N: 200, T: 200 * τ, SigmaMin: 1, SigmaMax: 1}}
		f := find(run(t, Input{Process: p}), "offset", "h")[0]
		b := 5 * τ / 2 / ρ
		if method == langevin.ULLA {
			b *= τ
		}
		if m := f.Numbers["measured"]; math.Abs(m/b-1) > 0.4 {
			t.Errorf("%v: measured %.4g, (d−1)/(2α) gives %.4g", method, m, b)
		}
	}
	// With the curvature term OLLA's drift is gone.
	p := gentle(curved{s})
	p.Method, p.Curvature, p.Landing = langevin.OLLA, true, langevin.Landing{Explicit: true, Rate: 5}
	with := find(run(t, Input{Process: p}), "offset", "h")[0].Numbers
	p.Curvature = false
	without := find(run(t, Input{Process: p}), "offset", "h")[0].Numbers
	if with["measured"] > 0.5*without["measured"] {
		t.Errorf("with curvature %v, without %v", with, without)
	}
}

// The offset is compared with the radius of curvature, whatever the scale of h: on a sphere their ratio is the
// distance from it over its radius, and steps that leave more than a tenth are warned of.
func TestOffsetOverRadius(t *testing.T) {
	for _, τ := range []float64{0.01, 0.2} {
		s := equality(3).equal("h", through(ball(2), func(v float64) (float64, float64) { return 7 * v, 7 }))
		p := &langevin.Process{Set: s, Method: langevin.OLLA, Landing: langevin.Landing{Explicit: true, Rate: 0.5 / τ},
			Schedule: langevin.Schedule{N: 40, T: 40 * τ, SigmaMin: 1, SigmaMax: 1}}
		f := find(run(t, Input{Process: p}), "offset", "h")[0]
		want := f.Numbers["measured"] / 7 / 2
		if math.Abs(f.Numbers["over_radius"]/want-1) > 1e-3 {
			t.Errorf("τ = %v: %.4g of the radius, want %.4g", τ, f.Numbers["over_radius"], want)
		}
		if warned := f.Status == Warn && strings.Contains(f.Message, "radius of curvature"); warned != (want > 0.1) ||
			warned != (τ > 0.1) {
			t.Errorf("τ = %v: %v %q, with %.3g of the radius", τ, f.Status, f.Message, want)
		}
	}
}

// curved gives a unit sphere its Hessian products.
type curved struct{ constraint.Set }

func (c curved) NewEvaluator(rows int) constraint.Evaluator {
	e := c.Set.NewEvaluator(rows)
	e.HessianVectors = c.HessianVectors
	return e
}

func (c curved) HessianVectors(dst, x, v []float64, n int) {
	d := c.Dim()
	for i := range n {
		xi, vi := x[i*d:(i+1)*d], v[i*d:(i+1)*d]
		r := dense.Norm(xi)
		for j := range d {
			dst[i*d+j] = (vi[j] - dense.Dot(xi, vi)/(r*r)*xi[j]) / r
		}
	}
}

// ρ: error at 2, warning above 1 and where landing is too weak, and the α that is recommended makes the largest ρ 1.
func TestLandingRate(t *testing.T) {
	for rate, want := range map[float64]Status{0: Fail, 0.5: Warn, 8: Warn, 15: Pass, 27: Pass, 30: Warn, 55.5: Warn,
		55.7: Fail, 1000: Fail} {
		p := gentle(equality(3).equal("h", ball(1)))
		p.Landing = langevin.Landing{Explicit: true, Rate: rate} // τ_{N−1} = 0.575²/10
		f := find(run(t, Input{Process: p}), "landing rate", "")[0]
		if rate == 55.5 || rate == 55.7 { // ρ on either side of 2, in the paper's convention
			p.Convention = langevin.Paper
			f = find(run(t, Input{Process: p}), "landing rate", "")[0]
		}
		if f.Status != want {
			t.Errorf("α = %v: %v %s", rate, f.Status, f.Message)
		}
		p.Landing.Rate = f.Numbers["alpha_recommended"]
		testkit.Near(t, find(run(t, Input{Process: p}), "landing rate", "")[0].Numbers["rho_max"], 1, 1e-12,
			"recommended α = %v gives ρ", p.Landing.Rate)
	}
}

// Data: wrong units, a row off Σ, and no feasible row at all.
func TestData(t *testing.T) {
	p := gentle(equality(2).equal("h", circle(0, 1, 1)).add("g", linear(0.9, 1, 0)))
	data := []float64{0, 1, 0, -1, -1, 0, 1, 0, 0.6, 0.8, 0, 1.1}
	r := run(t, Input{Process: p, Data: data})
	says(t, r, "data", "g", Fail, "1 of 6 rows", "first row 3", "0.1")
	says(t, r, "data", "h", Fail, "1 of 6 rows", "first row 5", "0.21")
	r = run(t, Input{Process: p, Data: data, Tolerance: 0.15}) // of values
	says(t, r, "data", "g", Pass, "0.1 (worst, row 3)")
	says(t, r, "data", "h", Fail, "beyond the tolerance 0.15, first row 5 with 0.21")
	near := []float64{0, 1, 0, -1, -1, 0, 0.6, 0.8, 0, 1.002}
	r = run(t, Input{Process: p, Data: near})
	says(t, r, "data", "h", Warn, "1 of 5 rows are beside Σ", "row 4 the most, 0.002 away, 0.3 %", "landing refine")
	for i := range data {
		data[i] *= 57.3
	}
	says(t, run(t, Input{Process: p, Data: data}), "data", "", Fail, "no row")
}

// Rows that equal an earlier one are counted; more than one in a hundred are warned of.
func TestRepeatedRows(t *testing.T) {
	p := gentle(equality(2).equal("h", circle(0, 1, 1)))
	var data []float64
	for i := range 120 {
		data = append(data, math.Cos(float64(i)), math.Sin(float64(i)))
	}
	if f := find(run(t, Input{Process: p, Data: data}), "rows", ""); f != nil {
		t.Errorf("of distinct rows it says %v", f)
	}
	data = append(data, data[6:8]...)
	says(t, run(t, Input{Process: p, Data: data}), "rows", "", Pass, "1 of 121 rows", "row 120 does row 3")
	data = append(data, data[4:6]...)
	says(t, run(t, Input{Process: p, Data: data}), "rows", "", Warn, "2 of 122 rows", "memorisation")
}

// ε is judged against a typical step and the window's width.
func TestRepulsion(t *testing.T) {
	band := func(width float64) *set {
		return equality(3).equal("h", ball(1)).add("top", linear(width/2, 0, 0, 1)).
			add("bottom", linear(width/2, 0, 0, -1))
	}
	for _, c := range []struct {
		ε, width float64
		status   Status
		word     string
	}{{0, 1, Warn, "stick"}, {0.001, 1, Warn, "stick"}, {0.015, 1, Pass, "neither"}, {0.07, 1, Warn, "overshoot"},
		{0.4, 1, Warn, "through"}, {0.01, 0.05, Warn, "no ε helps"}} {
		p := gentle(band(c.width))
		p.Repulsion = c.ε
		says(t, run(t, Input{Process: p}), "repulsion", "top", c.status, c.word)
	}
}

// Elastic walls have no use for ε; steps deeper than a window are too large.
func TestElasticWalls(t *testing.T) {
	band := func(width float64) *set {
		s := equality(3).equal("h", ball(1))
		return s.add("top", linear(width/2, 0, 0, 1)).add("bottom", linear(width/2, 0, 0, -1))
	}
	elastic := func(width float64) *langevin.Process {
		p := gentle(band(width))
		p.Walls, p.Repulsion = langevin.ElasticWalls, 0
		return p
	}
	p := elastic(1)
	says(t, run(t, Input{Process: p}), "repulsion", "top", Pass, "mirror steps")
	p.Repulsion = 0.02
	says(t, run(t, Input{Process: p}), "repulsion", "", Warn, "not used", "process.walls is elastic")
	says(t, run(t, Input{Process: elastic(0.005)}), "repulsion", "top", Warn, "to and fro", "smaller steps")
	says(t, run(t, Input{Process: elastic(0.0005)}), "forward paths", "", Warn, "% of steps turn back")
}

// A formula that is not finite at a row of the data: the component, the row and the place in the formula.
func TestNotFinite(t *testing.T) {
	s := read(t, `
dim: 2
equality:
  - {name: curve, expr: "x[1] - log(x[0])"}
inequality:
  - {name: root, expr: "sqrt(1 - x[0]) <= 5"}
`)
	r := run(t, Input{Process: gentle(s), Data: []float64{0.5, math.Log(0.5), 2, math.Log(2)}})
	says(t, r, "finite", "root", Fail, "NaN at data row 1", "sqrt(-1)", `column 1 of "sqrt(1 - x[0]) <= 5"`)
	islands := read(t, `{dim: 2, equality: [{name: islands,
expr: "x[0]^2 + x[1]^2 + 1 - 20/(1 + 50*((abs(x[0]) - 3)^2 + (x[1] - x[0])^2))"}]}`)
	run(t, Input{Process: gentle(islands), Data: []float64{3.03, 3.03, -3.03, -3.03}}) // found by rows alone
}

func read(t *testing.T, text string) *formula.Set {
	t.Helper()
	var spec formula.Spec
	testkit.OK(t, yaml.UnmarshalWithOptions([]byte(text), &spec, yaml.Strict()))
	return testkit.Must(formula.New(spec))
}

// Arm-like constraints as formulas, in the paper's summed form and separate.
func TestArmFormulas(t *testing.T) {
	const head = `
dim: 8
let: {c: "x[0:4]", s: "x[4:8]"}
`
	separate := read(t, head+`
equality:
  - {name: "unit[j]", for: "j in 0..3", expr: "c[j]^2 + s[j]^2 - 1"}
  - {name: "height", expr: "sum(s) - 1"}
inequality:
  - {name: "floor[j]", for: "j in 0..3", expr: "sum(s[0:j+1]) >= -0.4"}
  - {name: "obstacle", expr: "norm([sum(c[0:2]) - 1, sum(s[0:2]) - 1.5]) >= 0.2"}
`)
	summed := read(t, head+`
equality:
  - {name: all, expr: "sum(vector(j in 0..3, (c[j]^2 + s[j]^2 - 1)^2)) + (sum(s) - 1)^2"}
inequality:
  - {name: avoid, expr: "sum(vector(j in 0..3, relu(-0.4 - sum(s[0:j+1]))))
      + relu(0.2 - norm([sum(c[0:2]) - 1, sum(s[0:2]) - 1.5]))"}
`)
	r := examine(t, separate)
	if n := r.Count(Fail); n != 0 {
		clean(t, r, Warn)
	}
	r = examine(t, summed)
	says(t, r, "gradient on Σ", "all", Fail, "sum of squares", "separate equalities")
	says(t, r, "gradient on Σ", "avoid", Fail, "sum of ReLUs", "separate inequalities")
}
