package fewstep

import (
	"context"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
)

// A sampler generates. Its results depend neither on blocks nor on workers.
type sampler struct {
	m    *Method
	d    int
	rows int
	pool *parallel.Pool
	sim  *langevin.Simulator
	work []*worker
}

// A worker is the memory of one goroutine for a block of rows.
type worker struct {
	retract *retraction
	ξ, v, y []float64 // rows×d
	ok      []bool
	method.Report
}

func newSampler(m *Method, rows int, pool *parallel.Pool) *sampler {
	d := m.proc.Set.Dim()
	s := &sampler{m: m, d: d, rows: rows, pool: pool, sim: langevin.NewSimulator(m.by, pool, rows).Tolerate()}
	for range pool.Workers() {
		vec := func() []float64 { return make([]float64, rows*d) }
		s.work = append(s.work, &worker{retract: newRetraction(m.proc.Set, rows), ξ: vec(), v: vec(), y: vec(),
			ok: make([]bool, rows)})
	}
	return s
}

// tries is how often a sample is drawn again, with fresh ξ, if its answer cannot be brought to Σ.
const tries = 32

func (s *sampler) Generate(ctx context.Context, dst []float64, failed []bool, first, seed uint64, prior method.Prior,
	scores func(worker int) method.Score) (method.Report, error) {
	d, n := s.d, len(failed)
	clear(failed)
	at := make([]float64, len(dst))
	start := keyed.GeneratedStart.Stream(seed, 0)
	for i := range n {
		prior.Sample(at[i*d:(i+1)*d], start, first+uint64(i))
	}
	nets := make([]method.Score, s.pool.Workers())
	for w := range nets {
		nets[w] = scores(w)
		s.work[w].retract.one.Until(ctx)
		s.work[w].Report = method.Report{}
	}
	out := method.Report{Worst: make([]float64, len(constraint.Components(s.m.proc.Set)))}
	still := make([]bool, n) // of a sample that could not go back to a level: it stays as it is
	for e, level := range s.m.path() {
		if e > 0 {
			k := s.m.ks[level]
			r, err := s.sim.Partway(ctx, at, still, dst, []int{k}, first,
				keyed.GeneratedAgain.Stream(seed, uint64(e)), keyed.GeneratedAgainward.Stream(seed, uint64(e)))
			if err != nil {
				return out, err
			}
			out.Iterations += r.NewtonIterations
			out.Bounces.Add(r.Bounces)
			for c, v := range r.Worst {
				out.Worst[c] = max(out.Worst[c], v)
			}
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		t := s.m.proc.Schedule.Time(s.m.ks[level])
		ξ := keyed.GeneratedLatent.Stream(seed, uint64(e))
		s.pool.Do(parallel.Blocks(n, s.rows), func(w, b int) {
			lo, hi := parallel.Block(b, n, s.rows)
			s.answer(ctx, s.work[w], nets[w], dst[lo*d:hi*d], at[lo*d:hi*d], still[lo:hi], failed[lo:hi], ξ,
				first+uint64(lo), t, e)
		})
	}
	for _, w := range s.work {
		out.Iterations += w.Iterations
	}
	out.Failed = langevin.Lost(failed)
	return out, ctx.Err()
}

// answer writes x̂_0 of the states at, but where a sample is to stay or the answer cannot be brought to
// Σ. At the first evaluation that fails the sample.
func (s *sampler) answer(ctx context.Context, w *worker, net method.Score, dst, at []float64, still, failed []bool,
	ξ keyed.Stream, first uint64, t float64, e int) {
	d, n := s.d, len(still)
	for i := range n {
		ξ.Normals(w.ξ[i*d:(i+1)*d], first+uint64(i), 0)
	}
	s.m.still(w.ξ[:n*d])
	net.Eval(w.v[:n*d], at, w.ξ, n, t)
	s.m.still(w.v[:n*d])
	for i, v := range w.v[:n*d] {
		w.y[i] = at[i] + v
	}
	w.Iterations += w.retract.block(w.y, w.ok, n)
	for i := range n {
		if failed[i] || still[i] {
			continue
		}
		row := func(v []float64) []float64 { return v[i*d : (i+1)*d] }
		for try := 1; !w.ok[i] && try < tries && ctx.Err() == nil; try++ {
			ξ.Normals(row(w.ξ), first+uint64(i), try)
			s.m.still(row(w.ξ))
			net.Eval(row(w.v), row(at), row(w.ξ), 1, t)
			s.m.still(row(w.v))
			for j, v := range row(w.v) {
				row(w.y)[j] = row(at)[j] + v
			}
			w.Iterations += w.retract.block(row(w.y), w.ok[i:i+1], 1)
		}
		switch {
		case w.ok[i]:
			copy(row(dst), row(w.y))
		case e == 0:
			failed[i] = true
			copy(row(dst), row(at))
		}
	}
}

func (s *sampler) Ends(ctx context.Context, x0 []float64, seed, refresh uint64) ([]float64, error) {
	return method.Ends(ctx, s.sim, x0, seed, refresh)
}

// A retraction brings points to Σ: by landing steps, each y ← y − ∇JᵀG†J, and then a projection
// along the normals where they ended. Points that this does not bring there go alone, by more
// landing. A point's result does not depend on those beside it.
//
// A point y beyond a wall is mirrored: where the projection ends, z, is on the wall, and all such points would stick to
// it. So 2z − y is brought to Σ in its place, if that goes.
type retraction struct {
	d, m    int
	walls   bool
	selects func(x []float64) bool // nil: all of Σ
	at      geometry.Geometry
	project *geometry.Projection
	one     *geometry.Solver
	land, z []float64 // rows×d
	beyond  []bool    // of a row: it is beyond a wall
	mirror  []float64 // d
}

func newRetraction(set constraint.Set, rows int) *retraction {
	d := set.Dim()
	return &retraction{d: d, m: len(set.Equalities()), walls: len(set.Inequalities()) > 0,
		selects: set.Capabilities().Selects, beyond: make([]bool, rows), mirror: make([]float64, d),
		at: geometry.New(set, rows, 0), project: geometry.NewProjection(set, rows),
		one: geometry.NewSolver(set, 0), land: make([]float64, rows*d), z: make([]float64, rows*d)}
}

const (
	landings = 2
	arrived  = 1e-13 // of landing alone, in the size of a constraint's terms
)

// block brings n points to Σ, in place, and says which arrived, on the part that the set selects.
func (r *retraction) block(y []float64, ok []bool, n int) (iterations int) {
	d, nd := r.d, n*r.d
	copy(r.z[:nd], y[:nd])
	known := r.walls && r.at.At(r.z, n) == nil
	for i := range n {
		r.beyond[i] = known && r.at.Active(i) > r.m
	}
	if r.lands(r.z, n) {
		iterations = r.project.Project(r.at, r.z, r.z, ok, 0).Iterations
	} else { // of a point that has no normals: each for itself
		for i := range n {
			z := r.z[i*d : (i+1)*d]
			copy(z, y[i*d:(i+1)*d])
			if ok[i] = r.lands(z, 1); ok[i] {
				iterations += r.project.Project(r.at, z, z, ok[i:i+1], 0).Iterations
			}
		}
	}
	for i := range n {
		row := y[i*d : (i+1)*d]
		if ok[i] {
			for j, z := range r.z[i*d : (i+1)*d] {
				r.mirror[j], row[j] = 2*z-row[j], z
			}
			if r.beyond[i] {
				iterations += r.mirrored(row)
			}
		} else {
			ok[i] = dense.Finite(row) && r.one.Descend(row, arrived) && r.one.Project(row, 0)
		}
		ok[i] = ok[i] && (r.selects == nil || r.selects(row))
	}
	return iterations
}

// mirrored brings r.mirror to Σ and writes it to row, if it arrives.
func (r *retraction) mirrored(row []float64) (iterations int) {
	if !r.lands(r.mirror, 1) {
		return 0
	}
	var ok [1]bool
	iterations = r.project.Project(r.at, r.mirror, r.mirror, ok[:], 0).Iterations
	if ok[0] && (r.selects == nil || r.selects(r.mirror)) {
		copy(row, r.mirror)
	}
	return iterations
}

// lands makes the landing steps of n points and looks at Σ from where they end; false if at one of
// them that is not possible.
func (r *retraction) lands(z []float64, n int) bool {
	for range landings {
		if r.at.At(z, n) != nil {
			return false
		}
		r.at.Landing(r.land)
		for i, v := range r.land[:n*r.d] {
			z[i] -= v
		}
	}
	return r.at.At(z, n) == nil
}

func (s *sampler) NewTrace() *method.Trace { return nil }
func (s *sampler) Watch(*method.Trace)     {}

// The law of x_0 given x_k ends at a wall, and an answer of a network that is smooth does not: it keeps away from the
// wall. But P_Σ mirrors answers beyond a wall, so that a point y that is mirrored to x_0, its image, is as right an
// answer, and whichever of the two is learned, samples have the law. A path that walls mirror is one of the unfolded
// set, whose law goes on behind the wall as in a mirror: there x_k comes from x_0 or from y with odds of
// exp(−‖x_k − x_0‖²/2s_k²) to exp(−‖x_k − y‖²/2s_k²), and the law of the one that it came from has no edge.
//
// images are those of the rows in their nearest walls, NaN where there is none near.
type images []float64

// imaged is how far from a wall rows have images, in spreads of the first level below N.
const imaged = 2

// An imager finds images. It serves one goroutine.
type imager struct {
	retract    *retraction
	eval       constraint.Evaluator
	m, c       int       // equalities, components
	far, exact float64   // rows farther from walls have none; how near to the row P_Σ of an image must be
	h, g       []float64 // c; c×d
	n, along   []float64 // of a wall, tangent; d
	off        []float64 // d
	ok         []bool
}

func newImager(set constraint.Set, far, exact float64) *imager {
	d, m := set.Dim(), len(set.Equalities())
	c := m + len(set.Inequalities())
	vec := func() []float64 { return make([]float64, d) }
	return &imager{newRetraction(set, 1), set.NewEvaluator(1), m, c, far, exact, make([]float64, c),
		make([]float64, c*d), vec(), vec(), vec(), make([]bool, 1)}
}

// image writes that of a row x, or NaN: the mirror image in the tangent plane of the nearest wall, brought by steps
// y ← y + R(x − P_Σ(y)), R being the reflection in that plane, to where P_Σ(y) = x.
func (r *imager) image(y, x []float64) {
	const steps = 6
	if r.reflected(y, x) {
		for range steps {
			copy(r.off, y)
			if r.retract.block(r.off, r.ok, 1); !r.ok[0] {
				break
			}
			for j, v := range r.off {
				r.off[j] = x[j] - v
			}
			if dense.Norm(r.off) <= r.exact {
				return
			}
			dense.Axpy(r.off, -2*dense.Dot(r.off, r.n), r.n)
			dense.Axpy(y, 1, r.off)
		}
	}
	for j := range y {
		y[j] = math.NaN()
	}
}

// reflected writes the mirror image of x in the tangent plane of the nearest wall, whose normal along Σ is n; false if
// none is near.
func (r *imager) reflected(y, x []float64) bool {
	if r.retract.at.At(x, 1) != nil {
		return false
	}
	d, near := len(x), r.far
	r.eval.Jacobians(r.h, r.g, x, 1)
	for k := r.m; k < r.c; k++ {
		gradient := r.g[k*d : (k+1)*d]
		if !(-r.h[k] < near*dense.Norm(gradient)) { // along Σ it is farther still
			continue
		}
		r.retract.at.Tangent(r.along, gradient)
		size := dense.Norm(r.along)
		if δ := -r.h[k] / size; δ > 0 && δ < near {
			near = δ
			dense.Scaled(r.n, 1/size, r.along)
		}
	}
	dense.AddScaled(y, x, 2*near, r.n)
	return near < r.far
}

// mirror finds the images of the rows. Rows with a condition have none: motions have hundreds of walls, and images took
// most of the time of a training.
func (s *Source[T]) mirror() {
	set, d, n := s.m.proc.Set, s.d, len(s.failed)
	if len(set.Inequalities()) == 0 || len(s.ks) < 2 || len(s.m.held) > 0 {
		return
	}
	s.images = make(images, n*d)
	imagers := make([]*imager, s.pool.Workers())
	s.pool.Do(parallel.Blocks(n, simulated), func(w, b int) {
		if imagers[w] == nil {
			imagers[w] = newImager(set, imaged*s.m.s[1], 1e-3*s.m.s[len(s.m.s)-1])
		}
		lo, hi := parallel.Block(b, n, simulated)
		for i := lo; i < hi; i++ {
			imagers[w].image(s.images[i*d:(i+1)*d], s.data[i*d:(i+1)*d])
		}
	})
}

// unfolded returns the row, or its image, that a path to x at level k of ks began at; u is uniform on [0, 1). At level
// N noise has forgotten on which side a path began.
func (s *Source[T]) unfolded(item, k int, x, x0 []float64, u float64) []float64 {
	if s.images == nil || k == len(s.ks)-1 {
		return x0
	}
	y := s.images[item*s.d : (item+1)*s.d]
	if math.IsNaN(y[0]) {
		return x0
	}
	σ := s.m.s[len(s.ks)-1-k]
	near, beyond := 0.0, 0.0
	for j, v := range x {
		near += (v - x0[j]) * (v - x0[j])
		beyond += (v - y[j]) * (v - y[j])
	}
	if u < 1/(1+math.Exp((beyond-near)/(2*σ*σ))) {
		return y
	}
	return x0
}
