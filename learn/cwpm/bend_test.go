package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/sets"
)

// The form of a point is that at the centre of its cell, whatever was asked before, when
// cells were forgotten, and beside one that has none.
func TestFormsOfCells(t *testing.T) {
	e := zoo.Ellipsoid{Axes: []float64{1, 0.6, 0.2}}
	k := testkit.Must(geometry.NewCurvature(e, 1))
	g, want := geometry.New(e, 1, 0), make([]float64, 9)
	const n, length = 300, 0.4
	for _, limit := range []int{maxCells, 40} {
		b := newBends(e, n, length)
		b.limit = limit
		x := make([]float64, 3*n)
		for round := range uint64(4) {
			for i := range n {
				e.SampleUniform(x[3*i:3*i+3], keyed.New(3, keyed.Probe, round%3), uint64(i))
			}
			const odd = 7
			copy(x[3*odd:], []float64{math.Inf(1), 0, math.NaN()})
			b.prepare(x, n)
			if limit == 40 && (len(b.index) >= 40+n || len(b.squares) != 9*len(b.index)) {
				t.Fatalf("%d cells are kept, %d numbers", len(b.index), len(b.squares))
			}
			for i := range n {
				got, centre := b.square(i), make([]float64, 3)
				for j, v := range x[3*i : 3*i+3] {
					centre[j] = (math.Floor(v/(length/4)) + 0.5) * length / 4
				}
				if i == odd {
					continue
				}
				testkit.OK(t, g.At(centre, 1))
				k.Square(want, g)
				for j := range want {
					if got[j] != want[j] {
						t.Fatalf("limit %d, round %d, point %d: form %v, want %v", limit, round, i, got, want)
					}
				}
			}
		}
	}
	// At the centre of a ball, where its level set has no tangent.
	s := sets.Dense(zoo.Ellipsoid{Axes: []float64{1, 1}})
	b := newBends(s, 2, 4)
	b.size = 2
	b.prepare([]float64{0, 0, 0.5, 2.5}, 2)
	if b.square(1)[0] == 0 {
		t.Error("no form beside a point without")
	}
	center := newBends(s, 1, 4)
	center.meet([]float64{0, 0})
	if center.squares[0] != 0 || len(center.squares) != 4 {
		t.Errorf("the form where there is no tangent is %v", center.squares)
	}
}

// In five dimensions, at the end of the first axis of an ellipsoid, the curvature along
// axis j is a_0/a_j²; r of a window is 1/(1 + κ²‖v‖²) with that along v. In three it is
// 1/(1 + w²(κ_1² + κ_2²)), w being the window's standard deviation.
func TestBendOfAWindow(t *testing.T) {
	axes := []float64{1.5, 0.8, 0.7, 0.5, 0.9}
	for _, d := range []int{5, 3} {
		p := line(langevin.OLLA, langevin.Reference)
		p.Set = zoo.Ellipsoid{Axes: axes[:d]}
		const length = 0.6
		l := NewLoss(p, reads[float64](p), 1, Options{Window: length})
		paths := &langevin.Paths{Count: 1, Steps: p.Schedule.N, Dim: d, X: make([]float64, d*(p.Schedule.N+1)),
			Failed: make([]bool, 1)}
		for k := range p.Schedule.N + 1 {
			copy(paths.At(0, k), []float64{axes[0], 0.01 * float64(k-4)})
		}
		const k = 3
		copy(paths.At(0, k+1), []float64{axes[0], 0}) // k + 1 = 4: the end of the axis
		terms := []Term{{K: k}}
		testkit.OK(t, l.load(paths, terms, nil))
		l.lookBack(paths, terms)
		κ := func(j int) float64 { return axes[0] / (axes[j] * axes[j]) }
		want := 1 / (1 + κ(1)*κ(1)*l.v[1]*l.v[1])
		tolerance := 1e-12
		if d == 3 {
			w := 0.
			for i := l.start[k]; i <= k; i++ {
				w += p.Schedule.Tau(i)
			}
			want = 1 / (1 + w*(κ(1)*κ(1)+κ(2)*κ(2)))
			tolerance = 0.15 // of the cell's centre, an eighth of a window away along each axis
			if got, want := l.ii[4]/l.ii[8], κ(1)*κ(1)/(κ(2)*κ(2)); math.Abs(got/want-1) > 2*tolerance {
				t.Errorf("the form's ratio is %v, want %v", got, want)
			}
			trace := l.ii[0] + l.ii[4] + l.ii[8]
			if math.Abs(trace-(1-l.r[0])) > 1e-12 {
				t.Errorf("w²r tr II² is %v, 1 − r = %v", trace, 1-l.r[0])
			}
		}
		if l.start[k] == k || l.v[1] == 0 || math.Abs(l.r[0]/want-1) > tolerance {
			t.Errorf("R^%d: r = %v, want %v; v = %v", d, l.r[0], want, l.v)
		}
	}
	for name, s := range map[string]constraint.Set{
		"geodesics known": zoo.Sphere{D: 3}, "flat": zoo.Euclidean{D: 3},
		"no Hessian products": sets.Plain(zoo.Torus{Major: 2, Minor: 1}),
	} {
		if newBends(s, 1, 0.1) != nil {
			t.Errorf("%s: bends", name)
		}
	}
}

// Without a move there is no bend, whatever stood in its place, and the points beside it have theirs.
func TestBendOfNoMove(t *testing.T) {
	const d, n = 5, 3
	set := zoo.Ellipsoid{Axes: []float64{1.5, 0.8, 0.7, 0.5, 0.9}}
	b, g := newBends(set, n, 1), geometry.New(set, n, 0)
	x, v, got := make([]float64, n*d), make([]float64, n*d), []float64{7, 7, 7}
	for i := range n {
		x[i*d] = 1.5
	}
	v[1], v[2*d+2] = 0.2, 0.3
	testkit.OK(t, g.At(x, n))
	b.along(got, g, v)
	κ := func(a float64) float64 { return 1.5 / (a * a) }
	for i, want := range []float64{κ(0.8) * κ(0.8) * 0.04, 0, κ(0.7) * κ(0.7) * 0.09} {
		testkit.Near(t, got[i], want, 1e-12, "move %d bends", i)
	}
}

// A potential's gradient is taken where each window begins, in every coordinate of every term.
func TestGradientWhereWindowsBegin(t *testing.T) {
	const d = 3
	p := line(langevin.OLLA, langevin.Reference)
	center := []float64{1, -2, 0.5}
	p.Set, p.Potential = zoo.Euclidean{D: d}, langevin.Quadratic{Center: center}
	l := NewLoss(p, reads[float64](p), 4, Options{Window: 0.6})
	paths := &langevin.Paths{Count: 2, Steps: p.Schedule.N, Dim: d, X: make([]float64, 2*d*(p.Schedule.N+1)),
		Failed: make([]bool, 2)}
	for i := range paths.X {
		paths.X[i] = math.Sin(float64(i * i))
	}
	terms := []Term{{K: 3}, {Item: 1, K: 1}, {Item: 1, K: 4}, {K: 2}}
	testkit.OK(t, l.load(paths, terms, nil))
	l.lookBack(paths, terms)
	for i, term := range terms {
		for j, v := range paths.At(term.Item, l.from[i]) {
			if got := l.gradStart[i*d+j]; math.Abs(got-(v-center[j])) > 1e-15 {
				t.Errorf("term %d: ∂f/∂x_%d is %v at %v", i, j, got, v)
			}
		}
	}
}

// The force at the start of a window is seen in the mirrors of the walls that the path met since, as
// the displacement and the momentum are: along each axis of a box with the sign that the bounces in
// between leave, for every method, term and path.
func TestForceOfAWindowIsUnfolded(t *testing.T) {
	set := box(t, []float64{0, -0.2}, []float64{0.9, 0.4})
	f := langevin.Quadratic{Center: []float64{0.3, 0.1}, Weight: []float64{0.5, 0.8}}
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA, langevin.OLLAP, langevin.ULLAP} {
		p := line(m, langevin.Reference)
		p.Set, p.Potential = set, f
		starts := make([]float64, 2*100)
		for i := range starts {
			starts[i] = 0.35 * float64(i%7) / 7
		}
		paths, last := forward(t, p, starts, 7)
		l := NewLoss(p, reads[float64](p), 9, Options{Window: 10})
		l.SetWindows(make([]Window, p.Schedule.N))
		signs, turned := 0, 0
		for k := range p.Schedule.N {
			for lo := 0; lo < paths.Count; lo += 9 {
				var terms []Term
				for i := lo; i < min(lo+9, paths.Count); i++ {
					terms = append(terms, Term{Item: i, K: k})
				}
				testkit.OK(t, l.load(paths, terms, last))
				l.lookBack(paths, terms)
				for i, term := range terms {
					j := l.from[i]
					want := make([]float64, 2)
					f.Gradient(want, paths.At(term.Item, j), 1)
					for step := j + 1; step <= k+1; step++ { // what goes in by what comes out of each step
						for e := range want {
							out := paths.Proposal(term.Item, step)[e] - paths.At(term.Item, step-1)[e]
							in := paths.At(term.Item, step)[e] - paths.Origin(term.Item, step)[e]
							if out*in < 0 {
								want[e] = -want[e]
								turned++
							}
						}
					}
					for e, w := range want {
						signs++
						if got := l.gradStart[2*i+e]; math.Abs(got-w) > 1e-12 {
							t.Fatalf("%v, path %d, k = %d: the force at %d is %v along %d, want %v", m, term.Item, k, j,
								got, e, w)
						}
					}
				}
			}
		}
		if turned < signs/50 {
			t.Errorf("%v: %d of %d signs are turned", m, turned, signs)
		}
	}
}

// What a window is read from is tangent where it ends, for a fit as for a target: displacement,
// momentum and forces, here on an ellipsoid, where normals turn.
func TestWindowsAreTangent(t *testing.T) {
	axes := []float64{1, 0.7, 0.5}
	for _, m := range []langevin.Method{langevin.OLLA, langevin.ULLA, langevin.ULLAP} {
		p := &langevin.Process{
			Set: zoo.Ellipsoid{Axes: axes}, Method: m, Friction: 4, Potential: langevin.Linear{B: []float64{1, 2, -1}},
			Schedule: langevin.Schedule{N: 20, T: 0.6, SigmaMin: 0.4, SigmaMax: 0.8},
		}
		starts := testkit.Must(langevin.Start(t.Context(), p, 12, 1))
		paths, last := forward(t, p, starts, 5)
		l := NewLoss(p, reads[float64](p), 12, Options{Window: 0.12})
		l.SetWindows(make([]Window, p.Schedule.N))
		var terms []Term
		for i := range 12 { // a window that begins behind the first state
			for k, j := range l.start {
				if j > 0 && j < k && len(terms) == i {
					terms = append(terms, Term{Item: i, K: k})
				}
			}
		}
		if len(terms) < 12 {
			t.Fatalf("%v: windows begin at %v", m, l.start)
		}
		testkit.OK(t, l.load(paths, terms, last))
		l.lookBack(paths, terms)
		moving := 0.0
		for i := range terms {
			x, normal := paths.At(i, terms[i].K+1), make([]float64, 3)
			for j, a := range axes {
				normal[j] = x[j] / (a * a)
			}
			dense.Scaled(normal, 1/dense.Norm(normal), normal)
			for name, v := range map[string][]float64{"v": l.v, "p_j": l.pj, "∇f at x_j": l.gradStart} {
				v := v[3*i : 3*i+3]
				if got := dense.Dot(v, normal); math.Abs(got) > 1e-12*(1+dense.Norm(v)) {
					t.Errorf("%v: %s of term %d has the normal part %v of %v", m, name, i, got, dense.Norm(v))
				}
				if name == "p_j" {
					moving += dense.Norm(v)
				}
			}
		}
		testkit.Equal(t, moving > 0, m.Underdamped(), "%v: momenta of %v", m, moving)
	}
}
