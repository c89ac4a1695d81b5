package conformation_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

// process is the paper's on a set.
func process(set constraint.Set, method langevin.Method, walls langevin.Walls) *langevin.Process {
	return &langevin.Process{
		Set: set, Method: method, Friction: 10, Walls: walls, Repulsion: 0.05, Curvature: true,
		Schedule: langevin.Schedule{N: 100, T: 0.2, SigmaMin: 0.5, SigmaMax: 2},
		Landing:  langevin.Landing{Explicit: true, Rate: 50},
	}
}

// A motion is a rotation, by rows, and a translation after it.
type motion struct{ turn, shift [3]vector }
type vector [3]float64

// move applies the motion to atoms; without the translation to velocities and noise.
func (m motion) move(x []float64, shift float64) []float64 {
	out := make([]float64, len(x))
	for i := 0; i < len(x); i += 3 {
		for k := range 3 {
			out[i+k] = shift * m.shift[0][k]
			for j := range 3 {
				out[i+k] += m.turn[k][j] * x[i+j]
			}
		}
	}
	return out
}

// anyMotion has the rotation of a random unit quaternion.
func anyMotion(sample uint64) motion {
	v := make([]float64, 7)
	keyed.New(1, keyed.Probe, 8).Normals(v, sample, 0)
	n := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2] + v[3]*v[3])
	a, b, c, d := v[0]/n, v[1]/n, v[2]/n, v[3]/n
	return motion{
		turn: [3]vector{{1 - 2*(c*c+d*d), 2 * (b*c - a*d), 2 * (b*d + a*c)},
			{2 * (b*c + a*d), 1 - 2*(b*b+d*d), 2 * (c*d - a*b)}, {2 * (b*d - a*c), 2 * (c*d + a*b), 1 - 2*(b*b+c*c)}},
		shift: [3]vector{{10 * v[4], 10 * v[5], 10 * v[6]}},
	}
}

// springs is an equivariant score: atoms pull each other, against the momentum.
type springs struct{}

func (springs) Eval(dst, x, p []float64, n int, t float64) {
	d := len(x) / n
	for i := range n {
		for a := 0; a < d; a += 3 {
			for k := range 3 {
				s := 0.0
				for b := 0; b < d; b += 3 {
					s += x[i*d+b+k] - x[i*d+a+k]
				}
				if dst[i*d+a+k] = t * s; p != nil {
					dst[i*d+a+k] -= 0.1 * p[i*d+a+k]
				}
			}
		}
	}
}

// Start and noise moved by one rigid motion, the whole path moves along, forward and
// backward, and internal coordinates stay as they are, to 1e-10: the law of what is
// generated does not depend on where the molecule is and how it is turned.
func TestGauge(t *testing.T) {
	x0 := golden.Read(t, "md_ops.npz")["x_on"].AsFloat64()
	const n, d = 6, 30
	ring, shape := crown(t, 10) // ten atoms as well, and flat in the mean
	bonds := testkit.Must(conformation.Bonds(ring, shape))
	spec := conformation.Spec{Molecule: ring, Conditions: append(bonds, on(angle, 1.8, 2.1, 0, 1, 2)),
		Apart: []conformation.Apart{{Pairs: conformation.Separated(ring, []int{0, 1, 2, 3, 4, 5, 6}, 2), Min: 2.4}}}
	closed := testkit.Must(conformation.New(spec))
	var circle []float64
	for range n {
		circle = append(circle, shape...)
	}
	for _, c := range []struct {
		name string
		set  constraint.Set
		x    []float64
	}{{"alanine", alanine(t, false), x0}, {"paper's alanine", alanine(t, true), x0}, {"ring", closed, circle}} {
		for _, method := range []langevin.Method{langevin.ULLA, langevin.OLLA, langevin.ULLAP} {
			for _, walls := range []langevin.Walls{langevin.ElasticWalls, langevin.PaperWalls} {
				t.Run(fmt.Sprint(c.name, " ", method, " ", walls), func(t *testing.T) {
					p := process(c.set, method, walls)
					// Round-off grows along paths that bounce; the whole of the paper's would end at 1e-8.
					p.Schedule.N, p.Schedule.T = 40, 0.08
					testkit.OK(t, p.Validate())
					for _, backward := range []bool{false, true} {
						still := path(t, p, c.x, n, motion{turn: [3]vector{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, backward)
						if far := distanceOf(still, c.x); far < 0.1 {
							t.Errorf("the path has gone no further than %.3g", far)
						}
						m := anyMotion(3)
						moved := path(t, p, m.move(c.x, 1), n, m, backward)
						if far := distanceOf(moved, m.move(still, 1)); far > 1e-10 {
							t.Errorf("backward %v: the moved path is %.3g from the path, moved", backward, far)
						}
						for i := range n {
							a, b := still[i*d:(i+1)*d], moved[i*d:(i+1)*d]
							for j := 3; j < 10; j++ {
								e := molecule.Torsion(a, j-3, j-2, j-1, j) - molecule.Torsion(b, j-3, j-2, j-1, j)
								if math.Abs(math.Remainder(e, 2*math.Pi)) > 1e-10 {
									t.Errorf("backward %v: a torsion of row %d is off by %.3g", backward, i, e)
								}
							}
						}
					}
				})
			}
		}
	}
}

// path follows n rows from x with the noise of a seed, turned by m.
func path(t *testing.T, p *langevin.Process, x []float64, n int, m motion, backward bool) []float64 {
	t.Helper()
	s, d := p.NewStepper(n), p.Set.Dim()
	noise := func(step int) []float64 {
		ζ := make([]float64, n*d)
		keyed.New(1, keyed.Probe, 9).Normals(ζ, 0, step)
		return m.move(ζ, 0)
	}
	prev := append([]float64(nil), x...)
	for i, v := range noise(p.Schedule.N) {
		prev[i] -= 1e-3 * v
	}
	failed := make([]bool, n)
	for k := range p.Schedule.N {
		out := make([]float64, n*d)
		var info langevin.Info
		var err error
		if backward {
			info, err = s.Backward(out, x, prev, noise(k), failed, n, p.Schedule.N-1-k, springs{})
		} else {
			info, err = s.Forward(out, x, prev, noise(k), failed, n, k)
		}
		testkit.OK(t, err)
		x = append([]float64(nil), x...)
		info.Folds.Carry(x)
		prev, x = x, out
	}
	return x
}

func distanceOf(x, y []float64) (far float64) {
	for i, v := range x {
		far = max(far, math.Abs(v-y[i]))
	}
	return far
}

// The forward simulation of the paper's alanine: as many paths as there are training rows.
func BenchmarkForward(b *testing.B) {
	const paths, d = 4825, 30
	six := golden.Read(b, "md_ops.npz")["x_on"].AsFloat64()
	x0 := make([]float64, paths*d)
	for i := range paths {
		copy(x0[i*d:(i+1)*d], six[i%6*d:])
	}
	pool := parallel.New(2)
	defer pool.Close()
	p := process(alanine(b, false), langevin.ULLA, langevin.ElasticWalls)
	p.Curvature = false
	sim := langevin.NewSimulator(p, pool, 64)
	var out langevin.Paths
	refresh := uint64(0)
	for b.Loop() {
		testkit.Must(sim.Forward(context.Background(), &out, x0, 1, refresh))
		refresh++
	}
	failed := 0
	for _, f := range out.Failed {
		if f {
			failed++
		}
	}
	b.ReportMetric(float64(failed), "failed")
}
