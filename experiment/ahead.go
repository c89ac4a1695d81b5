package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
)

// Ahead is the forward paths of a problem from its training rows, by number: those whose ends an empirical prior is
// made of.
type Ahead struct {
	of    *Loaded
	proc  *langevin.Process
	sim   *langevin.Simulator
	paths langevin.Paths
	total uint64
}

// pathNumbersAtOnce bounds the numbers of paths that are held at once: 32 MB.
const pathNumbersAtOnce = 1 << 22

// NewAhead returns the forward paths 0 … total−1. Of fewer paths than training rows, they begin at rows at equal
// distances; of more, at all rows again and again. The error is a *problem.KeyError where the method noises points by
// no process of package langevin.
func NewAhead(l *Loaded, total uint64) (*Ahead, error) {
	proc := l.Method.Capabilities().Noising
	if proc == nil {
		return nil, &problem.KeyError{Key: problem.KeyProcessMethod, Value: l.Problem.Process.Method,
			Want: "a method that noises points step by step, such as ULLA"}
	}
	return &Ahead{of: l, proc: proc, sim: langevin.NewSimulator(proc, l.Pool, generateRows).Tolerate(),
		total: total}, nil
}

// Steps returns N, the number of the last state of a path.
func (a *Ahead) Steps() int { return a.proc.Schedule.N }

// Dim returns d, how many numbers a state has.
func (a *Ahead) Dim() int { return a.proc.Set.Dim() }

// States writes the states x_k of the paths first, first+1, … of a seed to dst (n×d) and returns how many failed a
// projection, or broke down: their rows are NaN.
func (a *Ahead) States(ctx context.Context, dst []float64, first uint64, k int, seed uint64) (failed int, err error) {
	d := a.proc.Set.Dim()
	if k < 0 || k > a.Steps() || first > math.MaxInt32<<20 {
		panic(fmt.Sprintf("experiment: state %d of paths from %d on, of %d steps", k, first, a.Steps()))
	}
	rows := a.of.learned()
	have, block := uint64(len(rows)/d), max(1, pathNumbersAtOnce/((a.Steps()+1)*d))
	var x0 []float64
	for len(dst) > 0 {
		n := min(block, len(dst)/d)
		x0 = x0[:0]
		for i := range uint64(n) {
			row := (first + i) % have
			if a.total < have { // as langevin.Starts has them
				row = (first + i) * have / a.total
			}
			x0 = append(x0, rows[row*uint64(d):(row+1)*uint64(d)]...)
		}
		if _, err := a.sim.ForwardFrom(ctx, &a.paths, x0, int(first), seed, keyed.PriorPaths.At(0)); err != nil {
			return failed, err
		}
		for i := range n {
			to := dst[i*d : (i+1)*d]
			copy(to, a.paths.At(i, k))
			if a.paths.Failed[i] {
				failed++
				for j := range to {
					to[j] = math.NaN()
				}
			}
		}
		dst, first = dst[n*d:], first+uint64(n)
	}
	return failed, nil
}
