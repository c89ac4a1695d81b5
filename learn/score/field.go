package score

import (
	"cmp"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
)

// A Field evaluates a model as a score s_θ(x, p̃, t). One goroutine uses it at a time.
type Field[T kernel.Float] struct {
	model Model[T]
	ws    Workspace[T]
	in    []T

	guidance float64
	rows     int64 // that the network has seen
	own      [1]Ask
}

// Rows returns how many rows the network has seen in all: two a point with guidance.
func (f *Field[T]) Rows() int64 { return f.rows }

// NewField makes a score of m, with its present parameters, for blocks of up to rows points.
func NewField[T kernel.Float](m Model[T], rows int) *Field[T] { return NewFields(m, rows, 1)[0] }

// NewFields makes scores for as many goroutines, which share a packed model.
func NewFields[T kernel.Float](m Model[T], rows, goroutines int) []*Field[T] {
	return NewGuided(m, m.Pack(false), rows, goroutines, 0)
}

// NewGuided is NewFields of a model that is packed already, with classifier-free guidance of
// strength w (Ho and Salimans 2022): the score is
//
//	(1 + w) s_θ(x, p̃, t) − w s_θ(x, p̃, t with the condition hidden),
//
// of a network that can do without (Reading.Null), unless w is 0.
func NewGuided[T kernel.Float](m Model[T], packed Packed[T], rows, goroutines int, w float64) []*Field[T] {
	fields := make([]*Field[T], goroutines)
	for i := range fields {
		fields[i] = &Field[T]{model: m, ws: packed.NewWorkspace(rows, false), in: make([]T, rows*m.In()), guidance: w}
	}
	return fields
}

// An Ask is a call for scores at N rows X, P (N×d each; P nil without momentum) and a time: Dst is N×d.
type Ask struct {
	Dst, X, P []float64
	N         int
	T         float64
}

// Eval writes s at n rows x, p (n×d each; p nil without momentum): n×d.
func (f *Field[T]) Eval(dst, x, p []float64, n int, t float64) {
	f.own[0] = Ask{dst, x, p, n, t}
	f.EvalAll(f.own[:])
}

// EvalAll is Eval of several calls in one pass, which together have no more rows than there is room for.
// Each gets the numbers that Eval gives it: a row's output does not depend on the rows beside it.
func (f *Field[T]) EvalAll(asks []Ask) {
	s, d := f.pass(asks, false), f.model.Out()
	for _, a := range asks {
		m := f.model.Gain(a.T)
		for i, v := range s[:a.N*d] {
			a.Dst[i] = m * float64(v)
		}
		s = s[a.N*d:]
	}
	if f.guidance == 0 {
		return
	}
	s = f.pass(asks, true)
	for _, a := range asks {
		m := f.model.Gain(a.T)
		for i, v := range s[:a.N*d] {
			a.Dst[i] = (1+f.guidance)*a.Dst[i] - f.guidance*(m*float64(v))
		}
		s = s[a.N*d:]
	}
}

// pass returns the network's outputs.
func (f *Field[T]) pass(asks []Ask, null bool) []T {
	d, w, row := f.model.Out(), f.model.In(), 0
	for _, a := range asks {
		for i := range a.N {
			at := Input{X: a.X[i*d : (i+1)*d], T: a.T, Item: -1, Null: null}
			if a.P != nil {
				at.P = a.P[i*d : (i+1)*d]
			}
			f.model.Row(f.in[row*w:(row+1)*w], at)
			row++
		}
	}
	f.rows += int64(row)
	return f.ws.Forward(f.in, row)
}

// A Pusher is a Workspace that carries directions of its input through a pass, exactly: forward
// mode of automatic differentiation.
type Pusher[T kernel.Float] interface {
	// Push returns the outputs at n rows of input, and behind them the derivatives of each along its k directions: of n
	// rows in, followed by n×k rows of directions, as many rows of Out numbers. The workspace must have room for n(1+k)
	// rows. The result lives until the next pass.
	Push(in []T, n, k int) []T
}

func (r reader[T]) RowAlong(dst []T, at Input, v []float64) {
	d := r.d
	given := r.reading.Given
	unit, free := cmp.Or(r.reading.Unit, 1), d-len(given.Mean)
	slope := func(j int) float64 { // of coordinate
		switch k := j - free; {
		case k < 0:
			return v[j]
		case at.Null:
			return 0
		default:
			return v[j] / given.Scale[k]
		}
	}
	clear(dst[:r.In()])
	for j := range d {
		s := slope(j)
		if j < free {
			s /= unit
		}
		dst[j] = T(s)
	}
	if octaves := r.reading.Octaves; octaves > 0 {
		features, start := dst[d+len(at.P)+1:], r.start(at.T)
		for j := range d {
			s := slope(j)
			if j >= free {
				s *= unit
			}
			angle, size := r.wave(start, at, j)
			wavesAlong(features[2*j:], angle, start.ω*s, size, octaves, 2*d)
		}
	}
}

// wavesAlong writes the derivative of waves where angle moves with velocity s.
func wavesAlong[T kernel.Float](dst []T, angle, s, size float64, octaves, stride int) {
	sin, cos := math.Sincos(angle)
	for i := range octaves {
		dst[i*stride], dst[i*stride+1] = T(size*s*cos), T(-size*s*sin)
		sin, cos = 2*sin*cos, (cos-sin)*(cos+sin)
		s *= 2
		size *= size
		size *= size
	}
}

// Push implements Pusher.
func (ws *mlpWorkspace[T]) Push(in []T, n, k int) []T {
	m, all := ws.m.net, n*(1+k)
	if all > ws.rows || len(in) < all*m.In() {
		panic(fmt.Sprintf("score: %d rows with %d directions each from %d numbers in a workspace of %d rows", n, k,
			len(in), ws.rows))
	}
	act, last := in, m.Layers()-1
	for l := range last {
		w := m.Sizes[l+1]
		pre := ws.pre[l]
		kernel.MulTransposed(pre, act, ws.weights[l], all, ws.scratch)
		act = ws.act[l+1]
		// act and pre of different layers may share memory, but not those of one.
		kernel.BiasSiLU(act, pre, m.Bias(l), n, w)
		for i := range n {
			for j := range k {
				row := act[(n+i*k+j)*w : (n+i*k+j+1)*w]
				copy(row, pre[(n+i*k+j)*w:(n+i*k+j+1)*w])
				kernel.SiLUGrad(row, pre[i*w:(i+1)*w])
			}
		}
	}
	kernel.MulTransposed(ws.pre[last], act, ws.weights[last], all, ws.scratch)
	kernel.AddRow(ws.pre[last], m.Bias(last), n, m.Out())
	return ws.pre[last][:all*m.Out()]
}

// EvalAlong writes s at n rows x, and its derivatives along k directions v of each: n×d, and n×k×d from n×k×d. The
// field must have room for n(1+k) rows, be without momentum and guidance; false: the network does not tell derivatives.
func (f *Field[T]) EvalAlong(dst, along, x, v []float64, n, k int, t float64) bool {
	pusher, ok := f.ws.(Pusher[T])
	if !ok || f.guidance != 0 {
		return false
	}
	d, w, m := f.model.Out(), f.model.In(), f.model.Gain(t)
	for i := range n {
		at := Input{X: x[i*d : (i+1)*d], T: t, Item: -1}
		f.model.Row(f.in[i*w:(i+1)*w], at)
		for j := range k {
			r := i*k + j
			f.model.RowAlong(f.in[(n+r)*w:(n+r+1)*w], at, v[r*d:(r+1)*d])
		}
	}
	f.rows += int64(n * (1 + k))
	out := pusher.Push(f.in, n, k)
	for i, s := range out[:n*d] {
		dst[i] = m * float64(s)
	}
	for i, s := range out[n*d:] {
		along[i] = m * float64(s)
	}
	return true
}
