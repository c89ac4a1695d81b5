package temporal

import (
	"fmt"

	"github.com/landing-diffusion/landing/learn/score"
)

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
	for i := range n { // so many blocks at each level on the way down, and but for the last up
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

// readColumns says what of a row (x, p̃, t, φ(x), χ(t), whether the condition is hidden) the network reads: of each step
// its x, p̃ and waves; and t, χ(t), whether the condition is hidden, the condition and its waves.
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
	if l.stride == 0 {
		l.stride = 1
	}
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

// Products lists the linear maps that a row goes through, the multiplications of which are nearly all that a pass does.
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
