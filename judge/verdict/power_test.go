package verdict

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A process draws rows, which may depend on each other, in random order.
type process struct {
	name string
	d    int
	rows func(n int, st keyed.Stream) []float64
}

// clusters draws up to most rows around each of the places that a normal law has, step apart in one direction after the
// other: each from its place, or from the one before it.
func clusters(name string, d, most int, step float64, walk bool) process {
	return process{name, d, func(n int, st keyed.Stream) []float64 {
		x, place, z := make([]float64, 0, n*d), make([]float64, d), make([]float64, d)
		for c := uint64(0); len(x) < n*d; c++ {
			st.Normals(place, c, 0)
			for i := range 1 + st.Index(most, c, 1) {
				st.Normals(z, c, i+2)
				for k := range z {
					if z[k] = place[k] + step*z[k]; walk {
						place[k] = z[k]
					}
				}
				x = append(x, z...)
			}
		}
		return shuffled(x[:n*d], d, uint64(st.Index(1<<30, 0, 1)))
	}}
}

func rounded(d int) process {
	return process{fmt.Sprintf("rounded rows in R^%d", d), d, func(n int, st keyed.Stream) []float64 {
		x := make([]float64, n*d)
		st.Normals(x, 0, 0)
		for i, v := range x {
			x[i] = math.Round(10*v) / 10
		}
		return x
	}}
}

// wells are nine modes in the plane of the first two of eight numbers; rows come in runs, each in one mode, and the
// frames of a run follow each other.
func wells(run int) process {
	return process{"", 8, func(n int, st keyed.Stream) []float64 {
		x := make([]float64, 8*n)
		st.Normals(x, 0, 0)
		for i := range n {
			for k := range 2 {
				if i%run > 0 {
					x[8*i+k] = 0.8*(x[8*(i-1)+k]-well(st, i/run, k))/0.3 + 0.6*x[8*i+k]
				}
				x[8*i+k] = well(st, i/run, k) + 0.3*x[8*i+k]
			}
		}
		return x
	}}
}

func well(st keyed.Stream, run, k int) float64 { return 3 * float64(st.Index(3, uint64(run), 1+k)-1) }

var dependentRows = []process{
	clusters("swarms", 2, 19, 0.003, false), clusters("wide swarms", 3, 19, 0.05, false),
	clusters("repeated rows", 2, 5, 0, false), clusters("rows repeated within rounding", 5, 5, 1e-5, false),
	rounded(1), rounded(2), clusters("short walks", 3, 19, 0.005, true),
}

// walk is one trajectory in a normal law: each row has correlation ρ with the one before it.
func walk(d int, ρ float64) process {
	return process{fmt.Sprintf("frames of one trajectory, ρ = %g", ρ), d, func(n int, st keyed.Stream) []float64 {
		x := make([]float64, n*d)
		st.Normals(x, 0, 0)
		for i := d; i < len(x); i++ {
			x[i] = ρ*x[i-d] + math.Sqrt(1-ρ*ρ)*x[i]
		}
		return x
	}}
}

// framed are processes whose rows depend on those before them in the file; samples are independent.
var framed = []process{wells(10), walk(3, 0.8), walk(3, 0.95), walk(16, 0.9)}

// inOrder judges n independent samples against as many rows in their order, a fifth of them held out at random.
func inOrder(p process, n int, seed uint64) Verdict {
	rows := p.rows(n, keyed.New(seed, keyed.Probe, 2001))
	alone := walk(p.d, 0)
	if p.name == "" {
		alone = wells(1)
	}
	order := make([]int, n)
	keyed.New(seed, keyed.Probe, 2002).Permutation(order, 0, 0)
	var parts [2][]float64
	for side, at := range [][]int{order[:n/5], order[n/5:]} {
		for _, i := range at {
			parts[side] = append(parts[side], rows[i*p.d:(i+1)*p.d]...)
		}
	}
	e := evidence(alone.rows(n, keyed.New(seed, keyed.Probe, 2000)), parts[0], parts[1], p.d, 300, seed, math.Inf(-1))
	e.Rows = rows
	for k := range e.Numbers {
		e.Numbers[k].Rows = metric.Column(rows, k, p.d)
	}
	return Of(e)
}

// Frames of trajectories count as fewer rows: at most 2 % of verdicts are "not good". Of four verdicts two are too
// many, which has a chance of 0.2 % at 2 %.
func TestFrames(t *testing.T) {
	times := max(4, *verdicts/25)
	for _, p := range framed {
		grades, by := map[Grade]int{}, map[Code]int{}
		for seed := range uint64(times) {
			v := inOrder(p, 1000, seed)
			grades[v.Grade]++
			for _, f := range v.Findings {
				by[f.Code]++
			}
		}
		t.Logf("%s: %v, found %v", p.name, grades, by)
		if bad := grades[NotGood]; float64(bad) > 1+0.02*float64(times) {
			t.Errorf("%s: %d of %d verdicts are not good", p.name, bad, times)
		}
	}
}

// trial judges n samples against as many rows, a fifth of them held out.
func trial(p process, n int, seed uint64, plant func(x, u, train []float64)) Verdict {
	x, rows := p.rows(n, keyed.New(seed, keyed.Probe, 2000)), p.rows(n, keyed.New(seed, keyed.Probe, 2001))
	if plant != nil {
		u := make([]float64, n)
		keyed.New(seed, keyed.Probe, 2002).Uniforms(u, 0, 0)
		plant(x, u, rows[n/5*p.d:])
	}
	at := n / 5 * p.d
	return Of(evidence(x, rows[:at], rows[at:], p.d, 300, seed, math.Inf(-1)))
}

// Fresh rows by the same process are no fault, where rows depend on each other as where they do not: at most 2 % of
// verdicts are "not good". At 2 %, more than 4 + √n/3 of n have a chance below 1e-3 for the numbers here.
func TestDependentRows(t *testing.T) {
	times := *verdicts / 16
	if testkit.Longest() {
		times = 2 * *verdicts
	}
	for _, p := range dependentRows {
		t.Run(p.name, func(t *testing.T) {
			grades, by := map[Grade]int{}, map[Code]int{}
			for seed := range uint64(times) {
				v := trial(p, 1000, seed, nil)
				grades[v.Grade]++
				for _, f := range v.Findings {
					by[f.Code]++
				}
			}
			t.Logf("%v, found %v", grades, by)
			if bad := grades[NotGood]; float64(bad) > 1+0.02*float64(times)+math.Sqrt(float64(times))/3 {
				t.Errorf("%d of %d verdicts are not good", bad, times)
			}
		})
	}
}

// A share of samples between wells is found by four observables of eight numbers; where rows come in runs of ten
// frames, none is invented.
func TestPlanes(t *testing.T) {
	times := max(3, *verdicts/16)
	for _, c := range []struct {
		run, n int
		share  float64
		most   float64 // of verdicts that find it
		least  float64
		close  float64 // differences that do not matter
	}{{10, 1000, 0, 0.02, 0, 0}, {1, 300, 0.05, 1, 0, 0}, {1, 300, 0.1, 1, 0, 0}, {1, 300, 0.2, 1, 0.7, 0},
		{1, 1000, 0.05, 1, 0, 0}, {1, 1000, 0.1, 1, 0.7, 0}, {1, 1000, 0.2, 1, 1, 0}, {1, 1000, 0.2, 0, 0, 3}} {
		if c.most == 1 && c.least == 0 && !testkit.Longest() {
			continue // a share for the table of the history alone
		}
		found, faults := 0, 0
		for seed := range uint64(times) {
			x := wells(1).rows(c.n, keyed.New(seed, keyed.Probe, 2000))
			rows := wells(c.run).rows(1000, keyed.New(seed, keyed.Probe, 2001))
			for i := range int(c.share * float64(c.n)) {
				x[8*i+i%2] = 6*math.Mod(float64(i)*0.618, 1) - 3
			}
			e := evidence(x, rows[:1600], rows[1600:], 8, 300, seed, math.Inf(-1))
			e.Numbers = e.Numbers[:4]
			for i := range e.Numbers {
				e.Numbers[i].Close = c.close
			}
			if v := Of(e); v.Has(Planes) {
				if found++; v.Grade == NotGood {
					faults++
				}
			}
		}
		t.Logf("%+v: found in %d of %d, not good %d", c, found, times, faults)
		if n := float64(times); float64(found) > 1+c.most*n || float64(found) < c.least*n-1 {
			t.Errorf("%+v: found in %d of %d", c, found, times)
		}
	}
}

// The planted faults that the verdict finds for given numbers of rows and samples, and the fault of too few rows.
func TestPower(t *testing.T) {
	normal := process{"", 3, func(n int, st keyed.Stream) []float64 {
		x := make([]float64, 3*n)
		st.Normals(x, 0, 0)
		return x
	}}
	sheet := process{"", 3, func(n int, st keyed.Stream) []float64 { // the upper sheet of a cone, down to its apex
		x := make([]float64, 3*n)
		st.Normals(x, 0, 0)
		for i := 0; i < len(x); i += 3 {
			x[i+2] = math.Hypot(x[i], x[i+1])
		}
		return x
	}}
	plane := process{"", 8, func(n int, st keyed.Stream) []float64 { // 0.3 Σ x is the last number
		x := make([]float64, 8*n)
		st.Normals(x, 0, 0)
		for i := 7; i < len(x); i += 8 {
			x[i] = 0
			for k := 1; k < 8; k++ {
				x[i] += 0.3 * x[i-k]
			}
		}
		return x
	}}
	modes := process{"", 3, func(n int, st keyed.Stream) []float64 { // ten narrow ones
		x := normal.rows(n, st)
		for i := range x {
			x[i] = 0.05*x[i] + math.Sin(float64((i/3*7%10)*(i%3+1)))
		}
		return x
	}}
	each := func(d int, share float64, put func(row []float64)) func(x, u, _ []float64) {
		return func(x, u, _ []float64) {
			for i, v := range u {
				if v < share {
					put(x[i*d : (i+1)*d])
				}
			}
		}
	}
	away := func(row []float64) { row[0], row[1], row[2] = 5+row[0]/4, row[1]/4, row[2]/4 }
	with := func(share float64) process { // a mode of this share
		return process{"", 3, func(n int, st keyed.Stream) []float64 {
			x, u := normal.rows(n, st), make([]float64, n)
			st.Uniforms(u, 1, 1)
			each(3, share, away)(x, u, nil)
			return x
		}}
	}
	between := func(row []float64) { // wells
		k := int(math.Float64bits(row[7]) % 2)
		row[k] = 6*math.Mod(1000*math.Abs(row[6]), 1) - 3
	}
	alone := wells(1)
	back := func(row []float64) {
		if row[0] > 3.5 {
			row[0], row[1], row[2] = 4*(row[0]-5), 4*row[1], 4*row[2]
		}
	}
	below := func(row []float64) { row[2] *= -1 }
	scaled := func(by float64) func(row []float64) {
		return func(row []float64) { row[0], row[1], row[2] = by*row[0], by*row[1], by*row[2] }
	}
	moved := func(by float64) func(row []float64) { return func(row []float64) { row[0] += by } }
	for _, c := range []struct {
		name    string
		law     process
		n       int
		plant   func(x, u, train []float64)
		grade   Grade
		atLeast float64 // share of the verdicts
	}{
		{"nothing, of 10 rows", normal, 10, nil, NotDecided, 1},
		{"nothing, of 100 rows", normal, 100, nil, NotDecided, 0.95},
		{"nothing, of 1000 rows", normal, 1000, nil, Good, 0.9},
		{"nothing, of 3000 rows", normal, 3000, nil, Good, 0.9},
		{"5 % invented", normal, 1000, each(3, 0.05, away), NotGood, 0},
		{"10 % invented", normal, 1000, each(3, 0.1, away), NotGood, 0.95},
		{"13 % on the other sheet", sheet, 1000, each(3, 0.13, below), NotGood, 0.95},
		{"10 % between wells", alone, 1000, each(8, 0.1, between), Usable, 0},
		{"20 % between wells", alone, 1000, each(8, 0.2, between), NotGood, 0.95},
		{"20 % between wells, of 300 rows", alone, 300, each(8, 0.2, between), NotGood, 0},
		{"5 % missed", with(0.05), 1000, each(3, 1, back), NotGood, 0},
		{"10 % missed", with(0.1), 1000, each(3, 1, back), NotGood, 0.95},
		{"a plane missed by 0.18", plane, 1000, each(8, 1, func(row []float64) { row[7] += 0.18 }), NotGood, 0.95},
		{"a tenth copied", normal, 1000, func(x, u, train []float64) {
			for i, v := range u {
				if v < 0.1 {
					copy(x[3*i:3*i+3], train[i%800*3:])
				}
			}
		}, NotGood, 0.95},
		{"modes 1.5 times as wide", modes, 1000, func(x, u, _ []float64) {
			for i := range x {
				x[i] += 0.5 * (x[i] - math.Sin(float64((i/3*7%10)*(i%3+1))))
			}
		}, Usable, 0},
		{"modes 3 times as wide", modes, 1000, func(x, u, _ []float64) {
			for i := range x {
				x[i] += 2 * (x[i] - math.Sin(float64((i/3*7%10)*(i%3+1))))
			}
		}, NotGood, 0},
		{"shift by 0.25 sd", normal, 1000, each(3, 1, moved(0.25)), NotGood, 0},
		{"shift by 0.5 sd", normal, 1000, each(3, 1, moved(0.5)), NotGood, 0.95},
		{"spread × 1.25", normal, 1000, each(3, 1, scaled(1.25)), NotGood, 0},
		{"spread × 1.5", normal, 1000, each(3, 1, scaled(1.5)), NotGood, 0.95},
	} {
		t.Run(c.name, func(t *testing.T) {
			times := max(2, *verdicts/25)
			switch {
			case testkit.Longest():
				times = 2 * *verdicts
			case c.atLeast == 0:
				t.Skip("a share for the table of the history alone: LANDING_LONG=all")
			}
			grades, found, says := map[Grade]int{}, 0, ""
			for seed := range uint64(times) {
				v := trial(c.law, c.n, seed, c.plant)
				if grades[v.Grade]++; len(v.Findings) > 0 {
					found++
				}
				says = v.String()
			}
			t.Logf("%v, found in %d of %d; the last: %s", grades, found, times, says)
			if float64(grades[c.grade]) < c.atLeast*float64(times)-1 {
				t.Errorf("%v; expected %q", grades, c.grade)
			}
		})
	}
}

// A conditional run is judged by its conditional law: not good where rows with near conditions are nearer to it, and
// not decided where no pair was looked at, or few.
func TestCondition(t *testing.T) {
	l := laws[0]
	e := evidence(l.draw(1000, 1, 0), l.draw(200, 1, 1), l.draw(800, 1, 2), 2, 300, 1, math.Inf(-1))
	near := func(p float64) *Retrieved { return &Retrieved{Rows: 80, Distance: 0.1, PValue: p} }
	for _, c := range []struct {
		pairs  int
		p      float64
		nearby *Retrieved
		grade  Grade
		codes  []Code
	}{
		{200, 0.5, near(0.01), Good, nil}, {200, 0.5, nil, Good, nil}, {50, 0.5, near(0.01), NotDecided, nil},
		{200, 0.5, near(0.0005), NotGood, []Code{Nearby}}, {50, 0.5, near(0.0005), NotGood, []Code{Nearby}},
		{0, math.NaN(), nil, NotDecided, nil}, {200, 0.001, near(0.01), Usable, []Code{Condition}},
	} {
		e.Given = &Given{Dim: 2, Nearby: c.nearby, Test: metric.TwoSample{Statistic: 0.25,
			PValue: metric.Float(c.p), N: c.pairs, M: c.pairs}}
		v := judged(t, e)
		var codes []Code
		for _, f := range v.Findings {
			codes = append(codes, f.Code)
		}
		if v.Grade != c.grade || !slices.Equal(codes, c.codes) || v.Has(Nearby) && v.Findings[0].Effect != 2.5 {
			t.Errorf("%+v: %s, %+v", c, v.Grade, v.Findings)
		}
	}
}
