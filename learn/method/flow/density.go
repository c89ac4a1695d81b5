package flow

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/internal/dense"
	"github.com/landing-diffusion/landing/learn/method"
)

// mostDirections bounds the dimension of a Σ whose density is followed: a step takes as many passes.
const mostDirections = 10

// directions returns the dimension of Σ where the density is known: on a set that knows its
// volume, and so that of its uniform law; else 0.
func (m *Method) directions() int {
	own := m.set.Capabilities()
	if own.Volume == 0 || own.SampleUniform == nil || len(m.set.Inequalities()) > 0 || geometry.CanCurve(m.set) != nil {
		return 0
	}
	if n := m.set.Dim() - len(m.set.Equalities()); n <= mostDirections {
		return n
	}
	return 0
}

// logDensity follows the ODE from each x at t = 1 back to x_0 by steps of Runge and Kutta, and with it
// (Chen and Lipman, equation 6)
//
//	log p_1(x) = −log vol Σ − ∫ div Π v_t(x_t) dt.
func (m *Method) logDensity(ctx context.Context, dst, x []float64, rows, steps int, pool *parallel.Pool,
	scores func(worker int) method.Along) (bool, error) {
	d, n, volume := m.set.Dim(), len(dst), math.Log(m.set.Capabilities().Volume)
	work := make([]*diverger, pool.Workers())
	var mute atomic.Bool
	pool.Do(parallel.Blocks(n, rows), func(worker, b int) {
		if work[worker] == nil {
			work[worker] = m.newDiverger(rows)
		}
		lo, hi := parallel.Block(b, n, rows)
		s, y := work[worker], append([]float64(nil), x[lo*d:hi*d]...)
		along := scores(worker)
		s.begin(y, along)
		s.along, s.mute = along, false
		clear(s.sum)
		for k := 0; k < steps && ctx.Err() == nil && !s.mute; k++ {
			s.stepBack(y, hi-lo, 1-float64(k)/float64(steps), 1/float64(steps))
		}
		if s.mute {
			mute.Store(true)
		}
		for i := range hi - lo {
			if dst[lo+i] = -volume - s.sum[i]; s.lost[i] {
				dst[lo+i] = math.NaN()
			}
		}
	})
	return !mute.Load(), ctx.Err()
}

// A diverger follows a block of points and the divergence of their field.
type diverger struct {
	*stepper
	along     method.Along
	mute      bool // the score told no derivatives
	curvature *geometry.Curvature
	m         int
	unit, f   []float64 // rows×d: unit vectors on the tangent space; the field before Π, then 𝓗
	columns   []float64 // d×rows×d: Π e_j
	basis     []float64 // rows×m×d: orthonormal tangents
	slopes    []float64 // rows×m×d
	div       [4][]float64
	sum       []float64 // rows: ∫ div
}

func (m *Method) newDiverger(rows int) *diverger {
	as := *m
	as.opt.Order, as.opt.Correct = 4, false
	d, k := m.set.Dim(), m.directions()
	c, _ := geometry.NewCurvature(m.smooth, rows) // Directions asked
	s := &diverger{stepper: as.newStepper(rows), curvature: c, m: k, unit: make([]float64, rows*d),
		f: make([]float64, rows*d), columns: make([]float64, d*rows*d), basis: make([]float64, rows*k*d),
		slopes: make([]float64, rows*k*d), sum: make([]float64, rows)}
	for i := range s.div {
		s.div[i] = make([]float64, rows)
	}
	return s
}

// diverge writes Π v_t and its divergence on the level set of h through each of n points x: with
// orthonormal tangents e and the mean curvature vector 𝓗 = Σ II(e, e),
//
//	div Π v = Σ e·(∂v/∂e) + v·𝓗.
func (s *diverger) diverge(dst, div, x []float64, n int, t float64) {
	d, m := s.d, s.m
	s.at(x, n)
	for j := range d {
		clear(s.unit)
		for i := range n {
			s.unit[i*d+j] = 1
		}
		s.g.Tangent(s.columns[j*n*d:(j+1)*n*d], s.unit[:n*d])
	}
	for i := range n {
		s.tangents(i, n)
	}
	if !s.along.EvalAlong(s.f[:n*d], s.slopes, x, s.basis, n, m, t) {
		s.mute = true
		return
	}
	s.curvature.Mean(s.unit[:n*d], s.g)
	for i := range n {
		div[i] = dense.Dot(s.f[i*d:(i+1)*d], s.unit[i*d:(i+1)*d])
		div[i] += dense.Dot(s.basis[i*m*d:(i+1)*m*d], s.slopes[i*m*d:(i+1)*m*d])
	}
	s.g.Tangent(dst, s.f[:n*d])
}

// tangents writes an orthonormal basis of the tangent space at point i of n: of what is left of the
// columns of Π, the longest, m times.
func (s *diverger) tangents(i, n int) {
	d := s.d
	column := func(j int) []float64 { return s.columns[(j*n+i)*d : (j*n+i+1)*d] }
	for a := range s.m {
		best, size := 0, -1.0
		for j := range d {
			if q := dense.Norm(column(j)); q > size {
				best, size = j, q
			}
		}
		e := s.basis[(i*s.m+a)*d : (i*s.m+a+1)*d]
		for c, v := range column(best) {
			e[c] = v / size
		}
		for j := range d {
			dense.Axpy(column(j), -dense.Dot(column(j), e), e)
		}
	}
}

// stepBack moves n points x from t to t − h.
func (s *diverger) stepBack(x []float64, n int, t, h float64) {
	d, y := s.d, s.y[:n*s.d]
	x = x[:n*d]
	s.diverge(s.k[0][:n*d], s.div[0], x, n, t)
	for i, c := range [3]float64{h / 2, h / 2, h} {
		dense.AddScaled(y, x, -c, s.k[i][:n*d])
		s.diverge(s.k[i+1][:n*d], s.div[i+1], y, n, t-c)
	}
	for j, v := range x {
		y[j] = v - h/6*(s.k[0][j]+2*s.k[1][j]+2*s.k[2][j]+s.k[3][j])
	}
	for i := range n {
		s.sum[i] += h / 6 * (s.div[0][i] + 2*s.div[1][i] + 2*s.div[2][i] + s.div[3][i])
	}
	s.back(x, y, n)
}
