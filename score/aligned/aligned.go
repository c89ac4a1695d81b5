// Package aligned is a network for conformations that does not see how a molecule lies in
// space (the paper's for alanine, after Liu et al. 2025): positions are laid on a
// reference, momenta turn with them, a multilayer perceptron reads both, and what it says
// turns back,
//
//	F_θ(x, p̃, t) = MLP_θ((x − b) Rᵀ, p̃ Rᵀ, t) R,
//
// with atoms as rows and (R, b) the pose of x (package superpose). So the score of a turned
// and moved conformation is the score, turned:
//
//	F_θ(xQᵀ + c, p̃Qᵀ, t) = F_θ(x, p̃, t) Qᵀ    for Q in SO(3), c in R³,
//
// and samples lie anywhere in space as their prior does. Q is no reflection: the two hands of a
// molecule are told apart. Parameters, and their names in checkpoints, are the MLP's.
package aligned

import (
	"fmt"
	"math"
	"sync"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/kernel"
	"github.com/landing-diffusion/landing/molecule/superpose"
	"github.com/landing-diffusion/landing/score"
)

// Kind is the row of the registry. Its Config has a Reference: Prepare gives it one, or
// score.Constant's WithConstants that of a checkpoint.
var Kind = score.Kind{
	Name: "aligned", Refers: true, Fits: fits, Prepare: prepare,
	Parameters: func(c score.Config) float64 { return score.MLPKind.Parameters(c) },
	New:        func(c score.Config) score.Model[float32] { return New(c, score.MLPKind.New(c)) },
}

func fits(c score.Config) string {
	if c.Dim%3 != 0 || c.Dim < 9 {
		return fmt.Sprintf("mlp: aligned is for at least 3 atoms of three coordinates each, and points here have %d "+
			"coordinates", c.Dim)
	}
	return ""
}

// prepare takes the frame nearest to the mean shape as the reference, if c has none, and
// returns a *superpose.DegenerateError if a frame cannot be laid on it.
func prepare(c score.Config, frames []float64) (score.Config, error) {
	if c.Reference == nil {
		i, err := superpose.Central(frames, c.Dim/3)
		if err != nil {
			return c, err
		}
		c.Reference = frames[i*c.Dim : (i+1)*c.Dim]
	}
	r, err := superpose.New(c.Reference)
	if err != nil {
		return c, err
	}
	return c, r.Check(frames)
}

// Model is the network. Rows of input are those of the MLP inside, and R.
type Model[T kernel.Float] struct {
	score.Model[T] // of the aligned point: parameters, names and precision are its own
	dim            int
	y              []float64            // the reference, as it was given
	reference      *superpose.Reference // the same; nil before there is one
	frames         *sync.Pool           // of *frame
}

// frame is room for an aligned point.
type frame struct{ x, p []float64 }

// New makes the network of inner, which reads the aligned point as another network would
// read the point. c.Reference may be nil if WithConstants follows; it panics if it is no
// reference.
func New[T kernel.Float](c score.Config, inner score.Model[T]) *Model[T] {
	m := &Model[T]{Model: inner, dim: c.Dim}
	m.frames = &sync.Pool{New: func() any { return &frame{make([]float64, c.Dim), make([]float64, c.Dim)} }}
	if c.Reference != nil {
		if err := m.refer(c.Reference); err != nil {
			panic(fmt.Sprintf("aligned: %v", err))
		}
	}
	return m
}

// refer makes y the reference.
func (m *Model[T]) refer(y []float64) (err error) {
	if len(y) != m.dim {
		return fmt.Errorf("a reference of %d coordinates for points of %d", len(y), m.dim)
	}
	m.y = append([]float64(nil), y...)
	m.reference, err = superpose.New(y)
	return err
}

// turns is the number of numbers of R at the end of a row.
const turns = 9

// In is the width of a row.
func (m *Model[T]) In() int { return m.Model.In() + turns }

// Row writes the MLP's row of the aligned point, and R. Where no rotation is nearest it
// writes NaN.
func (m *Model[T]) Row(dst []T, at score.Input) {
	if m.reference == nil {
		panic("aligned: a row of a network without a reference")
	}
	pose := m.reference.Fit(at.X)
	w := m.Model.In()
	if pose.Degenerate() {
		for i := range dst[:w+turns] {
			dst[i] = T(math.NaN())
		}
		return
	}
	f := m.frames.Get().(*frame)
	pose.Apply(f.x, at.X)
	at.X = f.x
	if at.P != nil {
		pose.Turn(f.p, at.P)
		at.P = f.p
	}
	m.Model.Row(dst[:w], at)
	m.frames.Put(f)
	for i, v := range pose.R {
		dst[w+i] = T(v)
	}
}

// With returns the same network over other parameters.
func (m *Model[T]) With(parameters []T) score.Model[T] {
	other := *m
	other.Model = m.Model.With(parameters)
	return &other
}

// Constants returns the reference, A×3, bit for bit as it was given.
func (m *Model[T]) Constants() []arrayfile.Named {
	y := make([]float64, m.dim)
	copy(y, m.y)
	return []arrayfile.Named{{Name: "reference", Array: arrayfile.Of(y, m.dim/3, 3)}}
}

// WithConstants returns the same network with the reference of arrays.
func (m *Model[T]) WithConstants(arrays map[string]arrayfile.Array) (score.Model[T], error) {
	other := *m
	named := other.Constants()
	if err := score.ReadTensors(arrays, named); err != nil {
		return nil, err
	}
	if err := other.refer(named[0].Array.Float64); err != nil {
		return nil, err
	}
	return &other, nil
}

// Pack lays out the MLP.
func (m *Model[T]) Pack(gradients bool) score.Packed[T] {
	return &packed[T]{m.Model.Pack(gradients), m.dim, m.Model.In()}
}

type packed[T kernel.Float] struct {
	score.Packed[T]
	dim, in int
}

func (p *packed[T]) NewWorkspace(rows int, gradients bool) score.Workspace[T] {
	ws := &workspace[T]{packed: p, inner: p.Packed.NewWorkspace(rows, gradients), in: make([]T, rows*p.in),
		turns: make([]T, rows*turns), out: make([]T, rows*p.dim)}
	if gradients {
		ws.dout = make([]T, rows*p.dim)
	}
	return ws
}

// workspace turns what goes in and out of the MLP's.
type workspace[T kernel.Float] struct {
	*packed[T]
	inner     score.Workspace[T]
	in        []T // rows×in of the MLP
	turns     []T // rows×9: R
	out, dout []T // rows×dim
}

func (ws *workspace[T]) Forward(in []T, n int) []T {
	w := ws.packed.in
	for i := range n {
		row := in[i*(w+turns) : (i+1)*(w+turns)]
		copy(ws.in[i*w:(i+1)*w], row)
		copy(ws.turns[i*turns:(i+1)*turns], row[w:])
	}
	out, d := ws.out[:n*ws.dim], ws.dim
	copy(out, ws.inner.Forward(ws.in, n))
	for i := range n {
		turnBack(out[i*d:(i+1)*d], ws.turns[i*turns:])
	}
	return out
}

// Backward passes on the gradient with respect to the MLP's output: with y = zR, that is
// dy Rᵀ.
func (ws *workspace[T]) Backward(grad, dout []T, n int, add bool) {
	if ws.dout == nil {
		panic("aligned: Backward in a workspace for Forward alone")
	}
	copy(ws.dout[:n*ws.dim], dout)
	for i, d := 0, ws.dim; i < n; i++ {
		turn(ws.dout[i*d:(i+1)*d], ws.turns[i*turns:])
	}
	ws.inner.Backward(grad, ws.dout, n, add)
}

// turnBack writes zR in the place of z, atoms as rows.
func turnBack[T kernel.Float](z, R []T) {
	r := (*[turns]T)(R)
	for i := 0; i+3 <= len(z); i += 3 {
		x, y, w := z[i], z[i+1], z[i+2]
		z[i] = x*r[0] + y*r[3] + w*r[6]
		z[i+1] = x*r[1] + y*r[4] + w*r[7]
		z[i+2] = x*r[2] + y*r[5] + w*r[8]
	}
}

// turn writes zRᵀ in the place of z.
func turn[T kernel.Float](z, R []T) {
	r := (*[turns]T)(R)
	for i := 0; i+3 <= len(z); i += 3 {
		x, y, w := z[i], z[i+1], z[i+2]
		z[i] = x*r[0] + y*r[1] + w*r[2]
		z[i+1] = x*r[3] + y*r[4] + w*r[5]
		z[i+2] = x*r[6] + y*r[7] + w*r[8]
	}
}
