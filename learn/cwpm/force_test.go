package cwpm

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
