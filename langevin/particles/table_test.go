package particles_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/internal/processor"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/langevin/particles"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A law is a problem whose law is known: draw writes a point from normal and uniform numbers.
type law struct {
	name, set string
	d         int
	draw      func(x, z, u []float64)
}

func ring(x []float64, R, r, a, b float64) {
	sa, ca := math.Sincos(a)
	sb, cb := math.Sincos(b)
	x[0], x[1], x[2] = (R+r*cb)*ca, (R+r*cb)*sa, r*sb
}

var laws = []law{
	{"sphere", "{kind: sphere, dim: 3}", 3, func(x, z, u []float64) {
		c := [3]float64{1.5, 0, 0.5}
		if u[0] < 0.4 {
			c = [3]float64{-0.5, 1.2, -0.8}
		}
		for j := range x {
			x[j] = c[j] + 0.5*z[j]
		}
		dense.Scaled(x, 1/dense.Norm(x), x)
	}},
	{"torus", "{kind: torus, major: 2, minor: 0.8}", 3, func(x, z, u []float64) {
		a := 0.5 + 0.5*z[0]
		if u[0] < 0.4 {
			a = 3 + 0.4*z[0]
		}
		ring(x, 2, 0.8, a, 1+0.7*z[1])
	}},
	{"plane", "{kind: affine, a: [[1, 1, 1]], b: [0]}", 3, func(x, z, u []float64) {
		p, q := 0.4*z[0]-1, 0.4*z[1]
		if u[0] < 0.5 {
			p, q = 0.8*z[0]+1, 0.3*z[1]+0.5*z[0]
		}
		x[0], x[1], x[2] = p/math.Sqrt2+q/math.Sqrt(6), -p/math.Sqrt2+q/math.Sqrt(6), -2*q/math.Sqrt(6)
	}},
	{"square", "{kind: box, lower: [0, 0], upper: [1, 1]}", 2, func(x, z, u []float64) {
		x[0], x[1] = math.Sqrt(u[0]), 1-u[1]*u[2] // densities 2x and −ln(1−y)
	}},
	{"circles", "{product: [{kind: sphere, dim: 2}, {kind: sphere, dim: 2}]}", 4, func(x, z, u []float64) {
		a := 0.3 + 0.7*z[0]
		b := 2*a + 0.5*z[1]
		x[1], x[0] = math.Sincos(a)
		x[3], x[2] = math.Sincos(b)
	}},
	{"ellipsoid", "{kind: ellipsoid, axes: [2, 1, 0.7]}", 3, func(x, z, u []float64) {
		y := [3]float64{0.8 + 0.6*z[0], 0.6 * z[1], 0.4 + 0.6*z[2]}
		r := dense.Norm(y[:])
		x[0], x[1], x[2] = 2*y[0]/r, y[1]/r, 0.7*y[2]/r
	}},
}

func (l law) points(seed uint64, n int) []float64 {
	x, z, u := make([]float64, n*l.d), make([]float64, 4), make([]float64, 4)
	s := keyed.OwnData.Stream(seed, 7)
	for i := range n {
		s.Normals(z, uint64(i), 0)
		s.Uniforms(u, uint64(i), 1)
		l.draw(x[i*l.d:(i+1)*l.d], z, u)
	}
	return x
}

// trained opens the law's run in a folder, or trains it there for some seconds of processor time and returns nil.
func (l law) trained(t *testing.T, folder string, seconds float64) *experiment.Run {
	t.Helper()
	at, path := filepath.Join(folder, l.name), filepath.Join(folder, l.name+".csv")
	if _, err := os.Stat(at); err == nil {
		return testkit.Must(experiment.Open(t.Context(), at, "", testkit.Pool(t, 1), nil))
	}
	var b strings.Builder
	for j := range l.d {
		fmt.Fprintf(&b, "%sc%d", map[bool]string{true: ",", false: ""}[j > 0], j)
	}
	x := l.points(1, 5000)
	for i := range x {
		b.WriteString(map[bool]string{true: "\n", false: ","}[i%l.d == 0])
		fmt.Fprintf(&b, "%.17g", x[i])
	}
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o600))
	text := fmt.Sprintf("data: {path: %s}\nset: %s\ntrain: {max_seconds: %g, clock: processor}\n", path, l.set, seconds)
	p := testkit.Must(problem.Load([]byte(text), "law.yaml", "", nil))
	loaded := testkit.Must(experiment.Load(t.Context(), p, testkit.Pool(t, 1), nil))
	f := testkit.Must(run.Create(at, false))
	defer f.Unlock()
	r := testkit.Must(loaded.Begin(f, []byte(text), []string{"test"}))
	testkit.OK(t, r.Train(t.Context(), "", experiment.Observer{}))
	return nil
}

// energy is the energy distance of two sets of points.
func energy(x, y []float64, d int) float64 {
	return float64(metric.EnergyTest(x, y, d, 2000, 1, 1).Statistic)
}

// drawn draws n samples of a run under a text.
func drawn(t *testing.T, r *experiment.Run, text string, n int, seed uint64) ([]float64, *experiment.GivenReport,
	error) {
	t.Helper()
	trained, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(t.Context(), nil))
	g := testkit.Must(r.Given([]byte(text), "given.yaml"))
	d, err := g.NewDrawer(t.Context(), trained, prior, n, 0, seed)
	x := make([]float64, n*r.Process.Set.Dim())
	if err == nil {
		_, err = d.Draw(t.Context(), x, nil)
	}
	if err != nil {
		return nil, &experiment.GivenReport{}, err
	}
	return x, &d.Report, d.Report.Err()
}

// TestTable prints, for cuts of problems of known law, how far samples are from exact conditional draws: the energy
// distance over that of two exact sets. It takes minutes.
//
//	GIVEN_TABLE=1 go test ./langevin/particles -run TestTable -v -timeout 1h
func TestTable(t *testing.T) {
	if os.Getenv("GIVEN_TABLE") == "" {
		t.Skip("GIVEN_TABLE=FOLDER makes the table of docs/history/given.md")
	}
	const n, many = 1000, 1_500_000
	for _, l := range laws {
		if only := os.Getenv("GIVEN_ONLY"); only != "" && only != l.name {
			continue
		}
		r := l.trained(t, os.Getenv("GIVEN_TABLE"), 15)
		if r == nil {
			continue
		}
		trained, prior := testkit.Must(r.Trained("")), testkit.Must(r.Prior(t.Context(), nil))
		exact, d := l.points(2, many), l.d
		first := make([]float64, many)
		for i := range first {
			first[i] = exact[i*d]
		}
		slices.Sort(first)
		start := processor.Seconds()
		plain := testkit.Must(r.Generate(t.Context(), trained, prior, n, 0, 99, nil))
		plainTime := processor.Seconds() - start
		fmt.Printf("%s: plain samples are at %.2f floors\n", l.name, energy(plain.X, exact[:n*d], d)/
			energy(exact[n*d:2*n*d], exact[2*n*d:3*n*d], d))
		for _, c := range []struct {
			name  string
			share float64
		}{{"50 %", 0.5}, {"10 %", 0.1}, {"1 %", 0.01}, {"0.1 %", 0.001}, {"equality", 0}} {
			at := first[int(float64(many)*(1-c.share))%many]
			text := fmt.Sprintf("inequality: [{name: cut, expr: 'x[0] >= %v'}]\n", at)
			keeps := func(x []float64) bool { return x[0] >= at }
			if c.share == 0 {
				at = first[many*6/10]
				text = fmt.Sprintf("equality: [{name: cut, expr: 'x[0] = %v'}]\n", at)
				keeps = func(x []float64) bool { return math.Abs(x[0]-at) < 1e-3 }
			}
			a := testkit.Must(problem.LoadAdded([]byte(text), "given.yaml"))
			cut := testkit.Must(a.Build(r.Problem, r.Process.Set, nil))
			whole := a.Whole(r.Process.Set, cut)
			var good []float64
			for i := 0; i < many && len(good) < 2*n*d; i++ {
				if x := exact[i*d : (i+1)*d]; keeps(x) {
					good = append(good, x...)
				}
			}
			have := min(n, len(good)/d/2)
			if c.share == 0 {
				s := geometry.NewSolver(whole, 0)
				for i := 0; i < len(good); i += d {
					s.Project(good[i:i+d], 0)
				}
			}
			ref, other := good[:have*d], good[have*d:2*have*d]
			floor := energy(ref, other, d)
			row := func(x []float64) string {
				if x == nil {
					return "none"
				}
				x = x[:min(len(x), have*d)]
				return fmt.Sprintf("%.2f", (energy(x, ref, d)+energy(x, other, d))/2/floor)
			}
			start := processor.Seconds()
			x, report, err := drawn(t, r, text+"draw: particles\n", n, 1)
			took := (processor.Seconds() - start) / plainTime
			if err != nil {
				fmt.Println(err)
			}
			worst := 0.0
			for i := 0; i < len(x); i += d {
				e, _ := constraint.Worst(constraint.Values(whole, x[i:i+d]), len(whole.Equalities()))
				worst = max(worst, e)
			}
			rejected := "– | –"
			if c.share >= 0.1 { // the run's own law: exact
				y, _, err := drawn(t, r, text+"draw: rejection\n", 2*n, 1)
				testkit.OK(t, err)
				rejected = fmt.Sprintf("%s | %.2f", row(y), energy(x, y[:n*d], d)/energy(y[n*d:], y[:n*d], d))
			}
			fields := experiment.Fields(r.Loaded, trained, 128, r.Pool.Workers())
			o := particles.Options{Process: r.Process, Cut: cut, Whole: whole, Pool: r.Pool, Seed: 5,
				Scores: func(w int) langevin.Score { return fields[w] },
				Begin:  func(uint64, uint64, []bool) langevin.Prior { return prior.Prior }}
			projected := slices.Clone(plain.X)
			particles.Onto(o, projected)
			guided, err := particles.Guided(t.Context(), o, n)
			testkit.OK(t, err)
			// honesty: the spread of means over seeds, beside what the effective sample size says
			means, told, variance := [][]float64{}, 0.0, 0.0
			const seeds = 6
			for seed := range uint64(seeds) {
				y, rep, _ := drawn(t, r, text+"draw: particles\n", n, 10+seed)
				if y == nil {
					continue
				}
				m, s := metric.Spread(y, d)
				means, variance = append(means, m), variance+s*s
				told += 1/rep.Particles.Effective + 1/float64(n)
			}
			spread := 0.0
			if k := len(means); k > 1 {
				for j := range d {
					mean, sq := 0.0, 0.0
					for _, m := range means {
						mean += m[j] / float64(k)
					}
					for _, m := range means {
						sq += (m[j] - mean) * (m[j] - mean)
					}
					spread += sq / float64(k-1)
				}
				spread /= variance / float64(k) * told / float64(k)
			}
			p := report.Particles
			if p == nil {
				p = &particles.Report{}
			}
			fmt.Printf("| %s | %s | %s | %s | %s | %s | %.1f | %.0f | %d | %.2f | %.1e |\n", l.name, c.name, row(x),
				rejected, row(projected), row(guided), took, p.Effective, p.Distinct, spread, worst)
		}
	}
}
