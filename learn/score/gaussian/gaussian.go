// Package gaussian is a network for laws that are narrow in many directions of space, such as states of a power grid.
// To the output of a multilayer perceptron it adds the score of the Gaussian law with the mean μ and the covariance
// C = Σ_i λ_i e_i e_iᵀ of the training rows, noised as a path is on a flat Σ without force:
//
//	m F_θ = m MLP_θ(row) + (x̂_0 − x − a p̃)/c,    x̂_0 = μ + C(C + v)⁻¹(y − μ),
//
// with a and c of score.Config.Ahead, and y and v of score.Reading.Start. The perceptron learns the
// difference. Alone it would have to learn λ_i/(λ_i + v) for each direction and time. Parameters, and their names in
// checkpoints, are the perceptron's; μ, λ and e are constants.
package gaussian

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score"
)

// Kind is the row of the registry. Prepare, or score.Constant's WithConstants, gives its network the law.
var Kind = score.Kind{
	Name: "gaussian", Fits: fits, Prepare: prepare, Parameters: score.MLPKind.Parameters,
	New: func(c score.Config) score.Model[float32] { return New[float32](c) },
}

func fits(c score.Config) string {
	switch {
	case c.Ahead == nil:
		return "mlp: gaussian works with process.method ULLA, OLLA, ULLA-P or OLLA-P alone"
	case c.Held > 0 || len(c.Given.Mean) > 0:
		return "mlp: gaussian takes no condition"
	case c.Dim > mostAxes:
		return fmt.Sprintf("mlp: gaussian takes points of at most %d numbers, whose axes it computes", mostAxes)
	}
	return ""
}

// mostAxes bounds the coordinates, and mostNumbers the numbers of rows that axes are computed of.
const (
	mostAxes    = 2000
	mostNumbers = 1 << 24
)

// parts is how many parts of the rows are set aside in turn to measure variances.
const parts = 4

// prepare puts μ, the axes e_i as rows and λ_i into c.Reference. The axes are those of all rows. The variances along
// axes of the same rows are too uneven if rows are few: the least are much too small. So λ_i is the variance of each
// part of the rows along the i-th axis of the other parts.
func prepare(c score.Config, rows []float64) (score.Config, error) {
	d := c.Dim
	if c.Reference != nil {
		return c, nil
	}
	if n := len(rows) / d; n*d > mostNumbers {
		some := make([]float64, 0, mostNumbers)
		for i := range mostNumbers / d {
			at := i * n / (mostNumbers / d) * d
			some = append(some, rows[at:at+d]...)
		}
		rows = some
	}
	x := mat.NewDense(len(rows)/d, d, slices.Clone(rows))
	mean := make([]float64, d)
	for row := range slices.Chunk(rows, d) {
		for j, v := range row {
			mean[j] += v * float64(d) / float64(len(rows))
		}
	}
	for i := range len(rows) / d {
		for j, v := range mean {
			x.RawRowView(i)[j] -= v
		}
	}
	n := len(rows) / d
	covariance := func(own func(i int) bool) *mat.SymDense {
		some, k := mat.NewDense(n, d, nil), 0
		for i := range n {
			if own(i) {
				copy(some.RawRowView(k), x.RawRowView(i))
				k++
			}
		}
		s := mat.NewSymDense(d, nil)
		s.SymOuterK(1/float64(max(k, 1)), some.T())
		return s
	}
	λ, held := make([]float64, d), min(parts, n)
	var e mat.EigenSym
	var axes, product mat.Dense
	for part := range held {
		in := func(i int) bool { return i%held == part }
		if held > 1 && e.Factorize(covariance(func(i int) bool { return !in(i) }), true) {
			e.VectorsTo(&axes)
			product.Mul(covariance(in), &axes)
			for i := range d {
				λ[i] += max(0, mat.Dot(axes.ColView(i), product.ColView(i))) / float64(held)
			}
		}
	}
	c.Reference = append(slices.Clone(mean), λ...)
	if !e.Factorize(covariance(func(int) bool { return true }), true) || math.IsInf(floats.Sum(λ), 0) ||
		math.IsNaN(floats.Sum(λ)) {
		return c, errors.New("network.kind gaussian: the covariance of the rows has no principal axes; " +
			"expected mlp, or data whose squares are finite numbers")
	}
	e.VectorsTo(&axes)
	c.Reference = append(c.Reference, mat.DenseCopyOf(axes.T()).RawMatrix().Data...)
	return c, nil
}

// Model is the network. A row of input is that of the MLP inside, then α(y − μ), then β and v of its time:
// the Gaussian's part of the output is −Σ_i v/(λ_i + v) e_i e_iᵀ α(y − μ) + β p̃.
type Model[T kernel.Float] struct {
	score.Model[T] // the MLP: parameters, names and precision are its own
	c              score.Config
	mean, λ, axes  []float64          // d, d, d×d; nil before there is a law
	weights        *kernel.Weights[T] // the axes, for products
}

// New makes the network, its parameters a function of c's sizes and seed. c.Reference may be nil if WithConstants
// follows.
func New[T kernel.Float](c score.Config) *Model[T] {
	point := score.NewReader[T](c.Reading(), c.Dim, c.Momentum)
	m := &Model[T]{Model: score.NewMLP[T](c.Sizes(0, 0), c.Seed).ReadBy(point, c.Precision), c: c}
	if d := c.Dim; c.Reference != nil {
		m.lay(c.Reference[:d], c.Reference[d:2*d], c.Reference[2*d:])
	}
	return m
}

// lay makes N(mean, Σ λ e eᵀ) the law.
func (m *Model[T]) lay(mean, λ, axes []float64) {
	d, rows := m.c.Dim, make([]T, len(axes))
	for i, v := range axes {
		rows[i] = T(v)
	}
	m.mean, m.λ, m.axes = slices.Clone(mean), slices.Clone(λ), slices.Clone(axes)
	m.weights = kernel.NewWeights[T](d, d, true, kernel.Float32)
	m.weights.Set(rows)
}

// In is the width of a row, and Out that of a row of output.
func (m *Model[T]) In() int  { return m.Model.In() + m.c.Dim + 2 }
func (m *Model[T]) Out() int { return m.c.Dim }

// at returns α and β of a time, and b and v of score.Reading.Start.
func (m *Model[T]) at(t float64) (α, β, b, v float64) {
	b, v, a, c := m.c.Ahead(t)
	α = 1 / (c * m.Model.Gain(t))
	return α, -(a + b) * α, b, v
}

// Row writes the MLP's row and what the Gaussian's part of the output is made of.
func (m *Model[T]) Row(dst []T, at score.Input) {
	if m.mean == nil {
		panic("gaussian: a row of a network without a law")
	}
	w := m.Model.In()
	m.Model.Row(dst[:w], at)
	α, β, b, v := m.at(at.T)
	for j, x := range at.X {
		if at.P != nil {
			x -= b * at.P[j]
		}
		dst[w+j] = T(α * (x - m.mean[j]))
	}
	dst[w+len(at.X)], dst[w+len(at.X)+1] = T(β), T(v)
}

// With returns the same network over other parameters.
func (m *Model[T]) With(parameters []T) score.Model[T] {
	other := *m
	other.Model = m.Model.With(parameters)
	return &other
}

// Constants returns the law.
func (m *Model[T]) Constants() []arrayfile.Named {
	d := m.c.Dim
	law := []arrayfile.Named{
		{Name: "mean", Array: arrayfile.Of(make([]float64, d), d)},
		{Name: "variances", Array: arrayfile.Of(make([]float64, d), d)},
		{Name: "axes", Array: arrayfile.Of(make([]float64, d*d), d, d)},
	}
	for i, v := range [][]float64{m.mean, m.λ, m.axes} {
		copy(law[i].Array.Float64, v)
	}
	return law
}

// WithConstants returns the same network with the law of arrays.
func (m *Model[T]) WithConstants(arrays map[string]arrayfile.Array) (score.Model[T], error) {
	other, law := *m, m.Constants()
	if err := score.ReadTensors(arrays, law); err != nil {
		return nil, err
	}
	other.lay(law[0].Array.Float64, law[1].Array.Float64, law[2].Array.Float64)
	return &other, nil
}

// Pack lays out the MLP.
func (m *Model[T]) Pack(gradients bool) score.Packed[T] {
	return &packed[T]{m.Model.Pack(gradients), m}
}

type packed[T kernel.Float] struct {
	score.Packed[T]
	m *Model[T]
}

func (p *packed[T]) NewWorkspace(rows int, gradients bool) score.Workspace[T] {
	d := p.m.c.Dim
	return &workspace[T]{p.Packed.NewWorkspace(rows, gradients), p.m, make([]T, rows*p.m.Model.In()),
		make([]T, rows*d), make([]T, rows*d), make([]T, kernel.Scratch[T](rows, d, d))}
}

// workspace adds the Gaussian's part to what the MLP returns. It has no parameters, so Backward is the MLP's.
type workspace[T kernel.Float] struct {
	score.Workspace[T]
	m                  *Model[T]
	in, y, along, rest []T // rows of the MLP; rows×d; rows×d; scratch
}

func (ws *workspace[T]) Forward(in []T, n int) []T {
	d, w, all := ws.m.c.Dim, ws.m.Model.In(), ws.m.In()
	for i := range n {
		row := in[i*all : (i+1)*all]
		copy(ws.in[i*w:(i+1)*w], row)
		copy(ws.y[i*d:(i+1)*d], row[w:])
	}
	out := ws.Workspace.Forward(ws.in, n)
	kernel.MulTransposed(ws.along, ws.y, ws.m.weights, n, ws.rest)
	for i := range n {
		v := float64(in[(i+1)*all-1])
		for k, λ := range ws.m.λ {
			ws.along[i*d+k] *= T(-v / (λ + v))
		}
	}
	kernel.MulWeights(ws.y, ws.along, ws.m.weights, n, ws.rest)
	for i := range n {
		row, β := in[i*all:(i+1)*all], in[(i+1)*all-2]
		for j, g := range ws.y[i*d : (i+1)*d] {
			if ws.m.c.Momentum {
				g += β * row[d+j]
			}
			out[i*d+j] += g
		}
	}
	return out
}

// GraphRow implements score.Reader.
func (m *Model[T]) GraphRow(at score.Symbols) (onnx.Value, error) {
	if m.mean == nil {
		return onnx.Value{}, &score.GraphError{Why: "it has no law"}
	}
	row, err := m.Model.GraphRow(at)
	if err != nil {
		return row, err
	}
	g := at.Graph
	var of [5]onnx.Value // b, v, a, c, and the gain
	for k := range of {
		f, err := at.Course("the course of its Gaussian", func(t float64) float64 {
			b, v, a, c := m.c.Ahead(t)
			return [...]float64{b, v, a, c, m.Model.Gain(t)}[k]
		})
		if err != nil {
			return f, err
		}
		of[k] = g.Unsqueeze(f, 1)
	}
	y := g.Sub(at.X, g.Constant(m.mean, 1, m.c.Dim))
	if m.c.Momentum {
		y = g.Sub(y, g.Mul(of[0], at.P))
	}
	α := g.Div(g.Number(1), g.Mul(of[3], of[4]))
	β := g.Of1("Neg", g.Mul(g.Add(of[0], of[2]), α))
	own := func(v onnx.Value) onnx.Value { return g.Cast(v, onnx.TypeOf[T]()) }
	return g.Concat(1, row, own(g.Mul(α, y)), own(β), own(of[1])), nil
}

// GraphForward implements score.Graphed.
func (m *Model[T]) GraphForward(g *onnx.Graph, row onnx.Value) onnx.Value {
	d, w := m.c.Dim, m.Model.In()
	out := m.Model.(score.Graphed).GraphForward(g, g.Columns(row, 0, w))
	constants := make([]onnx.Value, 2)
	for i, a := range m.Constants()[1:] {
		values := make([]T, len(a.Array.Float64))
		for k, v := range a.Array.Float64 {
			values[k] = T(v)
		}
		constants[i] = onnx.Parameter(g, "constant."+a.Name, values, a.Array.Shape...)
	}
	λ, axes, v := constants[0], constants[1], g.Columns(row, w+d+1, 1)
	along := g.MatMul(g.Columns(row, w, d), g.Transpose(axes, 1, 0))
	along = g.Mul(along, g.Div(v, g.Add(λ, v)))
	out = g.Sub(out, g.MatMul(along, axes))
	if m.c.Momentum {
		out = g.Add(out, g.Mul(g.Columns(row, w+d, 1), g.Columns(row, d, d)))
	}
	return out
}
