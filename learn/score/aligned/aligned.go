// Package aligned is a network for conformations that does not see how a molecule lies in space (the paper's for
// alanine, after Liu et al. 2025): positions are laid on a reference, momenta turn with them, a multilayer perceptron
// reads both, and what it says turns back,
//
//	F_θ(x, p̃, t) = MLP_θ((x − b) Rᵀ, p̃ Rᵀ, t) R,
//
// with atoms as rows and (R, b) the pose of x (package superpose). So the score of a turned
// and moved conformation is the score, turned:
//
//	F_θ(xQᵀ + c, p̃Qᵀ, t) = F_θ(x, p̃, t) Qᵀ    for Q in SO(3), c in R³,
//
// and samples lie anywhere in space as their prior does. Q is no reflection: the network distinguishes the two
// enantiomers of a molecule. Parameters, and their names in checkpoints, are the MLP's.
//
// With the option pairs the MLP also reads by how much the distances of some pairs of atoms differ from those of the
// reference, and has an output a_ij for each, which pulls the two along the line between them (torsions.go):
//
//	F_θ = (z + Σ_ij a_ij ∇_x ‖x_i − x_j‖) R,    (z, a) = MLP_θ(…, (‖x_i − x_j‖ − ‖y_i − y_j‖)/δ)
//
// With the option torsions it reads waves of the molecule's torsions φ, and has an output a_φ for each, which
// turns it (torsions.go): + Σ_φ a_φ ∇_x φ/‖∇_x φ‖.
//
// It turns with the molecule all the same. The paper's network has neither.
package aligned

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/superpose"
	"github.com/landing-diffusion/landing/learn/score"
)

// Kind is the row of the registry. Its Config has a Reference: Prepare gives it one, or
// score.Constant's WithConstants that of a checkpoint.
var Kind = score.Kind{
	Name: "aligned", Refers: true, Fits: fits, Prepare: prepare,
	Options: []score.Option{
		{Name: "pairs", Lowest: 0, Most: 1000, Doc: "pairs of atoms whose numbers differ by at most this; 0: none"},
		{Name: "torsions", Lowest: 0, Most: 12, Whole: true, Doc: "waves of each torsion of the molecule; 0: none"},
	},
	AsIs:       "it lays a molecule on its reference, where it reads Å from there",
	Parameters: func(c score.Config) float64 { return score.Parameters(sizes(c)) },
	New:        func(c score.Config) score.Model[float32] { return New[float32](c) },
}

// sizes are the widths of the MLP inside.
func sizes(c score.Config) []int {
	p, o := count((c.Dim-c.Held)/3, reach(c)), turningOf(c)
	return c.Sizes(p+o.inputs(), p+len(o.atoms))
}

func reach(c score.Config) int { return int(c.Options["pairs"]) }

func fits(c score.Config) string {
	if d := c.Dim - c.Held; d%3 != 0 || d < 9 {
		return fmt.Sprintf("mlp: aligned is for at least 3 atoms of three coordinates each, and points here have %d "+
			"coordinates", d)
	}
	if c.Options["torsions"] > 0 && len(c.Torsions) == 0 {
		return "aligned without options.torsions: no torsion is known of the points (set.template of a set of " +
			"molecules has them)"
	}
	return ""
}

// prepare takes the frame nearest to the mean shape as the reference, if c has none, and
// returns a *superpose.DegenerateError if a frame cannot be laid on it.
func prepare(c score.Config, frames []float64) (score.Config, error) {
	d, x := c.Dim-c.Held, []float64(nil)
	for row := range slices.Chunk(frames, c.Dim) {
		x = append(x, row[:d]...)
	}
	if c.Reference == nil {
		i, err := superpose.Central(x, d/3)
		if err != nil {
			return c, err
		}
		c.Reference = x[i*d : (i+1)*d]
	}
	r, err := superpose.New(c.Reference)
	if err != nil {
		return c, err
	}
	return c, r.Check(x)
}

// Model is the network. A row of input is that of the MLP inside, then R, then what the
// outputs of pairs and of torsions go along.
type Model[T kernel.Float] struct {
	score.Model[T] // the MLP: parameters, names and precision are its own
	point          score.Reader[T]
	dim, own       int // of points, and without their condition
	pairs          [][2]int
	turning        turning
	y              []float64            // the reference, as it was given
	reference      *superpose.Reference // the same; nil before there is one
	rest           []float64            // distances of the pairs in it
	frames         *sync.Pool           // of *frame
}

// frame is room for an aligned point.
type frame struct{ x, p []float64 }

// New makes the network, its parameters a function of c's sizes and seed. c.Reference may be
// nil if WithConstants follows; New panics if it is no reference.
func New[T kernel.Float](c score.Config) *Model[T] { return Of(c, score.NewMLP[T](sizes(c), c.Seed)) }

// Of is New with an MLP made elsewhere.
func Of[T kernel.Float](c score.Config, net *score.MLP[T]) *Model[T] {
	m := &Model[T]{dim: c.Dim, own: c.Dim - c.Held, pairs: pairs((c.Dim-c.Held)/3, reach(c)), turning: turningOf(c),
		point: score.NewReader[T](c.Reading(), c.Dim, c.Momentum)}
	m.Model = net.ReadBy(wider[T]{m.point, len(m.pairs) + m.turning.inputs()}, c.Precision)
	m.frames = &sync.Pool{New: func() any { return &frame{make([]float64, c.Dim), make([]float64, c.Dim)} }}
	if c.Reference != nil {
		if err := m.refer(c.Reference); err != nil {
			panic(fmt.Sprintf("aligned: %v", err))
		}
	}
	return m
}

// wider is a reader whose rows have room behind for the distances of pairs and the waves of torsions,
// which Model writes.
type wider[T kernel.Float] struct {
	score.Reader[T]
	more int
}

func (w wider[T]) In() int { return w.Reader.In() + w.more }

// refer makes y the reference.
func (m *Model[T]) refer(y []float64) (err error) {
	if len(y) != m.own {
		return fmt.Errorf("a reference of %d coordinates for points of %d", len(y), m.own)
	}
	m.y = append([]float64(nil), y...)
	m.reference, err = superpose.New(y)
	m.rest = make([]float64, len(m.pairs))
	for i, pair := range m.pairs {
		_, m.rest[i] = apart(y, pair)
	}
	return err
}

// stretch is δ, in Å: about what heat and noise change the distance of bonded atoms by, so that
// the MLP reads numbers of size 1.
const stretch = 0.2

// turns is the number of numbers of R behind the MLP's row.
const turns = 9

// In is the width of a row.
func (m *Model[T]) In() int { return m.Model.In() + behind(m.pairs, m.turning.atoms) }

// behind is how many numbers a row has behind the MLP's.
func behind(pairs [][2]int, torsions [][4]int) int {
	return turns + 3*len(pairs) + quadruple*len(torsions)
}

// Out is the width of a row of output.
func (m *Model[T]) Out() int { return m.dim }

// Row writes the MLP's row of the aligned point, R, and the directions of pairs and torsions.
// Where no rotation is nearest it writes NaN.
func (m *Model[T]) Row(dst []T, at score.Input) {
	if m.reference == nil {
		panic("aligned: a row of a network without a reference")
	}
	pose := m.reference.Fit(at.X[:m.own])
	if pose.Degenerate() {
		for i := range dst[:m.In()] {
			dst[i] = T(math.NaN())
		}
		return
	}
	f := m.frames.Get().(*frame)
	copy(f.x[m.own:], at.X[m.own:])
	pose.Apply(f.x[:m.own], at.X[:m.own])
	at.X = f.x
	if at.P != nil {
		copy(f.p[m.own:], at.P[m.own:])
		pose.Turn(f.p[:m.own], at.P[:m.own])
		at.P = f.p
	}
	w := m.point.In()
	m.point.Row(dst[:w], at)
	distances, tail := dst[w:w+len(m.pairs)], dst[m.Model.In():]
	for i, v := range pose.R {
		tail[i] = T(v)
	}
	for i, pair := range m.pairs {
		u, d := apart(f.x, pair)
		distances[i] = T((d - m.rest[i]) / stretch)
		for j, v := range u {
			tail[turns+3*i+j] = T(v)
		}
	}
	readTorsions(&m.turning, dst[w+len(m.pairs):m.Model.In()], tail[turns+3*len(m.pairs):], at)
	m.frames.Put(f)
}

// With returns the same network over other parameters.
func (m *Model[T]) With(parameters []T) score.Model[T] {
	other := *m
	other.Model = m.Model.With(parameters)
	return &other
}

// Constants returns the reference, A×3, bit for bit as it was given.
func (m *Model[T]) Constants() []arrayfile.Named {
	y := make([]float64, m.own)
	copy(y, m.y)
	return []arrayfile.Named{{Name: "reference", Array: arrayfile.Of(y, m.own/3, 3)}}
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
	return &packed[T]{m.Model.Pack(gradients), m.pairs, m.turning.atoms, m.dim, m.own, m.Model.In()}
}

type packed[T kernel.Float] struct {
	score.Packed[T]
	pairs    [][2]int
	torsions [][4]int
	dim, own int
	in       int // of the MLP
}

func (p *packed[T]) NewWorkspace(rows int, gradients bool) score.Workspace[T] {
	tail := behind(p.pairs, p.torsions)
	ws := &workspace[T]{packed: p, inner: p.Packed.NewWorkspace(rows, gradients), in: make([]T, rows*p.in),
		tails: make([]T, rows*tail), tail: tail, out: make([]T, rows*p.dim)}
	if gradients {
		ws.dz, ws.dinner = make([]T, p.dim), make([]T, rows*(p.dim+len(p.pairs)+len(p.torsions)))
	}
	return ws
}

// workspace turns what goes in and out of the MLP's.
type workspace[T kernel.Float] struct {
	*packed[T]
	inner  score.Workspace[T]
	in     []T // rows×in
	tails  []T // rows×tail: R, and the directions of pairs and torsions
	tail   int
	out    []T // rows×dim
	dz     []T // dim; nil for forward passes alone
	dinner []T // rows×(dim + pairs + torsions)
}

func (ws *workspace[T]) Forward(in []T, n int) []T {
	w, tail, d, p := ws.packed.in, ws.tail, ws.dim, len(ws.pairs)
	all := d + p + len(ws.torsions)
	for i := range n {
		row := in[i*(w+tail) : (i+1)*(w+tail)]
		copy(ws.in[i*w:(i+1)*w], row)
		copy(ws.tails[i*tail:(i+1)*tail], row[w:])
	}
	za := ws.inner.Forward(ws.in, n)
	for i := range n {
		out, from, t := ws.out[i*d:(i+1)*d], za[i*all:(i+1)*all], ws.tails[i*tail:(i+1)*tail]
		copy(out, from)
		pull(out, from[d:], t[turns:], ws.pairs)
		swing(out, from[d+p:], t[turns+3*p:], ws.torsions)
		turnBack(out[:ws.own], t)
	}
	return ws.out[:n*d]
}

// Backward passes on the gradient with respect to the MLP's outputs: with y = (z + Σ a u)R,
// that is dy Rᵀ for z, and its part along u for a, of pairs and of torsions.
func (ws *workspace[T]) Backward(grad, dout []T, n int, add bool) {
	if ws.dz == nil {
		panic("aligned: Backward in a workspace for Forward alone")
	}
	tail, d, p := ws.tail, ws.dim, len(ws.pairs)
	all := d + p + len(ws.torsions)
	for i := range n {
		t, to := ws.tails[i*tail:(i+1)*tail], ws.dinner[i*all:(i+1)*all]
		copy(ws.dz, dout[i*d:(i+1)*d])
		turn(ws.dz[:ws.own], t)
		copy(to, ws.dz)
		along(to[d:], ws.dz, t[turns:], ws.pairs)
		across(to[d+p:], ws.dz, t[turns+3*p:], ws.torsions)
	}
	ws.inner.Backward(grad, ws.dinner, n, add)
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
