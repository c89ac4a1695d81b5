package langevin_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/landing-diffusion/landing/base/expr"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/formula"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// conditioned is {‖x‖ = c_0, x_2 ≤ c_1} in R^(4+2), with c = (x_4, x_5) held.
func conditioned(t *testing.T) constraint.Set {
	t.Helper()
	b := formula.NewBuilder(6)
	x := b.X()
	b.Equality("radius", expr.Norm(x.Slice(0, 4)).Sub(x.At(4)))
	b.Inequality("wall", x.At(2).Sub(x.At(5)))
	s := testkit.Must(b.Set())
	return constraint.Hold(s, []int{4, 5})
}

// pull is f = ⅓Σ|x_j|³: a force along all coordinates, those that are held too.
type pull struct{ d int }

func (f pull) Gradient(dst, x []float64, n int) {
	for i := range dst[:n*f.d] {
		dst[i] = x[i] * math.Abs(x[i])
	}
}

// lean is a score with something to say along every coordinate.
type lean struct{ d int }

func (s lean) Eval(dst, x, p []float64, n int, t float64) {
	for i := range dst[:n*s.d] {
		dst[i] = math.Sin(3*x[i]) + t
		if p != nil {
			dst[i] -= p[i]
		}
	}
}

func heldProcesses(set constraint.Set) map[string]*langevin.Process {
	out := map[string]*langevin.Process{}
	for _, m := range []langevin.Method{langevin.ULLA, langevin.OLLA, langevin.ULLAP, langevin.OLLAP} {
		for _, convention := range []langevin.Convention{langevin.Reference, langevin.Paper} {
			for _, walls := range []langevin.Walls{langevin.ElasticWalls, langevin.PaperWalls} {
				for _, explicit := range []bool{false, true} {
					p := &langevin.Process{
						Set: set, Method: m, Convention: convention, Walls: walls, Friction: 3, Curvature: true,
						Schedule:  langevin.Schedule{N: 8, T: 1.5, SigmaMin: 0.4, SigmaMax: 1},
						Potential: pull{set.Dim()}, Landing: langevin.Landing{Explicit: explicit, Rate: 4},
					}
					if walls == langevin.PaperWalls {
						p.Repulsion = 0.01
					}
					out[fmt.Sprint(m, convention, walls, explicit)] = p
				}
			}
		}
	}
	return out
}

// Every process steps on Σ(c) as on a set that knows of no condition, forward and backward, to round-off; and what is
// held keeps its bits, whatever noise, force and score say along it.
func TestHeldStepsAreThoseOfTheSlice(t *testing.T) {
	const n, d = 24, 4
	held, c := conditioned(t), []float64{1.5, 0.35}
	slice := heldProcesses(constraint.Slice(held, c))
	for name, p := range heldProcesses(held) {
		q := slice[name]
		if err := p.Validate(); err != nil {
			t.Fatal(name, err)
		}
		sp, sq, st := p.NewStepper(n), q.NewStepper(n), keyed.New(1, keyed.Probe, 9)
		draw := func(step int) (whole, x []float64) {
			for i := range uint64(n) {
				row := make([]float64, d+2)
				st.Normals(row, i, step)
				whole, x = append(whole, row...), append(x, row[:d]...)
			}
			return whole, x
		}
		x, y := draw(0)
		for i := range n { // inside and on Σ(c)
			r := 0.0
			x[i*6+2] = -math.Abs(x[i*6+2])
			for _, v := range x[i*6 : i*6+4] {
				r += v * v
			}
			for j := range d {
				x[i*6+j] *= c[0] / math.Sqrt(r)
				y[i*4+j] = x[i*6+j]
			}
			copy(x[i*6+4:], c)
		}
		prev, back := append([]float64(nil), x...), append([]float64(nil), y...)
		failed, lost := make([]bool, n), make([]bool, n)
		folded := 0
		for k := range 2 * p.Schedule.N {
			ζ, η := draw(k + 1)
			next, to := make([]float64, len(x)), make([]float64, len(y))
			var a, b langevin.Info
			var errA, errB error
			if k < p.Schedule.N {
				a, errA = sp.Forward(next, x, prev, ζ, failed, n, k)
				b, errB = sq.Forward(to, y, back, η, lost, n, k)
			} else {
				at := 2*p.Schedule.N - 1 - k
				a, errA = sp.Backward(next, x, prev, ζ, failed, n, at, lean{6})
				b, errB = sq.Backward(to, y, back, η, lost, n, at, lean{4})
			}
			if errA != nil || errB != nil {
				t.Fatal(name, errA, errB)
			}
			if a.Bounces != b.Bounces || a.Projections != b.Projections {
				t.Fatalf("%s: step %d counts %+v, on the slice %+v", name, k, a, b)
			}
			folded += a.Reflected
			a.Folds.Carry(x)
			b.Folds.Carry(y)
			x, prev, y, back = next, x, to, y
			for i := range n {
				if failed[i] != lost[i] {
					t.Fatalf("%s: row %d of step %d failed: %v and %v", name, i, k, failed[i], lost[i])
				}
				for j := range d {
					if e := math.Abs(x[i*6+j] - y[i*4+j]); !(e <= 1e-11) {
						t.Fatalf("%s: step %d, row %d: %v, on the slice %v", name, k, i, x[i*6:i*6+4], y[i*4:i*4+4])
					}
				}
				for j, v := range c {
					if math.Float64bits(x[i*6+d+j]) != math.Float64bits(v) ||
						math.Float64bits(prev[i*6+d+j]) != math.Float64bits(v) {
						t.Fatalf("%s: step %d moved the condition to %v", name, k, x[i*6+d:(i+1)*6])
					}
				}
			}
			// The next step starts from the same numbers on both: round-off does not grow.
			for i := range n {
				copy(y[i*4:i*4+4], x[i*6:])
				copy(back[i*4:i*4+4], prev[i*6:])
			}
		}
		if p.Elastic() && folded == 0 {
			t.Errorf("%s met no wall", name)
		}
	}
}

// Whole paths of every process, chains of the splitting and of HMC too, keep each sample's own condition bit for bit.
func TestHeldPathsKeepTheirCondition(t *testing.T) {
	pool := testkit.Pool(t, 2)
	const n = 40
	for _, set := range []constraint.Set{conditioned(t), constraint.Given(zoo.Sphere{D: 4, R: 1.5}, 2)} {
		x0, st := make([]float64, n*6), keyed.New(2, keyed.Probe, 9)
		for i := range n {
			row := x0[i*6 : (i+1)*6]
			st.Normals(row, uint64(i), 0)
			row[4], row[5] = 1+0.01*float64(i), 0.2+0.01*float64(i)
			row[2] = -math.Abs(row[2])
			r := row[4]
			if len(set.Inequalities()) == 0 {
				r = 1.5
			}
			norm := math.Sqrt(row[0]*row[0] + row[1]*row[1] + row[2]*row[2] + row[3]*row[3])
			for j := range 4 {
				row[j] *= r / norm
			}
		}
		same := func(name string, x []float64, of func(row int) int) {
			t.Helper()
			for i := range len(x) / 6 {
				for j := 4; j < 6; j++ {
					if want := x0[of(i)*6+j]; math.Float64bits(x[i*6+j]) != math.Float64bits(want) {
						t.Fatalf("%s: row %d holds %v, given %v", name, i, x[i*6+j], want)
					}
				}
			}
		}
		for name, p := range heldProcesses(set) {
			sim := langevin.NewSimulator(p, pool, 16)
			var paths langevin.Paths
			if _, err := sim.Forward(context.Background(), &paths, x0, 1, 0); err != nil {
				t.Fatal(name, err)
			}
			same(name+" forward", paths.X, func(row int) int { return row / (p.Schedule.N + 1) })
			out, failed := make([]float64, n*6), make([]bool, n)
			if _, err := sim.Backward(context.Background(), out, failed, 0, 1, rows{x0},
				func(int) langevin.Score { return lean{6} }); err != nil {
				t.Fatal(name, err)
			}
			same(name+" backward", out, func(row int) int { return row })
		}
		for _, leaps := range []int{0, 3} {
			chains := langevin.Chains{Process: &langevin.Process{
				Set: set, Friction: 2, Schedule: langevin.Schedule{N: 1, T: 0.1, SigmaMin: 1, SigmaMax: 1},
			}, Symmetric: true, Leaps: leaps, Count: n, Burn: 20, Keep: 5, Seed: 1}
			draws := testkit.Must(chains.Run(context.Background(), pool, x0))
			same(fmt.Sprintf("chains of %d leaps", leaps), draws.X, func(row int) int { return row / 5 })
		}
	}
}

// rows are a prior's states, by number.
type rows struct{ x []float64 }

func (r rows) Sample(dst []float64, _ keyed.Stream, sample uint64) {
	copy(dst, r.x[int(sample)*len(dst):])
}
