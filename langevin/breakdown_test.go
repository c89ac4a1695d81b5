package langevin

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
					if !slices.Equal(got.At(i, k), want.At(i, k)) || k > 0 && (got.Folded(i, k) != want.Folded(i, k) ||
						!slices.Equal(got.Proposal(i, k), want.Proposal(i, k))) {
						t.Fatalf("%v: state %d of path %d is %v beside one that broke down, else %v", m, k, i,
							got.At(i, k),
							want.At(i, k))
					}
					if k > 0 && got.Folded(i, k) {
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
