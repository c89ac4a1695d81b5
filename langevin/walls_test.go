package langevin

import (
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// flying is a process that flies freely between walls: γ = 10⁻¹², steps of τ, and no noise if none is given.
func flying(set constraint.Set, m Method, τ float64, steps int) *Process {
	return &Process{
		Set: set, Method: m, Friction: 1e-12,
		Schedule: Schedule{N: steps, T: τ * float64(steps), SigmaMin: 1, SigmaMax: 1},
	}
}

func boxOf(t *testing.T, lower, upper []float64) constraint.Set {
	t.Helper()
	return testkit.Must(zoo.NewBox(lower, upper))
}

// fly returns the states x_1, x_2, … of one row from x with momentum p, forward
// without noise, and the momentum that it arrives with each time.
func fly(t *testing.T, p *Process, x, momentum []float64) (states, momenta [][]float64, sum Bounces) {
	t.Helper()
	d, τ := len(x), p.Schedule.Tau(0)
	s := p.NewStepper(1)
	x, prev, zero := slices.Clone(x), make([]float64, d), make([]float64, d)
	for j := range prev {
		prev[j] = x[j] - τ*momentum[j]
	}
	for k := range p.Schedule.N {
		y, failed := make([]float64, d), make([]bool, 1)
		info, err := s.Forward(y, x, prev, zero, failed, 1, k)
		if err != nil || failed[0] {
			t.Fatal(err, failed)
		}
		sum.Add(info.Bounces)
		info.Folds.Carry(x)
		v := make([]float64, d)
		for j := range v {
			v[j] = (y[j] - x[j]) / τ
		}
		states, momenta = append(states, slices.Clone(y)), append(momenta, v)
		prev, x = x, y
	}
	return states, momenta, sum
}

// wave is the triangle wave of the position that a free flight in [0, w] has at the
// point s of its unfolded line, and its slope.
func wave(s, w float64) (x, slope float64) {
	s = math.Mod(s, 2*w)
	if s < 0 {
		s += 2 * w
	}
	if s > w {
		return 2*w - s, -1
	}
	return s, 1
}

// Between flat walls a free flight is the reflected line, through corners and through
// slabs that a step crosses more than once, and momenta are its slopes.
func TestFreeFlight(t *testing.T) {
	for name, c := range map[string]struct {
		width, x, p []float64
		τ           float64
	}{
		"interval":         {[]float64{1}, []float64{0.3}, []float64{-2}, 0.25},
		"box":              {[]float64{1, 0.7}, []float64{0.3, 0.1}, []float64{-2, 0.9}, 0.2},
		"into a corner":    {[]float64{1, 1}, []float64{0.25, 0.25}, []float64{-1, -1}, 0.5},
		"across slabs":     {[]float64{0.3}, []float64{0.1}, []float64{3.1}, 0.5},
		"box in R³, twice": {[]float64{0.5, 0.4, 0.9}, []float64{0.3, 0.1, 0.5}, []float64{2, -1.7, 1.2}, 0.5},
	} {
		for _, m := range []Method{ULLA, ULLAP} {
			for _, explicit := range []bool{false, true} {
				p := flying(boxOf(t, make([]float64, len(c.width)), c.width), m, c.τ, 40)
				p.Landing = Landing{Explicit: explicit, Rate: 1}
				states, momenta, n := fly(t, p, c.x, c.p)
				for k := range states {
					for j := range c.x {
						want, slope := wave(c.x[j]+c.p[j]*c.τ*float64(k+1), c.width[j])
						if math.Abs(states[k][j]-want) > 1e-9 {
							t.Fatalf("%s, %v, step %d: x[%d] = %v, want %v", name, m, k, j, states[k][j], want)
						}
						if at := min(want, c.width[j]-want); at > 1e-9 && math.Abs(momenta[k][j]-slope*c.p[j]) > 1e-9 {
							t.Fatalf("%s, %v, step %d: p[%d] = %v, want %v", name, m, k, j, momenta[k][j], slope*c.p[j])
						}
					}
				}
				if n.Reflected == 0 || n.TurnedBack > 0 || n.Pushed > 0 {
					t.Errorf("%s, %v: %+v", name, m, n)
				}
			}
		}
	}
}

// On a half line a step that ends beyond the wall by δ ends before it by δ, for OLLA too,
// and the mirror image of where it came from is on the other side.
func TestHalfLine(t *testing.T) {
	for _, m := range []Method{OLLA, OLLAP, ULLA, ULLAP} {
		p := flying(boxOf(t, []float64{0}, nil), m, 0.25, 1)
		s := p.NewStepper(3)
		x, y, failed := []float64{0.3, 0.3, 0}, make([]float64, 3), make([]bool, 3)
		prev, ζ := []float64{0.8, 0.3, 0.5}, make([]float64, 3) // p = −2, 0, −2
		if !m.Underdamped() {
			ζ = []float64{-1, 0, -1} // √τ = ½
		}
		info, err := s.Forward(y, x, prev, ζ, failed, 3, 0)
		if err != nil || slices.Contains(failed, true) {
			t.Fatal(err, failed)
		}
		f := info.Folds
		for i, want := range []float64{0.2, 0.3, 0.5} {
			testkit.Near(t, y[i], want, 1e-11, "%v", m)
		}
		if !slices.Equal(f.Row, []int{0, 2}) || math.Abs(f.Y[0]+0.2) > 1e-11 || math.Abs(f.M[0]+0.3) > 1e-11 ||
			math.Abs(f.Y[1]+0.5) > 1e-11 || math.Abs(f.M[1]) > 1e-11 {
			t.Errorf("%v: %+v", m, f)
		}
		if info.Reflected != 2 || info.TurnedBack != 0 || info.Worst[0] != 0 {
			t.Errorf("%v: %+v", m, info)
		}
	}
}

// In a corner the deepest wall mirrors first, by distance and not by value, wherever it
// stands in the list: in a wedge of 100°, which is no chamber, the order shows.
func TestDeepestWallFirst(t *testing.T) {
	sin, cos := math.Sincos(100 * math.Pi / 180)
	normal := [][]float64{{0, -1}, {-sin, cos}} // of {y ≥ 0}, and of the other side
	scale := []float64{3, 0.25}
	set := walls{zoo.Affine{
		A: [][]float64{{0, -scale[0]}, {-sin * scale[1], cos * scale[1]}}, B: []float64{0, 0},
	}, 2}
	st, first := keyed.New(4, keyed.Probe, 0), [2]int{}
	p, z := make([]float64, 2), make([]float64, 2)
	for trial := range uint64(200) {
		st.Normals(z, trial, 0)
		for j := range p { // into the corner, from inside
			p[j] = z[j] - 1.5
		}
		want := []float64{1 + p[0], 1 + p[1]}
		for mirrors := 0; mirrors < 8; mirrors++ {
			depth := [2]float64{dense.Dot(normal[0], want), dense.Dot(normal[1], want)}
			deepest := 0
			if depth[1] > depth[0] {
				deepest = 1
			}
			if depth[deepest] <= 0 {
				break
			}
			if mirrors == 0 && min(depth[0], depth[1]) > 0 {
				first[deepest]++
			}
			dense.Axpy(want, -2*depth[deepest], normal[deepest])
		}
		got, _, sum := fly(t, flying(set, ULLAP, 1, 1), []float64{1, 1}, p)
		if sum.TurnedBack == 0 && math.Hypot(got[0][0]-want[0], got[0][1]-want[1]) > 1e-10 {
			t.Errorf("from (1, 1) by %v to %v, want %v", p, got[0], want)
		}
	}
	if min(first[0], first[1]) < 5 {
		t.Errorf("the walls were the deepest of two %v times", first)
	}
}

// Backward steps without noise, friction and score retrace a forward path and its
// bounces: exactly between flat walls, and to the order of the scheme on a sphere.
func TestBouncesReverse(t *testing.T) {
	for name, c := range map[string]struct {
		set   constraint.Set
		x, p  []float64
		τ     float64
		steps int
		tol   float64
	}{
		"box": {
			boxOf(t, []float64{0, 0}, []float64{1, 0.7}), []float64{0.3, 0.1}, []float64{-1.93, 0.9}, 0.21, 30, 1e-9,
		},
		"cap": {polarCap(t), []float64{0, 0, 1}, []float64{0.8, 0.3, 0}, 0.02, 150, 1e-3},
	} {
		τ, steps := c.τ, c.steps
		p := flying(c.set, ULLAP, τ, steps)
		d := len(c.x)
		s := p.NewStepper(1)
		var path [][]float64
		x, prev := slices.Clone(c.x), make([]float64, d)
		for j := range prev {
			prev[j] = x[j] - τ*c.p[j]
		}
		zero, failed, bounces := make([]float64, d), make([]bool, 1), 0
		for k := range steps {
			path = append(path, slices.Clone(x))
			y := make([]float64, d)
			info := testkit.Must(s.Forward(y, x, prev, zero, failed, 1, k))
			bounces += info.Reflected
			info.Folds.Carry(x)
			prev, x = x, y
		}
		// p̃_N leaves x_N as it arrived.
		next := make([]float64, d)
		for j := range next {
			next[j] = x[j] + (x[j] - prev[j])
		}
		for k := steps - 1; k >= 0; k-- {
			y := make([]float64, d)
			info := testkit.Must(s.Backward(y, x, next, zero, failed, 1, k, zeroScore{}))
			bounces -= info.Reflected
			info.Folds.Carry(x)
			next, x = x, y
			if e := distance(x, path[k]); e > c.tol {
				t.Fatalf("%s: back at step %d by %g", name, k, e)
			}
		}
		if bounces != 0 || failed[0] {
			t.Errorf("%s: %d more bounces forward than backward", name, bounces)
		}
	}
}

// wall is {g ≤ 0} on the line, with its derivative.
type wall func(x float64) (g, slope float64)

func (w wall) Dim() int                              { return 1 }
func (w wall) Equalities() []string                  { return nil }
func (w wall) Inequalities() []string                { return []string{"wall"} }
func (w wall) Capabilities() constraint.Capabilities { return constraint.Capabilities{} }
func (w wall) NewEvaluator(int) constraint.Evaluator { return sets.Evaluator(w) }
func (w wall) Values(v, x []float64, n int) {
	for i := range n {
		v[i], _ = w(x[i])
	}
}
func (w wall) Jacobians(v, j, x []float64, n int) {
	for i := range n {
		v[i], j[i] = w(x[i])
	}
}

// A step that mirrors cannot bring back returns to its start and reverses its momentum, if it began inside. If it began
// outside Σ, it is projected onto Σ, or fails where no point of Σ is near.
func TestWhereMirrorsEnd(t *testing.T) {
	hill := wall(func(x float64) (float64, float64) { return 1 - (x-2)*(x-2), -2 * (x - 2) }) // beyond: (1, 3)
	nowhere := wall(func(x float64) (float64, float64) { return 1 + x*x, 2 * x })
	slab := boxOf(t, []float64{0}, []float64{0.01})
	half := boxOf(t, []float64{0}, nil)
	const near = 1.1 - 0.19*2/1.8 // the linear mirror of 1.1 in the hill
	for name, c := range map[string]struct {
		set    constraint.Set
		x, v   float64 // the step moves by v
		want   float64
		m      float64 // mirror image of x; of no fold: NaN
		what   Bounces
		failed bool
	}{
		"a gradient that vanishes":      {hill, 0.5, 1.5, 0.5, 2, Bounces{TurnedBack: 1}, false},
		"a mirror that throws far":      {hill, 0.5, 1.4, 0.5, 1.9, Bounces{TurnedBack: 1}, false},
		"a mirror that does not":        {hill, 0.9, 0.2, near, near + 0.2, Bounces{Reflected: 1}, false},
		"a slab too thin":               {slab, 0.005, 1.0031, 0.005, 1.0081, Bounces{TurnedBack: 1}, false},
		"a slab as thin as it may be":   {slab, 0.005, 0.114, 0.001, 0.115, Bounces{Reflected: 1}, false},
		"from outside, far":             {half, -0.5, 0.1, 0, math.NaN(), Bounces{Pushed: 1}, false},
		"from outside, near":            {half, -0.05, -0.1, 0.15, 0.05, Bounces{Reflected: 1}, false},
		"from outside, to the inside":   {half, -0.05, 0.1, 0.05, math.NaN(), Bounces{}, false},
		"on the wall by round-off":      {hill, 1 + 1e-14, 1, 1 + 1e-14, 2 + 1e-14, Bounces{TurnedBack: 1}, false},
		"from outside, where Σ is none": {nowhere, 1, 0.1, 1, math.NaN(), Bounces{Pushed: 1}, true},
	} {
		p := flying(c.set, ULLA, 1, 1)
		y, failed, x := make([]float64, 1), make([]bool, 1), []float64{c.x}
		info := testkit.Must(p.NewStepper(1).Forward(y, x, []float64{c.x - c.v}, []float64{0}, failed, 1, 0))
		if math.Abs(y[0]-c.want) > 1e-9 || info.Bounces != c.what || failed[0] != c.failed {
			t.Errorf("%s: to %v %+v failed %v, want %v %+v", name, y, info.Bounces, failed, c.want, c.what)
		}
		if (len(info.Folds.M) == 0) != math.IsNaN(c.m) {
			t.Errorf("%s: folds %+v", name, info.Folds)
		} else if len(info.Folds.M) > 0 && math.Abs(info.Folds.M[0]-c.m) > 1e-9 {
			t.Errorf("%s: mirror image at %v, want %v", name, info.Folds.M, c.m)
		}
	}
}

// Unfolded over a step that a wall sent back, x_{k−1} is M_k, and the move that would have
// left Σ the one that arrived: at flat and curved walls, where two meet, and where steps turn
// back. Distances stay. Over several steps it is one after the other.
func TestUnfold(t *testing.T) {
	thin := boxOf(t, []float64{0, 0}, []float64{0.002, 5}) // a step takes too many mirrors
	for name, set := range map[string]constraint.Set{"room": room(), "cap": polarCap(t), "thin": thin} {
		for _, m := range []Method{OLLA, ULLA} {
			p := process(set, m)
			p.Landing.Explicit = false
			x0 := testkit.Must(Start(t.Context(), p, 40, 6))
			pool := parallel.New(1)
			var paths Paths
			r, err := NewSimulator(p, pool, 16).Forward(t.Context(), &paths, x0, 8, 1)
			pool.Close()
			testkit.OK(t, err)
			testkit.Equal(t, name == "thin", (r.TurnedBack > 0), "%s %v: %+v", name, m, r.Bounces)
			d, N := paths.Dim, paths.Steps
			z, v, w := make([]float64, d), make([]float64, d), make([]float64, d)
			for i := range 40 {
				for k := 1; k <= N; k++ {
					x, y, before := paths.At(i, k), paths.Proposal(i, k), paths.At(i, k-1)
					copy(z, before)
					for j := range d {
						v[j], w[j] = y[j]-before[j], 1
					}
					long := dense.Dot(v, w)
					paths.Unfold(i, k-1, k, z, v, w)
					for j, o := range paths.Origin(i, k) {
						if math.Abs(z[j]-o) > 1e-12 || math.Abs(v[j]-(x[j]-o)) > 1e-12 {
							t.Fatalf("%s %v, path %d, step %d: %v came from %v with %v; unfolded from %v with %v",
								name, m, i, k, x, paths.Origin(i, k), x[j]-o, z, v)
						}
					}
					if math.Abs(dense.Dot(v, w)-long) > 1e-12*(1+math.Abs(long)) {
						t.Fatalf("%s %v, path %d, step %d: angles change", name, m, i, k)
					}
				}
				copy(z, x0[i*d:])
				clear(v)
				v[0] = 1
				copy(w, z)
				u := append([]float64(nil), v...)
				paths.Unfold(i, 0, N, z, v, nil)
				for k := range N {
					paths.Unfold(i, k, k+1, w, u, nil)
				}
				for j := range d {
					if z[j] != w[j] || v[j] != u[j] {
						t.Fatalf("%s %v, path %d: at once %v and %v, step by step %v and %v", name, m, i, z, v, w, u)
					}
				}
			}
		}
	}
}

// Paths, folds, samples and counts do not depend on workers and blocks; the paths stay
// inside, and so does what is generated.
func TestElasticPathsAreReproducible(t *testing.T) {
	for name, set := range map[string]constraint.Set{"room": room(), "cap": polarCap(t)} {
		for _, m := range []Method{OLLA, ULLA, OLLAP, ULLAP} {
			p := process(set, m)
			p.NoTerminal, p.Landing.Explicit = false, false
			l := len(set.Inequalities())
			x0 := testkit.Must(Start(t.Context(), p, 40, 6))
			var first []float64
			var count Bounces
			for _, c := range []struct{ workers, rows int }{{1, 40}, {2, 7}, {7, 3}} {
				pool := parallel.New(c.workers)
				sim := NewSimulator(p, pool, c.rows)
				var paths Paths
				if _, err := sim.Forward(t.Context(), &paths, x0, 8, 1); err != nil { // memory is used again
					t.Fatal(err)
				}
				r := testkit.Must(sim.Forward(t.Context(), &paths, x0, 5, 2))
				out, failed := make([]float64, len(x0)), make([]bool, 40)
				score := func(int) Score { return smooth }
				back := testkit.Must(sim.Backward(t.Context(), out, failed, 0, 5, Empirical{x0}, score))
				pool.Close()
				all, folded := append(slices.Clone(paths.X), out...), 0
				for i := range 40 {
					for k := 1; k <= p.Schedule.N; k++ {
						all = append(append(all, paths.Proposal(i, k)...), paths.Origin(i, k)...)
						if &paths.Proposal(i, k)[0] != &paths.At(i, k)[0] {
							folded++
						} else if &paths.Proposal(i, k)[0] != &paths.At(i, k)[0] ||
							&paths.Origin(i, k)[0] != &paths.At(i, k-1)[0] {
							t.Fatal("a step without fold has another proposal or origin")
						}
					}
				}
				if folded != r.Reflected+r.TurnedBack || folded == 0 || back.Reflected == 0 {
					t.Errorf("%s %v: %d steps folded, reports %+v and %+v", name, m, folded, r.Bounces, back.Bounces)
				}
				r.Bounces.Add(back.Bounces)
				if first == nil {
					first, count = all, r.Bounces
				}
				if !slices.Equal(all, first) || r.Bounces != count {
					t.Errorf("%s %v: %+v changes something", name, m, c)
				}
				for i, failed := range paths.Failed {
					for k := range p.Schedule.N + 1 {
						v := constraint.Values(set, paths.At(i, k))
						if w := slices.Max(v[len(v)-l:]); w > 1e-12 && !failed {
							t.Fatalf("%s %v: path %d is outside by %g at step %d", name, m, i, w, k)
						}
					}
				}
			}
		}
	}
}

// late is a set that can leave what it has beside open to the last state.
type late struct {
	constraint.Set
	open constraint.Set
}

func (s late) Unwrap() []constraint.Set { return []constraint.Set{s.Set} }

func (s late) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Open = func() constraint.Set { return s.open }
	return c
}

// With late walls paths are those of the open set, to the bit, forward and backward, and each sample is the nearest
// point of Σ to that of the open set: here in a box. With elastic walls neither holds.
func TestLateWalls(t *testing.T) {
	inf, pool := math.Inf(1), testkit.Pool(t, 2)
	open := boxOf(t, []float64{-1, -inf}, []float64{1, inf})
	whole := late{constraint.All(open, boxOf(t, []float64{-inf, -0.25}, []float64{inf, 0.5})), open}
	for _, m := range []Method{OLLA, ULLA} {
		var paths [3]Paths
		var samples [3][]float64
		x0, failed := make([]float64, 2*40), make([]bool, 40)
		for i, p := range []*Process{{Set: open}, {Set: whole, Walls: LateWalls}, {Set: whole}} {
			p.Method, p.Friction, p.Schedule = m, 1, Schedule{N: 20, T: 1, SigmaMin: 1, SigmaMax: 1}
			s := NewSimulator(p, pool, 7)
			testkit.Must(s.Forward(t.Context(), &paths[i], x0, 1, 0))
			samples[i] = make([]float64, len(x0))
			r := testkit.Must(s.Backward(t.Context(), samples[i], failed, 0, 1, Empirical{paths[0].X[2*20:][:2]},
				func(int) Score { return zeroScore{} }))
			if r.Failed > 0 || r.Reflected == 0 {
				t.Errorf("%v: %+v", m, r)
			}
		}
		if !slices.Equal(paths[0].X, paths[1].X) || slices.Equal(paths[0].X, paths[2].X) {
			t.Errorf("%v: the paths are not those of the open set alone", m)
		}
		outside := 0
		for j, v := range samples[0] {
			if j%2 == 1 && (v < -0.25 || v > 0.5) {
				outside++
				v = min(max(v, -0.25), 0.5)
			}
			testkit.Near(t, samples[1][j], v, 1e-12, "%v: coordinate %d of sample %d", m, j%2, j/2)
		}
		if outside < 10 {
			t.Errorf("%v: only %d of 40 samples were outside", m, outside)
		}
	}
}
