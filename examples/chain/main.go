// Chain goes the whole way in Go: a set built from formulas, data, training, samples, how good they are, and a picture.
//
//	go run ./examples/chain [-o examples/chain]
//
// It leaves data.npy, for problem.yaml, samples.npy and picture.png.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/networks"
	"github.com/landing-diffusion/landing/learn/train"
)

// A size says how much to do.
type size struct {
	chains, samples int
	epochs, width   int
	workers         int
}

// A result is what one run made.
type result struct {
	data, samples []float64 // rows of 24: all data, and the samples that did not fail
	failed        int       // samples that lost their projection
	violations    []metric.Violation
	test          metric.TwoSample // samples against held-out data
	copies        metric.Copies
}

const seed = 1

func learn(ctx context.Context, log io.Writer, s size) (*result, error) {
	set, err := chainSet()
	if err != nil {
		return nil, err
	}
	data, rejected, err := demonstrations(set, s.chains, seed)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "%v: %d chains, %d rejected\n", set, len(data)/dim, rejected)
	cut := len(data) / dim * 4 / 5 * dim
	training, heldOut := data[:cut], data[cut:]

	// The forward process. Implicit landing returns to Σ in each step. The first steps
	// are as long as the beads of the data are shaky: σ²Δt = 0.0016 to 0.09.
	process := &langevin.Process{
		Set: set, Method: langevin.ULLA, Friction: 20,
		Schedule: langevin.Schedule{N: 50, T: 2, SigmaMin: 0.2, SigmaMax: 1.5},
	}
	if err := process.Validate(); err != nil {
		return nil, err
	}

	// Training.
	pool := parallel.New(s.workers)
	defer pool.Close()
	learner := pathmatch.New(process, pathmatch.Options{Output: pathmatch.Scaled})
	model, err := networks.New(score.Config{
		Dim: dim, Momentum: learner.Momentum(), Width: s.width, Layers: 3, Gain: learner.Gain(), Seed: seed,
	})
	if err != nil {
		return nil, err
	}
	config := train.Config{
		Epochs: s.epochs, Batch: 256, Refresh: 4, TimesPerPath: 10, Optimizer: train.Muon, LearningRate: 3e-3,
		Clip: 10, Average: 0.999, MaxFailed: 0.01, Seed: seed,
		Plateau: train.Plateau{Factor: 0.6, Patience: 20, Threshold: 5e-5, Cooldown: 10, MinRate: 1e-5},
	}
	trainer := train.New(config, learner.Source(training, pool), model, pool)
	start := time.Now()
	for !trainer.Done() {
		e, err := trainer.Epoch(ctx)
		if err != nil {
			return nil, err
		}
		if e.Epoch%50 == 0 || trainer.Done() {
			fmt.Fprintf(log, "epoch %3d  loss %.3f  %.0f s, %.0f s of it forward paths\n",
				e.Epoch, e.Loss, time.Since(start).Seconds(), e.Simulated)
		}
	}

	// Samples: from the ends of fresh forward paths, back.
	sampler := learner.Sampler(128, pool)
	ends, err := sampler.Ends(ctx, training, seed, keyed.PriorPaths.At(0))
	if err != nil {
		return nil, err
	}
	if len(ends) == 0 {
		return nil, errors.New("all forward paths failed their projection")
	}
	fields := score.NewFields(trainer.Average(), 128, pool.Workers())
	x, lost := make([]float64, s.samples*dim), make([]bool, s.samples)
	start = time.Now()
	scores := func(worker int) method.Score { return fields[worker] }
	if _, err := sampler.Generate(ctx, x, lost, 0, seed, langevin.Empirical{States: ends}, scores); err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "%d samples in %.1f s\n", s.samples, time.Since(start).Seconds())

	r := &result{data: data}
	for i, l := range lost {
		if l {
			r.failed++
		} else {
			r.samples = append(r.samples, x[i*dim:(i+1)*dim]...)
		}
	}
	if len(r.samples) == 0 {
		return r, fmt.Errorf("all %d samples failed their projection", s.samples)
	}
	names := constraint.Components(set)
	n := len(r.samples) / dim
	r.violations = metric.Violations(names, constraint.Values(set, r.samples), n, len(set.Equalities()))
	r.test = metric.EnergyTest(r.samples, heldOut, dim, 1000, 199, seed)
	r.copies = metric.CountCopies(r.samples, heldOut, training, dim)
	return r, nil
}

// report prints what matters about a result.
func (r *result) report(w io.Writer) {
	n := len(r.samples) / dim
	fmt.Fprintf(w, "%d samples, %d failed\n", n+r.failed, r.failed)
	for _, v := range r.violations {
		fmt.Fprintf(w, "  %-8s worst violation %.1e\n", v.Component, v.Worst)
	}
	t := r.test
	fmt.Fprintf(w, "energy distance to held-out chains %.4f, floor %.4f ± %.4f, p = %.3f\n",
		t.Statistic, t.Mean, t.SD, t.PValue)
	fmt.Fprintf(w, "beads that touch the ball: %.2f %% of the data's, %.2f %% of the samples'\n",
		100*touching(r.data), 100*touching(r.samples))
	fmt.Fprintf(w, "nearest training chain: median distance %.3f; of held-out chains %.3f\n",
		r.copies.Samples, r.copies.HeldOut)
}

// touching returns the share of beads at the boundary of the set.
func touching(x []float64) float64 {
	n := 0
	for i := 0; i < len(x); i += 3 {
		if math.Hypot(math.Hypot(x[i], x[i+1]), x[i+2]) < clearance+1e-9 {
			n++
		}
	}
	return float64(n) / float64(len(x)/3)
}

// strands returns the first n chains as strands of beads from the anchor on.
func strands(x []float64, n int) []float64 {
	var out []float64
	for i := 0; i < min(n*dim, len(x)); i += dim {
		out = append(append(out, anchor[:]...), x[i:i+dim]...)
	}
	return out
}

func (r *result) picture() *figure.Chart {
	const shown = 120
	return figure.Space(
		figure.SpaceOptions{From: [3]float64{2, -4, 1.5}, Ball: ball},
		figure.SpaceLayer{Name: "chains of the data", Points: strands(r.data, shown), Strand: beads + 1},
		figure.SpaceLayer{Name: "samples", Points: strands(r.samples, shown), Strand: beads + 1},
	)
}

func (r *result) save(dir string) error {
	for name, x := range map[string][]float64{"data.npy": r.data, "samples.npy": r.samples} {
		var npy bytes.Buffer
		if err := arrayfile.EncodeNPY(&npy, arrayfile.Array{Shape: []int{len(x) / dim, dim}, Float64: x}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), npy.Bytes(), 0o644); err != nil {
			return err
		}
	}
	var png bytes.Buffer
	if err := r.picture().WritePNG(&png, 960); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "picture.png"), png.Bytes(), 0o644)
}

func main() {
	dir := flag.String("o", "examples/chain", "folder to write to")
	epochs := flag.Int("epochs", 160, "epochs to train")
	flag.Parse()
	full := size{chains: 4000, samples: 2000, epochs: *epochs, width: 256, workers: runtime.GOMAXPROCS(0)}
	r, err := learn(context.Background(), os.Stdout, full)
	if err == nil {
		r.report(os.Stdout)
		err = r.save(*dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "chain:", err)
		os.Exit(1)
	}
}
