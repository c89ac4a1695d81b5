package verdict

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A law draws rows: row i of a set is a function of the stream and i.
type law struct {
	name string
	d    int
	row  func(x, z, u []float64) // from four normal and four uniform numbers
}

// Modes at (±4, ±4, …) and 0; the first has a share of 5 %.
func modes(d int) law {
	return law{fmt.Sprintf("modes in R^%d", d), d, func(x, z, u []float64) {
		at := -4.0
		switch {
		case u[0] < 0.05:
			at = 4
		case u[0] < 0.5:
			at = 0
		}
		for k := range x {
			x[k] = at + z[k]*0.5
		}
	}}
}

var laws = []law{
	{"normal in R²", 2, func(x, z, _ []float64) { copy(x, z) }},
	modes(3),
	{"heavy tails", 1, func(x, z, _ []float64) { x[0] = z[0] / math.Sqrt((z[1]*z[1]+z[2]*z[2]+z[3]*z[3])/3) }},
	{"lattice", 2, func(x, _, u []float64) { x[0], x[1] = math.Floor(4*u[0]), math.Floor(3*u[1]*u[1]) }},
	{"interval", 1, func(x, _, u []float64) { x[0] = u[0] }},
	{"circle", 2, func(x, z, _ []float64) { x[0], x[1] = math.Cos(z[0]), math.Sin(z[0]) }},
	{"normal in R⁴", 4, func(x, z, _ []float64) { copy(x, z) }},
	{"narrow and wide", 2, func(x, z, u []float64) {
		width := 1.0
		if u[0] < 0.5 {
			width = 0.01
		}
		x[0], x[1] = width*z[0], width*z[1]
	}},
}

func (l law) draw(n int, seed, set uint64) []float64 {
	st := keyed.New(seed, keyed.Probe, 1000+set)
	x, z, u := make([]float64, n*l.d), make([]float64, 4), make([]float64, 4)
	for i := range n {
		st.Normals(z, uint64(i), 0)
		st.Uniforms(u, uint64(i), 1)
		l.row(x[i*l.d:(i+1)*l.d], z, u)
	}
	return x
}

// nextTo counts rows with a first coordinate up to c.
func nextTo(x []float64, d int, c float64) (k int) {
	for i := 0; i < len(x); i += d {
		if x[i] <= c {
			k++
		}
	}
	return k
}

// evidence is what a run would hand in: of coordinates as observables, and a wall at a first coordinate.
func evidence(x, held, train []float64, d, points int, seed uint64, wall float64) Evidence {
	rows := slices.Concat(train, held)
	near := metric.Snap(x, train, d)
	e := Evidence{Asked: len(x) / d, Samples: x, Rows: rows, Held: held, Train: train, Dim: d, Seed: seed,
		Rounded: near, HeldNearest: metric.NearestDistances(held, train, d),
		Energy: metric.EnergyTest(x, rows, d, points, 999, seed),
		Course: &Course{Epochs: 10, Planned: 10, Rate: 0, Highest: 1, Distances: []float64{}}}
	if near == nil {
		near = x
	}
	e.SampleNearest = metric.NearestDistances(near, train, d)
	for k := range d {
		e.Numbers = append(e.Numbers, Number{Name: fmt.Sprintf("x[%d]", k), Samples: metric.Column(x, k, d),
			Rows: metric.Column(rows, k, d)})
	}
	n, m := len(x)/d, len(rows)/d
	a, b := nextTo(x, d, wall), nextTo(rows, d, wall)
	e.Walls = []Wall{{Says: "wall", Samples: float64(a) / float64(n), Data: float64(b) / float64(m),
		Differs: metric.FisherTest(a, n, b, m) <= Level(Walls)}}
	e.Start = &Start{Prior: "empirical"}
	return e
}

// judged is the verdict on evidence. It keeps all that the verdict says.
func judged(t *testing.T, e Evidence) Verdict {
	v := Of(e)
	testkit.KeepValue(t, v)
	testkit.Keep(t, "%s\n%s", v, strings.Join(v.Grouped(), "\n"))
	return v
}

var verdicts = flag.Int("verdicts", 50, "draws of each law that are judged; six times as many with LANDING_LONG=all")

// Draws of the law itself are good, but for a share Alarm at most: of n verdicts on a law more than
// n Alarm + 4√(n Alarm) are not good with a chance below 2e-3 if that is so, at n = 50, and below
// 2e-4 at 2000. Start law and condition are not looked at here, so it should be fewer.
func TestAlarms(t *testing.T) {
	times := *verdicts
	switch {
	case testkit.Longest():
		times *= 6
	case testing.Short():
		times /= 2
	}
	expected := Alarm * float64(times)
	bar := int(expected + 4*math.Sqrt(expected))
	for _, l := range laws {
		alarms, by := 0, map[Code]int{}
		for r := range times {
			x, held, train := l.draw(150, uint64(r), 0), l.draw(50, uint64(r), 1), l.draw(200, uint64(r), 2)
			v := Of(evidence(x, held, train, l.d, 50, uint64(r), 0))
			if v.Grade == Good {
				t.Fatalf("%s: 250 rows could hide 5 %% of misplaced mass", l.name)
			}
			if len(v.Findings) > 0 {
				alarms++
				for _, f := range v.Findings {
					by[f.Code]++
				}
			}
		}
		t.Logf("%s: %d of %d, %v", l.name, alarms, times, by)
		if alarms > bar {
			t.Errorf("%s: %d of %d draws of the law itself are not good, by %v; expected at most %d", l.name, alarms,
				times, by, bar)
		}
	}
}

// Each planted difference is found, and comes first. Those that do not matter are remarks.
func TestFaults(t *testing.T) {
	normal, mixed := laws[0], modes(3)
	faults := []Code{Copies, Walls, AnotherLaw, StartLaw, Failed, Violation}
	for _, c := range []struct {
		name  string
		law   law
		want  Code
		plant func(e *Evidence, x []float64) []float64 // samples instead of x
		says  string
	}{
		{"a mode of 5 % is not there", mixed, MissedMode, func(_ *Evidence, x []float64) []float64 {
			for i := 0; i < len(x); i += 3 {
				if x[i] > 2 {
					copy(x[i:i+3], []float64{-4, -4, -4})
					for k := range 3 {
						x[i+k] += 0.5 * math.Sin(float64(i*(k+1))) // about as wide as the mode
					}
				}
			}
			return x
		}, "0.0 % of the samples"},
		{"spread × 1.1", normal, Spread, func(_ *Evidence, x []float64) []float64 {
			for i := range x {
				x[i] *= 1.1
			}
			return x
		}, "too far apart"},
		{"spread × 0.9", normal, Spread, func(_ *Evidence, x []float64) []float64 {
			for i := range x {
				x[i] *= 0.9
			}
			return x
		}, "too close together"},
		{"spread × 1.2 along one direction", law{"", 2, func(x, z, _ []float64) { x[0], x[1] = 3*z[0], z[1] }}, Spread,
			func(_ *Evidence, x []float64) []float64 {
				for i := 1; i < len(x); i += 2 {
					x[i] *= 1.2
				}
				return x
			}, "along principal direction 2"},
		{"rows are copied", normal, Copies, func(e *Evidence, x []float64) []float64 {
			return slices.Clone(e.Train[:min(len(x), len(e.Train))])
		}, "100.0 % of the samples are training rows"},
		{"a tenth of the rows are copied", normal, Copies, func(e *Evidence, x []float64) []float64 {
			copy(x, e.Train[:len(x)/10])
			return x
		}, "10.0 % of the samples are training rows"},
		{"rows are nearly copied", normal, Copies, func(e *Evidence, x []float64) []float64 {
			for i := range x {
				x[i] = e.Train[i%len(e.Train)] + 1e-3*math.Sin(float64(i))
			}
			return x
		}, "nearly copies"},
		{"3 % stray", mixed, Stray, func(_ *Evidence, x []float64) []float64 {
			for i := 0; i < len(x)*3/100; i += 3 {
				copy(x[i:i+3], []float64{8 * math.Sin(float64(i)), -8, 8 * math.Cos(float64(i))})
			}
			return x
		}, "lie where the data have none"},
		{"a tenth stuck on a wall", law{"", 2, func(x, z, u []float64) { x[0], x[1] = 1e-3+u[0], z[1] }}, Walls,
			func(_ *Evidence, x []float64) []float64 {
				for i := 0; i < len(x)/10; i += 2 {
					x[i] = 0
				}
				return x
			}, "wall"},
		{"another mean", normal, AnotherLaw, func(e *Evidence, x []float64) []float64 {
			for i := range x {
				x[i] += 0.3
			}
			e.Numbers = nil
			return x
		}, "another law"},
		{"another mean of an observable", normal, Observables, func(e *Evidence, x []float64) []float64 {
			for i := 0; i < len(x); i += 2 {
				x[i] += 0.3
			}
			return x
		}, `"x[0]" has another law`},
		{"narrow structure is lost", law{"", 2, func(x, z, u []float64) {
			x[0], x[1] = math.Floor(8*u[0])+0.05*z[0], math.Floor(8*u[1])+0.05*z[1]
		}}, Blur, func(_ *Evidence, x []float64) []float64 {
			for i := range x { // each of the 64 modes 1.3 times as wide
				x[i] += 0.3 * (x[i] - math.Round(x[i]))
			}
			return x
		}, "from the nearest training row"},
		{"the start is not reached", normal, StartLaw, func(e *Evidence, x []float64) []float64 {
			e.Start = &Start{Prior: "uniform", Paths: 1000, PValue: 0.001, Apart: 0.1}
			for i := range x {
				x[i] = 1.4*x[i] + 0.5
			}
			return x
		}, "generation starts where forward paths do not end"},
		{"chains have not mixed", normal, Chains, func(e *Evidence, x []float64) []float64 {
			e.Chains = "R̂ 1.2"
			return x
		}, "R̂ 1.2"},
		{"a third is lost", normal, Failed, func(e *Evidence, x []float64) []float64 {
			e.Asked, e.Failed, e.Wrong = 3000, 1000, 20
			return x
		}, "1\u202f000 of 3\u202f000 samples are lost to a projection, 20 of them to a wrong component"},
		{"the set is left", normal, Violation, func(e *Evidence, x []float64) []float64 {
			e.Violation = "off"
			return x
		}, "off"},
	} {
		whole := t
		t.Run(c.name, func(t *testing.T) {
			n, m, of := 2000, 400, 1600
			if c.want == Blur {
				n, m, of = 4000, 800, 3200 // of many modes
			}
			hits, seeds := 0, 1
			if testkit.Longest() {
				seeds = 3
			}
			for seed := range uint64(seeds) {
				train, held := c.law.draw(of, seed, 2), c.law.draw(m, seed, 1)
				e := Evidence{Train: train, Start: &Start{Prior: "empirical"}}
				x := c.plant(&e, c.law.draw(n, seed, 0))
				wall := math.Inf(-1)
				if c.want == Walls {
					wall = 0
				}
				full := evidence(x, held, train, c.law.d, 400, seed, wall)
				full.Start, full.Chains, full.Violation = e.Start, e.Chains, e.Violation
				if e.Failed > 0 {
					full.Asked, full.Failed, full.Wrong = e.Asked, e.Failed, e.Wrong
				}
				if c.want == AnotherLaw {
					full.Numbers = nil
				}
				v := Of(full)
				if seed == 0 {
					v = judged(whole, full)
				}
				if v.Grade == Good {
					t.Errorf("seed %d: good", seed)
					continue
				}
				f := v.Findings[0]
				if c.want == Blur { // the edges of wider modes are stray too
					f = v.Findings[len(v.Findings)-1]
				}
				close := math.Abs(float64(f.Effect-f.Threshold)) < 0.2*float64(f.Threshold) // either severity is right
				if f.Code == c.want && (close || (f.Severity == Fault) == slices.Contains(faults, f.Code)) &&
					strings.Contains(f.Says, c.says) {
					hits++
				} else {
					t.Logf("seed %d", seed)
					for _, f := range v.Findings {
						t.Logf("  %s %.3f %s", f.Code, float64(f.Effect), f.Says)
					}
				}
			}
			if hits < seeds {
				t.Errorf("%q comes first with %d of %d seeds", c.want, hits, seeds)
			}
		})
	}
}

// Levels add up to what is promised; every code is one of All, once.
func TestLevels(t *testing.T) {
	sum := 0.0
	for code, level := range levels {
		sum += level
		if order(code) < 0 {
			t.Errorf("%s is not one of the codes", code)
		}
	}
	testkit.Near(t, sum, Alarm, 1e-12, "levels add up")
	if all := All(); len(all) != 18 || len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("codes %v", all)
	}
}

// Of few rows a verdict says from which distance on it sees another law: there Kolmogorov's test has its level.
func TestVisible(t *testing.T) {
	v := visible(1e-3, 400, 100)
	testkit.Near(t, v, 1.9495*math.Sqrt(1./400+1./100), 1e-4)
	x, h := make([]float64, 400), make([]float64, 100)
	for i := range x {
		x[i] = float64(i) / 400
	}
	for i := range h {
		h[i] = float64(i)/100 + v
	}
	if D, p := metric.KolmogorovTest(x, h); math.Abs(D-v) > 0.011 || p < 4e-4 || p > 2e-3 {
		t.Errorf("distance %v, p %v; expected about %v and 0.001", D, p, v)
	}
	l := laws[0]
	for m, want := range map[int]bool{60: true, 600: false} {
		e := evidence(l.draw(2*m, 1, 0), l.draw(m, 1, 1), l.draw(4*m, 1, 2), 2, 50, 1, 0)
		got := slices.ContainsFunc(Of(e).Skipped, func(s Skip) bool {
			return s.Code == Observables && strings.Contains(s.Why, "apart are not seen")
		})
		testkit.Equal(t, got, want, "%d held-out rows: told", m)
	}
}

// What cannot be judged is not good, and says why.
func TestNotJudged(t *testing.T) {
	l := laws[0]
	none := evidence(l.draw(100, 1, 0), l.draw(50, 1, 1), l.draw(80, 1, 2), 2, 50, 1, 0)
	none.Samples, none.SampleNearest, none.Numbers, none.Walls = nil, nil, nil, nil
	none.Energy, none.Asked, none.Failed = metric.NoTest(), 100, 100
	broken := evidence(l.draw(100, 1, 0), l.draw(50, 1, 1), l.draw(80, 1, 2), 2, 50, 1, 0)
	broken.Samples[0] = math.NaN()
	broken.Energy = metric.EnergyTest(broken.Samples, broken.Rows, 2, 50, 999, 1)
	const undecided = "not decided: nothing is seen to be wrong, and too little could be seen to call it good"
	for name, c := range map[string]struct {
		e     Evidence
		why   string
		said  string
		codes int
	}{
		"few rows": {evidence(l.draw(100, 1, 0), l.draw(4, 1, 1), l.draw(15, 1, 2), 2, 50, 1, 0),
			"there are 19 rows; expected at least 20", undecided, 8},
		"few held out": {evidence(l.draw(1000, 1, 0), l.draw(FewestHeld-1, 1, 1), l.draw(180, 1, 2), 2, 50, 1, 0),
			"19 rows are held out; expected at least 20", undecided, 3},
		"none":   {none, "no sample is left", "not good: one thing is wrong", 8},
		"broken": {broken, "samples are not finite", "not good: one thing is wrong", 8},
	} {
		v := Of(c.e)
		if v.Title() != c.said || !slices.Contains(v.Skipped, Skip{Copies, c.why, true}) {
			t.Errorf("%s: %+v", name, v)
		}
		if g := v.Grouped(); len(g) == 0 || !strings.HasSuffix(g[0], ": "+c.why) ||
			strings.Count(g[0], ", ") != c.codes-1 {
			t.Errorf("%s: %q", name, g)
		}
	}
	// So few rows or samples that laws a quarter apart look alike are not enough to call them good.
	for _, c := range []struct {
		samples, rows int
		why           string // empty: enough
	}{
		{500, 500, ""}, {90, 200, "apart are not seen, with far more samples (-n) 0."}, {2000, 1000, ""},
		{100, 100, "with 100 rows and 100 samples distribution functions less than 0.2"},
	} {
		v := judged(t, evidence(l.draw(c.samples, 1, 0), l.draw(c.rows/5, 1, 1), l.draw(c.rows-c.rows/5, 1, 2), 2,
			100, 1, 0))
		skipped := slices.IndexFunc(v.Skipped, func(s Skip) bool { return s.Code == AnotherLaw })
		if len(v.Findings) > 0 || (v.Grade == Good) != (c.why == "") || (v.Grade == NotDecided) != (skipped >= 0) ||
			skipped >= 0 && !strings.Contains(v.Skipped[skipped].Why, c.why) {
			t.Errorf("%d samples, %d rows: %+v", c.samples, c.rows, v)
		}
	}
	// Rows that are all alike, to round-off, have neither a spread nor a floor to count in.
	alike := evidence(l.draw(100, 1, 0), l.draw(50, 1, 1), l.draw(80, 1, 2), 2, 50, 1, 0)
	for i := range alike.Held {
		alike.Held[i] = 0.3 * (1 + 1e-16*float64(i%3))
	}
	for i := range alike.Train {
		alike.Train[i] = 0.3
	}
	for i := range alike.Samples[:120] { // or no row would be left for the spread to be of
		alike.Samples[i] = 0.3
	}
	alike.Rows = slices.Concat(alike.Train, alike.Held)
	alike.Numbers = []Number{{Name: "x", Samples: metric.Column(alike.Samples, 0, 2),
		Rows: metric.Column(alike.Rows, 0, 2), Times: math.Inf(1)}}
	for _, f := range judged(t, alike).Findings {
		if strings.Contains(f.Says, "Inf") || strings.Contains(f.Says, "e+") ||
			f.Code == Spread && !strings.Contains(f.Says, "rows are all the same") &&
				!strings.Contains(f.Says, "rows do not differ along") {
			t.Errorf("%s says %s", f.Code, f.Says)
		}
	}
	if !Of(alike).Has(Spread) {
		t.Errorf("%+v", Of(alike))
	}
	unseen := evidence(l.draw(100, 1, 0), l.draw(50, 1, 1), l.draw(80, 1, 2), 2, 50, 1, 0)
	if unseen.Start = nil; judged(t, unseen).Skipped[0].Code != MissedMode || !slices.ContainsFunc(Of(unseen).Skipped,
		func(s Skip) bool { return s.Code == StartLaw }) {
		t.Errorf("%+v", Of(unseen))
	}
}

// All rows detect a model that is off by more than held-out rows show. 10 verdicts compare 1000 samples with 200 rows
// of another law, 40 of them held out. By all rows nearly all verdicts are not good; by held-out rows alone most were
// good. Held-out rows alone detect a model that memorised its rows.
func TestAllRows(t *testing.T) {
	const times, rows, n = 10, 200, 1000
	two := law{"", 2, func(x, z, u []float64) {
		x[0], x[1] = 2+0.5*z[0], z[1]
		if u[0] < 0.5 {
			x[0] -= 4
		}
	}}
	for _, c := range []struct {
		name            string
		plant           func(x, train []float64)
		atLeast, atMost int  // not good of times, by all rows and by held-out ones
		want            Code // first, of all; empty: any
	}{
		{"shares of 66:34 for 50:50", func(x, train []float64) {
			for i := 0; i < len(x); i += 2 {
				if x[i] < 0 && i%6 == 0 {
					x[i] += 4
				}
			}
		}, 4, 3, ""},
		{"modes 1.8 times as wide", func(x, train []float64) {
			for i := 0; i < len(x); i += 2 {
				x[i] += 0.8 * (x[i] - math.Copysign(2, x[i]))
				x[i+1] *= 1.2
			}
		}, 4, times, ""},
		{"by heart", func(x, train []float64) {
			for i := range x {
				x[i] = train[i%len(train)] + 0.02*math.Sin(float64(i*i))
			}
		}, times, times, Copies},
	} {
		all, few := 0, 0
		for seed := range uint64(times) {
			train, held := two.draw(rows*4/5, seed, 2), two.draw(rows/5, seed, 1)
			x := two.draw(n, seed, 0)
			c.plant(x, train)
			e := evidence(x, held, train, 2, 200, seed, math.Inf(-1))
			v := judged(t, e)
			if len(v.Findings) > 0 && (c.want == "" || v.Findings[0].Code == c.want) {
				all++
			}
			e.Rows, e.Energy = held, metric.EnergyTest(x, held, 2, 200, 999, seed)
			for k := range e.Numbers {
				e.Numbers[k].Rows = metric.Column(held, k, 2)
			}
			if len(judged(t, e).Findings) > 0 {
				few++
			}
		}
		t.Logf("%s: %d by all rows, %d by held-out ones, of %d", c.name, all, few, times)
		if all < c.atLeast || few > c.atMost {
			t.Errorf("%s: not good are %d by all rows and %d by held-out ones; expected at least %d and at most %d",
				c.name, all, few, c.atLeast, c.atMost)
		}
	}
}

// Principal directions are of samples and rows together: of the rows' own, few in many coordinates, samples of their
// law would nearly always be too close together (the first eigenvalue of 60 rows in R²⁰ is 2.3 in the mean, not 1).
// At the test's level an alarm in 10 has a chance of 0.01.
func TestSpreadOfFewRows(t *testing.T) {
	wide := law{"", 4, func(x, z, _ []float64) { copy(x, z) }}
	const d = 20
	for seed := range uint64(10) {
		x := wide.draw(60*d/4, seed, 0)
		rows := wide.draw(60*d/4, seed, 1)
		j := &judge{Evidence: Evidence{Samples: x, Rows: rows, Dim: d, Seed: seed}, outX: make([]bool, 60),
			outR: make([]bool, 60)}
		if j.spread(); len(j.found) > 0 {
			t.Errorf("seed %d: %+v", seed, j.found)
		}
	}
}

// Rows that are rounded lie beside a plane on which samples lie: they are further apart across it by as much as they
// are off, and no samples are too close together for that.
func TestSpreadOfRowsBeside(t *testing.T) {
	flat := law{"", 3, func(x, z, _ []float64) { x[0], x[1], x[2] = z[0], z[1], 0 }}
	x, rows := flat.draw(1200, 1, 0), flat.draw(1200, 1, 1)
	for i := 2; i < len(rows); i += 3 {
		rows[i] = 0.01 * rows[i-2] * rows[i-1]
	}
	for _, off := range []float64{0, 0.01} {
		j := &judge{Evidence: Evidence{Samples: x, Rows: rows, Dim: 3, Off: off}, outX: make([]bool, len(x)/3),
			outR: make([]bool, len(rows)/3)}
		if j.spread(); len(j.found) > 0 != (off == 0) {
			t.Errorf("rows off by %g: %+v", off, j.found)
		}
	}
}

// Rows of a missed region are set aside with it: the other points have the law of the other rows, and give no further
// finding.
func TestMissedRowsAside(t *testing.T) {
	two := law{"", 2, func(x, z, u []float64) {
		x[0], x[1] = z[0], z[1]
		if u[0] < 0.2 {
			x[0] += 40
		}
	}}
	x := two.draw(1000, 1, 0)
	for i := 0; i < len(x); i += 2 {
		if x[i] > 20 {
			x[i] -= 40
		}
	}
	v := judged(t, evidence(x, two.draw(200, 1, 1), two.draw(800, 1, 2), 2, 200, 1, math.Inf(-1)))
	for i, f := range v.Findings {
		if (f.Code == MissedMode) != (i == 0) || i > 0 && f.Effect > 0.02 || f.Code == Spread {
			t.Errorf("%d: %s %.3f %s", i, f.Code, float64(f.Effect), f.Says)
		}
	}
	if !v.Has(MissedMode) || math.Abs(float64(v.Findings[0].Effect)-0.2) > 0.05 {
		t.Errorf("%+v", v.Findings)
	}
}

// Each of several tests has its part of the level: a fault of one region, or of one observable, may be found if it is
// the only one, but not among many.
func TestPartsOfLevels(t *testing.T) {
	const clusters, each, few = 24, 32, 12 // the chance of 12 rows of 748 where no sample of 736 lies is about 2⁻¹²
	e := Evidence{Dim: 1, Seed: 1}
	for k := range clusters {
		for i := range each {
			at := 100*float64(k) + 1e-3*float64(i)
			if k > 0 {
				e.Samples = append(e.Samples, at)
			}
			if k > 0 || i < few {
				e.Rows = append(e.Rows, at)
			}
		}
	}
	p := metric.FisherTest(0, len(e.Samples), few, len(e.Rows))
	if p > Level(MissedMode) || p < Level(MissedMode)/clusters {
		t.Fatalf("p = %v", p)
	}
	j := &judge{Evidence: e, outX: make([]bool, len(e.Samples)), outR: make([]bool, len(e.Rows))}
	if j.modes(); len(j.found) > 0 {
		t.Errorf("%+v", j.found)
	}
	x, h := make([]float64, 400), make([]float64, 100)
	for i := range x {
		x[i] = float64(i) / 400
	}
	for i := range h {
		h[i] = float64(i)/100 + visible(Level(Observables)/3, 400, 100)
	}
	off := Number{Name: "off", Samples: x, Rows: h}
	if v := (Verdict{}).WithNumbers([]Number{off}); !v.Has(Observables) {
		t.Errorf("one: %+v", v)
	}
	for close, found := range map[float64]bool{0.01: true, 0.2: false} { // as far as matters, or less
		off.Close = close
		if v := (Verdict{}).WithNumbers([]Number{off}); v.Has(Observables) != found {
			t.Errorf("close is %v: %+v", close, v)
		}
	}
	off.Close = 0
	var many []Number
	for range 10 {
		many = append(many, off)
	}
	if v := (Verdict{}).WithNumbers(many); v.Has(Observables) {
		t.Errorf("ten: %+v", v)
	}
}

// Of very many rows as many numbers are looked at as rows, each of the same row.
func TestThinned(t *testing.T) {
	const n = 3*mostRows + 7
	j := &judge{Evidence: Evidence{Dim: 2, Rows: make([]float64, 2*n), Numbers: []Number{{Rows: make([]float64, n)},
		{Rows: []float64{1}}}}}
	for i := range n {
		j.Rows[2*i+1], j.Numbers[0].Rows[i] = float64(i), float64(i)
	}
	given := j.Numbers
	j.thin()
	if len(j.Rows) != 2*mostRows || len(j.Numbers[0].Rows) != mostRows || len(j.Numbers[1].Rows) != 1 ||
		len(given[0].Rows) != n {
		t.Fatalf("%d, %d, %d, %d", len(j.Rows), len(j.Numbers[0].Rows), len(j.Numbers[1].Rows), len(given[0].Rows))
	}
	for i := range mostRows {
		if j.Rows[2*i+1] != j.Numbers[0].Rows[i] {
			t.Fatalf("row %d is %v, its number of row %v", i, j.Rows[2*i+1], j.Numbers[0].Rows[i])
		}
	}
	if last := j.Numbers[0].Rows[mostRows-1]; last < n-4 {
		t.Errorf("the last is %v of %d", last, n)
	}
}

// The verdict reports a training that ended early where the law is off, and not where it is good. The trend of
// distances is Mann's: of six that fall all 15 pairs agree, z = 14/√28.33 = 2.63, p = 0.0043.
func TestCourse(t *testing.T) {
	falling := []float64{9, 9, 9, 9, 9, 9, 6, 5, 4, 3, 2, 1}
	fall, p := (&Course{Distances: falling}).Trend()
	if math.Abs(fall-(1-3.0/11)) > 1e-12 || math.Abs(p-0.0043) > 1e-4 {
		t.Errorf("fall %v, p = %v", fall, p)
	}
	if fall, _ := (&Course{Distances: falling[2:]}).Trend(); !math.IsNaN(fall) {
		t.Errorf("of five: %v", fall)
	}
	l := laws[0]
	for _, c := range []struct {
		course Course
		says   string // empty: nothing
		skips  bool
	}{
		{Course{Epochs: 100, Planned: 100, Rate: 0.02, Highest: 1}, "", false},
		{Course{Epochs: 100, Planned: 100, Rate: 0.2, Highest: 1}, "the learning rate was not brought down", false},
		{Course{Epochs: 20, Planned: 20, Rate: 0.125, Highest: 1}, "", false}, // the last of 8 epochs of a fall
		{Course{Epochs: 50, Planned: 100, Rate: 0, Highest: 1}, "stopped after 50 of 100 epochs", false},
		{Course{Epochs: 100, Rate: 0, Highest: 1, Distances: falling}, "still fell, by 73 %", false},
		{Course{Epochs: 50, Rate: 1, Highest: 1, Distances: falling, Chosen: true}, "", false},
		{Course{Epochs: 50, Rate: 1, Highest: 1, Chosen: true, Open: true}, "stopped after 50 epochs, before held-out",
			false},
		{Course{}, "", true},
	} {
		e := evidence(l.draw(400, 1, 0), l.draw(100, 1, 1), l.draw(400, 1, 2), 2, 100, 1, math.Inf(-1))
		e.Course = &c.course
		if v := judged(t, e); len(v.Findings) > 0 {
			t.Fatalf("a good law: %+v", v)
		}
		for i := range e.Samples {
			e.Samples[i] = 2*e.Samples[i] + 1
		}
		e.Energy = metric.EnergyTest(e.Samples, e.Rows, 2, 100, 999, 1)
		v := judged(t, e)
		at := slices.IndexFunc(v.Findings, func(f Finding) bool { return f.Code == TooShort })
		skipped := slices.ContainsFunc(v.Skipped, func(s Skip) bool { return s.Code == TooShort })
		if (at >= 0) != (c.says != "") || skipped != c.skips ||
			at >= 0 && !strings.Contains(v.Findings[at].Says, c.says) {
			t.Errorf("%+v: %+v", c.course, v)
		}
	}
}

// Other observables take the place of a verdict's own.
func TestWithNumbers(t *testing.T) {
	l := laws[0]
	e := evidence(l.draw(400, 1, 0), l.draw(100, 1, 1), l.draw(400, 1, 2), 2, 100, 1, math.Inf(-1))
	v := judged(t, e)
	if v.Grade != Good {
		t.Fatalf("%+v", v)
	}
	off := slices.Clone(e.Numbers[0].Samples)
	for i := range off {
		off[i] += 1
	}
	own := e.Numbers[0]
	bad := v.WithNumbers([]Number{own, {Name: "moved", Samples: off, Rows: own.Rows, Times: 2.5}})
	if told := bad.String(); bad.Grade != NotGood || len(bad.Findings) != 1 || bad.Findings[0].Code != Observables ||
		!strings.Contains(told, `"moved" has another law`) || !strings.Contains(told, "2.5 × their floor") {
		t.Errorf("%+v", bad)
	}
	if again := bad.WithNumbers(e.Numbers); again.Grade != Good || again.String() != "good" {
		t.Errorf("%+v", again)
	}
}

// Where most held-out rows repeat training rows, samples of a density lie further from them however
// good they are: that is not judged, and not called blur. With rows that are new it is.
func TestBlurOfRepeatedRows(t *testing.T) {
	normal := laws[0]
	train := normal.draw(500, 1, 0)
	held, x := slices.Clone(train[:2*200]), normal.draw(1000, 1, 1)
	v := judged(t, evidence(x, held, train, 2, 300, 1, -10))
	repeats := func(v Verdict) bool {
		return slices.ContainsFunc(v.Skipped, func(s Skip) bool {
			return s.Code == Blur && strings.Contains(s.Why, "repeat")
		})
	}
	if v.Has(Blur) || !repeats(v) {
		t.Errorf("repeated rows: %+v, %+v", v.Findings, v.Skipped)
	}
	for i := range x {
		x[i] *= 1.5
	}
	if v = judged(t, evidence(x, normal.draw(200, 1, 2), train, 2, 300, 1, -10)); repeats(v) {
		t.Errorf("new rows: %+v", v.Skipped)
	}
}

// Rows that come in swarms, as aftershocks do, are not independent draws. Copies of them that are smeared by more than
// swarms are wide are not called blurred, in any order of the rows, and no grade is worse than usable.
func TestSwarms(t *testing.T) {
	const swarms, each = 40, 30
	law := law{"", 2, func(x, z, _ []float64) { copy(x, z) }}
	for _, ordered := range []bool{true, false} {
		blurred, bad := 0, 0
		for seed := range uint64(5) {
			var rows, held, train []float64
			at, off := law.draw(swarms, seed, 0), law.draw(swarms*each, seed, 1)
			for i := range swarms * each {
				if !ordered {
					i = i * 331 % (swarms * each)
				}
				k, width := i/each, 0.002*float64(1+i/each%7)
				if i%3 == 0 { // no aftershock
					width = 1
				}
				rows = append(rows, at[2*k]+width*off[2*i], at[2*k+1]+width*off[2*i+1])
			}
			for i := 0; i < len(rows); i += 2 {
				to := &train
				if i%5 == 0 {
					to = &held
				}
				*to = append(*to, rows[i:i+2]...)
			}
			x := law.draw(swarms*each, seed, 2)
			for i := range x {
				x[i] = rows[i] + 0.013*x[i]
			}
			e := evidence(x, held, train, 2, 300, seed, -10)
			e.Rows, e.Numbers = rows, nil
			v := judged(t, e)
			if v.Has(Blur) {
				blurred++
			}
			if v.Grade == NotGood {
				bad++
				t.Log(v)
			}
		}
		if bad > 0 || blurred > 1 {
			t.Errorf("in order: %v; %d of 5 are called blurred and %d not good", ordered, blurred, bad)
		}
	}
}

// What a kind of data finds is a finding, with the share of samples that it says.
func TestKindOfData(t *testing.T) {
	l := laws[0]
	e := evidence(l.draw(400, 1, 0), l.draw(100, 1, 1), l.draw(400, 1, 2), 2, 100, 1, math.Inf(-1))
	e.Kind = []KindFault{{"motions touch", 0.25}}
	if v := judged(t, e); v.Grade != NotGood || len(v.Findings) != 1 || v.Findings[0].Code != KindOfData ||
		v.Findings[0].Effect != 0.25 || v.Findings[0].Says != "motions touch" {
		t.Errorf("%+v", v)
	}
}

// A law that differs along no direction has no effect of 0: it is a remark in words, which points to the findings that
// say where samples differ.
func TestNoDirection(t *testing.T) {
	x := (law{"", 2, func(x, z, _ []float64) { copy(x, z) }}).draw(500, 1, 0)
	e := Evidence{Samples: x, Rows: x, Dim: 2, Energy: metric.TwoSample{Statistic: 9, PValue: 0.001,
		Floor: metric.Floor{Mean: 1, SD: 1}}}
	j := &judge{Evidence: e, outX: make([]bool, 500), outR: make([]bool, 500)}
	if j.anotherLaw(); len(j.found) != 1 || j.found[0].Size() != "" || !j.found[0].Effect.IsNaN() ||
		j.found[0].Severity != Remark || !strings.HasSuffix(j.found[0].Says, "no single direction shows it") {
		t.Errorf("%+v", j.found)
	}
	j.found = []Finding{{Code: Stray}}
	if j.anotherLaw(); len(j.found) != 2 || !strings.HasSuffix(j.found[1].Says, "the other findings say where") {
		t.Errorf("beside another finding: %+v", j.found)
	}
}

// WithNumbers returns the verdict with these observables instead of its own.
func (v Verdict) WithNumbers(numbers []Number) Verdict {
	j := &judge{Evidence: Evidence{Numbers: numbers}}
	for _, f := range v.Findings {
		switch f.Code {
		case Stray, MissedMode, Walls, Spread, Planes: // what these say of the law
			j.law += float64(f.Effect)
		}
	}
	j.observables()
	out := v.With(Observables, j.found...)
	return build(out.Findings, append(out.Skipped, j.skipped...))
}

// With returns the verdict with the findings of a code replaced by others.
func (v Verdict) With(c Code, f ...Finding) Verdict {
	other := slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return f.Code == c })
	skipped := slices.DeleteFunc(slices.Clone(v.Skipped), func(s Skip) bool { return s.Code == c })
	return build(append(other, f...), skipped)
}
