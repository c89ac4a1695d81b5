package temporal

import (
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
)

// Convolutions are products of matrices: those of a layer's weights with the windows of its input. A window is taps
// steps, one after the other in memory as in the sequence, so it is copied as one; steps beyond the ends are 0.

// windows writes the taps·c numbers before each of the ⌈L/stride⌉ outputs of n sequences x, n×L×c.
func windows[T kernel.Float](dst, x []T, n, L, c, taps, stride int) {
	w, before := taps*c, (taps-1)/2
	for ; n > 0; n-- {
		for at := -before; at+before < L; at += stride {
			lo, hi := max(at, 0), min(at+taps, L)
			clear(dst[:(lo-at)*c])
			copy(dst[(lo-at)*c:], x[lo*c:hi*c])
			clear(dst[(hi-at)*c : w])
			dst = dst[w:]
		}
		x = x[L*c:]
	}
}

// addWindows adds windows to where they are from.
func addWindows[T kernel.Float](dx, src []T, n, L, c, taps, stride int) {
	w, before := taps*c, (taps-1)/2
	for ; n > 0; n-- {
		for at := -before; at+before < L; at += stride {
			lo, hi := max(at, 0), min(at+taps, L)
			kernel.Add(dx[lo*c:hi*c], src[(lo-at)*c:(hi-at)*c])
			src = src[w:]
		}
		dx = dx[L*c:]
	}
}

// packed has the weights of all layers laid out for products.
type packed[T kernel.Float] struct {
	*Model[T]
	forward []*kernel.Weights[T]
	// turned, of a convolution at every step, is that for the gradient of its input, which is one
	// too: in×taps×out, taps in reverse. flipped is room for it.
	turned  []*kernel.Weights[T]
	flipped [][]T
}

// Pack lays out the parameters.
func (m *Model[T]) Pack(gradients bool) score.Packed[T] {
	n := len(m.layers)
	p := &packed[T]{m, make([]*kernel.Weights[T], n), make([]*kernel.Weights[T], n), make([][]T, n)}
	for i, l := range m.layers {
		turns := gradients && !l.outer && l.taps > 1 && l.stride == 1
		p.forward[i] = kernel.NewWeights[T](l.out, l.taps*l.in, gradients && !l.outer && !turns, m.precision)
		if turns {
			p.turned[i] = kernel.NewWeights[T](l.in, l.taps*l.out, false, m.precision)
			p.flipped[i] = make([]T, l.weights())
		}
		p.Update(i)
	}
	return p
}

// Update takes over the present weights of a layer.
func (p *packed[T]) Update(i int) {
	l := &p.layers[i]
	w := p.θ[l.w : l.w+l.weights()]
	p.forward[i].Set(w)
	if p.turned[i] == nil {
		return
	}
	for o := range l.out {
		for k := range l.taps {
			row := w[(o*l.taps+k)*l.in:][:l.in]
			to := p.flipped[i][(l.taps-1-k)*l.out+o:]
			for c, v := range row {
				to[c*l.taps*l.out] = v
			}
		}
	}
	p.turned[i].Set(p.flipped[i])
}

// A conv computes with one layer of n sequences of L steps; out is how many steps come out.
type conv[T kernel.Float] struct {
	*layer
	i, n, L, out int
	ws           *workspace[T]
}

func (ws *workspace[T]) conv(i, n, L int) conv[T] {
	l := &ws.layers[i]
	return conv[T]{l, i, n, L, (L + l.stride - 1) / l.stride, ws}
}

// block returns how many sequences have their windows made at once.
func (c *conv[T]) block() int { return max(1, windowRows/c.out) }

// windowRows is how many windows are made at once: they stay in the level-2 cache.
const windowRows = 128

// forward writes W ∗ x, without bias.
func (c conv[T]) forward(y, x []T) {
	w, ws, m, in := c.ws.forward[c.i], c.ws, c.layer.out, c.layer.in
	if c.taps == 1 {
		kernel.MulTransposed(y, x, w, c.n*c.L, ws.scratch)
		return
	}
	for lo := 0; lo < c.n; lo += c.block() {
		k := min(c.block(), c.n-lo)
		windows(ws.col, x[lo*c.L*in:], k, c.L, in, c.taps, c.stride)
		kernel.MulTransposed(y[lo*c.out*m:], ws.col, w, k*c.out, ws.scratch)
	}
}

// input writes the gradient in x from that in y.
func (c conv[T]) input(dx, dy []T) {
	ws, m, in := c.ws, c.layer.out, c.layer.in
	if c.taps == 1 {
		kernel.MulWeights(dx, dy, ws.forward[c.i], c.n*c.L, ws.scratch)
		return
	}
	for lo := 0; lo < c.n; lo += c.block() {
		k := min(c.block(), c.n-lo)
		dx, dy := dx[lo*c.L*in:(lo+k)*c.L*in], dy[lo*c.out*m:]
		if c.stride == 1 {
			windows(ws.col, dy, k, c.L, m, c.taps, 1)
			kernel.MulTransposed(dx, ws.col, ws.turned[c.i], k*c.L, ws.scratch)
			continue
		}
		kernel.MulWeights(ws.col, dy, ws.forward[c.i], k*c.out, ws.scratch)
		clear(dx)
		addWindows(dx, ws.col, k, c.L, in, c.taps, c.stride)
	}
}

// gradient adds the gradients of W and of the biases, if there are any.
func (c conv[T]) gradient(grad, x, dy []T) {
	ws, m, in := c.ws, c.layer.out, c.layer.in
	if c.biases > 0 {
		kernel.AddRows(grad[c.b:c.b+c.biases], dy, c.n*c.out*m/c.biases, c.biases)
	}
	dw := grad[c.w : c.w+c.layer.weights()]
	if c.taps == 1 {
		kernel.AddGradient(dw, dy, x, c.n*c.L, m, in, true, ws.precision, ws.scratch)
		return
	}
	for lo := 0; lo < c.n; lo += c.block() {
		k := min(c.block(), c.n-lo)
		windows(ws.col, x[lo*c.L*in:], k, c.L, in, c.taps, c.stride)
		kernel.AddGradient(dw, dy[lo*c.out*m:], ws.col, k*c.out, m, c.taps*in, true, ws.precision, ws.scratch)
	}
}
