package temporal

import (
	"fmt"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/learn/score"
)

// chunkSteps is about how many steps of the finest level pass through the network at once:
// their activations stay in the caches.
const chunkSteps = 2048

// workspace holds the activations of up to rows rows; for forward passes alone, of a chunk.
type workspace[T kernel.Float] struct {
	*packed[T]
	rows, chunk int
	gradients   bool

	features, z0, g, z1, e, mod []T // rows: E₁'s input, before and after SiLU, e, all (s, b)
	in                          []T // L×in
	trunk                       [][]T
	a, u, v                     [][]T // of blocks: SiLU(x), W₁∗a, SiLU((1+s)u+b)
	last                        []T   // SiLU of the trunk's end
	step                        []T   // output of the tail; nil if it is out
	out                         []T

	dmod, de, dg []T   // rows
	d, d2        []T   // gradients along the trunk, of a chunk
	skips        [][]T // of what doubling put beside, by op
	inner        []T   // what comes and goes inside a block, of a chunk

	col, scratch, zeros []T
	users               []int // by activation of the trunk: the op that puts it beside; −1 if none
}

// NewWorkspace makes room for passes.
func (p *packed[T]) NewWorkspace(rows int, gradients bool) score.Workspace[T] {
	ws := &workspace[T]{packed: p, rows: rows, gradients: gradients}
	L, C := p.steps, p.channels[0]
	ws.chunk = min(rows, max(1, chunkSteps/L))
	kept := ws.chunk
	if gradients {
		kept = rows
	}
	floats := func(n int) []T { return make([]T, n) }
	e := p.layers[p.time].out
	ws.features = floats(rows * p.features)
	ws.z0, ws.g, ws.z1, ws.e = floats(rows*e), floats(rows*e), floats(rows*e), floats(rows*e)
	ws.mod, ws.in, ws.out = floats(rows*p.film), floats(kept*L*p.in), floats(rows*p.dim)
	ws.last = floats(kept * L * C)
	if p.held > 0 {
		ws.step = floats(ws.chunk * L * p.width)
	}

	ws.users = make([]int, len(p.ops)+1)
	for i := range ws.users {
		ws.users[i] = -1
	}
	widest := L * C // numbers of an activation
	for i, o := range p.ops {
		if o.kind == double {
			ws.users[o.skip] = i
		}
		widest = max(widest, p.lengths[o.level]*max(o.in, o.out))
	}
	ws.zeros, ws.inner = floats(widest), floats(ws.chunk*widest)
	var pair [2][]T // activations that nobody asks for again take turns
	if !gradients {
		pair = [2][]T{floats(kept * widest), floats(kept * widest)}
	}
	activation := func(i, n int) {
		x := pair[i%2]
		if x == nil || ws.users[i] >= 0 {
			x = floats(kept * n)
		}
		ws.trunk = append(ws.trunk, x)
	}
	activation(0, L*C)
	ws.a, ws.u, ws.v = make([][]T, len(p.ops)), make([][]T, len(p.ops)), make([][]T, len(p.ops))
	var a, u []T
	if !gradients {
		a, u = floats(kept*widest), floats(kept*widest)
	}
	for i, o := range p.ops {
		L := p.lengths[o.level]
		activation(i+1, L*o.out)
		switch {
		case o.kind != block:
		case gradients:
			ws.a[i], ws.u[i], ws.v[i] = floats(kept*L*o.in), floats(kept*L*o.out), floats(kept*L*o.out)
		default:
			ws.a[i], ws.u[i], ws.v[i] = a, u, a
		}
	}
	if gradients {
		ws.dmod, ws.de, ws.dg = floats(rows*p.film), floats(rows*e), floats(rows*e)
		ws.d, ws.d2 = floats(ws.chunk*widest), floats(ws.chunk*widest)
		ws.skips = make([][]T, len(p.ops))
		for i, o := range p.ops {
			if o.kind == double {
				ws.skips[i] = floats(ws.chunk * p.lengths[o.level] * (o.out - o.in))
			}
		}
	}
	ws.room()
	return ws
}

// room makes scratch for every product.
func (ws *workspace[T]) room() {
	col, scratch := 0, 0
	most := max(ws.rows, ws.chunk*ws.steps)
	for i := range ws.layers {
		l := &ws.layers[i]
		scratch = max(scratch, kernel.Scratch[T](most, l.out, l.taps*l.in), kernel.Scratch[T](most, l.in, l.taps*l.out))
		if l.taps > 1 {
			col = max(col, max(windowRows, ws.steps)*l.taps*max(l.in, l.out))
		}
	}
	ws.col, ws.scratch = make([]T, col), make([]T, scratch)
}

// from returns the numbers of an array from row lo of it on, of n numbers a row.
func (ws *workspace[T]) from(x []T, lo, n int) []T {
	if !ws.gradients {
		return x
	}
	return x[lo*n:]
}

// Forward passes rows through the network.
func (ws *workspace[T]) Forward(in []T, n int) []T {
	if n > ws.rows || len(in) < n*ws.In() {
		panic(fmt.Sprintf("temporal: %d rows from %d numbers in a workspace of %d rows", n, len(in), ws.rows))
	}
	ws.tell(in, n)
	for lo := 0; lo < n; lo += ws.chunk {
		ws.pass(in, lo, min(ws.chunk, n-lo))
	}
	return ws.out[:n*ws.dim]
}

// tell computes the scales and shifts of all blocks.
func (ws *workspace[T]) tell(in []T, n int) {
	w, f := ws.In(), ws.plan.features
	for i := range n {
		gather(ws.features[i*f:], in[i*w:(i+1)*w], ws.featureColumns)
	}
	time0, time1 := &ws.layers[ws.time], &ws.layers[ws.time+1]
	e := time0.out
	kernel.MulTransposed(ws.z0, ws.features, ws.forward[ws.time], n, ws.scratch)
	kernel.BiasSiLU(ws.g, ws.z0, ws.θ[time0.b:], n, e)
	kernel.MulTransposed(ws.z1, ws.g, ws.forward[ws.time+1], n, ws.scratch)
	kernel.BiasSiLU(ws.e, ws.z1, ws.θ[time1.b:], n, e)
	kernel.MulTransposed(ws.mod, ws.e, ws.forward[ws.mo], n, ws.scratch)
	kernel.AddRow(ws.mod, ws.θ[ws.layers[ws.mo].b:], n, ws.film)
}

// gather writes the numbers of row at some places.
func gather[T any](dst, row []T, at []int) {
	for i, j := range at {
		dst[i] = row[j]
	}
}

// pass computes the outputs of m rows from row lo on.
func (ws *workspace[T]) pass(in []T, lo, m int) {
	L, C, w := ws.steps, ws.channels[0], ws.In()
	x := ws.from(ws.in, lo, L*ws.plan.in)
	for i := range m {
		gather(x[i*L*ws.plan.in:], in[(lo+i)*w:(lo+i+1)*w], ws.stepColumns)
	}
	t := ws.from(ws.trunk[0], lo, L*C)
	ws.conv(ws.head, m, L).forward(t, x)
	kernel.AddRow(t, ws.θ[ws.layers[ws.head].b:], m, L*C)
	for k := range ws.ops {
		t = ws.advance(k, t, lo, m)
	}
	last := ws.from(ws.last, lo, L*C)
	kernel.BiasSiLU(last, t, ws.zeros[:L*C], m, L*C)
	y := ws.out[lo*ws.dim:]
	if ws.held > 0 {
		y = ws.step
	}
	tail, D := &ws.layers[ws.tail], ws.width
	kernel.MulTransposed(y, last, ws.forward[ws.tail], m*L, ws.scratch)
	kernel.AddRow(y, ws.θ[tail.b:], m*L, D)
	if ws.held > 0 { // the rest of a row stays 0
		for i := range m {
			copy(ws.out[(lo+i)*ws.dim:], y[i*L*D:(i+1)*L*D])
		}
	}
}

// advance computes op k of m rows from row lo on, of the activation x before it.
func (ws *workspace[T]) advance(k int, x []T, lo, m int) []T {
	o := &ws.ops[k]
	L := ws.lengths[o.level]
	y := ws.from(ws.trunk[k+1], lo, L*o.out)
	switch o.kind {
	case halve:
		ws.conv(o.first, m, ws.lengths[o.level-1]).forward(y, x)
		kernel.AddRow(y, ws.θ[ws.layers[o.first].b:], m*L, o.out)
	case double:
		beside, n := ws.from(ws.trunk[o.skip], lo, L*(o.out-o.in)), o.out-o.in
		coarse := ws.lengths[o.level+1]
		for i := range m {
			for l := range L {
				to := y[(i*L+l)*o.out:][:o.out]
				copy(to, x[(i*coarse+l/2)*o.in:][:o.in])
				copy(to[o.in:], beside[(i*L+l)*n:][:n])
			}
		}
	case block:
		a, u, v := ws.from(ws.a[k], lo, L*o.in), ws.from(ws.u[k], lo, L*o.out), ws.from(ws.v[k], lo, L*o.out)
		kernel.BiasSiLU(a, x, ws.zeros[:L*o.in], m, L*o.in)
		ws.conv(o.first, m, L).forward(u, a)
		for i := range m {
			s, b := ws.modulation(ws.mod, o, lo+i)
			kernel.Modulate(v[i*L*o.out:], u[i*L*o.out:], s, b, L, o.out)
		}
		ws.conv(o.second, m, L).forward(y, v)
		kernel.AddRow(y, ws.θ[ws.layers[o.second].b:], m*L, o.out)
		if o.side >= 0 {
			ws.conv(o.side, m, L).forward(ws.inner, x)
			x = ws.inner
		}
		kernel.Add(y[:m*L*o.out], x[:m*L*o.out])
	}
	return y
}

// modulation returns s and b of a block and row.
func (ws *workspace[T]) modulation(mod []T, o *op, row int) (s, b []T) {
	at := row*ws.film + o.film
	return mod[at : at+o.out], mod[at+o.out : at+2*o.out]
}

// Backward computes gradients.
func (ws *workspace[T]) Backward(grad, dout []T, n int, add bool) {
	if !ws.gradients {
		panic("temporal: Backward in a workspace for Forward alone")
	}
	if !add {
		clear(grad[:ws.size])
	}
	clear(ws.dmod[:n*ws.film])
	for lo := 0; lo < n; lo += ws.chunk {
		ws.back(grad, dout, lo, min(ws.chunk, n-lo))
	}
	film := ws.conv(ws.mo, n, 1)
	film.gradient(grad, ws.e, ws.dmod)
	film.input(ws.de, ws.dmod)
	time1 := ws.conv(ws.time+1, n, 1)
	e := time1.layer.out
	kernel.SiLUGrad(ws.de[:n*e], ws.z1)
	time1.gradient(grad, ws.g, ws.de)
	time1.input(ws.dg, ws.de)
	kernel.SiLUGrad(ws.dg[:n*e], ws.z0)
	ws.conv(ws.time, n, 1).gradient(grad, ws.features, ws.dg)
}

// back passes the gradients of m rows from row lo on back to the input.
func (ws *workspace[T]) back(grad, dout []T, lo, m int) {
	L, C, D := ws.steps, ws.channels[0], ws.width
	dy := dout[lo*ws.dim:]
	if ws.held > 0 {
		dy = ws.step
		for i := range m {
			copy(dy[i*L*D:(i+1)*L*D], dout[(lo+i)*ws.dim:])
		}
	}
	d, spare := ws.d, ws.d2
	tail := ws.conv(ws.tail, m, L)
	tail.gradient(grad, ws.from(ws.last, lo, L*C), dy)
	tail.input(d, dy)
	kernel.SiLUGrad(d[:m*L*C], ws.from(ws.trunk[len(ws.ops)], lo, L*C))
	for k := len(ws.ops) - 1; k >= 0; k-- {
		n := ws.retreat(k, spare, d, grad, lo, m)
		d, spare = spare, d
		if user := ws.users[k]; user >= 0 {
			kernel.Add(d[:m*n], ws.skips[user])
		}
	}
	ws.conv(ws.head, m, L).gradient(grad, ws.from(ws.in, lo, L*ws.plan.in), d)
}

// retreat writes the gradient in what op k read of m rows, from that in what it made, d, and
// returns how many numbers of a row it has.
func (ws *workspace[T]) retreat(k int, dx, d, grad []T, lo, m int) int {
	o := &ws.ops[k]
	L := ws.lengths[o.level]
	switch o.kind {
	case halve:
		fine := ws.lengths[o.level-1]
		c, x := ws.conv(o.first, m, fine), ws.from(ws.trunk[k], lo, fine*o.in)
		c.gradient(grad, x, d)
		c.input(dx, d)
		return fine * o.in
	case double:
		coarse, n := ws.lengths[o.level+1], o.out-o.in
		clear(dx[:m*coarse*o.in])
		for i := range m {
			for l := range L {
				from := d[(i*L+l)*o.out:][:o.out]
				kernel.Add(dx[(i*coarse+l/2)*o.in:][:o.in], from[:o.in])
				copy(ws.skips[k][(i*L+l)*n:][:n], from[o.in:])
			}
		}
		return coarse * o.in
	}
	x, a := ws.from(ws.trunk[k], lo, L*o.in), ws.from(ws.a[k], lo, L*o.in)
	u, v := ws.from(ws.u[k], lo, L*o.out), ws.from(ws.v[k], lo, L*o.out)
	first, second := ws.conv(o.first, m, L), ws.conv(o.second, m, L)
	second.gradient(grad, v, d)
	second.input(ws.inner, d)
	for i := range m {
		s, b := ws.modulation(ws.mod, o, lo+i)
		ds, db := ws.modulation(ws.dmod, o, lo+i)
		kernel.ModulateGrad(ws.inner[i*L*o.out:], u[i*L*o.out:], s, b, ds, db, L, o.out)
	}
	first.gradient(grad, a, ws.inner)
	first.input(dx, ws.inner)
	kernel.SiLUGrad(dx[:m*L*o.in], x)
	if o.side >= 0 {
		side := ws.conv(o.side, m, L)
		side.gradient(grad, x, d)
		side.input(ws.inner, d)
		d = ws.inner
	}
	kernel.Add(dx[:m*L*o.in], d)
	return L * o.in
}

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
