package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// forward simulates a path from each start, and returns the last momenta that go with them.
func forward(t *testing.T, p *langevin.Process, starts []float64, seed uint64) (*langevin.Paths, LastMomentum) {
	t.Helper()
	testkit.OK(t, p.Validate())
	pool := testkit.Pool(t, 0)
	var paths langevin.Paths
	testkit.Must(langevin.NewSimulator(p, pool, 64).Forward(t.Context(), &paths, starts, seed, 0))
	stream := keyed.New(seed, keyed.LastMomentum, 1)
	return &paths, func(dst []float64, path int) { stream.Normals(dst, uint64(path), 0) }
}

func box(t *testing.T, lower, upper []float64) constraint.Set {
	t.Helper()
	return testkit.Must(zoo.NewBox(lower, upper))
}

// Unfolded at the walls of a half line, of an interval and of a rectangle, paths are free, and their windowed targets
// are those of the free paths, which TestWindowIsConditionalExpectation finds to be conditional expectations. The free
// paths are made here, coordinate by coordinate, from the signs with which moves come out of steps; coefficients are
// the exact ones of the line. To round-off, on every path and term. Most of the paths have met a wall, many of them
// several.
func TestWindowUnfoldsWalls(t *testing.T) {
	for name, set := range map[string]constraint.Set{
		"half line": box(t, []float64{0}, nil), "interval": box(t, []float64{0}, []float64{0.8}),
		"rectangle": box(t, []float64{0, -0.2}, []float64{0.9, 0.4}),
	} {
		d := set.Dim()
		for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA, langevin.OLLAP, langevin.ULLAP} {
			for _, c := range []langevin.Convention{langevin.Paper, langevin.Reference} {
				p := line(m, c)
				exact, lastExact := responses(t, p)
				free := line(m, c)
				free.Set = zoo.Euclidean{D: d}
				p.Set = set
				starts := make([]float64, 200*d)
				keyed.New(3, keyed.Probe, 2).Uniforms(starts, 0, 0)
				for i := range starts {
					starts[i] *= 0.2
				}
				paths, last := forward(t, p, starts, 7)
				straight := &langevin.Paths{Count: 200, Steps: paths.Steps, Dim: d, X: make([]float64, len(paths.X)),
					Failed: make([]bool, 200)}
				sign := make([]float64, len(paths.X)) // of the frame at x_k
				at := func(i, k int) []float64 {
					o := (i*(paths.Steps+1) + k) * d
					return sign[o : o+d]
				}
				met, often := 0, 0
				for i := range paths.Count {
					copy(straight.At(i, 0), paths.At(i, 0))
					for e := range d {
						at(i, 0)[e] = 1
					}
					folds := 0
					for k := 1; k <= paths.Steps; k++ {
						for e := range d {
							before := at(i, k-1)[e]
							out := paths.Proposal(i, k)[e] - paths.At(i, k-1)[e]
							in := paths.At(i, k)[e] - paths.Origin(i, k)[e]
							straight.At(i, k)[e] = straight.At(i, k-1)[e] + before*out
							at(i, k)[e] = math.Copysign(before, before*in*out)
						}
						if paths.Folded(i, k) {
							folds++
						}
					}
					if folds > 0 {
						met++
					}
					if folds > 1 {
						often++
					}
				}
				if met < 60 || often < 5 {
					t.Fatalf("%s %v: %d paths met a wall, %d of them often", name, m, met, often)
				}
				straightLast := func(dst []float64, path int) {
					last(dst, path)
					for e, s := range at(path, paths.Steps) {
						dst[e] *= s
					}
				}
				fit := line(m, c)
				if !m.Underdamped() {
					fit.Method = langevin.OLLA
				}
				for _, length := range []float64{0.25, 0.6, 10} {
					opt := Options{Window: length}
					fitted := NewLoss(fit, reads[float64](fit), exact.Count, opt)
					folded := NewLoss(p, reads[float64](p), paths.Count, opt)
					unfolded := NewLoss(free, reads[float64](free), paths.Count, opt)
					windows := make([]Window, p.Schedule.N)
					for k := range windows {
						windows[k] = testkit.Must(fitted.FitWindow(exact, k, lastExact))
					}
					folded.SetWindows(windows)
					unfolded.SetWindows(windows)
					for k := range windows {
						terms := make([]Term, paths.Count)
						for i := range terms {
							terms[i] = Term{Item: i, K: k}
						}
						testkit.Must(folded.Prepare(paths, terms, last))
						testkit.Must(unfolded.Prepare(straight, terms, straightLast))
						for i := range terms {
							for e, s := range at(i, k+1) {
								û, want := folded.u[i*d+e], s*unfolded.u[i*d+e]
								if math.Abs(û-want) > 1e-9*(1+math.Abs(want)) {
									t.Fatalf("%s %v %v, length %v, path %d, k = %d: target %v, unfolded %v",
										name, m, c, length, i, k, û, want)
								}
							}
						}
					}
				}
			}
		}
	}
}

// On a half line and on an interval, E[û | x_{k+1}] = E[u | x_{k+1}], by quadrature and with the coefficients of
// FitWindow: for OLLA from x_0 = 0.3, whose law at x_k is the sum of Gaussians about the images of x_0. Given x_{k+1} =
// y, u is that of the step from each image of each x_k, û that of the window from each image of x_0.
func TestWindowAtAWallByQuadrature(t *testing.T) {
	p := line(langevin.OLLA, langevin.Reference)
	exact, last := responses(t, p)
	l := NewLoss(p, reads[float64](p), exact.Count, Options{Window: 10})
	gauss := func(x, v float64) float64 { return math.Exp(-x * x / (2 * v)) }
	for _, upper := range []float64{math.Inf(1), 1.2} {
		images := func(x float64) (all []float64) { // those that reach [0, upper] with any weight
			if math.IsInf(upper, 1) {
				return []float64{x, -x}
			}
			for i := -8.; i <= 8; i++ {
				all = append(all, x+2*i*upper, -x+2*i*upper)
			}
			return all
		}
		far := min(upper, 9)
		for _, k := range []int{2, 5, 8} {
			w := testkit.Must(l.FitWindow(exact, k, last))
			before, step := 0., p.Schedule.Tau(k)
			for i := range k {
				before += p.Schedule.Tau(i)
			}
			for _, y := range []float64{0, 0.01, 0.05, 0.2, 0.5, 0.9, 1.15} {
				// û = −(coefficient) v/√τ over images of x_0.
				û, weight := 0., 0.
				for _, m := range images(0.3) {
					g := gauss(y-m, before+step)
					û -= g * w.Coefficients[0] * (y - m) / math.Sqrt(step)
					weight += g
				}
				û /= weight
				u, mass := 0., 0.
				const cells = 20_000
				for c := range cells { // the trapezoid rule of a function even at both ends
					x, h := far*float64(c)/cells, 1.
					if c == 0 {
						h = 0.5
					}
					density := 0.
					for _, m := range images(0.3) {
						density += gauss(x-m, before)
					}
					for _, m := range images(x) {
						g := h * density * gauss(y-m, step)
						u += g * (m - y) / math.Sqrt(step)
						mass += g
					}
				}
				if !math.IsInf(upper, 1) { // the other end
					density := 0.
					for _, m := range images(0.3) {
						density += gauss(far-m, before)
					}
					for _, m := range images(far) {
						g := 0.5 * density * gauss(y-m, step)
						u += g * (m - y) / math.Sqrt(step)
						mass += g
					}
				}
				if u /= mass; math.Abs(u-û) > 1e-9 {
					t.Errorf("[0, %v], k = %d: at %v the mean of u is %v, of û %v", upper, k, y, u, û)
				}
			}
		}
	}
}

// residuals returns the mean of u − û in groups of rows, and its standard errors, over all
// coordinates and terms; group −1 is left out. It reports for how many rows û is u.
func residuals(
	t *testing.T, p *langevin.Process, paths *langevin.Paths, last LastMomentum, window float64, groups int,
	group func(x, q []float64) (int, []float64),
) (mean, se, size []float64, same int) {
	t.Helper()
	n := paths.Count
	sum, square, count := make([]float64, groups), make([]float64, groups), make([]float64, groups)
	size = make([]float64, groups)
	d := paths.Dim
	for k := range p.Schedule.N {
		u, q := targets(t, p, paths, last, k, Options{})
		û, _ := targets(t, p, paths, last, k, Options{Window: window})
		for i := range n {
			if paths.Failed[i] {
				continue
			}
			at, way := group(paths.At(i, k+1), q[i*d:(i+1)*d])
			a, b := dense.Dot(u[i*d:(i+1)*d], way), dense.Dot(û[i*d:(i+1)*d], way)
			if a == b {
				same++
			}
			if at < 0 {
				continue
			}
			sum[at] += a - b
			square[at] += (a - b) * (a - b)
			size[at] += a
			count[at]++
		}
	}
	mean, se = make([]float64, groups), make([]float64, groups)
	for g, c := range count {
		if c == 0 {
			continue
		}
		mean[g], size[g] = sum[g]/c, size[g]/c
		se[g] = math.Sqrt(square[g]) / c
	}
	return mean, se, size, same
}

// At curved walls, the rim of a disc and that of a hole, both of radius 0.8, the mean of u along the wall's normal, in
// layers of a fifth of the window and by the sign of p̃, is that of û: within 0.005, for the wall's curvature, and five
// standard errors (0.004 to 0.006), which one of 40 exceeds by chance once in 40 000 seeds. Walls that are not unfolded
// make 0.1 to 0.6 of it in the first layers.
func TestWindowAtCurvedWalls(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	for name, sign := range map[string]float64{"disc": 1, "hole": -1} {
		set := round{sign}
		p := &langevin.Process{
			Set: set, Method: langevin.ULLA, Friction: 20,
			Schedule: langevin.Schedule{N: 12, T: 1.2, SigmaMin: 0.3, SigmaMax: 0.6},
		}
		starts := make([]float64, 2*60_000)
		for i := range 60_000 {
			x := starts[2*i : 2*i+2]
			keyed.New(4, keyed.Probe, 1).Uniforms(x, uint64(i), 0)
			sin, cos := math.Sincos(2 * math.Pi * x[0])
			r := 0.8 - sign*0.3*x[1]
			x[0], x[1] = r*cos, r*sin
		}
		paths, last := forward(t, p, starts, 3)
		const window = 0.15
		mean, se, size, _ := residuals(t, p, paths, last, window, 20, func(x, q []float64) (int, []float64) {
			r := dense.Norm(x)
			normal := []float64{x[0] / r, x[1] / r}
			layer := int(sign * (0.8 - r) / window * 5)
			if layer >= 10 {
				return -1, normal
			}
			if dense.Dot(q, normal) > 0 {
				layer += 10
			}
			return layer, normal
		})
		for g := range mean {
			t.Logf("%s, layer %d: u − û %.4f ± %.4f of %.4f", name, g, mean[g], se[g], size[g])
			if math.Abs(mean[g]) > 0.005+5*se[g] {
				t.Errorf("%s, layer %d: the mean of u − û is %.4f ± %.4f, that of u %.4f",
					name, g, mean[g], se[g], size[g])
			}
		}
	}
}

// On a torus with a hole, curved Σ and a curved wall, the same: within 0.005 and five standard errors (0.004 to 0.005).
func TestWindowAtAHoleInATorus(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	set := testkit.Must(formula.New(formula.Spec{
		Dim:        3,
		Equality:   []formula.Component{{Name: "tube", Expr: "norm([norm(x[0:2]) - 2, x[2]]) = 0.8"}},
		Inequality: []formula.Component{{Name: "hole", Expr: "distance(x, [1.8, -1.8, 0.6]) >= 0.8"}},
	}))
	p := &langevin.Process{
		Set: set, Friction: 20,
		Schedule: langevin.Schedule{N: 20, T: 1.2, SigmaMin: 0.1, SigmaMax: 0.8},
	}
	var starts []float64
	hole, x := []float64{1.8, -1.8, 0.6}, make([]float64, 3)
	away := func(x []float64) float64 {
		return math.Hypot(math.Hypot(x[0]-hole[0], x[1]-hole[1]), x[2]-hole[2]) - 0.8
	}
	for i := uint64(0); len(starts) < 3*60_000; i++ {
		zoo.Torus{Major: 2, Minor: 0.8}.SampleUniform(x, keyed.New(4, keyed.Probe, 1), i)
		if a := away(x); a > 0 && a < 0.5 {
			starts = append(starts, x...)
		}
	}
	paths, last := forward(t, p, starts, 3)
	const window = 0.15
	g, normal := geometry.New(constraint.EqualitiesOf(set), 1, 0), make([]float64, 3)
	mean, se, size, _ := residuals(t, p, paths, last, window, 20, func(x, q []float64) (int, []float64) {
		layer := int(away(x) / window * 5)
		if layer >= 10 || layer < 0 || g.At(x, 1) != nil {
			return -1, normal
		}
		for j := range normal {
			normal[j] = hole[j] - x[j]
		}
		g.Tangent(normal, normal)
		dense.Scaled(normal, 1/dense.Norm(normal), normal)
		if dense.Dot(q, normal) > 0 {
			layer += 10
		}
		return layer, normal
	})
	for l := range mean {
		t.Logf("layer %d: u − û %.4f ± %.4f of %.4f", l, mean[l], se[l], size[l])
		if math.Abs(mean[l]) > 0.005+5*se[l] {
			t.Errorf("layer %d: the mean of u − û is %.4f ± %.4f, that of u %.4f", l, mean[l], se[l], size[l])
		}
	}
}

// With the paper's walls, where an active inequality stops the normal part of a step, û is u itself wherever a wall is
// within three standard deviations of a window's displacement, and ε, of x_{k+1}; so the choice is a function of the
// network's input alone. On a half line the mean of u in layers from the wall on, by the sign of p̃, is that of û
// within five standard errors (at most 0.0036; one of 30 exceeds them by chance once in 50 000 seeds). Windows near the
// wall too make 0.02 to 0.06 of it in the first layers.
func TestWindowAtThePapersWalls(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p := &langevin.Process{
			Set: box(t, []float64{0}, nil), Method: m, Friction: 20, Walls: langevin.PaperWalls, Repulsion: 0.02,
			Schedule: langevin.Schedule{N: 12, T: 1.2, SigmaMin: 0.3, SigmaMax: 0.6},
		}
		if !m.Underdamped() {
			p.Schedule.SigmaMin, p.Schedule.SigmaMax = 0.1, 0.1
		}
		starts := make([]float64, 100_000)
		keyed.New(4, keyed.Probe, 1).Uniforms(starts, 0, 0)
		paths, last := forward(t, p, starts, 3)
		const window, layer = 0.15, 0.08
		mean, se, size, same := residuals(t, p, paths, last, window, 20, func(x, q []float64) (int, []float64) {
			at := min(max(int(x[0]/layer), 0), 9)
			if m.Underdamped() && q[0] > 0 {
				at += 10
			}
			return at, []float64{1}
		})
		for g := range mean {
			t.Logf("%v, layer %d: u − û %.4f ± %.4f of %.4f", m, g, mean[g], se[g], size[g])
			if math.Abs(mean[g]) > 5*se[g] {
				t.Errorf("%v, layer %d: the mean of u − û is %.4f ± %.4f, that of u %.4f", m, g, mean[g], se[g],
					size[g])
			}
		}
		if all := len(starts) * p.Schedule.N; same < all/4 || same > 3*all/4 {
			t.Errorf("%v: %d of %d targets are those of one step", m, same, all)
		}
	}
}

// round is the disc of radius 0.8, or with the sign −1 what it leaves of the plane.
type round struct{ sign float64 }

func (round) Dim() int                                { return 2 }
func (round) Equalities() []string                    { return nil }
func (round) Inequalities() []string                  { return []string{"rim"} }
func (round) Capabilities() constraint.Capabilities   { return constraint.Capabilities{} }
func (s round) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(s) }

func (s round) Values(v, x []float64, n int) {
	for i := range n {
		v[i] = s.sign * (math.Hypot(x[2*i], x[2*i+1]) - 0.8)
	}
}

func (s round) Jacobians(v, jac, x []float64, n int) {
	s.Values(v, x, n)
	for i := range n {
		dense.Scaled(jac[2*i:2*i+2], s.sign/math.Hypot(x[2*i], x[2*i+1]), x[2*i:2*i+2])
	}
}

// Near the paper's walls is three standard deviations of what a window may move a point,
// and ε. Where nearly all points are near, the whole window is one step.
func TestNearThePapersWalls(t *testing.T) {
	const k, ε = 5, 0.03
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA} {
		p := line(m, langevin.Reference)
		p.Set, p.Walls, p.Repulsion = box(t, []float64{0}, nil), langevin.PaperWalls, ε
		l := NewLoss(p, reads[float64](p), 200, Options{Window: 0.6})
		j, variance := l.start[k], 0.
		if m.Underdamped() { // given x_j alone: p_j is standard, and each later noise comes on top
			for first := j; first <= k+1; first++ {
				move, p0 := 0., 1.
				for i := j; i <= k; i++ {
					τ := p.Schedule.Tau(i)
					a := p.Decay(τ)
					switch {
					case i+1 < first:
						continue
					case i+1 == first:
						p0 = math.Sqrt(1 - a*a)
					default:
						p0 *= a
					}
					move += τ * p0
				}
				variance += move * move
			}
		} else {
			for i := j; i <= k; i++ {
				variance += p.Schedule.Tau(i)
			}
		}
		edge := 3*math.Sqrt(variance) + ε
		fill := func(near int) *langevin.Paths {
			paths := &langevin.Paths{Count: 200, Steps: p.Schedule.N, Dim: 1, X: make([]float64, 200*(p.Schedule.N+1)),
				Failed: make([]bool, 200)}
			for i := range 200 {
				for s := range p.Schedule.N + 1 {
					paths.At(i, s)[0] = edge + 1e-9 + 0.001*float64(s-k-1)*float64(i%7)
				}
				if i < near {
					paths.At(i, k+1)[0] = edge - 1e-9
				}
			}
			return paths
		}
		terms := make([]Term, 200)
		for i := range terms {
			terms[i] = Term{Item: i, K: k}
		}
		testkit.OK(t, l.load(fill(80), terms, noise))
		l.begin(terms)
		for i, from := range l.from {
			if want := map[bool]int{true: k, false: j}[i < 80]; from != want || j == k {
				t.Fatalf("%v: the window of point %d begins at %d, want %d", m, i, from, want)
			}
		}
		for _, c := range []struct {
			near    int
			oneStep bool
		}{{0, false}, {197, false}, {198, true}, {200, true}} {
			w, err := l.FitWindow(fill(c.near), k, noise)
			if err != nil || w.OneStep != c.oneStep {
				t.Errorf("%v, %d of 200 near: one step %v, %v", m, c.near, w.OneStep, err)
			}
		}
	}
}
