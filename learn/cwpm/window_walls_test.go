package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
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
						if &paths.Proposal(i, k)[0] != &paths.At(i, k)[0] {
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
						testkit.KeepValue(t, []any{k, windows[k]})
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
