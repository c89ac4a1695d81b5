package langevin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// smooth is a score that is not zero, for tests of reproducibility.
var smooth = scoreFunc(func(dst, x, p []float64, t float64) {
	for j := range dst {
		dst[j] = math.Sin(3*x[j] + t)
		if p != nil {
			dst[j] += math.Cos(p[j])
		}
	}
})

// Forward and backward paths have the same bytes at 1, 2 and 7 workers and in blocks of 1, 64 and 1000, for every
// method; and a sample generated later, or in another call, is the same sample.
func TestSimulationIsReproducible(t *testing.T) {
	const n = 130
	for i, m := range []Method{OLLA, ULLA, OLLAP, ULLAP, ULLA} {
		p := process(zoo.Torus{Major: 2, Minor: 0.6}, m)
		p.NoTerminal = false
		p.Split = i == 4
		x0 := testkit.Must(Start(t.Context(), p, n, 1))
		prior, _ := UniformPrior(p)
		var forward, backward []float64
		for _, workers := range []int{1, 2, 7} {
			for _, rows := range []int{1, 64, 1000} {
				pool := parallel.New(workers)
				sim := NewSimulator(p, pool, rows)
				var paths Paths
				testkit.Must(sim.Forward(context.Background(), &paths, x0, 5, 2))
				out, failed := make([]float64, len(x0)), make([]bool, n)
				testkit.Must(sim.Backward(context.Background(), out, failed, 7, 5, prior,
					func(int) Score { return smooth }))
				late := make([]float64, 3)
				testkit.Must(sim.Backward(context.Background(), late, failed[:1], 7+99, 5, prior,
					func(int) Score { return smooth }))
				pool.Close()
				if forward == nil {
					forward, backward = append([]float64(nil), paths.X...), out
				}
				for i, v := range paths.X {
					if v != forward[i] {
						t.Fatalf("%v, %d workers, blocks of %d: forward paths differ", m, workers, rows)
					}
				}
				for i, v := range out {
					if v != backward[i] {
						t.Fatalf("%v, %d workers, blocks of %d: samples differ", m, workers, rows)
					}
				}
				if late[0] != out[99*3] {
					t.Fatalf("%v: sample 106 depends on the call that makes it", m)
				}
			}
		}
	}
}

// A path's rows are its states: x_0 is the data, steps follow the Stepper, the last is on Σ.
func TestForwardPathsFollowTheStepper(t *testing.T) {
	p := process(zoo.Sphere{D: 3}, ULLA)
	p.NoTerminal = false
	x0, _ := Start(t.Context(), p, 5, 1)
	pool := testkit.Pool(t, 2)
	var paths Paths
	sim := NewSimulator(p, pool, 2)
	report := testkit.Must(sim.Forward(context.Background(), &paths, x0, 9, 4))
	s, N := p.NewStepper(1), p.Schedule.N
	ζ, y := make([]float64, 3), make([]float64, 3)
	worst := 0.0
	for i := range 5 {
		for j := range 3 {
			if paths.At(i, 0)[j] != x0[3*i+j] {
				t.Fatal("x_0 is not the data")
			}
		}
		// x_{−1} = x_0 − τ_0 p̃_0
		before := make([]float64, 3)
		keyed.New(9, keyed.ForwardMomentum, 4).Normals(before, uint64(i), 0)
		testkit.OK(t, s.at.At(x0[3*i:3*i+3], 1))
		s.at.Tangent(before, before)
		for j := range before {
			before[j] = x0[3*i+j] - p.Schedule.Tau(0)*before[j]
		}
		for k := range N {
			if k > 0 {
				before = paths.At(i, k-1)
			}
			keyed.New(9, keyed.ForwardNoise, 4).Normals(ζ, uint64(i), k)
			testkit.Must(s.Forward(y, paths.At(i, k), before, ζ, make([]bool, 1), 1, k))
			if k == N-1 {
				testkit.Must(s.Terminal(y, make([]bool, 1), 1))
			}
			for j := range 3 {
				if y[j] != paths.At(i, k+1)[j] {
					t.Fatalf("path %d leaves its stepper at step %d", i, k)
				}
			}
			x := paths.At(i, k) // x_0 is exact
			worst = max(worst, math.Abs(math.Sqrt(x[0]*x[0]+x[1]*x[1]+x[2]*x[2])-1))
		}
		x := paths.At(i, N)
		if r := math.Abs(math.Sqrt(x[0]*x[0]+x[1]*x[1]+x[2]*x[2]) - 1); r > 1e-15 {
			t.Errorf("path %d ends %g off the sphere", i, r)
		}
	}
	testkit.Near(t, report.Worst[0], worst, 1e-15, "reported violation")
}

// Generation, replayed step by step, in both conventions: x_N from the prior, p̃_N and the noise from their own
// streams, backward steps, terminal projection. Samples end on Σ, and without the terminal projection they do not.
func TestBackwardPathsFollowTheStepper(t *testing.T) {
	for _, m := range []Method{OLLA, ULLA} {
		for _, c := range []Convention{Paper, Reference} {
			terminal := c == Paper
			p := process(zoo.Torus{Major: 2, Minor: 0.6}, m)
			p.NoTerminal, p.Convention = !terminal, c
			pool := parallel.New(2)
			prior, _ := UniformPrior(p)
			out, failed := make([]float64, 15), make([]bool, 5)
			testkit.Must(NewSimulator(p, pool, 2).Backward(context.Background(), out, failed, 3, 8, prior,
				func(int) Score { return smooth }))
			pool.Close()
			s, N := p.NewStepper(1), p.Schedule.N
			h := make([]float64, 1)
			for i := range 5 {
				x, next, y, ζ := make([]float64, 3), make([]float64, 3), make([]float64, 3), make([]float64, 3)
				prior.Sample(x, keyed.New(8, keyed.Prior, 0), uint64(3+i))
				keyed.New(8, keyed.Prior, 1).Normals(next, uint64(3+i), 0)
				testkit.OK(t, s.at.At(x, 1))
				s.at.Tangent(next, next)
				for j := range next {
					next[j] = x[j] + p.MomentumTau(N-1)*next[j]
				}
				for k := N - 1; k >= 0; k-- {
					keyed.New(8, keyed.BackwardNoise, 0).Normals(ζ, uint64(3+i), k)
					testkit.Must(s.Backward(y, x, next, ζ, make([]bool, 1), 1, k, smooth))
					x, next, y = y, x, next
				}
				if terminal {
					testkit.Must(s.Terminal(x, make([]bool, 1), 1))
				}
				for j := range x {
					if x[j] != out[3*i+j] {
						t.Fatalf("%v: sample %d leaves its stepper", m, i)
					}
				}
				copy(h, constraint.Values(p.Set, x))
				if on := math.Abs(h[0]) < 1e-12; on != terminal {
					t.Errorf("%v terminal=%v: sample %d has h = %g", m, terminal, i, h[0])
				}
			}
		}
	}
}

// A simulator, its paths and its flags carry nothing from one run into the next.
func TestRunsAreApart(t *testing.T) {
	rough, calm := process(zoo.Sphere{D: 3}, OLLAP), process(zoo.Sphere{D: 3}, OLLAP)
	rough.Schedule.SigmaMin, rough.Schedule.SigmaMax = 2, 2
	calm.Schedule.SigmaMin, calm.Schedule.SigmaMax = 0.01, 0.01
	x0, _ := Start(t.Context(), rough, 200, 1)
	for _, workers := range []int{1, 3} {
		pool := parallel.New(workers)
		var paths Paths
		forward := func(sim *Simulator, x []float64) Report {
			t.Helper()
			return testkit.Must(sim.Forward(context.Background(), &paths, x, 1, 0))
		}
		sim := NewSimulator(rough, pool, 16)
		first, second := forward(sim, x0), forward(sim, x0)
		if first.Failed == 0 || first.Failed != second.Failed || first.Projections != second.Projections {
			t.Errorf("%d workers: one run reports %+v, the same again %+v", workers, first, second)
		}
		if r := forward(NewSimulator(calm, pool, 16), x0); r.Failed != 0 {
			t.Errorf("%d workers: %d calm paths failed", workers, r.Failed)
		}
		// Points off Σ in the first block, in the last one, and none.
		landing := process(zoo.Sphere{D: 3}, OLLA)
		landing.Schedule.SigmaMin, landing.Schedule.SigmaMax = 0.01, 0.01
		sim = NewSimulator(landing, pool, 16)
		for _, c := range []struct {
			at   int
			want float64
		}{{0, 0.5}, {197, 0.5}, {-1, 0}} {
			off := append([]float64(nil), x0...)
			if c.at >= 0 {
				for j := range 3 {
					off[3*c.at+j] *= 1.5
				}
			}
			if r := forward(sim, off); math.Abs(r.Worst[0]-c.want) > 0.05 {
				t.Errorf("%d workers, point %v off by a half: the worst violation is %v", workers, c.at, r.Worst[0])
			}
		}
		prior, _ := UniformPrior(calm)
		out, failed := make([]float64, 60), make([]bool, 20)
		for i := range failed {
			failed[i] = true
		}
		r, err := NewSimulator(calm, pool, 16).Backward(context.Background(), out, failed, 0, 1, prior,
			func(int) Score { return zeroScore{} })
		if err != nil || r.Failed != 0 {
			t.Errorf("%d workers: %d calm samples failed, %v", workers, r.Failed, err)
		}
		pool.Close()
	}
}

// Of errors in several blocks the first counts, and an error in one is not lost.
func TestErrorOfABlock(t *testing.T) {
	p := process(zoo.Sphere{D: 3}, OLLA)
	x0, _ := Start(t.Context(), p, 40, 1)
	pool := testkit.Pool(t, 2)
	sim := NewSimulator(p, pool, 8)
	for _, bad := range [][]int{{3}, {39}, {13, 30}, {17, 18, 2}} {
		x, first := append([]float64(nil), x0...), 40
		for _, i := range bad {
			x[3*i+1] = math.NaN()
			first = min(first, i)
		}
		var paths Paths
		var e *DivergedError
		if _, err := sim.Forward(context.Background(), &paths, x, 1, 0); !errors.As(err, &e) || e.Sample != first ||
			e.Step != 0 {
			t.Errorf("points %v are NaN: %v", bad, err)
		}
	}
}

// The empirical prior takes any of its states, by the stream's index.
func TestEmpiricalTakesAny(t *testing.T) {
	e, st := Empirical{States: []float64{0, 10, 1, 11, 2, 12}}, keyed.New(1, keyed.Prior, 0)
	x, seen := make([]float64, 2), [3]int{}
	for i := range uint64(100) {
		e.Sample(x, st, i)
		if want := float64(st.Index(3, i, 0)); x[0] != want || x[1] != want+10 {
			t.Fatalf("sample %d is %v, want state %v", i, x, want)
		}
		seen[int(x[0])]++
	}
	if min(seen[0], seen[1], seen[2]) == 0 {
		t.Errorf("states were taken %v times", seen)
	}
}

// A score that leaves the finite numbers stops the simulation, naming sample,
// step and component. The sample is named by its number, whatever the first is.
func TestDivergence(t *testing.T) {
	p := process(zoo.Sphere{D: 3}, ULLA)
	pool := testkit.Pool(t, 1)
	prior, _ := UniformPrior(p)
	target := make([]float64, 3)
	nan := scoreFunc(func(dst, x, _ []float64, _ float64) {
		clear(dst)
		if x[0] == target[0] {
			dst[1] = math.NaN()
		}
	})
	backward := func(first, sample uint64) {
		t.Helper()
		prior.Sample(target, keyed.New(1, keyed.Prior, 0), sample)
		out, failed := make([]float64, 30), make([]bool, 10)
		_, err := NewSimulator(p, pool, 4).Backward(context.Background(), out, failed, first, 1, prior,
			func(int) Score { return nan })
		var e *DivergedError
		if !errors.As(err, &e) {
			t.Fatalf("got %v", err)
		}
		if e.Sample != int(sample) || e.Component != "radius" || e.Direction != "backward" || e.Step != p.Schedule.N-1 {
			t.Errorf("sample %d of those from %d on: got %v", sample, first, e)
		}
	}
	backward(0, 2)
	backward(70, 72)
	backward(70, 76) // of the second block
}

func TestStarts(t *testing.T) {
	x := []float64{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5} // rows of two
	for n, want := range map[int]string{1: "[0 0.5]", 2: "[0 0.5 2 2.5]", 5: fmt.Sprint(x),
		7: "[0 0.5 1 1.5 2 2.5 3 3.5 4 4.5 0 0.5 1 1.5]"} {
		testkit.Equal(t, fmt.Sprint(Starts(x, 2, n)), want, "%d starts", n)
	}
}

// Draws of a landing method are projections of where its chains are, which go on from
// there; without terminal projection, and of methods that meet Σ, they are those places.
func TestProjectedDraws(t *testing.T) {
	for _, m := range []Method{OLLA, ULLA, OLLAP} {
		p := process(zoo.Torus{Major: 2, Minor: 0.6}, m)
		p.Schedule = Schedule{N: 1, T: 0.02, SigmaMin: 1, SigmaMax: 1}
		x0 := testkit.Must(Start(t.Context(), p, 20, 1))
		c := Chains{Process: p, Count: 20, Burn: 5, Keep: 4, Thin: 3, Seed: 1}
		plain := chains(t, c, x0)
		on := *p
		on.NoTerminal = false
		c.Process = &on
		projected := chains(t, c, x0)
		want := append([]float64(nil), plain.X...)
		if !m.Projected() {
			testkit.Must(p.NewStepper(80).Terminal(want, make([]bool, 80), 80))
		}
		off, to := 0.0, 0.0
		for i, v := range constraint.Values(p.Set, plain.X) {
			off, to = max(off, math.Abs(v)), max(to, math.Abs(constraint.Values(p.Set, projected.X)[i]))
		}
		if to > 1e-12 || !m.Projected() && off < 1e-4 || projected.Unprojected != 0 {
			t.Errorf("%v: off Σ by %v, projected by %v", m, off, to)
		}
		for i, v := range want {
			if projected.X[i] != v {
				t.Fatalf("%v: number %d of the draws is %v, want %v", m, i, projected.X[i], v)
			}
		}
	}
}

// Partway keeps of forward paths what Forward keeps, bit for bit: whatever the levels, blocks and
// workers, at walls too; rows are numbered from first.
func TestPartwayIsForward(t *testing.T) {
	hemisphere := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	for _, method := range []Method{ULLA, OLLA, ULLAP, OLLAP} {
		p := &Process{Set: hemisphere, Method: method, Friction: 3,
			Schedule: Schedule{N: 12, T: 2, SigmaMin: 0.3, SigmaMax: 1.3}}
		const n, skip, d, seed, refresh = 40, 7, 3, 5, 4
		x0 := testkit.Must(Start(t.Context(), p, n, 1))
		pool := testkit.Pool(t, 2)
		var paths Paths
		want := testkit.Must(NewSimulator(p, pool, 64).Forward(context.Background(), &paths, x0, seed, refresh))
		for _, ks := range [][]int{{12}, {1, 5, 12}, {3}} {
			got, failed := make([]float64, (n-skip)*len(ks)*d), make([]bool, n-skip)
			r := testkit.Must(NewSimulator(p, pool, 5).Partway(context.Background(), got, failed, x0[skip*d:], ks, skip,
				keyed.PathNoise.Stream(seed, refresh), keyed.PathMomentum.Stream(seed, refresh)))
			lost := 0
			for i := range n - skip {
				for l, k := range ks {
					if x := got[(i*len(ks)+l)*d : (i*len(ks)+l+1)*d]; !slices.Equal(x, paths.At(skip+i, k)) {
						t.Fatalf("%v: x_%d of path %d is %v, want %v", method, k, skip+i, x, paths.At(skip+i, k))
					}
				}
				if failed[i] {
					lost++
				}
				if ks[len(ks)-1] == p.Schedule.N && failed[i] != paths.Failed[skip+i] {
					t.Errorf("%v: path %d failed: %v", method, skip+i, failed[i])
				}
			}
			testkit.Equal(t, r.Failed, lost, "%v: the report", method)
			if ks[len(ks)-1] == 12 && want.Reflected > 0 && r.Reflected == 0 {
				t.Errorf("%v: no path met the wall", method)
			}
		}
	}
}

// A path that breaks down fails and no other does: its rows hold where it began.
func TestPartwayTolerates(t *testing.T) {
	p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLA, Schedule: Schedule{N: 4, T: 1, SigmaMin: 1, SigmaMax: 1}}
	x0 := testkit.Must(Start(t.Context(), p, 6, 1))
	clear(x0[3:6]) // the centre, where the sphere's gradient vanishes
	pool := testkit.Pool(t, 1)
	got, failed := make([]float64, 6*2*3), make([]bool, 6)
	r, err := NewSimulator(p, pool, 4).Tolerate().Partway(context.Background(), got, failed, x0, []int{2, 4}, 0,
		keyed.PathNoise.Stream(1, 0), keyed.PathMomentum.Stream(1, 0))
	if err != nil || r.Failed != 1 || r.Broken != 1 || !failed[1] || slices.Contains(failed[2:], true) || failed[0] {
		t.Errorf("%d failed, %d broke down, %v: %v", r.Failed, r.Broken, failed, err)
	}
	for _, v := range got[6:12] {
		if v != 0 {
			t.Fatalf("the path that broke down holds %v", got[6:12])
		}
	}
}

// The spread of a level is that of paths on a line: x_k − x_0 is linear in independent normals.
// For ULLA from p_0 ~ N(0, 1), x_2 − x_0 = τ_0 p_1 + τ_1(a p_1 + √(1−a²) ζ) by hand.
func TestSpread(t *testing.T) {
	p := &Process{Set: zoo.Sphere{D: 3}, Method: OLLA, Friction: 2,
		Schedule: Schedule{N: 2, T: 1, SigmaMin: 1, SigmaMax: 3}}
	τ0, τ1 := p.Schedule.Tau(0), p.Schedule.Tau(1)
	near := func(got, want float64) {
		t.Helper()
		if d := got*got - want; d > 1e-12 || d < -1e-12 {
			t.Errorf("squared spread %v, want %v", got*got, want)
		}
	}
	near(p.Spread(1), τ0)
	near(p.Spread(2), τ0+τ1)
	p.Method = ULLA
	a := p.Decay(τ1)
	near(p.Spread(1), τ0*τ0)
	near(p.Spread(2), (τ0+a*τ1)*(τ0+a*τ1)+τ1*τ1*(1-a*a))
}

// Samples that break down are marked and told, the first of them by number and step; those
// beside them are what they would have been, to the bit, and so is all that is counted of them.
func TestTolerateBackward(t *testing.T) {
	half := testkit.Must(zoo.NewCap([]float64{0, 0, 1}, 0.2))
	for _, m := range []Method{OLLA, ULLA, OLLAP, ULLAP} {
		p := process(half, m)
		p.Walls = PaperWalls // elastic ones turn back what is no number
		prior := testkit.Must(UniformPrior(p))
		const n, first = 30, 7
		for _, bad := range [][]int{nil, {9}, {0, 1, 2, 3, 17}, {29}} {
			score := func(spoil bool) func(int) Score {
				at := map[float64]bool{}
				for _, i := range bad {
					x := make([]float64, 3)
					prior.Sample(x, keyed.GeneratedStart.Stream(1, 0), first+uint64(i))
					at[x[0]] = spoil
				}
				return func(int) Score {
					return scoreFunc(func(dst, x, _ []float64, _ float64) {
						for j := range dst {
							dst[j] = 0.1 * math.Sin(3*x[j])
						}
						if at[x[0]] {
							dst[1] = math.NaN()
						}
					})
				}
			}
			for _, workers := range []int{1, 3} {
				pool := testkit.Pool(t, workers)
				draw := func(spoil bool) ([]float64, []bool, Report, *Trace) {
					x, failed, trace := make([]float64, 3*n), make([]bool, n), NewTrace(p)
					sim := NewSimulator(p, pool, 8).Tolerate()
					sim.Watch(trace)
					r := testkit.Must(sim.Backward(t.Context(), x, failed, first, 1, prior, score(spoil)))
					return x, failed, r, trace
				}
				want, lost, _, _ := draw(false)
				got, failed, r, trace := draw(true)
				for i := range n {
					broke := slices.Contains(bad, i)
					testkit.Equal(t, failed[i], (broke || lost[i]), "%v, %v broken: sample %d failed", m, bad, i)
					for j := 3 * i; j < 3*i+3; j++ {
						if !broke && got[j] != want[j] || got[j]-got[j] != 0 {
							t.Fatalf("%v, %v broken: sample %d is %v, alone %v", m, bad, i, got[3*i:3*i+3],
								want[3*i:3*i+3])
						}
					}
				}
				if m.Projected() { // Newton's method loses them first
					continue
				}
				if r.Broken != len(bad) || (r.Break == nil) != (len(bad) == 0) || r.Break != nil &&
					(r.Break.Sample != first+bad[0] || r.Break.Step != p.Schedule.N-1 && r.Break.Step != p.Schedule.N) {
					t.Errorf("%v, %v broken: told %d, %v", m, bad, r.Broken, r.Break)
				}
				if good := n - r.Failed; trace.Count(1) < good || trace.Count(1) > n-len(bad) {
					t.Errorf("%v, %v broken: %d states in the trace, %d good samples", m, bad, trace.Count(1), good)
				}
			}
		}
	}
}

// The same of forward paths, with the folds of those that walls send back.
func TestTolerateForward(t *testing.T) {
	box, err := zoo.NewBox([]float64{0, 0}, []float64{1, 1})
	testkit.OK(t, err)
	const n = 30
	x0 := make([]float64, 2*n)
	for i := range x0 {
		x0[i] = math.Mod(0.37*float64(i+1), 1)
	}
	for _, m := range []Method{OLLA, ULLA} {
		p := process(box, m)
		for _, workers := range []int{1, 2} {
			pool := testkit.Pool(t, workers)
			const bad = 21
			run := func(spoil bool) (*Paths, Report) {
				x := slices.Clone(x0)
				if spoil {
					x[2*bad+1] = math.NaN()
				}
				var paths Paths
				r := testkit.Must(NewSimulator(p, pool, 16).Tolerate().Forward(t.Context(), &paths, x, 3, 1))
				return &paths, r
			}
			want, whole := run(false)
			got, r := run(true)
			folds := 0
			for i := range n {
				if i == bad {
					if !got.Failed[i] || got.At(i, p.Schedule.N)[0] != x0[2*i] || len(got.folds[i].k) > 0 {
						t.Errorf("%v: the path that broke down: failed %v", m, got.Failed[i])
					}
					continue
				}
				for k := range p.Schedule.N + 1 {
					if !slices.Equal(got.At(i, k), want.At(i, k)) || k > 0 &&
						!slices.Equal(got.Proposal(i, k), want.Proposal(i, k)) {
						t.Fatalf("%v: state %d of path %d is %v beside one that broke down, else %v", m, k, i,
							got.At(i, k),
							want.At(i, k))
					}
					if k > 0 && &got.Proposal(i, k)[0] != &got.At(i, k)[0] {
						folds++
					}
				}
				testkit.Equal(t, len(want.folds[i].k), len(got.folds[i].k), "%v: path %d", m, i)
			}
			if r.Broken != 1 || r.Failed != whole.Failed+1 || r.Break.Sample != bad || r.Break.Step != p.Schedule.N ||
				r.Break.Direction != "forward" || whole.Broken != 0 || folds == 0 {
				t.Errorf("%v: %d broken, %d failed, %v; %d folds", m, r.Broken, r.Failed, r.Break, folds)
			}
		}
	}
	// Who does not ask for it is stopped.
	x0[9] = math.Inf(1)
	pool := testkit.Pool(t, 1)
	var paths Paths
	_, err = NewSimulator(process(box, OLLA), pool, 16).Forward(t.Context(), &paths, x0, 3, 1)
	if !errors.As(err, new(*DivergedError)) {
		t.Errorf("not asked to tolerate it: %v", err)
	}
}
