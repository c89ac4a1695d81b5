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
// Where an elastic wall sent a step back (langevin's walls.go), the point that the backward step aims at is the mirror
// image M_{k+1} in place of x_k, and p̃ is that of the momentum which left x_{k+1}: y_{k+2} in place of x_{k+2}.
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
