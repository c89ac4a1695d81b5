package particles

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// gaussian is the exact score of data N(0, 1) in each coordinate, whose law at time t is N(0, 1 + t).
type gaussian struct{}

func (gaussian) Eval(dst, x, _ []float64, n int, t float64) {
	for i, v := range x {
		dst[i] = -2 * v / (1 + t)
	}
}

// wide is the law N(0, 1 + T) of x_N.
type wide float64

func (w wide) Sample(dst []float64, s keyed.Stream, sample uint64) {
	s.Normals(dst, sample, 0)
	for j := range dst {
		dst[j] *= float64(w)
	}
}

func set(t *testing.T, equality, inequality string) constraint.Set {
	t.Helper()
	spec := formula.Spec{Dim: 2}
	for i, e := range []string{equality, inequality} {
		if c := []formula.Component{{Name: e, Expr: e}}; e == "" {
			continue
		} else if i == 0 {
			spec.Equality = c
		} else {
			spec.Inequality = c
		}
	}
	return testkit.Must(formula.New(spec))
}

func options(cut *Cut, workers int, seed uint64) Options {
	p := &langevin.Process{Set: zoo.Euclidean{D: 2}, Method: langevin.OLLA, Schedule: langevin.Schedule{N: 60, T: 3,
		SigmaMin: 0.1, SigmaMax: 3, Geometric: true}}
	spread := p.Spread(p.Schedule.N)
	whole := constraint.Set(zoo.Euclidean{D: 2})
	if hard := cut.Hard(); hard != nil {
		whole = constraint.All(whole, hard)
	}
	return Options{Process: p, Cut: cut, Whole: whole, Pool: parallel.New(workers), Seed: seed,
		Scores: func(int) langevin.Score { return levels{p} },
		Begin: func(uint64, uint64, []bool) langevin.Prior {
			return wide(math.Sqrt(1 + spread*spread))
		}}
}

// levels is gaussian at the variance of each time of a process.
type levels struct{ p *langevin.Process }

func (l levels) Eval(dst, x, p []float64, n int, t float64) {
	s := l.p.Spread(int(math.Round(t / l.p.Schedule.Dt())))
	gaussian{}.Eval(dst, x, p, n, s*s)
}

// The laws of N(0, I) in the plane under a half-plane, an observation and a line are known. The tolerances are four
// standard errors of 2000 independent samples, twice as wide for what particles share, and the bias of 40 steps.
func TestKnownLaws(t *testing.T) {
	const n = 2000
	tail := math.Erfc(2/math.Sqrt2) / 2                 // P(x > 2)
	above := math.Exp(-2) / math.Sqrt(2*math.Pi) / tail // E[x | x > 2]
	for _, c := range []struct {
		name     string
		cut      *Cut
		mean, sd [2]float64
		share    float64
	}{
		{"half-plane", &Cut{Set: set(t, "", "x[0] >= 2")}, [2]float64{above, 0},
			[2]float64{math.Sqrt(1 + 2*above - above*above), 1}, math.Log(tail)},
		{"observation", &Cut{Set: set(t, "x[1] = 2", ""), SD: []float64{0.5}}, [2]float64{0, 1.6},
			[2]float64{1, math.Sqrt(0.2)}, math.Log(0.5/math.Sqrt(1.25)) - 2/1.25},
		{"line", &Cut{Set: set(t, "x[0] + x[1] = 2", "")}, [2]float64{1, 1},
			[2]float64{math.Sqrt(0.5), math.Sqrt(0.5)}, math.NaN()},
	} {
		x, r, err := Draw(t.Context(), options(c.cut, 2, 1), n)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		testkit.KeepValue(t, []any{c.name, r, x[:60]})
		for j := range 2 {
			sum, square := 0.0, 0.0
			for i := range n {
				sum, square = sum+x[2*i+j], square+x[2*i+j]*x[2*i+j]
			}
			mean := sum / n
			sd := math.Sqrt(square/n - mean*mean)
			se := 1 / math.Sqrt(r.Effective)
			if math.Abs(mean-c.mean[j]) > (4*se+0.04)*c.sd[j] || math.Abs(sd/c.sd[j]-1) > 3*se+0.05 {
				t.Errorf("%s: x[%d] is %.3f ± %.3f; expected %.3f ± %.3f (%+v)", c.name, j, mean, sd, c.mean[j],
					c.sd[j], r)
			}
		}
		if r.Effective < n/2 || math.Abs(r.LogShare-c.share) > 0.25 {
			t.Errorf("%s: ln share %.3f; expected %.3f; %+v", c.name, r.LogShare, c.share, r)
		}
		later := options(c.cut, 1, 1)
		later.First = 5
		few, some, err := Draw(t.Context(), later, 20)
		testkit.KeepValue(t, []any{some, few, fmt.Sprint(err)})
		again, _, _ := Draw(t.Context(), options(c.cut, 3, 1), n)
		if !slices.Equal(x, again) {
			t.Errorf("%s: three workers give other bytes than two", c.name)
		}
		for i := 0; i < 2*n && c.cut.SD == nil; i += 2 {
			v := constraint.Values(c.cut.Set, x[i:i+2])[0]
			if constraint.Excess(v, c.cut.Equal()) > tolerance {
				t.Fatalf("%s: a sample violates by %g", c.name, v)
			}
		}
	}
}

// flights is the best score of data N(0, 1) for ULLA: cx x + cq p̃ at each step, by covariances of paths.
type flights struct {
	p      *langevin.Process
	cx, cq []float64
	end    float64 // variance of x_N
}

func flying(p *langevin.Process) *flights {
	s := &flights{p: p}
	xx, xm, mm := 1., 0., 1. // of x_{k+1} and p_{k+1}
	for k := range p.Schedule.N {
		τ, back := p.Schedule.Tau(k), p.BackTau(k)
		a := p.Decay(τ)
		xm = a * xm
		xx, xm = xx+2*τ*xm+τ*τ*mm, xm+τ*mm
		xq, mq, qq := 0., 0., 1.
		if k+1 < p.Schedule.N {
			next := p.Schedule.Tau(k + 1)
			a, r := p.Decay(next), next/p.MomentumTau(k)
			xq, mq, qq = r*a*xm, r*a*mm, r*r
		}
		det := xx*qq - xq*xq
		s.cx = append(s.cx, τ/(back*back)*(xm*qq-mq*xq)/det)
		s.cq = append(s.cq, τ/(back*back)*(mq*xx-xm*xq)/det-p.Decay(back)/back)
	}
	s.end = xx
	return s
}

func (s *flights) Eval(dst, x, q []float64, _ int, t float64) {
	k := int(math.Round(t/s.p.Schedule.Dt())) - 1
	for i, v := range x {
		dst[i] = s.cx[k]*v + s.cq[k]*q[i]
	}
}

// Noise before the score is shifted, too. With a linear score the law of the run is N(0, s²), s² from plain samples.
// The tolerances are those of TestKnownLaws.
func TestKnownLawOfSplitNoise(t *testing.T) {
	const n, many = 2000, 40_000
	o := options(&Cut{Set: set(t, "", "x[0] >= 0")}, 2, 1)
	o.Process = &langevin.Process{Set: zoo.Euclidean{D: 2}, Method: langevin.ULLA, Friction: math.Sqrt(13), Split: true,
		Schedule: langevin.Schedule{N: 50, T: 1, SigmaMin: 0.165, SigmaMax: 3.3}}
	score := flying(o.Process)
	o.Scores = func(int) langevin.Score { return score }
	o.Begin = func(uint64, uint64, []bool) langevin.Prior { return wide(math.Sqrt(score.end)) }
	plain, square := make([]float64, 2*many), 0.0
	testkit.Must(langevin.NewSimulator(o.Process, o.Pool, 500).Backward(t.Context(), plain, make([]bool, many), 0, 9,
		o.Begin(0, 0, nil), o.Scores))
	for _, v := range plain {
		square += v * v / (2 * many)
	}
	s := math.Sqrt(square)
	o.Cut.Set = set(t, "", fmt.Sprintf("x[0] >= %v", 2*s))
	o.Whole = constraint.All(zoo.Euclidean{D: 2}, o.Cut.Hard())
	x, r, err := Draw(t.Context(), o, n)
	if err != nil {
		t.Fatal(err)
	}
	testkit.KeepValue(t, []any{r, x[:60]})
	tail := math.Erfc(2/math.Sqrt2) / 2
	above := math.Exp(-2) / math.Sqrt(2*math.Pi) / tail
	for j, want := range [][2]float64{{above, math.Sqrt(1 + 2*above - above*above)}, {0, 1}} {
		sum, square := 0.0, 0.0
		for i := range n {
			sum, square = sum+x[2*i+j]/s, square+x[2*i+j]*x[2*i+j]/(s*s)
		}
		mean := sum / n
		sd, se := math.Sqrt(square/n-mean*mean), 1/math.Sqrt(r.Effective)
		if math.Abs(mean-want[0]) > (4*se+0.04)*want[1] || math.Abs(sd/want[1]-1) > 3*se+0.05 {
			t.Errorf("x[%d] is %.3f ± %.3f; expected %.3f ± %.3f (%+v)", j, mean, sd, want[0], want[1], r)
		}
	}
	if math.Abs(s-1) > 0.1 || r.Effective < n/2 || math.Abs(r.LogShare-math.Log(tail)) > 0.1 {
		t.Errorf("s %.3f; ln share %.3f; expected %.3f; %+v", s, r.LogShare, math.Log(tail), r)
	}
}

// A level weighs points by 1/|∇k|, a surface does not: on a circle in polar weights the two differ.
func TestMeasures(t *testing.T) {
	const n = 2000
	// On the circle |∇k| is 2 exp(x₀/2), and N(0, I) is uniform: E cos a is 0, or −I₁(½)/I₀(½) by weights
	// exp(−½ cos a).
	hard := set(t, "(x[0]^2 + x[1]^2 - 1)*exp(x[0]/2) = 0", "")
	o := options(&Cut{Set: hard}, 1, 3)
	if plan, seen, _, err := guesses(t.Context(), &o, []*worker{newWorker(&o, o.Scores(0))}); err != nil ||
		seen[0].Width != plan[0][0].w {
		t.Errorf("the width %+v is not that of the guide (%v)", seen, err)
	}
	for _, c := range []struct {
		surface bool
		mean    float64
	}{{true, 0}, {false, -0.24250}} {
		x, r, err := Draw(t.Context(), options(&Cut{Set: hard, Surface: c.surface}, 2, 3), n)
		if err != nil {
			t.Fatal(err)
		}
		testkit.KeepValue(t, []any{r, x[:60]})
		sum := 0.0
		for i := range n {
			sum += x[2*i]
		}
		if mean := sum / n; math.Abs(mean-c.mean) > 4/math.Sqrt(r.Effective)+0.02 {
			t.Errorf("surface %v: mean %.3f; expected %.3f (%+v)", c.surface, mean, c.mean, r)
		}
	}
}

// What holds nowhere, everywhere, or in too few particles is refused with what was found.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		cut  *Cut
		kind fault.Kind
	}{
		{&Cut{Set: set(t, "x[0] - x[0] = 0", "")}, fault.Problem},
		{&Cut{Set: set(t, "x[0] - x[0] = 1", "")}, fault.Check},
		{&Cut{Set: set(t, "", "x[0] >= 60")}, fault.Check},
	} {
		_, _, err := Draw(t.Context(), options(c.cut, 2, 1), 100)
		if testkit.KeepValue(t, fmt.Sprint(err)); fault.Of(err).Kind != c.kind {
			t.Errorf("%v: %v; expected kind %s", constraint.Components(c.cut.Set), err, c.kind)
		}
	}
	late := options(&Cut{Set: set(t, "", "x[0] >= 0")}, 2, 1)
	late.First = 1 << 45
	if _, _, err := Draw(t.Context(), late, 1); fault.Of(err).Kind != fault.Usage {
		t.Errorf("numbers that wrap: %v", err)
	}
	x, r, err := Draw(t.Context(), options(&Cut{Set: set(t, "", "x[0] >= 5.5")}, 2, 1), 100)
	testkit.KeepValue(t, []any{r, x, fmt.Sprint(err)})
	if err != nil && fault.Of(err).Kind != fault.Check || err == nil && r.Effective < leastEffective && r.Low == "" {
		t.Errorf("%v with %+v", err, r)
	}
	for i := 0; i < len(x); i += 2 {
		if x[i] < 5.5 {
			t.Fatalf("a sample is at %g", x[i])
		}
	}
}

// On a wall the likelihood is that of the observations; beyond it, and of what is no number, it is 0.
func TestLikelihood(t *testing.T) {
	of := (&Cut{Set: set(t, "x[1] = 1", "x[0] >= 2"), SD: []float64{0.5}}).Likelihood()
	none := math.Inf(-1)
	for x, want := range map[[2]float64]float64{{2, 1}: 0, {2, 2}: -2, {1.999, 1}: none, {3, math.Inf(1)}: none} {
		testkit.Equal(t, of(x[:]), want, "%v", x)
	}
}

func TestSystematic(t *testing.T) {
	if got := fmt.Sprint(systematic([]float64{1, 0, 2, 1}, 4, 0.5)); got != "[0 2 2 3]" {
		t.Error(got)
	}
}
