// Command conditions draws samples of a run under conditions that its training has not seen,
// and beside them brings the training rows with the nearest conditions onto the sets by the
// solver: how many of each are points of Σ(c), and in what time. Conditions are the last
// columns of rows that were made with them, such as those of landing make arm --unseen.
//
//	go run ./tools/bench/conditions RUN ROWS.npy
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/judge/metric"
)

// reached is the largest violation of a point that counts.
const reached = 1e-6

func main() {
	seed := flag.Uint64("seed", 1, "of samples")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "conditions: expected a run folder and a file of rows")
		os.Exit(2)
	}
	if err := compare(context.Background(), os.Stdout, flag.Arg(0), flag.Arg(1), *seed); err != nil {
		fmt.Fprintf(os.Stderr, "conditions: %v\n", err)
		os.Exit(1)
	}
}

func compare(ctx context.Context, w io.Writer, dir, file string, seed uint64) error {
	pool := parallel.New(0)
	defer pool.Close()
	r, err := experiment.Open(ctx, dir, "", pool, nil)
	if err != nil {
		return err
	}
	rows, err := dataset.ReadPoints(file)
	if err != nil {
		return err
	}
	c, d := r.Condition, r.Data.D
	if c == nil || rows.D != d {
		return fmt.Errorf("%s: rows of %d numbers for a run whose points have %d, with a condition: %v", file,
			rows.D, d,
			c != nil)
	}
	net, err := r.Trained("")
	if err != nil {
		return err
	}
	prior, err := r.Prior(ctx, nil)
	if err != nil {
		return err
	}
	given := c.Of(rows.X)
	s, err := r.Generate(ctx, net, prior.Under(given, 1), rows.N, 0, seed, nil)
	if s == nil {
		return err
	}
	start := time.Now()
	near := nearest(r.Loaded, given)
	took := time.Since(start)
	tell := func(what string, x []float64, took time.Duration) {
		told := fmt.Sprintf("%s: %d of %d keep all equalities and inequalities to %g", what, kept(r.Process.Set, x),
			rows.N, reached)
		if took > 0 {
			told += fmt.Sprintf(", %.2f ms each", took.Seconds()*1000/float64(rows.N))
		}
		if l := lengths(r.Process.Set, x); len(l) > 0 {
			told += fmt.Sprintf("; length of a path %.3f (median), %.3f (longest)", metric.Median(l), slices.Max(l))
		}
		fmt.Fprintln(w, told)
	}
	tell("the rows themselves", rows.X, 0)
	tell("samples", s.Good(), s.Time) // those lost are not among what a user gets
	tell("nearest training rows, brought there by the solver", near, took)
	return nil
}

// nearest returns for each condition the training row whose own is nearest, in units of the
// spread, with the condition in place of its own and brought onto Σ(c).
func nearest(l *experiment.Loaded, given []float64) []float64 {
	c, d := l.Condition, l.Data.D
	n := len(c.Names)
	solver := geometry.NewSolver(l.Process.Set, 0)
	var out []float64
	for ; len(given) > 0; given = given[n:] {
		best, far := 0, math.Inf(1)
		for i := 0; i < len(l.TrainRows); i += d {
			if r := c.Apart(l.TrainRows[i:i+d], given[:n]); r < far {
				best, far = i, r
			}
		}
		row := slices.Clone(l.TrainRows[best : best+d])
		copy(row[c.At:], given[:n])
		if !solver.Project(row, 0) {
			solver.Descend(row, 1e-13)
		}
		out = append(out, row...)
	}
	return out
}

// kept counts the points that violate nothing by more than is reached.
func kept(set constraint.Set, x []float64) (n int) {
	values, m, c := constraint.Values(set, x), len(set.Equalities()), len(constraint.Components(set))
	for i := range len(x) / set.Dim() {
		if worst, _ := constraint.Worst(values[i*c:(i+1)*c], m); worst <= reached {
			n++
		}
	}
	return n
}

// lengths returns how far each point of a sequence goes from step to step; nil of others.
func lengths(set constraint.Set, x []float64) (out []float64) {
	own, d := set.Capabilities(), set.Dim()
	if own.Steps < 2 {
		return nil
	}
	step := make([]float64, own.StepDim)
	for ; len(x) > 0; x = x[d:] {
		far := 0.0
		for l := 1; l < own.Steps; l++ {
			for j := range step {
				step[j] = x[l*own.StepDim+j] - x[(l-1)*own.StepDim+j]
			}
			far += dense.Norm(step)
		}
		out = append(out, far)
	}
	return out
}
