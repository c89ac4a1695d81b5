package fewstep

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/score"
)

// A Source is a method.Source whose items are points and states of a forward path from each, one a level.
type Source[T kernel.Float] struct {
	m      *Method
	d      int
	data   []float64
	sim    *langevin.Simulator
	ks     []int     // ascending
	states []float64 // of paths: rows×levels×d
	dealt  []int     // rows×levels: whose path's state an item has at a level
	failed []bool
	ξ      keyed.Stream

	pool   *parallel.Pool
	hands  hands
	images images // rows×d; nil without walls
}

// simulated is the number of points in a block of the forward simulation.
const simulated = 64

// NewSource makes the source of paths from the rows of data (n×d).
func NewSource[T kernel.Float](m *Method, data []float64, pool *parallel.Pool) *Source[T] {
	d := m.proc.Set.Dim()
	n, L := len(data)/d, len(m.ks)
	s := &Source[T]{m: m, d: d, data: data, pool: pool, sim: langevin.NewSimulator(m.proc, pool, simulated).Tolerate(),
		states: make([]float64, n*L*d), dealt: make([]int, n*L), failed: make([]bool, n)}
	for l := range L {
		s.ks = append(s.ks, m.ks[L-1-l])
	}
	s.asPathsPair()
	s.mirror()
	return s
}

func (s *Source[T]) Items() int           { return len(s.failed) }
func (s *Source[T]) Times() int           { return len(s.ks) }
func (s *Source[T]) Failed(item int) bool { return s.failed[item] }

func (s *Source[T]) Capabilities() method.SourceCapabilities[T] {
	return method.SourceCapabilities[T]{Arrange: s.Arrange, Among: s.sim.Among, Draws: s.m.opt.Draws}
}

func (s *Source[T]) Prepare(context.Context, uint64) error { return nil }

// Refresh simulates a path from each row of data.
func (s *Source[T]) Refresh(ctx context.Context, seed, refresh uint64) (method.Report, error) {
	r, err := s.sim.Partway(ctx, s.states, s.failed, s.data, s.ks, 0, keyed.PathNoise.Stream(seed, refresh),
		keyed.PathMomentum.Stream(seed, refresh))
	return method.Told(r), err
}

// at returns x_k that was dealt to an item at level l of ks, and x_0.
func (s *Source[T]) at(item, l int) (x, x0 []float64) {
	o := (s.dealt[item*len(s.ks)+l]*len(s.ks) + l) * s.d
	return s.states[o : o+s.d], s.data[item*s.d : (item+1)*s.d]
}

func (s *Source[T]) NewLoss(r score.Reader[T], rows int) method.Loss[T] { return newLoss(s, r, rows) }

// A loss is the energy score of m draws F_1 … F_m of the network at a state, for the target
// u = (x_0 − x_k)/s_k, x_0 being a row or its image behind a wall (images):
//
//	(1/m) Σ_i |F_i − u| − (1/(2m(m−1))) Σ_{i≠j} |F_i − F_j|,   |v| = √(‖v‖² + ε²)
//
// Its expectation over u is least, among all laws of F, at the law of u given x_k, and there alone
// (Gneiting and Raftery 2007; with ε too: |·| is still of negative type).
type loss[T kernel.Float] struct {
	src    *Source[T]
	reader score.Reader[T]
	w, m   int // width of a network row; draws

	terms []method.Term
	u, ξ  []float64  // terms×d; d
	side  [1]float64 // of a wall
	in    []T        // rows×w
	f, df []float64  // draws×d, of one term
}

// smooth is ε, in units of a level's spread.
const smooth = 1e-3

func newLoss[T kernel.Float](s *Source[T], r score.Reader[T], rows int) *loss[T] {
	m, w := s.m.opt.Draws, r.In()
	n := rows / m
	return &loss[T]{src: s, reader: r, w: w, m: m, u: make([]float64, n*s.d), ξ: make([]float64, s.d),
		in: make([]T, n*m*w), f: make([]float64, m*s.d), df: make([]float64, m*s.d)}
}

func (l *loss[T]) Rows() int { return len(l.u) / l.src.d }

// Prepare makes the rows (x_k, ξ, t_k) of the terms, as many each as there are draws.
func (l *loss[T]) Prepare(terms []method.Term) ([]T, error) {
	if len(terms) > l.Rows() {
		panic(fmt.Sprintf("fewstep: %d terms in a loss for %d", len(terms), l.Rows()))
	}
	l.terms = terms
	d, sched := l.src.d, l.src.m.proc.Schedule
	for i, t := range terms {
		x, x0 := l.src.at(t.Item, t.K)
		time := sched.Time(l.src.ks[t.K])
		l.src.ξ.Uniforms(l.side[:], uint64(t.Item), len(l.src.ks)*l.m+t.K)
		x0 = l.src.unfolded(t.Item, t.K, x, x0, l.side[0])
		for j, v := range x {
			l.u[i*d+j] = (x0[j] - v) / l.reader.Gain(time)
		}
		for a := range l.m {
			l.src.ξ.Normals(l.ξ, uint64(t.Item), t.K*l.m+a)
			row := (i*l.m + a) * l.w
			l.reader.Row(l.in[row:row+l.w], score.Input{X: x, P: l.ξ, T: time, Item: t.Item, Null: t.Null})
		}
	}
	return l.in[:len(terms)*l.m*l.w], nil
}

// Evaluate implements method.Loss.
func (l *loss[T]) Evaluate(ds, s []T) float64 {
	d, m, sum := l.src.d, l.m, 0.0
	attract, repel := 1/float64(m), -1/float64(m*(m-1))
	for i, t := range l.terms {
		out := s[i*m*d : (i+1)*m*d]
		for j, v := range out {
			l.f[j] = float64(v)
		}
		clear(l.df)
		u, v := l.u[i*d:(i+1)*d], 0.0
		for a := range m {
			f, df := l.f[a*d:(a+1)*d], l.df[a*d:(a+1)*d]
			v += attract * pull(df, nil, f, u, attract)
			for b := range a {
				v += repel * pull(df, l.df[b*d:(b+1)*d], f, l.f[b*d:(b+1)*d], repel)
			}
		}
		sum += t.Weight * v
		for j, g := range l.df {
			ds[i*m*d+j] = T(t.Weight * g)
		}
	}
	return sum
}

// pull returns |a − b|, and adds c times its gradient to da and, unless nil, db.
func pull(da, db, a, b []float64, c float64) float64 {
	r := smooth * smooth
	for j, v := range a {
		r += (v - b[j]) * (v - b[j])
	}
	r = math.Sqrt(r)
	for j, v := range a {
		g := c * (v - b[j]) / r
		da[j] += g
		if db != nil {
			db[j] -= g
		}
	}
	return r
}
