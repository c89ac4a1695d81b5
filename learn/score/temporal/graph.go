package temporal

import "github.com/landing-diffusion/landing/internal/onnx"

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
