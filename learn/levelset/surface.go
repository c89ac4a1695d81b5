package levelset

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A Surface is a Set with a mesh near it, which gives it a uniform sampler: points
// uniform by area on the mesh, moved to Σ.
type Surface struct {
	*Set
	Mesh *mesh.Mesh

	sampler *mesh.Sampler
	far     float64 // Refine moves points by at most this
}

// NewSurface joins the level set of a network with a mesh near it. The error says
// that the mesh is not near: some point of it cannot be moved to Σ.
func NewSurface(n *Network, m *mesh.Mesh) (*Surface, error) {
	if n.In() != 3 {
		return nil, fmt.Errorf("the network takes %d coordinates; expected 3, as a mesh has", n.In())
	}
	set := New(n)
	s := &Surface{Set: set, Mesh: m, sampler: mesh.NewSampler(m, nil), far: m.Size() / 10}
	x, r := make([]float64, 3), newRefiner(set, s.far)
	for i := range uint64(probes) {
		s.sampler.Sample(x, keyed.SurfaceProbe.Stream(0, 0), i, 0)
		if at := [3]float64(x); !arrives(r, x) {
			return nil, fmt.Errorf("the mesh is not near the level set: Newton's method from its point %.3g does "+
				"not get there; expected the mesh that the network was fitted to, of the same size and place", at)
		}
	}
	return s, nil
}

const (
	probes = 50
	tries  = 1000 // at points that cannot be moved to Σ, before giving up
)

// Refine moves a point x (3 numbers) near the mesh to Σ, to |h| ≤ 1e-13 or, where round-off ends the descent there,
// 1e-12, by at most a tenth of the mesh's size. It reports whether it arrived; if not, x is what it was.
func (s *Surface) Refine(x []float64) bool { return arrives(newRefiner(s.Set, s.far), x) }

func (s *Surface) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.SampleUniform = s.SampleUniform
	return c
}

func (s *Surface) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	r := newRefiner(s.Set, s.far)
	for try := range tries {
		s.sampler.Sample(dst, st, sample, try)
		if arrives(r, dst) {
			return
		}
	}
	panic(fmt.Sprintf("levelset: %d points of the mesh in turn cannot be moved to the level set", tries))
}

// Moves moves n points uniform by area on the mesh to Σ. It returns how far each
// that arrives is from its start, and how many do not arrive.
func (s *Surface) Moves(st keyed.Stream, n int) (moved []float64, lost int) {
	x, r := make([]float64, 3), newRefiner(s.Set, s.far)
	for i := range uint64(n) {
		s.sampler.Sample(x, st, i, 0)
		from := [3]float64(x)
		if !arrives(r, x) {
			lost++
			continue
		}
		d := [3]float64{x[0] - from[0], x[1] - from[1], x[2] - from[2]}
		moved = append(moved, math.Sqrt(d[0]*d[0]+d[1]*d[1]+d[2]*d[2]))
	}
	return moved, lost
}

// newRefiner makes what moves points to a level set by Newton's method along the
// gradient, x ← x − h∇h/‖∇h‖², by at most far.
func newRefiner(s *Set, far float64) *geometry.Approach {
	return geometry.NewApproach(gradient{s.packed.NewPass(1)}, s.Dim(), geometry.ApproachOptions{Steps: 30, Reach: far})
}

// A gradient is the way to a level set from a point; ∇h is computed only where a step is taken.
type gradient struct{ *Pass }

func (g gradient) At(x []float64, n int) error {
	g.Value(x, n)
	return nil
}

func (g gradient) Values() []float64 { return g.Out[:1] }

func (g gradient) Landing(dst []float64) {
	g.Gradient()
	gg := 0.0
	for _, v := range g.Grad[:len(dst)] {
		gg += v * v
	}
	for j, v := range g.Grad[:len(dst)] {
		dst[j] = g.Out[0] / gg * v
	}
}

func arrives(a *geometry.Approach, x []float64) bool {
	_, ok := a.Run(x)
	return ok
}

// A MeshFault is a fault of a surface's mesh, seen by those who use the surface.
type MeshFault struct{ Fault mesh.Fault }

// String names the fault and what it does to uniform points and to counts of points on the mesh's faces.
func (f MeshFault) String() string {
	return f.Fault.Name() + "; " + [...]string{
		mesh.Hole: "uniform points are missing on Σ there, and points of Σ there count on the faces at the rim",
		mesh.NonManifold: "where faces are doubled or inside, uniform points are too many and counts are split " +
			"between faces",
		mesh.Flipped: "points beside an edge may count on the other of its two faces, in data and samples " +
			"alike, and pictures are shaded wrongly there",
		mesh.InsideOut: "points beside an edge count on the other of its two faces, in data and samples alike, " +
			"and pictures are shaded as from inside",
		mesh.Degenerate: "no uniform point starts on them, but points of neighbouring faces may count on them",
		mesh.Unused:     "they are passed over",
	}[f.Fault.Kind]
}

// Faults returns the faults of the surface's mesh, one of each kind at most. With
// any of them the surface works; the level set itself is that of the network.
func (s *Surface) Faults() []MeshFault {
	var out []MeshFault
	for _, f := range s.Mesh.Check() {
		out = append(out, MeshFault{f})
	}
	return out
}

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
		δ := q.Delta[l-1]
		for i, s := range q.Slope[l-1][:q.part(l-1)] {
			δ[i] *= s
		}
	}
	kernel.Mul64(q.Grad, q.Delta[0], q.p.backward[0], q.N, false)
}

// Tangent computes ȧ_l along the directions V, after Gradient, and starts z̄_l
// with β δ_l (1 − s_l) ż_l, what the second derivatives of softplus add.
func (q *Pass) Tangent() {
	if q.Dot == nil {
		q.Dot, q.Bar, q.InputAdjoint = q.layers(), q.layers(), make([]float64, q.rows*q.d)
		q.tmp = make([]float64, q.rows*kernel.Pad64(slices.Max(q.p.net.Sizes)))
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
			dense.Axpy(g.b[l], 1, q.Bar[l][i*w:(i+1)*w])
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
