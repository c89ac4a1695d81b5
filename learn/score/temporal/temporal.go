// Package temporal is a network for points that are sequences: L steps of D numbers, one after the other, such as the
// configurations of an arm along a path. It is a U-Net of convolutions over the steps (after Janner et al. 2022), so
// that what it learns of one step it knows of all: its parameters do not grow with L, but for a bias of each step.
//
//	level 0   L steps      head ─► blocks ──────────────────────────► ⊕ ─► blocks ─► SiLU ─► tail
//	                                   └► halve                double ┘
//	level 1   ⌈L/2⌉ steps                  └► blocks ──────► ⊕ ─► blocks ┘
//	level 2   ⌈L/4⌉ steps                          └► … blocks ┘
//
// with channels·2ⁱ channels at level i. A block is a residual one. The time scales and shifts its inner activations,
// channel by channel (FiLM, Perez et al. 2018):
//
//	u = W₁ ∗ SiLU(x),   y = V x + W₂ ∗ SiLU((1 + s)⊙u + b) + c,   (s, b) = M e + m
//	e = SiLU(E₂ SiLU(E₁(t, χ(t), held) + e₁) + e₂)
//
// where V is the identity unless a block changes the number of channels. ∗ sees reach steps to
// either side, and zeros beyond the ends. Halving is a convolution of three steps at every
// second one, so any L ≥ 1 goes; doubling repeats each step. ⊕ puts channels side by side.
// Coordinates that are held, such as a condition, are read beside the time; their outputs are 0.
//
// Rows see nothing of each other: there is no normalisation.
package temporal

import (
	"cmp"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score"
)

// Kind is the row of the registry.
var Kind = score.Kind{
	Name: "temporal", Fits: fits, Sized: "channels",
	Options: []score.Option{
		{Name: "steps", Lowest: 0, Most: 1e6, Whole: true, Doc: "L, steps of a point; 0: as the set says"},
		{Name: "channels", Default: 64, Lowest: 1, Most: 2048, Whole: true,
			Doc: "of the finest level; each coarser one has twice as many"},
		{Name: "levels", Default: 2, Lowest: 1, Most: 6, Whole: true, Doc: "each with half the steps of that above"},
		{Name: "reach", Default: 1, Lowest: 0, Most: 15, Whole: true,
			Doc: "steps that a convolution sees to either side"},
		{Name: "blocks", Default: 1, Lowest: 1, Most: 16, Whole: true,
			Doc: "of two convolutions, at each level, down and up"},
		{Name: "embedding", Default: 128, Lowest: 1, Most: 4096, Whole: true, Doc: "numbers that tell blocks the time"},
	},
	Parameters: func(c score.Config) float64 { return newPlan(c).parameters },
	New:        func(c score.Config) score.Model[float32] { return New[float32](c) },
}

// steps returns L of a Config.
func steps(c score.Config) int {
	if own := c.Options["steps"]; own > 0 {
		return int(own)
	}
	return c.Steps
}

func fits(c score.Config) string {
	L, moving := steps(c), c.Dim-c.Held
	switch {
	case L == 0:
		return "mlp: temporal is for points that are steps of a sequence, and this set does not say of how many; " +
			"network.options.steps does"
	case moving < L || moving%L != 0:
		return fmt.Sprintf("mlp: temporal is for points that are steps of one length, and %d coordinates are not %d "+
			"steps", moving, L)
	}
	return ""
}

// Model is the network. A row of input is (x, p̃, t, φ(x), χ(t)), as the MLP's.
type Model[T kernel.Float] struct {
	score.Reader[T]
	*plan
	precision kernel.Precision
	θ         []T
}

// New makes the network that c describes, whose kind has resolved it. Weights and biases are
// uniform on ±1/√inputs, a function of c's sizes and seed.
func New[T kernel.Float](c score.Config) *Model[T] {
	if what := fits(c); what != "" {
		panic("temporal: expected " + what)
	}
	p := newPlan(c)
	m := &Model[T]{
		Reader: score.NewReader[T](c.Reading(), c.Dim, c.Momentum), plan: p, precision: c.Precision,
		θ: make([]T, p.size),
	}
	for i, l := range p.layers {
		bound := 1 / math.Sqrt(float64(l.taps*l.in))
		for part, dst := range [][]T{m.θ[l.w : l.w+l.weights()], m.θ[l.b : l.b+l.biases]} {
			u := make([]float64, len(dst))
			keyed.Layers.Stream(c.Seed, uint64(i)).Uniforms(u, uint64(part), 0)
			for j, v := range u {
				dst[j] = T(bound * (2*v - 1))
			}
		}
	}
	return m
}

// Out is the width of a row of output.
func (m *Model[T]) Out() int { return m.dim }

// Parameters returns W and b of head, time and film, then of the blocks in order, then of the tail.
func (m *Model[T]) Parameters() []T { return m.θ }

// Precision is that of the products.
func (m *Model[T]) Precision() kernel.Precision { return m.precision }

// Parts are the layers.
func (m *Model[T]) Parts() int { return len(m.layers) }

// With returns the same network over other parameters.
func (m *Model[T]) With(θ []T) score.Model[T] {
	if len(θ) != len(m.θ) {
		panic(fmt.Sprintf("temporal: %d parameters for a network of %d", len(θ), len(m.θ)))
	}
	other := *m
	other.θ = θ
	return &other
}

// Matrices are all but what reads the row, what writes the output, and what makes each block's
// scale and shift: those are moved number by number, as an MLP's outer layers.
func (m *Model[T]) Matrices() (inner []score.Matrix) {
	for _, l := range m.layers {
		if l.inner {
			inner = append(inner, score.Matrix{At: l.w, Out: l.out, In: l.taps * l.in})
		}
	}
	return inner
}

// Tensors names the arrays NAME.weight, out×taps×in, and NAME.bias; head has a bias of each step.
func (m *Model[T]) Tensors(θ []T) (all []arrayfile.Named) {
	for _, l := range m.layers {
		all = append(all, arrayfile.Named{Name: l.name + ".weight",
			Array: arrayfile.Of(θ[l.w:l.w+l.weights()], l.out, l.taps, l.in)})
		if l.biases > 0 {
			all = append(all, arrayfile.Named{Name: l.name + ".bias",
				Array: arrayfile.Of(θ[l.b:l.b+l.biases], l.biases/l.out, l.out)})
		}
	}
	return all
}

// Read returns the parameters in arrays.
func (m *Model[T]) Read(arrays map[string]arrayfile.Array) ([]T, error) {
	θ := make([]T, len(m.θ))
	return θ, score.ReadTensors(arrays, m.Tensors(θ))
}

// GraphForward implements score.Graphed. Activations are n×channels×steps there, as ONNX's convolutions have
// them, and weights out×in×taps.
func (m *Model[T]) GraphForward(g *onnx.Graph, row onnx.Value) onnx.Value {
	b := &graph[T]{g, m}
	film := b.film(row)
	L := m.steps
	x := g.Transpose(g.Reshape(g.Gather(row, 1, m.stepColumns...), onnx.Batch, L, m.plan.in), 0, 2, 1)
	x = b.conv(m.head, x)
	trunk := []onnx.Value{x}
	for i := range m.ops {
		o := &m.ops[i]
		switch o.kind {
		case halve:
			x = b.conv(o.first, x)
		case double:
			at := make([]int, m.lengths[o.level])
			for l := range at {
				at[l] = l / 2
			}
			x = g.Concat(1, g.Gather(x, 2, at...), trunk[o.skip])
		case block:
			s, shift := b.part(film, o.film, o.out), b.part(film, o.film+o.out, o.out)
			u := b.conv(o.first, g.SiLU(x))
			u = g.SiLU(g.Add(g.Add(u, g.Mul(s, u)), shift)) // (1 + s)⊙u + b
			y := b.conv(o.second, u)
			if o.side >= 0 {
				x = b.conv(o.side, x)
			}
			x = g.Add(y, x)
		}
		trunk = append(trunk, x)
	}
	x = g.Transpose(b.conv(m.tail, g.SiLU(x)), 0, 2, 1)
	x = g.Reshape(x, onnx.Batch, L*m.width)
	if m.held > 0 {
		x = g.Widen(x, m.held)
	}
	return x
}

// graph writes the layers of m.
type graph[T float32 | float64] struct {
	*onnx.Graph
	m *Model[T]
}

// film returns all blocks' scales and shifts, n×film.
func (g *graph[T]) film(row onnx.Value) onnx.Value {
	x := g.Gather(row, 1, g.m.featureColumns...)
	for _, i := range []int{g.m.time, g.m.time + 1, g.m.mo} {
		l := &g.m.layers[i]
		w, b := g.weights(l)
		x = g.Linear(x, onnx.Parameter(g.Graph, l.name+".weight", w, l.out, l.in),
			onnx.Parameter(g.Graph, l.name+".bias", b, l.out))
		if i != g.m.mo {
			x = g.SiLU(x)
		}
	}
	return x
}

// part returns some numbers of each row as n×numbers×1.
func (g *graph[T]) part(x onnx.Value, at, n int) onnx.Value {
	return g.Unsqueeze(g.Columns(x, at, n), 2)
}

func (g *graph[T]) weights(l *layer) (w, b []T) {
	return g.m.θ[l.w : l.w+l.weights()], g.m.θ[l.b : l.b+l.biases]
}

// conv is W ∗ x, plus the bias if there is one: of each channel, or of each step and channel.
func (g *graph[T]) conv(i int, x onnx.Value) onnx.Value {
	l := &g.m.layers[i]
	w, b := g.weights(l)
	x = g.Conv(x, onnx.Transposed(g.Graph, l.name+".weight", w, []int{l.out, l.taps, l.in}, []int{0, 2, 1}), l.taps,
		(l.taps-1)/2, l.stride)
	if l.biases == 0 {
		return x
	}
	return g.Add(x, onnx.Transposed(g.Graph, l.name+".bias", b, []int{l.biases / l.out, l.out}, []int{1, 0}))
}

// A plan is the network without its parameters: sizes, layers, and what follows what.
type plan struct {
	dim, steps, width, held int // of a point: dim = steps·width + held
	momentum                bool
	octaves, timeOctaves    int
	null                    int // 1 if a row ends in whether the condition is hidden

	in       int // channels of a step in the input
	features int // numbers of a row that belong to no step
	// Where the numbers of the steps stand in a row, step after step, and those that belong to no step.
	stepColumns, featureColumns []int
	film                        int   // numbers of all blocks' scales and shifts
	lengths                     []int // steps by level
	channels                    []int // by level

	layers               []layer
	head, time, tail, mo int  // layers: time is E₁, then E₂; mo is M
	ops                  []op // after head, before tail

	size       int     // parameters
	parameters float64 // the same, if it is too large for an int
}

// A layer is a linear map of taps steps, or of one: W out×taps×in.
type layer struct {
	name          string
	out, taps, in int
	stride        int  // 2 where it halves the steps
	level         int  // of its output
	once          bool // a row, and not at every step
	w, b, biases  int  // where weights and biases are among the parameters, and how many biases
	outer, inner  bool // outer: nobody asks for the gradient of its input; inner: a matrix for Muon
}

func (l *layer) weights() int { return l.out * l.taps * l.in }

// An op makes one activation of the trunk from the one before it.
type op struct {
	kind    kind
	level   int // of its output
	in, out int // channels
	// Layers W₁, W₂ and V of a block (V is −1 if it is the identity); of halving, the first.
	first, second, side int
	film                int // where a block's (s, b) is among all
	skip                int // of doubling: the activation beside, by its number in the trunk
}

type kind int

const (
	block kind = iota
	halve
	double
)

// newPlan returns the plan of a network that fits and has every option. It allocates nothing
// as large as its parameters.
func newPlan(c score.Config) *plan {
	option := func(name string) int { return int(c.Options[name]) }
	p := &plan{dim: c.Dim, steps: steps(c), held: c.Held, momentum: c.Momentum, octaves: c.Octaves,
		timeOctaves: c.TimeOctaves}
	if c.Null {
		p.null = 1
	}
	p.width = (p.dim - p.held) / p.steps
	p.in = p.width * (1 + 2*p.octaves)
	if p.momentum {
		p.in += p.width
	}
	p.readColumns()
	p.features = 1 + 2*p.timeOctaves + p.null + p.held*(1+2*p.octaves)
	taps, blocks, e := 2*option("reach")+1, option("blocks"), option("embedding")
	for i, L, n := 0, p.steps, option("channels"); i < option("levels"); i, L, n = i+1, (L+1)/2, 2*n {
		p.lengths, p.channels = append(p.lengths, L), append(p.channels, n)
	}
	n := p.channels
	top := len(n) - 1
	p.head = p.layer(layer{name: "head", out: n[0], taps: taps, in: p.in, biases: p.steps * n[0], outer: true})
	p.time = p.layer(layer{name: "time_0", out: e, taps: 1, in: p.features, biases: e, outer: true, once: true})
	p.layer(layer{name: "time_1", out: e, taps: 1, in: e, biases: e, inner: true, once: true})
	for i := range n { // `blocks` blocks at each level, down and up; the coarsest level has one way
		ways := 2
		if i == top {
			ways = 1
		}
		p.film += ways * blocks * 2 * n[i]
	}
	p.mo = p.layer(layer{name: "film", out: p.film, taps: 1, in: e, biases: p.film, once: true})
	film := 0
	level := func(name string, i, in int) {
		for j := range blocks {
			name, out := fmt.Sprintf("%s_%d.%d", name, i, j), n[i]
			o := op{kind: block, level: i, in: in, out: out, film: film, side: -1}
			o.first = p.layer(layer{name: name + ".first", level: i, out: out, taps: taps, in: in, inner: true})
			o.second = p.layer(layer{name: name + ".second", level: i, out: out, taps: taps, in: out, biases: out,
				inner: true})
			if in != out {
				o.side = p.layer(layer{name: name + ".side", level: i, out: out, taps: 1, in: in, inner: true})
			}
			p.ops = append(p.ops, o)
			film, in = film+2*out, out
		}
	}
	skips := make([]int, len(n))
	for i := range n {
		level("down", i, n[i])
		if skips[i] = len(p.ops); i < top {
			o := op{kind: halve, level: i + 1, in: n[i], out: n[i+1]}
			o.first = p.layer(layer{name: fmt.Sprintf("halve_%d", i), level: i + 1, out: n[i+1], taps: 3, in: n[i],
				stride: 2, biases: n[i+1], inner: true})
			p.ops = append(p.ops, o)
		}
	}
	for i := top - 1; i >= 0; i-- {
		p.ops = append(p.ops, op{kind: double, level: i, in: n[i+1], out: n[i+1] + n[i], skip: skips[i]})
		level("up", i, n[i+1]+n[i])
	}
	p.tail = p.layer(layer{name: "tail", out: p.width, taps: 1, in: n[0], biases: p.width})
	return p
}

// readColumns says what of a row (x, p̃, t, φ(x), χ(t), whether the condition is hidden) the network reads: of each
// step its x, p̃ and waves; and t, χ(t), whether the condition is hidden, the condition and its waves.
func (p *plan) readColumns() {
	add := func(to *[]int, from, n int) {
		for i := range n {
			*to = append(*to, from+i)
		}
	}
	D, moving, t := p.width, p.dim-p.held, p.dim
	if p.momentum {
		t += p.dim
	}
	for l := range p.steps {
		add(&p.stepColumns, l*D, D)
		if p.momentum {
			add(&p.stepColumns, p.dim+l*D, D)
		}
		for o := range p.octaves {
			add(&p.stepColumns, t+1+2*(p.dim*o+l*D), 2*D)
		}
	}
	add(&p.featureColumns, t, 1)
	add(&p.featureColumns, t+1+2*p.dim*p.octaves, 2*p.timeOctaves+p.null)
	add(&p.featureColumns, moving, p.held)
	for o := range p.octaves {
		add(&p.featureColumns, t+1+2*(p.dim*o+moving), 2*p.held)
	}
}

// layer adds a layer and returns its number.
func (p *plan) layer(l layer) int {
	l.stride = cmp.Or(l.stride, 1)
	l.w = p.size
	l.b = l.w + l.weights()
	p.size = l.b + l.biases
	p.parameters += float64(l.out)*float64(l.taps)*float64(l.in) + float64(l.biases)
	p.layers = append(p.layers, l)
	return len(p.layers) - 1
}

// A Product is a linear map in the network, Times for each row.
type Product struct {
	Out, In, Times int
	Outer          bool // nobody asks for the gradient of its input
}

// Products lists the linear maps that a row goes through. Their multiplications are nearly all the work of a pass.
func (m *Model[T]) Products() (all []Product) {
	for _, l := range m.layers {
		times := m.lengths[l.level]
		if l.once {
			times = 1
		}
		all = append(all, Product{Out: l.out, In: l.taps * l.in, Times: times, Outer: l.outer})
	}
	return all
}
