package levelset

import "github.com/landing-diffusion/landing/base/kernel"

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
