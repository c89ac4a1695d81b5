package langevin

import (
	"context"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
)

// A splitting is the symmetric B-A-O-A-B splitting of underdamped Langevin dynamics on Σ (Leimkuhler and Matthews,
// "Efficient molecular dynamics using geodesic integration and solvent–solute splitting", 2016), for sampling exp(−f).
// With the step τ and a = exp(−γτ):
//
//	B  p ← p − (τ/2) Π∇f                      half a kick
//	A  x' = x + (τ/2) p + ∇h(x)ᵀλ, h(x') = 0   half a free flight (RATTLE)
//	   p ← Π(x')(x' − x)/(τ/2)
//	O  p ← a p + √(1−a²) Πζ                   exact Ornstein–Uhlenbeck
//	A, B                                      the same again
//
// A flight that ends beyond an inequality turns back: the point stays, and the momentum is reflected, p → Rp = p −
// 2nnᵀp, where n is the tangential unit normal at x of the inequality that the end violates most. With the momentum
// reversed that must lead back: the flight with −Rp must end beyond the same inequality, or else p → −p. Both maps are
// involutions with the momentum reversed and keep volume, so exp(−f) on {g ≤ 0} stays as it is, whatever the step.
//
// It is of second order where the paper's O-B̃-A is of first; on a quadratic f
// and an affine Σ its positions have exactly the covariance of exp(−f).
type splitting struct {
	set     geometry.Geometry    // of the equalities
	project *geometry.Projection // on them
	all     constraint.Evaluator // of the whole set
	c, m    int                  // all components, equalities
	values  []float64            // rows×c
	f       Potential
	d       int
	τ, a, b float64
	h       float64   // time of a flight
	grad, y []float64 // rows×d
	kicked  []float64 // the points that grad, then Π∇f, is of: a step begins where the last one ended
	ok      []bool
	wall    bounce
	back    []float64 // rows×d, if flights are checked for reversibility; else nil

	flights, turned int // in all, and those that turned back
	watched         energies
}

// energies are those of a step's points, to watch by how much a step changes them.
type energies struct {
	on            bool
	f             Energy // may be nil
	before, after []float64
	steps         int
	refused       float64 // Σ 1 − min(1, exp(−ΔH)): what Metropolis would refuse
}

// of writes f(x) + ‖p‖²/2 at n points.
func (e *energies) of(dst, x, p []float64, n int) {
	clear(dst[:n])
	if e.f != nil {
		e.f.Value(dst[:n], x, n)
	}
	d := len(x) / n
	for i := range n {
		row := p[i*d : (i+1)*d]
		dst[i] += dense.Dot(row, row) / 2
	}
}

// step advances (x, p) in place. A row whose flight fails turns back: it keeps its point and reverses its momentum,
// which leaves exp(−f − ‖p‖²/2) invariant up to the kicks; it is marked in failed. A momentum that is no number would
// leave it there for ever: the error is a *geometry.NonFiniteError, as of {h = 0}.
func (s *splitting) step(x, p, ζ []float64, failed []bool, n int) (o geometry.Outcome, err error) {
	if err := s.set.At(x, n); err != nil {
		return o, err
	}
	nd, w := n*s.d, &s.watched
	if w.on {
		w.of(w.before, x[:nd], p[:nd], n)
	}
	s.kick(x, p, n)
	if err := finite("p", p[:nd], s.d); err != nil {
		return o, err
	}
	if err := s.flight(x, p, failed, n, &o); err != nil {
		return o, err
	}
	if w.on { // O changes the momentum alone
		for i := range n {
			row := p[i*s.d : (i+1)*s.d]
			w.before[i] -= dense.Dot(row, row) / 2
		}
	}
	for i := range s.y[:nd] {
		s.y[i] = s.b * ζ[i]
	}
	s.set.Tangent(s.y, s.y)
	for i, v := range s.y[:nd] {
		p[i] = s.a*p[i] + v
	}
	if w.on {
		for i := range n {
			row := p[i*s.d : (i+1)*s.d]
			w.before[i] += dense.Dot(row, row) / 2
		}
	}
	if err := s.flight(x, p, failed, n, &o); err != nil {
		return o, err
	}
	s.kick(x, p, n)
	if w.on {
		w.of(w.after, x[:nd], p[:nd], n)
		for i := range n {
			w.steps++
			w.refused += 1 - min(1, math.Exp(w.before[i]-w.after[i]))
		}
	}
	return o, nil
}

// kick is B; the geometry must be that of x.
func (s *splitting) kick(x, p []float64, n int) {
	if s.f == nil {
		return
	}
	if x := x[:n*s.d]; !slices.Equal(s.kicked, x) {
		s.f.Gradient(s.grad[:n*s.d], x, n)
		s.set.Tangent(s.grad, s.grad)
		s.kicked = append(s.kicked[:0], x...)
	}
	for i, g := range s.grad[:n*s.d] {
		p[i] -= s.τ / 2 * g
	}
}

// flight is A. It leaves the geometry at the new points.
func (s *splitting) flight(x, p []float64, failed []bool, n int, o *geometry.Outcome) error {
	h := s.h
	for i, v := range p[:n*s.d] {
		s.y[i] = x[i] + h*v
	}
	o.Add(s.project.Project(s.set, s.y, s.y, s.ok, 0))
	s.near(x, p, n, o)
	s.flights += n
	if s.c > s.m {
		s.reflect(x, p, n, o)
	}
	if s.back != nil {
		if err := s.returns(x, n, o); err != nil {
			return err
		}
	}
	for i, ok := range s.ok[:n] {
		failed[i] = failed[i] || !ok
		hit := s.c > s.m && s.wall.hit[i] >= 0
		if !ok || hit {
			s.turned++
		}
		for j := i * s.d; j < (i+1)*s.d; j++ {
			switch {
			case hit && ok:
				p[j] = s.wall.p[j]
			case ok:
				p[j] = (s.y[j] - x[j]) / h
				x[j] = s.y[j]
			default:
				p[j] = -p[j]
			}
		}
	}
	if err := s.set.At(x, n); err != nil {
		return err
	}
	s.set.Tangent(p, p)
	return nil
}

// bounce is what flights need at inequalities, a row each.
type bounce struct {
	hit     []int     // the inequality that a flight ends beyond, −1 if none
	jac     []float64 // c×d, of one point
	n, p, y []float64 // rows×d: n; the momentum after turning back; the end with −Rp
	ok      []bool
}

func newBounce(rows, c, d int) bounce {
	vec := func() []float64 { return make([]float64, rows*d) }
	return bounce{make([]int, rows), make([]float64, c*d), vec(), vec(), vec(), make([]bool, rows)}
}

// settled reports whether point i, from which a flight starts, is on {h = 0}.
func (s *splitting) settled(i int) bool {
	const off = 1e-10
	for _, v := range s.set.Values()[i*s.m : (i+1)*s.m] {
		if !(math.Abs(v) < off) {
			return false
		}
	}
	return true
}

// near fails projections that met Σ far away, as they do beside a singular point, where a normal turns within a step:
// ten times further than the momentum takes a flight, or one of the Gaussian law. The distance is the same from either
// end, so such a flight is refused both ways and turning back keeps the law. A first state that is off Σ may go as far
// as it must.
func (s *splitting) near(x, p []float64, n int, o *geometry.Outcome) {
	const times = 10
	h := math.Abs(s.h)
	for i, ok := range s.ok[:n] {
		r := 0.0
		for j := i * s.d; j < (i+1)*s.d; j++ {
			r += (s.y[j] - x[j]) * (s.y[j] - x[j])
		}
		far := times * h * (math.Sqrt(float64(s.d)) + dense.Norm(p[i*s.d:(i+1)*s.d]))
		if ok && !(r <= far*far) && s.settled(i) {
			s.ok[i] = false
			o.Unreachable++
		}
	}
}

func (s *splitting) beyond(y []float64) int {
	s.all.Values(s.values[:s.c], y, 1)
	worst, at := 0.0, -1
	for j, g := range s.values[s.m:s.c] {
		if !(g <= worst) {
			worst, at = g, s.m+j
			if g != g {
				break
			}
		}
	}
	return at
}

// reflect finds the flights from x to y that end beyond an inequality, and their
// momenta after turning back. The geometry is that of x.
func (s *splitting) reflect(x, p []float64, n int, o *geometry.Outcome) {
	w, met := &s.wall, false
	clear(w.n[:n*s.d])
	for i := range n {
		lo, hi := i*s.d, (i+1)*s.d
		if w.hit[i] = -1; !s.ok[i] {
			continue
		}
		if j := s.beyond(s.y[lo:hi]); j >= 0 {
			w.hit[i], met = j, true
			s.all.Jacobians(s.values[:s.c], w.jac, x[lo:hi], 1)
			copy(w.n[lo:hi], w.jac[j*s.d:(j+1)*s.d])
		}
	}
	if !met {
		return
	}
	s.set.Tangent(w.n, w.n)
	copy(w.y[:n*s.d], x)
	for i := range n {
		row := func(v []float64) []float64 { return v[i*s.d : (i+1)*s.d] }
		if w.hit[i] < 0 {
			continue
		}
		normal, q := row(w.n), row(w.p)
		c := 2 * dense.Dot(normal, row(p)) / dense.Dot(normal, normal)
		dense.AddScaled(q, row(p), -c, normal)
		dense.AddScaled(row(w.y), row(x), -s.h, q)
	}
	o.Add(s.project.Project(s.set, w.y, w.y, w.ok, 0))
	for i := range n {
		lo, hi := i*s.d, (i+1)*s.d
		if w.hit[i] < 0 || w.ok[i] && s.beyond(w.y[lo:hi]) == w.hit[i] {
			continue
		}
		for j := lo; j < hi; j++ {
			w.p[j] = -p[j]
		}
	}
}

// returns has flights fail that do not lead back: with −p at the end, the flight must end at x.
func (s *splitting) returns(x []float64, n int, o *geometry.Outcome) error {
	row := func(v []float64, i int) []float64 { return v[i*s.d : (i+1)*s.d] }
	for i, ok := range s.ok[:n] {
		if !ok || s.c > s.m && s.wall.hit[i] >= 0 { // they stay
			copy(row(s.y, i), row(x, i))
		}
	}
	if err := s.set.At(s.y, n); err != nil {
		return err
	}
	for i := range s.back[:n*s.d] {
		s.back[i] = s.y[i] - x[i]
	}
	s.set.Tangent(s.back, s.back)
	for i := range s.back[:n*s.d] {
		s.back[i] = s.y[i] - s.back[i]
	}
	o.Add(s.project.Project(s.set, s.back, s.back, s.wall.ok, 0))
	for i := range n {
		if s.c > s.m && s.wall.hit[i] >= 0 {
			continue
		}
		far, size := 0.0, 1.0
		for j, v := range row(x, i) {
			far, size = max(far, math.Abs(row(s.back, i)[j]-v)), max(size, math.Abs(v))
		}
		s.ok[i] = s.ok[i] && s.wall.ok[i] && far <= reversible*size
	}
	return nil
}

// reversible is how near a flight back must come, relative to the point.
const reversible = 1e-8

// components returns all components at the points x of the last step.
func (s *splitting) components(x []float64, n int) []float64 {
	if s.c == s.m {
		return s.set.Values()
	}
	s.all.Values(s.values[:n*s.c], x[:n*s.d], n)
	return s.values
}

func newSplitting(p *Process, rows int) *splitting {
	d, m, τ := p.Set.Dim(), len(p.Set.Equalities()), p.Schedule.Tau(0)
	a, c, set := p.Decay(τ), m+len(p.Set.Inequalities()), p.Set
	if c > m {
		set = whole{constraint.EqualitiesOf(p.Set)}
	}
	return &splitting{
		set: geometry.New(set, rows, 0), project: geometry.NewProjection(set, rows), all: p.Set.NewEvaluator(rows),
		f: p.Potential, d: d, c: c, m: m, τ: τ, h: τ / 2, a: a, b: math.Sqrt(1 - a*a), values: make([]float64, rows*c),
		grad: make([]float64, rows*d), kicked: make([]float64, 0, rows*d), y: make([]float64, rows*d),
		ok:   make([]bool, rows),
		wall: newBounce(rows, c, d),
	}
}

// until has steps end early once ctx is done.
func (s *splitting) until(ctx context.Context) {
	geometry.Until(ctx, s.set)
	s.project.Until(ctx)
}

// splitChains is the kernel of the splitting.
type splitChains struct {
	*splitting
	inPlace
}

func (k *splitChains) start(x []float64, momenta keyed.Stream) error {
	copy(k.x, x)
	if err := k.w.pseudoPoint(k.w.b, k.x, momenta, uint64(k.lo), k.n, 1); err != nil {
		return err
	}
	for i := range k.p {
		k.p[i] = k.w.b[i] - k.x[i]
	}
	return nil
}

func (k *splitChains) step(_ int, ζ []float64, failed []bool) (info Info, err error) {
	info.Projections, err = k.splitting.step(k.x, k.p, ζ, failed, k.n)
	if err == nil {
		info.Worst = k.w.excess(k.components(k.x, k.n), k.n)
	}
	return info, err
}

func (k *splitChains) moved() moves {
	return moves{flights: k.flights, turned: k.turned, refused: k.watched.refused / float64(max(k.watched.steps, 1))}
}

// whole hides the Support of a set, so that its geometry is one group.
type whole struct{ constraint.Set }

func (s whole) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.Support = nil
	return c
}
