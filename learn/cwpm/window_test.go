package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

var schedule = langevin.Schedule{N: 9, T: 1.2, SigmaMin: 0.2, SigmaMax: 1.1}

// line is a process on the line.
func line(m langevin.Method, c langevin.Convention) *langevin.Process {
	return &langevin.Process{
		Set: zoo.Euclidean{D: 1}, Method: m, Friction: 3, Convention: c, Schedule: schedule,
	}
}

// responses returns the paths on the line that start at 0 and follow a single unit of noise each: of p_0, ζ_0, …,
// ζ_{N−1}, of p̃_N, and, last, the path of x_0 = 1. A path with any noise and any start is their sum, so covariances
// are sums over paths, exactly.
func responses(t *testing.T, p *langevin.Process) (*langevin.Paths, LastMomentum) {
	N := p.Schedule.N
	n := N + 3
	paths := &langevin.Paths{Count: n, Steps: N, Dim: 1, X: make([]float64, n*(N+1)), Failed: make([]bool, n)}
	st := p.NewStepper(1)
	for i := range n {
		if i == n-1 {
			paths.At(i, 0)[0] = 1
		}
		prev := append([]float64(nil), paths.At(i, 0)...)
		if i == 0 && p.Method.Underdamped() {
			prev[0] = -p.Schedule.Tau(0)
		}
		for k := range N {
			ζ := []float64{0}
			if i == k+1 {
				ζ[0] = 1
			}
			testkit.Must(st.Forward(paths.At(i, k+1), paths.At(i, k), prev, ζ, make([]bool, 1), 1, k))
			prev = paths.At(i, k)
		}
	}
	return paths, func(dst []float64, path int) {
		dst[0] = 0
		if path == N+1 {
			dst[0] = 1
		}
	}
}

// targets returns u of term k on every path, and p̃.
func targets(
	t *testing.T, p *langevin.Process, paths *langevin.Paths, last LastMomentum, k int, opt Options,
) (u, q []float64) {
	l := NewLoss(p, reads[float64](p), paths.Count, opt)
	if opt.Window > 0 {
		windows := make([]Window, p.Schedule.N)
		w := testkit.Must(l.FitWindow(paths, k, last))
		testkit.KeepValue(t, []any{k, w})
		windows[k] = w
		l.SetWindows(windows)
	}
	var terms []Term
	for i := range paths.Count {
		terms = append(terms, Term{Item: i, K: k, Weight: 1})
	}
	testkit.Must(l.Prepare(paths, terms, last))
	return l.u, l.p
}

// On the line, and in a harmonic well on it, the windowed target is the conditional expectation: it is a linear
// function of x_j, p_j, x_{k+1} and p̃, and what it leaves of u is uncorrelated with them. No randomness.
func TestWindowIsConditionalExpectation(t *testing.T) {
	t.Run("line", func(t *testing.T) { testConditionalExpectation(t, nil) })
	t.Run("well", func(t *testing.T) { testConditionalExpectation(t, langevin.Quadratic{Weight: []float64{1.7}}) })
}

// In a well in the plane that is alike in all directions, windowed targets are those of the line,
// coordinate by coordinate.
func TestWindowInTwoDimensions(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p := line(m, langevin.Reference)
		p.Potential = langevin.Quadratic{Weight: []float64{1.7}}
		paths, last := responses(t, p)
		plane := *p
		plane.Set, plane.Potential = zoo.Euclidean{D: 2}, langevin.Quadratic{Weight: []float64{1.7, 1.7}}
		n := paths.Count
		both := &langevin.Paths{Count: n, Steps: paths.Steps, Dim: 2, X: make([]float64, 2*len(paths.X)),
			Failed: make([]bool, n)}
		for i := range n {
			for k := range paths.Steps + 1 {
				both.At(i, k)[0], both.At(i, k)[1] = paths.At(i, k)[0], paths.At((i+5)%n, k)[0]
			}
		}
		lastBoth := func(dst []float64, path int) {
			last(dst[:1], path)
			last(dst[1:], (path+5)%n)
		}
		for _, length := range []float64{0.25, 10} {
			for k := range schedule.N {
				want, _ := targets(t, p, paths, last, k, Options{Window: length})
				want = append([]float64(nil), want...)
				got, _ := targets(t, &plane, both, lastBoth, k, Options{Window: length})
				for i := range n {
					if a, b := want[i], want[(i+5)%n]; math.Abs(got[2*i]-a) > 1e-9 || math.Abs(got[2*i+1]-b) > 1e-9 {
						t.Fatalf("%v, length %v, k = %d: path %d has (%v, %v), want (%v, %v)",
							m, length, k, i, got[2*i],
							got[2*i+1], a, b)
					}
				}
			}
		}
	}
}

func testConditionalExpectation(t *testing.T, f langevin.Potential) {
	reached := map[int]bool{}
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		for _, c := range []langevin.Convention{langevin.Paper, langevin.Reference} {
			p := line(m, c)
			p.Potential = f
			paths, last := responses(t, p)
			column := func(k int) []float64 {
				v := make([]float64, paths.Count)
				for i := range v {
					v[i] = paths.At(i, k)[0]
				}
				return v
			}
			for _, length := range []float64{1e-9, 0.1, 0.25, 0.6, 10} {
				for k, from := range windowStarts(p, length) {
					u, q := targets(t, p, paths, last, k, Options{})
					û, _ := targets(t, p, paths, last, k, Options{Window: length})
					known := [][]float64{column(k + 1), column(from)}
					if m.Underdamped() {
						known = append(known, q)
						if from > 0 {
							v := column(from)
							for i, before := range column(from - 1) {
								v[i] -= before
							}
							known = append(known, v)
						}
					}
					reached[k-from] = true
					basis := orthonormal(known)
					for i := range u {
						u[i] -= û[i]
					}
					rest := append([]float64(nil), û...)
					for _, b := range basis {
						if e := dense.Dot(u, b); math.Abs(e) > 1e-9 {
							t.Errorf("%v %v, length %v, k = %d, j = %d: the remainder has correlation %g "+
								"with what is known", m, c, length, k, from, e)
						}
						e := dense.Dot(rest, b)
						for i := range rest {
							rest[i] -= e * b[i]
						}
					}
					if e := math.Sqrt(dense.Dot(rest, rest)); e > 1e-9 {
						t.Errorf("%v %v, length %v, k = %d, j = %d: %g of the target is no function of what is known",
							m, c, length, k, from, e)
					}
				}
			}
		}
	}
	for steps := range schedule.N {
		if !reached[steps] {
			t.Errorf("no window of %d steps was tried", steps+1)
		}
	}
}

// On the line, TargetSize is the standard deviation of the target whose window is the whole path.
func TestTargetSize(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		for _, c := range []langevin.Convention{langevin.Paper, langevin.Reference} {
			p := line(m, c)
			paths, last := responses(t, p)
			gain := p.BalancedGains()
			for k := range schedule.N {
				û, _ := targets(t, p, paths, last, k, Options{Window: 1e6})
				want, r := math.Sqrt(dense.Dot(û, û)), p.TargetSize(k)
				testkit.Near(t, r, want, 1e-9*want, "%v %v: r_%d", m, c, k)
				if got := gain(schedule.Time(k+1)) * math.Abs(p.ScoreCoefficient(k)); math.Abs(got-r) > 1e-15 {
					t.Errorf("%v %v, k = %d: the gain makes targets of size %v, want %v", m, c, k, got/r, 1.)
				}
			}
		}
	}
}

// On the line, Start is what x_{k+1} and p̃ tell of x_0: x_{k+1} − b p̃ − x_0 has variance v, and
// nothing to do with p̃.
func TestStart(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		for _, c := range []langevin.Convention{langevin.Paper, langevin.Reference} {
			p := line(m, c)
			paths, last := responses(t, p)
			paths.Count-- // x_0 = 0
			start := p.Start()
			for k := range schedule.N {
				_, q := targets(t, p, paths, last, k, Options{})
				b, v := start(schedule.Time(k + 1))
				y := make([]float64, paths.Count)
				for i := range y {
					y[i] = paths.At(i, k+1)[0]
					if m.Underdamped() {
						y[i] -= b * q[i]
					}
				}
				testkit.Near(t, dense.Dot(y, y), v, 1e-12*v, "%v %v, k = %d: x_0 has variance", m, c, k)
				if m.Underdamped() {
					if e := dense.Dot(y, q); math.Abs(e) > 1e-12*v {
						t.Errorf("%v %v, k = %d: y has covariance %v with p̃", m, c, k, e)
					}
				} else if b != 0 {
					t.Errorf("%v %v, k = %d: b = %v without momentum", m, c, k, b)
				}
			}
		}
	}
}

// Balanced terms are those of the output itself: ‖u/(cm) − ΠF‖²/2.
func TestBalanced(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p, paths := problem(zoo.Sphere{D: 3}, m, langevin.Reference)
		for k := range 4 {
			terms, out := []Term{{Item: 1, K: k, Weight: 0.7}}, []float64{0.3, -0.2, 0.9}
			value := func(balanced bool) (v float64, ds []float64, cm float64) {
				l := NewLoss(p, gained(p, p.BalancedGains()), 1, Options{Balanced: balanced})
				testkit.Must(l.Prepare(paths, terms, noise))
				ds = make([]float64, 3)
				return l.Evaluate(ds, out), ds, l.c[0]
			}
			v, ds, cm := value(true)
			plainV, plainDs, _ := value(false)
			if math.Abs(v*cm*cm-plainV) > 1e-12*plainV {
				t.Errorf("%v, k = %d: balanced %v, else %v, (cm)² = %v", m, k, v, plainV, cm*cm)
			}
			for j := range ds {
				testkit.Near(t, ds[j]*cm*cm, plainDs[j], 1e-12*(1+math.Abs(plainDs[j])),
					"%v, k = %d: gradients %v and %v", m, k, ds, plainDs)
			}
		}
	}
}

func orthonormal(vs [][]float64) [][]float64 {
	var basis [][]float64
	for _, v := range vs {
		size := math.Sqrt(dense.Dot(v, v))
		for range 2 {
			dense.Reject(v, basis, nil)
		}
		n := math.Sqrt(dense.Dot(v, v))
		if n < 1e-9*size { // p_{k+1} and x_{k+1} − x_k say the same
			continue
		}
		for i := range v {
			v[i] /= n
		}
		basis = append(basis, v)
	}
	return basis
}

// A window begins at the earliest j whose displacement to k + 1, given x_j and p_j,
// has at most the given standard deviation in a direction, or at k.
func TestWindowsReachBack(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p := line(m, langevin.Reference)
		paths, _ := responses(t, p)
		sd := func(j, k int) float64 {
			sum, first := 0.0, j+1 // ζ_j, …; at j = 0 also p_0
			if j == 0 {
				first = 0
			}
			for i := first; i <= k+1; i++ {
				d := paths.At(i, k+1)[0] - paths.At(i, j)[0]
				sum += d * d
			}
			return math.Sqrt(sum)
		}
		for _, length := range []float64{1e-9, 0.1, 0.25, 0.6, 0.9, 1.5, 10} {
			for k, j := range windowStarts(p, length) {
				if j < k && sd(j, k) > length || j > 0 && sd(j-1, k) <= length {
					t.Errorf("%v: the window of length %v of k = %d begins at %d: %v long, %v from one earlier",
						m, length, k, j, sd(j, k), sd(max(j-1, 0), k))
				}
			}
		}
	}
}

// On the unit circle a window looks back along the circle: v is the angle from x_j, p_j keeps its length; without the
// circle's geodesics v is right up to the fifth power of the angle. One step is the paper's chord.
func TestWindowAlongCircle(t *testing.T) {
	for name, set := range map[string]constraint.Set{
		"circle": zoo.Sphere{D: 2}, "without geodesics": sets.Plain(zoo.Sphere{D: 2}),
	} {
		p := line(langevin.ULLA, langevin.Reference)
		p.Set = set
		N := p.Schedule.N
		paths := &langevin.Paths{Count: 1, Steps: N, Dim: 2, X: make([]float64, 2*(N+1)), Failed: make([]bool, 1)}
		angle := func(k int) float64 { return 0.05*float64(k) + 0.02*math.Sin(3*float64(k)) }
		for k := range N + 1 {
			sin, cos := math.Sincos(angle(k))
			copy(paths.At(0, k), []float64{cos, sin})
		}
		last := func(dst []float64, _ int) { dst[0], dst[1] = 0.3, -0.8 }
		for k := range N {
			u, _ := targets(t, p, paths, last, k, Options{})
			û, _ := targets(t, p, paths, last, k, Options{Window: 1e-9})
			for j := range u {
				testkit.Near(t, u[j], û[j], 1e-13*(1+math.Abs(u[j])),
					"%s, k = %d: windows of one step have the target %v, without them it is %v", name, k, û, u)
			}
			for from := range k {
				l := NewLoss(p, reads[float64](p), 1, Options{Window: 1})
				l.start[k] = from
				terms := []Term{{K: k}}
				testkit.OK(t, l.load(paths, terms, last))
				l.lookBack(paths, terms)
				x, r := paths.At(0, k+1), angle(k+1)-angle(from)
				bound := 1e-14
				if name != "circle" {
					bound += 0.008 * math.Pow(r, 5)
				}
				testkit.Near(t, l.v[1]*x[0]-l.v[0]*x[1], r, bound, "%s, k = %d, j = %d: displacement", name, k, from)
				want := 0.0
				if from > 0 { // the chord from x_{j−1}, along the circle at x_j or seen from x_{k+1}
					δ := angle(from) - angle(from-1)
					want = 2 * math.Sin(δ/2) / p.Schedule.Tau(from-1)
					if name == "circle" {
						want *= math.Cos(δ / 2)
					} else {
						want *= math.Cos(r + δ/2)
					}
				}
				testkit.Near(t, l.pj[1]*x[0]-l.pj[0]*x[1], want, 1e-13*(1+want),
					"%s, k = %d, j = %d: momentum", name, k, from)
			}
		}
	}
}

// extend gives the distance along a circle up to the fifth power of the angle.
func TestExtend(t *testing.T) {
	for _, r := range []float64{0.8, 0.4, 0.2, 0.1} {
		v := []float64{0, math.Sin(r)}
		extend(v, 2*math.Sin(r/2))
		if e := math.Abs(v[1] - r); e > 0.008*math.Pow(r, 5) || v[0] != 0 {
			t.Errorf("angle %v: off by %g", r, e)
		}
	}
	zero := []float64{0, 0}
	extend(zero, 0)
	if zero[0] != 0 || zero[1] != 0 {
		t.Errorf("no displacement became %v", zero)
	}
}

// Windows are not fitted to paths that failed: with any number of them among the others, whatever they hold, the
// coefficients stay as they are, bit for bit. Rows of a block keep their place, since sums go by blocks.
func TestFitWindowLeavesFailedPathsOut(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p := line(m, langevin.Reference)
		p.Set, p.Potential = zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.4}}, langevin.Quadratic{}
		starts := make([]float64, 3*90)
		for i := range 90 {
			p.Set.(zoo.Ellipsoid).SampleUniform(starts[3*i:3*i+3], keyed.New(2, keyed.Probe, 1), uint64(i))
		}
		good, last := forward(t, p, starts, 5)
		mixed := &langevin.Paths{Count: 180, Steps: good.Steps, Dim: 3, X: make([]float64, 2*len(good.X)),
			Failed: make([]bool, 180)}
		for i := range 90 {
			for k := range good.Steps + 1 {
				copy(mixed.At(2*i, k), good.At(i, k))
				// A path that a broken projection left behind: still, or far away.
				for e := range 3 {
					mixed.At(2*i+1, k)[e] = good.At(i, 0)[e] * float64(1+k*(i%3))
				}
			}
			mixed.Failed[2*i+1] = true
		}
		l := NewLoss(p, reads[float64](p), 200, Options{Window: 0.4})
		for k := range p.Schedule.N {
			want := testkit.Must(l.FitWindow(good, k, last))
			got := testkit.Must(l.FitWindow(mixed, k, func(dst []float64, path int) { last(dst, path/2) }))
			testkit.Equal(t, got, want, "%v, k = %d: with failed paths", m, k)
			if l.start[k] < k {
				clear(mixed.Failed)
				got = testkit.Must(l.FitWindow(mixed, k, func(dst []float64, path int) { last(dst, path/2) }))
				if got == want {
					t.Errorf("%v, k = %d: the paths that failed would have changed nothing", m, k)
				}
				for i := range 90 {
					mixed.Failed[2*i+1] = true
				}
			}
		}
	}
}

// A step that no noise can have made decides no fit: paths that jump to and fro, among the others, change nothing.
func TestFitWindowLeavesWildStepsOut(t *testing.T) {
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p := line(m, langevin.Reference)
		p.Set = zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.4}}
		starts := make([]float64, 3*90)
		for i := range 90 {
			p.Set.(zoo.Ellipsoid).SampleUniform(starts[3*i:3*i+3], keyed.New(2, keyed.Probe, 1), uint64(i))
		}
		good, last := forward(t, p, starts, 5)
		mixed := &langevin.Paths{Count: 91, Steps: good.Steps, Dim: 3, X: make([]float64, 91*3*(good.Steps+1)),
			Failed: make([]bool, 91)}
		copy(mixed.X, good.X)
		for k := range good.Steps + 1 {
			copy(mixed.At(90, k), []float64{0.8, 0.3 + 40*float64(k%2), 0.1})
		}
		l := NewLoss(p, reads[float64](p), 200, Options{Window: 0.4})
		for k := range p.Schedule.N {
			want := testkit.Must(l.FitWindow(good, k, last))
			if got, err := l.FitWindow(mixed, k, last); err != nil || got != want {
				t.Errorf("%v, k = %d: with a wild path %v, without %v, %v", m, k, got, want, err)
			}
		}
	}
}

// The last p̃ is drawn anew, and tells nothing of a path: a window has no term of it, even where
// a few draws happen to follow the paths' noise. Earlier ones tell, and OLLA has none.
func TestWindowHasNoTermOfLastMomentum(t *testing.T) {
	for _, m := range []langevin.Method{langevin.ULLA, langevin.OLLA} {
		p := line(m, langevin.Reference)
		paths, _ := responses(t, p)
		N := p.Schedule.N
		alike := func(dst []float64, path int) { // as if it were the noise of the last step
			dst[0] = 0
			if path == N {
				dst[0] = 1
			}
		}
		l := NewLoss(p, reads[float64](p), paths.Count, Options{Window: 1})
		for _, k := range []int{N - 2, N - 1} {
			w := testkit.Must(l.FitWindow(paths, k, alike))
			if w.OneStep {
				t.Fatalf("%v: term %d has no window", m, k)
			}
			got, want := w.Coefficients[2*perVector] != 0, m == langevin.ULLA && k == N-2
			if got != want {
				t.Errorf("%v, term %d: the coefficient of p̃ is %v", m, k, w.Coefficients[2*perVector])
			}
		}
	}
}

// On the paths that windows are fitted to, û is the regression of u: the slope of u on û is 1, to round-off or, where
// forms are those of cells, to the part of û that is normal to Σ. The bend of Σ has a coefficient of its own. The last
// p̃ is drawn anew, and not fitted to.
func TestWindowIsItsRegression(t *testing.T) {
	for _, axes := range [][]float64{{1, 0.8, 0.5}, {1, 0.9, 0.8, 0.6, 0.5}} {
		set, d, n := zoo.Ellipsoid{Axes: axes}, len(axes), 2000
		starts := make([]float64, n*d)
		for i := range n {
			set.SampleUniform(starts[i*d:(i+1)*d], keyed.New(3, keyed.Probe, 3), uint64(i))
		}
		p := &langevin.Process{Set: set, Friction: 20, NoTerminal: true,
			Landing:  langevin.Landing{Explicit: true, Rate: 25},
			Schedule: langevin.Schedule{N: 30, T: 3, SigmaMin: 0.2, SigmaMax: 0.6}}
		paths, last := forward(t, p, starts, 3)
		l, plain := NewLoss(p, reads[float64](p), n, Options{Window: 0.15}), NewLoss(p, reads[float64](p), n, Options{})
		windows, terms := make([]Window, p.Schedule.N), make([]Term, n)
		for k := range windows {
			windows[k] = testkit.Must(l.FitWindow(paths, k, last))
		}
		l.SetWindows(windows)
		for k, w := range windows[:len(windows)-1] {
			if w.OneStep {
				continue
			}
			if (w.Coefficients[2] != 0) != (d <= rememberDim) || w.Coefficients[1] == 0 {
				t.Errorf("term %d in R^%d: coefficients %v", k, d, w.Coefficients)
			}
			for i := range terms {
				terms[i] = Term{Item: i, K: k}
			}
			testkit.Must(l.Prepare(paths, terms, last))
			testkit.Must(plain.Prepare(paths, terms, last))
			testkit.Near(t, dense.Dot(l.u, plain.u)/dense.Dot(l.u, l.u), 1, 1e-4, "term %d in R^%d: the slope", k, d)
		}
	}
}
