package bench

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/temporal"
	"github.com/landing-diffusion/landing/learn/train"
)

// A shape is a network and a batch of the paper's recipes.
type shape struct {
	name                      string
	dim, width, layers        int // point, hidden layers
	paths, times              int // of a batch: paths × times network rows
	σmin, σmax, friction, end float64
	steps                     int // of the temporal network, with its defaults; 0: the MLP
}

// The paper's network and batch for volcanic eruptions on S², and those of its
// robot arm of 10 and 40 way points, in R^140 and R^560, beside the temporal network.
// The set of the arms is here S^139 and S^559: their rows are about the network.
var shapes = []shape{
	{name: "volcano", dim: 3, width: 512, layers: 5, paths: 128, times: 50, σmin: 0.1, σmax: 2, friction: 5, end: 2},
	{name: "arm", dim: 140, width: 1024, layers: 5, paths: 320, times: 50, σmin: 0.1, σmax: 0.5, friction: 5, end: 1},
	{name: "arm-temporal", dim: 140, paths: 320, times: 50, σmin: 0.1, σmax: 0.5, friction: 5, end: 1, steps: 10},
	{name: "arm40", dim: 560, width: 1024, layers: 5, paths: 320, times: 50, σmin: 0.1, σmax: 0.5, friction: 5, end: 1},
	{name: "arm40-temporal", dim: 560, paths: 320, times: 50, σmin: 0.1, σmax: 0.5, friction: 5, end: 1, steps: 40},
}

// model returns the shape's network; its rows are (x, p̃, t).
func (s *shape) model(p kernel.Precision) score.Model[float32] {
	if s.steps == 0 {
		return score.NewMLP[float32](s.sizes(), 1).Model(score.Reading{}, p)
	}
	c, err := temporal.Kind.Resolve(score.Config{Dim: s.dim, Steps: s.steps, Momentum: true, Seed: 1, Precision: p})
	if err != nil {
		panic(err) // there are no options
	}
	return temporal.New[float32](c)
}

// sizes returns the widths of an MLP's layers.
func (s *shape) sizes() []int {
	sizes := []int{2*s.dim + 1}
	for range s.layers {
		sizes = append(sizes, s.width)
	}
	return append(sizes, s.dim)
}

// linear returns the linear maps of the network.
func (s *shape) linear() (all []temporal.Product) {
	if s.steps > 0 {
		return s.model(kernel.Float32).(*temporal.Model[float32]).Products()
	}
	sizes := s.sizes()
	for l := range len(sizes) - 1 {
		all = append(all, temporal.Product{Out: sizes[l+1], In: sizes[l], Times: 1, Outer: l == 0})
	}
	return all
}

// multiplications returns how many there are in a row's forward pass, and how many
// in both passes: nobody asks for the gradient of the network's input.
func (s *shape) multiplications() (forward, both int) {
	for _, l := range s.linear() {
		n := l.Out * l.In * l.Times
		forward, both = forward+n, both+3*n
		if l.Outer {
			both -= n
		}
	}
	return forward, both
}

// blockRows is how many rows pass through a network at once: their activations
// stay in the level-2 cache.
const blockRows = 256

// cases lists everything that can be measured, in every precision that is one of
// its own on this machine, with the rows of products and steps divided.
func cases(divide int) (all []work) {
	for p := kernel.Float32; p <= kernel.BFloat16; p++ {
		if kernel.Effective(p) == p {
			all = append(all, casesIn(p, divide)...)
		}
	}
	return all
}

func casesIn(precision kernel.Precision, divide int) (all []work) {
	for _, p := range [][2]int{{6400, 512}, {16000, 1024}} {
		for _, which := range []string{"forward", "input", "weights"} {
			all = append(all, product(which, p[0], max(1, p[0]/divide), p[1], precision))
		}
	}
	for _, s := range shapes {
		all = append(all, step(s, max(1, s.paths/divide), precision))
	}
	for _, s := range shapes {
		for _, rows := range []int{1, 64, 2000} {
			all = append(all, inference(s, rows, precision))
		}
	}
	return all
}

// fill writes numbers of about unit size, none of them special.
func fill(x []float32) {
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
}

// product is one of the three products of a layer with n inputs and outputs:
// forward, for the gradient of its input, for the gradient of its weights.
// Workers take equal shares of the rows; their gradients of the weights are
// then added.
func product(which string, title, rows, n int, p kernel.Precision) work {
	return work{
		name:      fmt.Sprintf("product/%dx%dx%d/%s", title, n, n, which),
		precision: p,
		flop:      2 * float64(rows) * float64(n) * float64(n),
		start: func(_ context.Context, pool *parallel.Pool) (func() error, func() error, error) {
			workers := pool.Workers()
			x, y, values := make([]float32, rows*n), make([]float32, rows*n), make([]float32, n*n)
			fill(x)
			fill(y)
			fill(values)
			w := kernel.NewWeights[float32](n, n, true, p)
			w.Set(values)
			dw, scratch := make([][]float32, workers), make([][]float32, workers)
			for i := range workers {
				dw[i] = make([]float32, n*n)
				scratch[i] = make([]float32, kernel.Scratch[float32](rows, n, n))
			}
			part := func(_, i int) {
				lo, hi := i*rows/workers, (i+1)*rows/workers
				x, y := x[lo*n:hi*n], y[lo*n:hi*n]
				switch which {
				case "forward":
					kernel.MulTransposed(y, x, w, hi-lo, scratch[i])
				case "input":
					kernel.MulWeights(x, y, w, hi-lo, scratch[i])
				case "weights":
					kernel.AddGradient(dw[i], y, x, hi-lo, n, n, false, p, scratch[i])
				}
			}
			add := func(_, i int) {
				lo, hi := i*n/workers*n, (i+1)*n/workers*n
				for _, other := range dw[1:] {
					kernel.Add(dw[0][lo:hi], other[lo:hi])
				}
			}
			return func() error {
				pool.Do(workers, part)
				if which == "weights" && workers > 1 {
					pool.Do(workers, add)
				}
				return nil
			}, nil, nil
		},
	}
}

// step is one update of package train: forward paths to network rows and
// targets, forward pass, loss, backward pass, clipping, Adam, average of the
// weights. An epoch here is one batch; its paths are simulated once, before.
func step(s shape, paths int, p kernel.Precision) work {
	_, both := s.multiplications()
	rows := paths * s.times
	return work{
		name:      "step/" + s.name,
		precision: p,
		flop:      2 * float64(rows) * float64(both),
		start: func(ctx context.Context, pool *parallel.Pool) (func() error, func() error, error) {
			proc := &langevin.Process{
				Set: zoo.Sphere{D: s.dim}, Method: langevin.ULLA, Friction: s.friction,
				Schedule: langevin.Schedule{N: s.times, T: s.end, SigmaMin: s.σmin, SigmaMax: s.σmax},
			}
			if err := proc.Validate(); err != nil {
				return nil, nil, err
			}
			x0, err := langevin.Start(ctx, proc, paths, 1)
			if err != nil {
				return nil, nil, err
			}
			// The rate is small: a step takes as long, and does not diverge.
			cfg := train.Config{
				Epochs: 1, Batch: paths, Refresh: math.MaxInt, LearningRate: 1e-5, Clip: 10, Average: 0.999, Seed: 1,
			}
			source := pathmatch.New(proc, pathmatch.Options{}).Source(x0, pool)
			t := train.New(cfg, source, s.model(p), pool)
			epoch := func() error {
				_, err := t.Epoch(ctx)
				return err
			}
			// The average of the weights begins with the second epoch.
			return epoch, products(s, rows, p, pool), epoch()
		},
	}
}

// products is the matrix products of a step of a network alone, in blocks of
// rows.
func products(s shape, rows int, p kernel.Precision, pool *parallel.Pool) func() error {
	type bench struct{ in, out, din, dw, scratch []float32 }
	maps := s.linear()
	var weights []*kernel.Weights[float32]
	wide, scratch, largest := 0, 0, 0
	for _, l := range maps {
		wide, largest = max(wide, l.Times*l.In, l.Times*l.Out), max(largest, l.In*l.Out)
		scratch = max(scratch, kernel.Scratch[float32](blockRows*l.Times, l.Out, l.In))
		w, values := kernel.NewWeights[float32](l.Out, l.In, !l.Outer, p), make([]float32, l.In*l.Out)
		fill(values)
		w.Set(values)
		weights = append(weights, w)
	}
	var own []bench
	for range pool.Workers() {
		block := func() []float32 { return make([]float32, blockRows*wide) }
		b := bench{block(), block(), block(), make([]float32, largest), make([]float32, scratch)}
		fill(b.in)
		fill(b.out)
		own = append(own, b)
	}
	block := func(worker, i int) {
		lo, hi := parallel.Block(i, rows, blockRows)
		b := own[worker]
		for i, w := range weights {
			l, n := maps[i], (hi-lo)*maps[i].Times
			kernel.MulTransposed(b.out, b.in, w, n, b.scratch)
			kernel.AddGradient(b.dw, b.out, b.in, n, l.Out, l.In, true, p, b.scratch)
			if !l.Outer {
				kernel.MulWeights(b.din, b.out, w, n, b.scratch)
			}
		}
	}
	return func() error {
		pool.Do(parallel.Blocks(rows, blockRows), block)
		return nil
	}
}

// blockPoints is how many samples package experiment generates at once.
const blockPoints = 64

// inference is a network's forward pass on rows. Workers share blocks of rows,
// as in generation; one row is one worker's.
func inference(s shape, rows int, p kernel.Precision) work {
	forward, _ := s.multiplications()
	return work{
		name:      fmt.Sprintf("inference/%s/%d", s.name, rows),
		precision: p,
		flop:      2 * float64(rows) * float64(forward),
		start: func(_ context.Context, pool *parallel.Pool) (func() error, func() error, error) {
			m := s.model(p)
			net, in := m.Pack(false), make([]float32, rows*m.In())
			fill(in)
			workers := min(pool.Workers(), rows)
			parts := parallel.Blocks(parallel.Blocks(rows, blockPoints), workers) * workers
			ws := make([]score.Workspace[float32], pool.Workers())
			for i := range ws {
				ws[i] = net.NewWorkspace((rows+parts-1)/parts, false)
			}
			part := func(worker, i int) {
				lo, hi := i*rows/parts, (i+1)*rows/parts
				ws[worker].Forward(in[lo*m.In():], hi-lo)
			}
			return func() error { pool.Do(parts, part); return nil }, nil, nil
		},
	}
}
