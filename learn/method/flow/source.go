package flow

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/mesh/premetric"
	"github.com/landing-diffusion/landing/internal/ranks"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Source is a method.Source whose items are rows x_1 of the data, each with a time in
// each of Times strata. Geodesics are looked up when they are needed, each from an x_0 of its own;
// of a premetric an item is one path, solved by Refresh.
type Source[T kernel.Float] struct {
	m     *Method
	data  []float64
	pool  *parallel.Pool
	turns method.Turns

	row           []int // of each item
	starts, times keyed.Stream

	// Of a premetric.
	distance *premetric.Biharmonic
	walkers  []*walker
	x, u     []float64 // items×Times×3: states on Σ and velocities
	failed   []bool
	group    ranks.Group // of Among
}

// NewSource makes the source of paths to the rows of data (n×d).
func NewSource[T kernel.Float](m *Method, data []float64, pool *parallel.Pool) *Source[T] {
	return &Source[T]{m: m, data: data, pool: pool}
}

func (s *Source[T]) rows() int { return len(s.data) / s.m.set.Dim() }

func (s *Source[T]) Items() int {
	if p := s.m.opt.Paths; p > 0 {
		return min(p, s.rows())
	}
	return s.rows()
}

func (s *Source[T]) Times() int           { return Times }
func (s *Source[T]) Failed(item int) bool { return s.failed != nil && s.failed[item] }

// Prepare computes the premetric of a mesh.
func (s *Source[T]) Prepare(ctx context.Context, _ uint64) error {
	if s.m.surface == nil {
		return nil
	}
	var err error
	s.distance, err = premetric.New(ctx, s.m.surface.Mesh, s.m.opt.Functions)
	return err
}

func (s *Source[T]) Capabilities() method.SourceCapabilities[T] {
	return method.SourceCapabilities[T]{Among: func(g ranks.Group) { s.group = g }}
}

// Refresh draws other x_0 and times, and solves the paths of a premetric.
func (s *Source[T]) Refresh(ctx context.Context, seed, refresh uint64) (method.Report, error) {
	s.row = s.turns.Of(s.rows(), s.Items(), seed, refresh)
	s.starts = keyed.FlowStarts.Stream(seed, refresh)
	s.times = keyed.Refreshed(keyed.FlowTimes, keyed.HeldTimes, seed, refresh)
	if s.m.surface == nil {
		return method.Report{}, nil
	}
	return s.solve(ctx)
}

// time returns t of stratum k of an item: (k + a uniform number)/Times.
func (s *Source[T]) time(u *[2]float64, item, k int) float64 {
	s.times.Uniforms(u[:1], uint64(item), k)
	return (float64(k) + u[0]) / Times
}

// walker is what one worker solves paths of a premetric with.
type walker struct {
	*premetric.Walker
	g       geometry.Geometry // of Times points
	step    []float64
	x0      []float64
	t       []float64
	uniform [2]float64
}

// solve follows the premetric from a draw of the prior to the row of each item, on the mesh, and moves the states to Σ.
func (s *Source[T]) solve(ctx context.Context) (method.Report, error) {
	n := s.Items()
	if s.walkers == nil {
		s.walkers = make([]*walker, s.pool.Workers())
		s.x, s.u, s.failed = make([]float64, 3*Times*n), make([]float64, 3*Times*n), make([]bool, n)
	}
	first, end := 0, n
	if s.group != nil {
		first, end = ranks.Cut(n, s.group.Rank(), s.group.Size())
	}
	const block = 16
	s.pool.Do(parallel.Blocks(end-first, block), func(worker, b int) {
		w := s.walkers[worker]
		if w == nil {
			w = &walker{Walker: s.distance.NewWalker(), g: geometry.New(s.m.smooth, Times, 0),
				step: make([]float64, 3*Times), x0: make([]float64, 3), t: make([]float64, Times)}
			s.walkers[worker] = w
		}
		lo, hi := parallel.Block(b, end-first, block)
		for i := first + lo; i < first+hi && ctx.Err() == nil; i++ {
			s.failed[i] = !s.path(w, i)
		}
	})
	if s.group != nil {
		s.give(s.group)
	}
	return method.Report{Failed: langevin.Lost(s.failed)}, ctx.Err()
}

// give gives all ranks the paths that each has solved.
func (s *Source[T]) give(g ranks.Group) {
	for rank := range g.Size() {
		lo, hi := ranks.Cut(len(s.failed), rank, g.Size())
		g.Broadcast(rank, ranks.View(s.x[3*Times*lo:3*Times*hi]))
		g.Broadcast(rank, ranks.View(s.u[3*Times*lo:3*Times*hi]))
		g.Broadcast(rank, ranks.View(s.failed[lo:hi]))
	}
}

// path solves that of an item. It is false if the path cannot be followed, or its states not be moved to Σ.
func (s *Source[T]) path(w *walker, item int) bool {
	s.m.prior.Sample(w.x0, s.starts, uint64(item))
	from, to := s.distance.Nearest([3]float64(w.x0)), s.distance.Nearest([3]float64(s.data[3*s.row[item]:]))
	if from.Face < 0 || to.Face < 0 {
		return false
	}
	for k := range w.t {
		w.t[k] = s.time(&w.uniform, item, k)
	}
	w.To(to)
	x, u := s.x[3*Times*item:3*Times*(item+1)], s.u[3*Times*item:3*Times*(item+1)]
	if !w.Path(x, u, from, w.t, s.m.opt.PathSteps) {
		return false
	}
	return w.land(x)
}

// land moves states, all at once, to Σ by Gauss–Newton steps, whose error is squared by each: after one of
// less than landed it is round-off. It is false if one does not come so near.
func (w *walker) land(x []float64) bool {
	const steps, landed = 20, 1e-7
	for range steps {
		if w.g.At(x, len(x)/3) != nil {
			return false
		}
		w.g.Landing(w.step)
		far := 0.0
		for j, v := range w.step {
			x[j] -= v
			far = max(far, math.Abs(v))
		}
		if far <= landed {
			return true
		}
	}
	return false
}

func (s *Source[T]) NewLoss(r score.Reader[T], rows int) method.Loss[T] {
	d := s.m.set.Dim()
	vec := func() []float64 { return make([]float64, rows*d) }
	return &loss[T]{
		s: s, reader: r, in: make([]T, rows*r.In()), x: vec(), u: vec(), f: vec(), weight: make([]float64, rows),
		x0: make([]float64, d), v: make([]float64, d), eval: s.m.set.NewEvaluator(1),
		g: geometry.New(s.m.smooth, rows, 0),
	}
}

// loss is Σ w ½‖Π F − u/m‖², with v = m F the network's velocity.
type loss[T kernel.Float] struct {
	s       *Source[T]
	reader  score.Reader[T]
	in      []T
	x, u, f []float64 // of all rows: x_t; u/m; F
	weight  []float64
	n       int

	x0, v   []float64
	uniform [2]float64
	eval    constraint.Evaluator
	g       geometry.Geometry
}

func (l *loss[T]) Rows() int { return len(l.weight) }

// tries is how often an x_0 is drawn that has no single geodesic to a row.
const tries = 20

// path writes x_t = Exp_{x_1}((1 − t) Log_{x_1}(x_0)) and u_t = dx_t/dt: minus the velocity of that geodesic there.
func (l *loss[T]) path(x, u []float64, item, k int, t float64) error {
	s := l.s
	row, d := s.row[item], len(x)
	x1 := s.data[row*d : (row+1)*d]
	sample := uint64(item)*Times + uint64(k)
	for try := range tries {
		from := s.starts
		if try > 0 {
			from = from.Part(uint64(try))
		}
		s.m.prior.Sample(l.x0, from, sample)
		if !l.eval.Log(l.v, x1, l.x0) {
			continue
		}
		for j := range l.v {
			l.v[j] *= 1 - t
		}
		l.eval.Exp(x, u, x1, l.v)
		for j := range u { // Exp went the way in the time 1 − t
			u[j] /= t - 1
		}
		return nil
	}
	return fmt.Errorf("row %d (from 0) of the training data: from none of %d points of %s there is a shortest way to "+
		"it; expected a row of the set", row, tries, constraint.Name(s.m.set))
}

func (l *loss[T]) Prepare(terms []method.Term) ([]T, error) {
	s, d, w := l.s, l.s.m.set.Dim(), l.reader.In()
	l.n = len(terms)
	for i, term := range terms {
		x, u := l.x[i*d:(i+1)*d], l.u[i*d:(i+1)*d]
		t := s.time(&l.uniform, term.Item, term.K)
		if s.m.surface != nil {
			at := 3 * (Times*term.Item + term.K)
			copy(x, s.x[at:at+3])
			copy(u, s.u[at:at+3])
		} else if err := l.path(x, u, term.Item, term.K, t); err != nil {
			return nil, err
		}
		for j := range u {
			u[j] /= l.reader.Gain(t)
		}
		l.weight[i] = term.Weight
		l.reader.Row(l.in[i*w:(i+1)*w], score.Input{X: x, T: t, Item: term.Item, Null: term.Null})
	}
	if err := l.g.At(l.x[:l.n*d], l.n); err != nil {
		return nil, err
	}
	l.g.Tangent(l.u[:l.n*d], l.u[:l.n*d])
	return l.in[:l.n*w], nil
}

func (l *loss[T]) Evaluate(ds, f []T) (sum float64) {
	d := l.s.m.set.Dim()
	v := l.f[:l.n*d]
	for j := range v {
		v[j] = float64(f[j])
	}
	l.g.Tangent(v, v)
	for i := range l.n {
		for j := i * d; j < (i+1)*d; j++ {
			r := v[j] - l.u[j]
			sum += l.weight[i] * r * r / 2
			ds[j] = T(l.weight[i] * r)
		}
	}
	return sum
}
