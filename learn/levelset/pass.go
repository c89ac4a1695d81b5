package levelset

import (
	"fmt"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
)

// A Packed network is one as the products read it. Any number of goroutines may use it; Set must not run beside them.
type Packed struct {
	net      *Network
	forward  []*kernel.Matrix64 // W_lᵀ
	backward []*kernel.Matrix64 // W_l
	bias     [][]float64        // padded
	last     []float64          // the output layer's weights, padded
}

// Pack returns the network packed.
func (n *Network) Pack() *Packed {
	p := &Packed{net: n}
	for l := range n.Layers() {
		in, out := n.Sizes[l], n.Sizes[l+1]
		p.forward = append(p.forward, kernel.NewMatrix64(in, out))
		p.backward = append(p.backward, kernel.NewMatrix64(out, in))
		p.bias = append(p.bias, make([]float64, kernel.Pad64(out)))
	}
	p.last = make([]float64, kernel.Pad64(n.Sizes[n.Layers()-1]))
	p.Set()
	return p
}

// Set takes over the network's parameters again, after a change.
func (p *Packed) Set() {
	n := p.net
	for l := range n.Layers() {
		p.forward[l].SetTransposed(n.Weight(l), n.Sizes[l])
		p.backward[l].Set(n.Weight(l), n.Sizes[l])
		copy(p.bias[l], n.Bias(l))
	}
	copy(p.last, n.Weight(n.Layers()-1))
}

// A Pass computes h and its derivatives at up to Rows points: scratch space for
// one goroutine. With a_l = softplus(z_l), z_l = W_l a_{l−1} + b_l over hidden
// layers l, slopes s_l = softplus′(z_l) and softplus″ = βs(1−s), it holds
//
//	δ_l = ∂h/∂z_l                        after Gradient
//	ż_l, ȧ_l = s_l ż_l                   after Tangent: derivatives along v
//	z̄_l = ∂(c h + v·∇h)/∂z_l             after Adjoint, c and v constant
//
// Rows are padded to kernel.Pad64 numbers. The calls come in the order Value, Gradient, Direct, Tangent, Adjoint, each
// of them from what those before left; one may stop after any.
type Pass struct {
	p       *Packed
	d, rows int
	N       int // points in use

	X, V         []float64   // points and directions
	Act, Slope   [][]float64 // a_l, s_l
	Out          []float64   // h, first of each padded row
	Delta        [][]float64 // δ_l
	Grad         []float64   // ∇h
	Dot, Bar     [][]float64 // ȧ_l, z̄_l
	InputAdjoint []float64   // W_0ᵀ z̄_0: ∇²h v if c = 0
	tmp          []float64   // of the widest layer
}

// NewPass makes room for rows points.
func (p *Packed) NewPass(rows int) *Pass {
	d := kernel.Pad64(p.net.In())
	q := &Pass{p: p, d: d, rows: rows, X: make([]float64, rows*d), Out: make([]float64, rows*kernel.Pad64(1))}
	q.Act, q.Slope = q.layers(), q.layers()
	return q
}

func (q *Pass) layers() (out [][]float64) {
	for _, w := range q.p.net.Sizes[1:q.p.net.Layers()] {
		out = append(out, make([]float64, q.rows*kernel.Pad64(w)))
	}
	return out
}

// hidden returns the number of hidden layers and the padded width of layer l.
func (q *Pass) hidden() int        { return q.p.net.Layers() - 1 }
func (q *Pass) stride(l int) int   { return kernel.Pad64(q.p.net.Sizes[l+1]) }
func (q *Pass) part(l int) (n int) { return q.N * q.stride(l) }

// spread copies n rows of d numbers to padded rows.
func spread(dst, src []float64, n, d int) {
	stride := kernel.Pad64(d)
	for i := range n {
		copy(dst[i*stride:i*stride+d], src[i*d:(i+1)*d])
	}
}

// Value computes h, Out, at n ≤ rows points x, n×d; it panics if there are more.
func (q *Pass) Value(x []float64, n int) {
	if n > q.rows {
		panic(fmt.Sprintf("levelset: %d points in a pass of %d", n, q.rows))
	}
	q.N = n
	spread(q.X, x, n, q.p.net.In())
	in := q.X
	for l := range q.hidden() {
		kernel.Mul64(q.Act[l], in, q.p.forward[l], n, false)
		kernel.Softplus64(q.Act[l], q.Slope[l], q.Act[l], q.p.bias[l], n, q.p.net.Sizes[l+1], q.p.net.Beta)
		in = q.Act[l]
	}
	top := q.hidden()
	kernel.Mul64(q.Out, in, q.p.forward[top], n, false)
	for i := range n {
		q.Out[i*kernel.Pad64(1)] += q.p.bias[top][0]
	}
}

// Gradient computes ∇h at the points of Value.
func (q *Pass) Gradient() {
	if q.Grad == nil {
		q.Grad, q.Delta = make([]float64, q.rows*q.d), q.layers()
	}
	top := q.hidden() - 1
	w := q.p.last
	for i := range q.N {
		δ, s := q.Delta[top][i*len(w):(i+1)*len(w)], q.Slope[top][i*len(w):(i+1)*len(w)]
		for j, v := range w {
			δ[j] = v * s[j]
		}
	}
	for l := top; l > 0; l-- {
		kernel.Mul64(q.Delta[l-1], q.Delta[l], q.p.backward[l], q.N, false)
		multiply(q.Delta[l-1][:q.part(l-1)], q.Slope[l-1])
	}
	kernel.Mul64(q.Grad, q.Delta[0], q.p.backward[0], q.N, false)
}

// Tangent computes ȧ_l along the directions V, after Gradient, and starts z̄_l
// with β δ_l (1 − s_l) ż_l, what the second derivatives of softplus add.
func (q *Pass) Tangent() {
	if q.Dot == nil {
		q.needTangent()
	}
	in, β := q.V, q.p.net.Beta
	for l := range q.hidden() {
		dot, bar, δ, s := q.Dot[l][:q.part(l)], q.Bar[l], q.Delta[l], q.Slope[l]
		kernel.Mul64(dot, in, q.p.forward[l], q.N, false)
		for i, ż := range dot {
			bar[i] = β * δ[i] * (1 - s[i]) * ż
			dot[i] = s[i] * ż
		}
		in = dot
	}
}

// Direct takes the directions v, n×d, of Tangent.
func (q *Pass) Direct(v []float64) {
	if q.V == nil {
		q.V = make([]float64, q.rows*q.d)
	}
	spread(q.V, v, q.N, q.p.net.In())
}

func (q *Pass) needTangent() {
	q.Dot, q.Bar, q.InputAdjoint = q.layers(), q.layers(), make([]float64, q.rows*q.d)
	q.tmp = make([]float64, q.rows*kernel.Pad64(slices.Max(q.p.net.Sizes)))
}

// Adjoint completes z̄_l and InputAdjoint, once after each Tangent; c has a number for each point, or is nil for zeros.
func (q *Pass) Adjoint(c []float64) {
	top := q.hidden() - 1
	if c != nil {
		w := q.p.last
		for i := range q.N {
			bar, s := q.Bar[top][i*len(w):(i+1)*len(w)], q.Slope[top][i*len(w):(i+1)*len(w)]
			for j, v := range w {
				bar[j] += c[i] * v * s[j]
			}
		}
	}
	for l := top; l > 0; l-- {
		ā := q.tmp[:q.part(l-1)] // W_lᵀ z̄_l
		kernel.Mul64(ā, q.Bar[l], q.p.backward[l], q.N, false)
		bar, s := q.Bar[l-1], q.Slope[l-1]
		for i, ā := range ā {
			bar[i] += ā * s[i]
		}
	}
	kernel.Mul64(q.InputAdjoint, q.Bar[0], q.p.backward[0], q.N, false)
}

func multiply(x, y []float64) {
	y = y[:len(x)]
	for i, v := range y {
		x[i] *= v
	}
}

// A Gradient sums derivatives in the parameters over points, in their order: Clear,
// then Add after each pass, then Sum. It is scratch space for one goroutine.
type Gradient struct {
	p    *Packed
	rows int
	w    [][]float64 // padded out×in, of every layer
	b    [][]float64
	// Scratch: the left operand transposed, and the right one packed.
	left  []float64
	right []*kernel.Matrix64 // rows×in of every hidden layer
}

// NewGradient makes a sum of zero, for passes of rows points.
func (p *Packed) NewGradient(rows int) *Gradient {
	g := &Gradient{p: p, rows: rows}
	widest := 0
	for l := range p.net.Layers() {
		in, out := p.net.Sizes[l], p.net.Sizes[l+1]
		g.w = append(g.w, make([]float64, out*kernel.Pad64(in)))
		g.b = append(g.b, make([]float64, kernel.Pad64(out)))
		if l < p.net.Layers()-1 {
			g.right = append(g.right, kernel.NewMatrix64(rows, in))
			widest = max(widest, out)
		}
	}
	g.left = make([]float64, widest*kernel.Pad64(rows))
	return g
}

// Clear sets the sum to zero.
func (g *Gradient) Clear() {
	for l := range g.w {
		clear(g.w[l])
		clear(g.b[l])
	}
}

// Add adds the derivatives of Σ c_i h(x_i) + v_i·∇h(x_i) over the points of a pass after Adjoint(c), with the same c
// (one number a point, not nil) and the v of Direct:
//
//	∂/∂W_l = Σ z̄_l a_{l−1}ᵀ + δ_l ȧ_{l−1}ᵀ,  ∂/∂b_l = Σ z̄_l
//
// with a_{−1} = x and ȧ_{−1} = v; of the output layer Σ c a + ȧ and Σ c.
func (g *Gradient) Add(q *Pass, c []float64) {
	in, dot := q.X, q.V
	for l := range q.hidden() {
		g.outer(l, q.Bar[l], in, q.N)
		g.outer(l, q.Delta[l], dot, q.N)
		w := q.stride(l)
		for i := range q.N {
			addTo(g.b[l], q.Bar[l][i*w:(i+1)*w])
		}
		in, dot = q.Act[l], q.Dot[l]
	}
	top := q.hidden()
	w := len(g.w[top])
	for i := range q.N {
		a, ȧ := in[i*w:(i+1)*w], dot[i*w:(i+1)*w]
		for j := range g.w[top] {
			g.w[top][j] += c[i]*a[j] + ȧ[j]
		}
		g.b[top][0] += c[i]
	}
}

// outer adds yᵀx over n rows to the weights of layer l.
func (g *Gradient) outer(l int, y, x []float64, n int) {
	in, out := g.p.net.Sizes[l], g.p.net.Sizes[l+1]
	rows, wide := kernel.Pad64(g.rows), kernel.Pad64(out)
	if n < g.rows { // rows beyond the points count nothing
		clear(g.left)
		clear(x[n*kernel.Pad64(in) : g.rows*kernel.Pad64(in)])
	}
	for i := range n {
		for j, v := range y[i*wide : i*wide+out] {
			g.left[j*rows+i] = v
		}
	}
	g.right[l].Set(x, kernel.Pad64(in))
	kernel.Mul64(g.w[l], g.left, g.right[l], out, true)
}

// Sum writes the sum as parameters are laid out: len(Network.Params) numbers.
func (g *Gradient) Sum(dst []float64) {
	for l := range g.w {
		in, out := g.p.net.Sizes[l], g.p.net.Sizes[l+1]
		for j := range out {
			copy(dst[j*in:(j+1)*in], g.w[l][j*kernel.Pad64(in):])
		}
		dst = dst[in*out:]
		copy(dst[:out], g.b[l])
		dst = dst[out:]
	}
}

func addTo(y, x []float64) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] += v
	}
}
