package main

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method/pathmatch"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/learn/score/temporal"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var divide = flag.Int("divide", 1, "divide the rows of products and steps by this, for a quick look")

// A shape is a network and a batch of the paper's recipes.
type shape struct {
	name                      string
	dim, width, layers        int // point, hidden layers
	paths, times              int // of a batch: paths × times network rows
	σmin, σmax, friction, end float64
	steps                     int // of the temporal network, with its defaults; 0: the MLP
}

// The paper's network and batch for volcanic eruptions on S², and those of its robot arm of 10 and 40 way points, in
// R^140 and R^560, beside the temporal network. The set of the arms is here S^139 and S^559: their rows are about the
// network.
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
	return temporal.New[float32](testkit.Must(temporal.Kind.Resolve(score.Config{Dim: s.dim, Steps: s.steps,
		Momentum: true, Seed: 1, Precision: p})))
}

// sizes returns the widths of an MLP's layers.
func (s *shape) sizes() []int {
	sizes := []int{2*s.dim + 1}
	for range s.layers {
		sizes = append(sizes, s.width)
	}
	return append(sizes, s.dim)
}

// multiplications returns how many there are in a row's forward pass, and how many in both passes: nobody asks for the
// gradient of the network's input.
func (s *shape) multiplications() (forward, both int) {
	var linear []temporal.Product
	if m, ok := s.model(kernel.Float32).(*temporal.Model[float32]); ok {
		linear = m.Products()
	} else {
		sizes := s.sizes()
		for l := range len(sizes) - 1 {
			linear = append(linear, temporal.Product{Out: sizes[l+1], In: sizes[l], Times: 1, Outer: l == 0})
		}
	}
	for _, l := range linear {
		n := l.Out * l.In * l.Times
		forward, both = forward+n, both+3*n
		if l.Outer {
			both -= n
		}
	}
	return forward, both
}

// temporalArm is the multiplications of the temporal network's forward pass for ten steps of 14 numbers: head, time and
// film, a block at each of 10, 5 and, from 192 channels, 10 steps, the halving, the tail.
const temporalArm = 10*3*28*64 + 128 + 128*128 + 128*2*(64+128+64) +
	10*2*3*64*64 + 5*3*64*128 + 5*2*3*128*128 + 10*(3*192*64+192*64+3*64*64) + 10*64*14

// Operations are counted as those of products are.
func TestOperations(t *testing.T) {
	for i, want := range [][2]int{
		{7*512 + 4*512*512 + 512*3, 3*(4*512*512+512*3) + 2*7*512},
		{281*1024 + 4*1024*1024 + 1024*140, 3*(4*1024*1024+1024*140) + 2*281*1024},
		{temporalArm, 3*temporalArm - 10*3*28*64 - 128},
	} {
		forward, both := shapes[i].multiplications()
		testkit.Equal(t, [2]int{forward, both}, want, "%s", shapes[i].name)
	}
}

// ours are the precisions that are one of their own on this machine.
func ours() (all []kernel.Precision) {
	for p := kernel.Float32; p <= kernel.BFloat16; p++ {
		if kernel.Effective(p) == p {
			all = append(all, p)
		}
	}
	return all
}

// timed times a row, and reports its rate in 10⁹ operations a second, two a multiply-add.
func timed(b *testing.B, multiplications float64, once func()) {
	once() // warm
	for b.Loop() {
		once()
	}
	b.ReportMetric(2*multiplications*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}

// workers are as many as -cpu says.
func workers(b *testing.B) *parallel.Pool {
	pool := parallel.New(runtime.GOMAXPROCS(0))
	b.Cleanup(pool.Close)
	return pool
}

// filled are numbers of about unit size, none of them special.
func filled(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	return x
}

// The three products of a layer with n inputs and outputs: forward, for the gradient of its input, for that of its
// weights. Workers take equal shares of the rows.
func BenchmarkProduct(b *testing.B) {
	for _, p := range ours() {
		for _, size := range [][2]int{{6400, 512}, {16000, 1024}} {
			for _, which := range []string{"forward", "input", "weights"} {
				b.Run(fmt.Sprintf("%dx%dx%[2]d/%v/%s", size[0], size[1], p, which), func(b *testing.B) {
					product(b, which, max(1, size[0] / *divide), size[1], p)
				})
			}
		}
	}
}

func product(b *testing.B, which string, rows, n int, p kernel.Precision) {
	pool := workers(b)
	of := pool.Workers()
	x, y, w := filled(rows*n), filled(rows*n), kernel.NewWeights[float32](n, n, true, p)
	w.Set(filled(n * n))
	dw, scratch := make([][]float32, of), make([][]float32, of)
	for i := range of {
		dw[i], scratch[i] = make([]float32, n*n), make([]float32, kernel.Scratch[float32](rows, n, n))
	}
	part := func(_, i int) {
		lo, hi := i*rows/of, (i+1)*rows/of
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
	add := func(_, i int) { // the workers' gradients
		lo, hi := i*n/of*n, (i+1)*n/of*n
		for _, other := range dw[1:] {
			kernel.Add(dw[0][lo:hi], other[lo:hi])
		}
	}
	timed(b, float64(rows)*float64(n)*float64(n), func() {
		if pool.Do(of, part); which == "weights" && of > 1 {
			pool.Do(of, add)
		}
	})
}

// One update of package train: forward paths to network rows and targets, forward pass, loss, backward pass, clipping,
// Adam, average of the weights. An epoch here is one batch; its paths are simulated once, before.
func BenchmarkStep(b *testing.B) {
	for _, p := range ours() {
		for _, s := range shapes {
			b.Run(s.name+"/"+p.String(), func(b *testing.B) { step(b, s, max(1, s.paths / *divide), p) })
		}
	}
}

func step(b *testing.B, s shape, paths int, p kernel.Precision) {
	pool := workers(b)
	proc := &langevin.Process{
		Set: zoo.Sphere{D: s.dim}, Method: langevin.ULLA, Friction: s.friction,
		Schedule: langevin.Schedule{N: s.times, T: s.end, SigmaMin: s.σmin, SigmaMax: s.σmax},
	}
	testkit.OK(b, proc.Validate())
	x0 := testkit.Must(langevin.Start(b.Context(), proc, paths, 1))
	// The rate is small: a step takes as long, and does not diverge.
	cfg := train.Config{Epochs: 1, Batch: paths, Refresh: math.MaxInt, LearningRate: 1e-5, Clip: 10, Average: 0.999,
		Seed: 1}
	t := train.New(cfg, pathmatch.New(proc, pathmatch.Options{}).Source(x0, pool), s.model(p), pool)
	epoch := func() { testkit.Must(t.Epoch(b.Context())) }
	epoch() // the average of the weights begins with the second
	_, both := s.multiplications()
	timed(b, float64(paths*s.times)*float64(both), epoch)
}

// A network's forward pass on rows. Workers share blocks of rows, as in generation; one row is one worker's.
func BenchmarkInference(b *testing.B) {
	for _, p := range ours() {
		for _, s := range shapes {
			for _, rows := range []int{1, 64, 2000} {
				b.Run(fmt.Sprintf("%s/%v/%d", s.name, p, rows), func(b *testing.B) { inference(b, s, rows, p) })
			}
		}
	}
}

// blockPoints is how many samples package experiment generates at once.
const blockPoints = 64

func inference(b *testing.B, s shape, rows int, p kernel.Precision) {
	pool, m := workers(b), s.model(p)
	net, in := m.Pack(false), filled(rows*m.In())
	of := min(pool.Workers(), rows)
	parts := parallel.Blocks(parallel.Blocks(rows, blockPoints), of) * of
	ws := make([]score.Workspace[float32], pool.Workers())
	for i := range ws {
		ws[i] = net.NewWorkspace((rows+parts-1)/parts, false)
	}
	forward, _ := s.multiplications()
	timed(b, float64(rows)*float64(forward), func() {
		pool.Do(parts, func(worker, i int) {
			lo, hi := i*rows/parts, (i+1)*rows/parts
			ws[worker].Forward(in[lo*m.In():], hi-lo)
		})
	})
}
