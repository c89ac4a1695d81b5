// Package cwpm computes the conditional Wasserstein path-matching loss of the paper (Section 4.3): how far a backward
// step with the learned score misses the forward path it should retrace, in the tangent directions. Unlike a likelihood
// it is finite when states are slightly off Σ.
//
// It knows nothing of networks or optimisers: it makes their input rows and the gradient with respect to their outputs.
package cwpm

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Term is one summand of the loss: the backward step x_{k+1} → x_k of the path Item.
type Term = method.Term

// A Loss evaluates terms, rows at a time. It is scratch space for one goroutine; no method allocates.
//
// With τ = σ²Δt of the backward step (langevin.Process.BackTau), a = exp(−γτ) and the momentum p̃ recovered from
// x_{k+2} − x_{k+1}, both losses have the form ½‖u − cΠs‖² at x_{k+1}:
//
//	overdamped   ‖Π(x_k − μ)‖²/(2τ),         μ = x_{k+1} + ½τΠ(∇f + s)
//	             u = Π[x_k − x_{k+1} − ½τ∇f]/√τ,               c = √τ/2
//	underdamped  ‖Π(x_k − μ)‖²/(2τ²(1−a²)),  μ = x_{k+1} − τΠ[a p̃ + τ(∇f + s)]
//	             u = Π[x_k − x_{k+1} + aτp̃ + τ²∇f]/(τ√(1−a²)),  c = −τ/√(1−a²)
//
// Where an elastic wall sent a step back (langevin's walls.go), the backward step aims at the mirror image M_{k+1}
// instead of x_k. p̃ is then that of the momentum which left x_{k+1}: y_{k+2} instead of x_{k+2}.
type Loss[T kernel.Float] struct {
	proc   *langevin.Process
	at     geometry.Geometry
	opt    Options
	reader score.Reader[T]
	d, w   int // dimension, width of a network row

	n       int
	terms   []Term
	x       []float64 // rows×d: x_{k+1}
	p       []float64 // rows×d: p̃
	u       []float64 // rows×d
	s, grad []float64 // rows×d
	c       []float64 // rows
	table   []coefficients
	in      []T // rows×w

	// Of windows (window.go); nil for one-step targets.
	start        []int     // by K: where they begin
	width, reach []float64 // by K: standard deviation of v given x_j and p_j; what may touch a wall
	windows      []Window  // by K; nil before SetWindows
	geodesic     func(velocity, p, x, y []float64) bool
	whole        constraint.Evaluator // of the set with the paper's walls
	values, jac  []float64            // rows×c, rows×c×d
	bends        *bends

	from      []int     // rows: where the window begins
	z         []float64 // rows×d: x_j, unfolded
	v, pj     []float64 // rows×d: displacements and momenta of windows
	chord     []float64 // rows; 0 where v is exact
	gradStart []float64 // rows×d: ∇f at x_j
	r, ii     []float64 // rows and rows×d×d: r and w²r II²; ii is nil in more than three dimensions
}

// Options of a Loss; the zero value is the paper's.
type Options struct {
	// Window averages targets over the noise of steps that move a point by up to this length (standard deviation in
	// each tangent direction); 0 means over one step. See window.go; SetWindows must be called before Prepare.
	Window float64
	// Balanced divides each term by (c m)², so that errors of the network's output
	// weigh alike at all times. The minimiser is the same.
	Balanced bool
}

// coefficients of the terms with the same k; c includes the gain.
type coefficients struct{ τ, τp, decay, c, scale, t, weight float64 }

// A LastMomentum writes the noise whose tangential part is p̃_N of a path.
type LastMomentum func(dst []float64, path int)

// NewLoss makes room for rows terms of a network that is read by r. The process must be valid.
func NewLoss[T kernel.Float](p *langevin.Process, r score.Reader[T], rows int, opt Options) *Loss[T] {
	d, w := p.Set.Dim(), r.In()
	vec := func() []float64 { return make([]float64, rows*d) }
	l := &Loss[T]{
		proc: p, opt: opt, reader: r, at: p.Geometry(rows), d: d, w: w,
		x: vec(), p: vec(), u: vec(), s: vec(), grad: vec(), c: make([]float64, rows), in: make([]T, rows*w),
	}
	for k := range p.Schedule.N {
		τ := p.BackTau(k)
		e := coefficients{
			τ: τ, τp: p.MomentumTau(k), c: p.ScoreCoefficient(k), scale: 1 / math.Sqrt(τ), t: p.Schedule.Time(k + 1),
		}
		if p.Method.Underdamped() {
			e.decay = p.Decay(τ)
			e.scale = 1 / (τ * math.Sqrt(1-e.decay*e.decay))
		}
		e.c *= r.Gain(e.t)
		if e.weight = 1; opt.Balanced {
			e.weight = 1 / (e.c * e.c)
		}
		l.table = append(l.table, e)
	}
	if opt.Window > 0 {
		l.look(rows)
	}
	return l
}

// Rows returns the number of terms there is room for.
func (l *Loss[T]) Rows() int { return len(l.c) }

// Prepare makes the network rows (x_{k+1}, p̃, t_{k+1}) of the terms, one a row, and their targets. The result is valid
// until the next call. The error is one of package geometry's, its Row an index of terms.
func (l *Loss[T]) Prepare(paths *langevin.Paths, terms []Term, last LastMomentum) ([]T, error) {
	if len(terms) > l.Rows() {
		panic(fmt.Sprintf("cwpm: %d terms in a loss for %d", len(terms), l.Rows()))
	}
	if err := l.load(paths, terms, last); err != nil {
		return nil, err
	}
	n, d := len(terms), l.d
	f := l.proc.Potential
	switch {
	case l.opt.Window == 0:
		l.oneStep(paths, terms)
	case l.windows == nil:
		panic("cwpm: Prepare without SetWindows")
	default:
		l.averaged(paths, terms)
	}
	for i, t := range terms {
		e := l.table[t.K]
		l.c[i] = e.c
		u, x := l.u[i*d:(i+1)*d], l.x[i*d:(i+1)*d]
		drift, p := -e.τ/2, []float64(nil)
		if l.proc.Method.Underdamped() {
			drift, p = e.τ*e.τ, l.p[i*d:(i+1)*d]
			for j, v := range p {
				u[j] += e.decay * e.τ * v
			}
		}
		if f != nil {
			for j, v := range l.grad[i*d : (i+1)*d] {
				u[j] += drift * v
			}
		}
		for j := range u {
			u[j] *= e.scale
		}
		l.reader.Row(l.in[i*l.w:(i+1)*l.w], score.Input{X: x, P: p, T: e.t, Item: t.Item, Null: t.Null})
	}
	l.at.Tangent(l.u[:n*d], l.u[:n*d])
	return l.in[:n*l.w], nil
}

// load brings x_{k+1} of the terms, the geometry and ∇f there, and p̃.
func (l *Loss[T]) load(paths *langevin.Paths, terms []Term, last LastMomentum) error {
	n, d := len(terms), l.d
	l.n, l.terms = n, terms
	for i, t := range terms {
		copy(l.x[i*d:(i+1)*d], paths.At(t.Item, t.K+1))
	}
	if err := l.at.At(l.x, n); err != nil {
		return err
	}
	if f := l.proc.Potential; f != nil {
		f.Gradient(l.grad[:n*l.d], l.x[:n*l.d], n)
	}
	if !l.proc.Method.Underdamped() {
		return nil
	}
	for i, t := range terms {
		p, x := l.p[i*d:(i+1)*d], l.x[i*d:(i+1)*d]
		if t.K+2 > paths.Steps {
			last(p, t.Item)
			continue
		}
		for j, v := range paths.Proposal(t.Item, t.K+2) {
			p[j] = (v - x[j]) / l.table[t.K].τp
		}
	}
	l.at.Tangent(l.p[:n*d], l.p[:n*d])
	return nil
}

// oneStep writes x_k − x_{k+1} to l.u; M_{k+1} − x_{k+1} where an elastic wall sent the step back.
func (l *Loss[T]) oneStep(paths *langevin.Paths, terms []Term) {
	d := l.d
	for i, t := range terms {
		x := l.x[i*d : (i+1)*d]
		for j, v := range paths.Origin(t.Item, t.K+1) {
			l.u[i*d+j] = v - x[j]
		}
	}
}

// Evaluate returns the weighted sum of the prepared terms for network outputs s
// (n×d) and writes its gradient with respect to s to ds (n×d).
func (l *Loss[T]) Evaluate(ds, s []T) float64 {
	n, d := l.n, l.d
	for i, v := range s[:n*d] {
		l.s[i] = float64(v)
	}
	l.at.Tangent(l.s[:n*d], l.s[:n*d])
	sum := 0.0
	for i, t := range l.terms {
		c, sq := l.c[i], 0.0
		for j := i * d; j < (i+1)*d; j++ {
			r := l.u[j] - c*l.s[j]
			l.s[j] = r
			sq += r * r
		}
		sum += t.Weight * l.table[t.K].weight * sq / 2
	}
	// The gradient asks for Πr, which is r: it is tangent, and Π² = Π.
	for i, t := range l.terms {
		w := -t.Weight * l.table[t.K].weight * l.c[i]
		for j := i * d; j < (i+1)*d; j++ {
			ds[j] = T(w * l.s[j])
		}
	}
	return sum
}

// Squares implements method.Squares.
func (l *Loss[T]) Squares(dst []float32, width int) geometry.Geometry {
	for i, t := range l.terms {
		row := dst[i*width:]
		row[0], row[1] = float32(l.c[i]), float32(t.Weight*l.table[t.K].weight)
		for j, v := range l.u[i*l.d : (i+1)*l.d] {
			row[2+j] = float32(v)
		}
	}
	return l.at
}

// A windowed target is shorter where Σ bends more: the directions that a path took have turned, momentum has been lost
// to the normals, and noise has spread over a curved ball. To the first order these are corrections by the square of
// the second fundamental form, II² (geometry.Curvature), in units of the window's length w: by its trace ‖II‖² in all
// directions, by itself along those that bend. The regressors
//
//	r b  and  w²r II² b,   r = 1/(1 + w²‖II‖²),   b = v, p_j, p̃
//
// hold both and stay bounded where w is no longer short; at x_{k+1}, which is an input of the network.
//
// The forms of a set in up to three dimensions are remembered by cells of space, a part of a window wide: that of a
// cell is that of the level set of h through its centre, whoever asks first. In more dimensions no cell is met twice;
// there ‖II‖² is looked at along v alone, ‖II(v, v)‖²/‖v‖⁴, which is one Hessian product, and II² b is left out. On a
// set without Hessian products, and where geodesics are known, as on spheres and SO(n), which bend alike everywhere,
// there is nothing to correct: r = 0.
type bends struct {
	d         int
	curvature *geometry.Curvature
	normal    []float64 // rows×d: II(v, v), in more than three dimensions

	// Up to three dimensions: the cells met so far, by their numbers along the axes.
	size    float64
	limit   int // of cells
	index   map[[rememberDim]int32]int
	squares []float64 // of each cell d×d
	asked   []int     // rows: the cells of a block
	fresh   []float64 // centres of those not met before
	block   geometry.Geometry
}

const (
	rememberDim = 3       // largest dimension in which forms are remembered
	cellShare   = 0.25    // of a window's length
	cellBlock   = 56      // cells whose forms are computed at once
	maxCells    = 1 << 19 // after that many all are forgotten: 60 MB
	farCell     = 1 << 30 // largest number of a cell
)

// newBends makes room for rows points of the set s and windows of that length; nil if there is nothing to correct.
func newBends(s constraint.Set, rows int, length float64) *bends {
	if len(s.Equalities()) == 0 || s.NewEvaluator(1).Geodesic != nil || geometry.CanCurve(s) != nil {
		return nil
	}
	d := s.Dim()
	b := &bends{d: d}
	if d > rememberDim {
		b.curvature, _ = geometry.NewCurvature(s, rows)
		b.normal = make([]float64, rows*d)
		return b
	}
	s = constraint.EqualitiesOf(s)
	b.curvature, _ = geometry.NewCurvature(s, cellBlock)
	b.block, b.size, b.asked = geometry.New(s, cellBlock, 0), cellShare*length, make([]int, rows)
	b.index, b.limit = map[[rememberDim]int32]int{}, maxCells
	return b
}

// along writes b_i = ‖II(v, v)‖²/‖v‖² at the points of g, in more than three dimensions.
func (b *bends) along(dst []float64, g geometry.Geometry, v []float64) {
	d := b.d
	b.curvature.Momentum(b.normal, g, v, 0)
	for i := range dst {
		dst[i] = 0
		if s := dense.Dot(v[i*d:(i+1)*d], v[i*d:(i+1)*d]); s > 0 {
			dst[i] = dense.Dot(b.normal[i*d:(i+1)*d], b.normal[i*d:(i+1)*d]) / s
		}
	}
}

// prepare finds the cells of n points x; square then has their forms. It allocates while cells are new.
func (b *bends) prepare(x []float64, n int) {
	if len(b.index) >= b.limit {
		clear(b.index)
		b.squares = b.squares[:0]
	}
	d := b.d
	known := len(b.squares) / (d * d)
	b.fresh = b.fresh[:0]
	for i := range n {
		var key [rememberDim]int32
		for j, v := range x[i*d : (i+1)*d] {
			q := math.Floor(v / b.size)
			if !(math.Abs(q) < farCell) {
				q = farCell
			}
			key[j] = int32(q)
		}
		at, ok := b.index[key]
		if !ok {
			at = known + len(b.fresh)/d
			b.index[key] = at
			for _, q := range key[:d] {
				b.fresh = append(b.fresh, (float64(q)+0.5)*b.size)
			}
		}
		b.asked[i] = at
	}
	for lo := 0; lo < len(b.fresh); lo += cellBlock * d {
		b.meet(b.fresh[lo:min(lo+cellBlock*d, len(b.fresh))])
	}
}

// meet appends II² at the points x; 0 where Σ has no tangent.
func (b *bends) meet(x []float64) {
	d := b.d
	n, from := len(x)/d, len(b.squares)
	b.squares = append(b.squares, make([]float64, n*d*d)...)
	if b.block.At(x, n) == nil {
		b.curvature.Square(b.squares[from:], b.block)
		return
	}
	for i := range n {
		if b.block.At(x[i*d:], 1) == nil {
			b.curvature.Square(b.squares[from+i*d*d:], b.block)
		}
	}
}

// square returns II² of the cell of point i, d×d.
func (b *bends) square(i int) []float64 {
	at := b.asked[i] * b.d * b.d
	return b.squares[at : at+b.d*b.d]
}
