// Package fit fits the network of a level set to a closed mesh, by implicit geometric regularisation (Gropp and others,
// 2020): h is zero on the surface, its gradient is the outward normal there and has length one around it.
package fit

import (
	"context"
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/kernel"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
)

// Options steer Fit.
type Options struct {
	Width   int     // of the hidden layers, 1 to 1024
	Layers  int     // hidden layers, 1 to 10
	Beta    float64 // of softplus
	Steps   int     // of Adam
	Batch   int     // points a step, a multiple of 64: half on the surface, half around it
	Rate    float64 // first learning rate; it falls to a hundredth along a cosine
	Value   float64 // weight of h² on the surface
	Normal  float64 // of ‖∇h − n‖² there
	Eikonal float64 // of (‖∇h‖ − 1)² everywhere
	Seed    uint64  // of the points and the first weights
}

// Defaults suit a mesh of size near 2 (Place), and are those of the published networks where they have a counterpart.
func Defaults() Options {
	return Options{Width: 128, Layers: 3, Beta: levelset.Beta, Steps: 4000, Batch: 2048, Rate: 3e-3, Value: 100,
		Normal: 1, Eikonal: 0.3, Seed: 1}
}

// Check says which option Fit refuses, by its name among the flags of landing make level-set.
func (o Options) Check() error {
	for _, c := range []struct {
		field  string
		value  int
		lo, hi int
	}{{"width", o.Width, 1, 1024}, {"layers", o.Layers, 1, 10}, {"steps", o.Steps, 1, 1e9},
		{"batch", o.Batch, 2 * rows, 1 << 24}} {
		if c.value < c.lo || c.value > c.hi {
			return fmt.Errorf("%s is %d; expected %d to %d", c.field, c.value, c.lo, c.hi)
		}
	}
	if o.Batch%(2*rows) != 0 {
		return fmt.Errorf("batch is %d; expected a multiple of %d", o.Batch, 2*rows)
	}
	for _, c := range []struct {
		field string
		value float64
	}{{"beta", o.Beta}, {"rate", o.Rate}, {"value", o.Value}, {"normal", o.Normal}, {"eikonal", o.Eikonal}} {
		if !(c.value > 0) || math.IsInf(c.value, 1) {
			return fmt.Errorf("%s is %v; expected a number above 0", c.field, c.value)
		}
	}
	return nil
}

// diverged says that the loss at a step, or after the last the network, was not finite.
func (o Options) diverged(step int) error {
	return fault.Errorf(fault.Diverged, "", "the fit diverged at step %d of %d; a lower learning rate than %g may help",
		step, o.Steps, o.Rate)
}

// Step is how far a fit is; the terms are means over the step's points.
type Step struct {
	Step    int
	Value   float64 // √ of the mean of h² on the surface
	Normal  float64 // √ of the mean of ‖∇h − n‖²
	Eikonal float64 // √ of the mean of (‖∇h‖ − 1)²
}

const (
	rows  = 32 // points of a pass
	lanes = 16 // partial sums, whatever the number of workers
)

// A fitter holds what a step needs.
type fitter struct {
	o       Options
	mesh    *mesh.Mesh
	sampler *mesh.Sampler
	pool    *parallel.Pool
	net     *levelset.Network
	packed  *levelset.Packed
	lanes   []*lane
	half    float64 // of the box around the mesh, widened
	centre  [3]float64

	m, v, grad, part []float64 // of Adam, and the gradient
}

// A lane sums the derivatives of its share of the points.
type lane struct {
	pass    *levelset.Pass
	sum     *levelset.Gradient
	x, n, v []float64 // points, normals, v of the loss: rows×3
	c       []float64
	loss    [3]float64
}

// Fit returns the network fitted to the mesh, a function of the mesh and the options alone. It calls tick, which may be
// nil, after every step. The error is that of Check, a mesh.Fault that leaves h without a sign (Refuses), one of kind
// fault.Diverged or the context's.
func Fit(ctx context.Context, m *mesh.Mesh, o Options, pool *parallel.Pool, tick func(Step)) (*levelset.Network,
	error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	for _, f := range m.Check() {
		if Refuses(f) {
			return nil, f
		}
	}
	f := newFitter(m, o, pool)
	for k := range o.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := f.step(k)
		if tick != nil {
			tick(s)
		}
		if s.Value-s.Value != 0 {
			return nil, o.diverged(k + 1)
		}
	}
	for _, v := range f.net.Params {
		if math.Abs(v) > math.MaxFloat32 || v != v { // a file keeps float32
			return nil, o.diverged(o.Steps)
		}
	}
	f.net.Round()
	return f.net, nil
}

// Refuses reports whether Fit refuses a mesh with the fault.
func Refuses(f mesh.Fault) bool { return f.Kind == mesh.Flipped || f.Kind == mesh.InsideOut }

func newFitter(m *mesh.Mesh, o Options, pool *parallel.Pool) *fitter {
	f := &fitter{o: o, mesh: m, sampler: mesh.NewSampler(m, nil), pool: pool}
	lo, hi := m.Bounds()
	for j := range 3 {
		f.centre[j] = (lo[j] + hi[j]) / 2
		f.half = max(f.half, 0.75*(hi[j]-lo[j])) // half as wide again as the mesh
	}
	f.net = initial(o, f.centre, f.half/2)
	f.packed = f.net.Pack()
	n := len(f.net.Params)
	f.m, f.v, f.grad, f.part = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for range lanes {
		f.lanes = append(f.lanes, &lane{
			pass: f.packed.NewPass(rows), sum: f.packed.NewGradient(rows),
			x: make([]float64, 3*rows), n: make([]float64, 3*rows), v: make([]float64, 3*rows),
			c: make([]float64, rows),
		})
	}
	return f
}

// initial returns a network whose level set is roughly a sphere (geometric initialisation, Atzmon and Lipman, 2020),
// with h ≈ ‖x‖ − r. Theirs has normal weights of variance 2/out and an output layer of √(π/in), for softplus so sharp
// that it is nearly a ramp. Here β is small, so the first layer is larger by s = √(out/in), to bend within the mesh,
// and the output layer smaller by as much.
func initial(o Options, centre [3]float64, radius float64) *levelset.Network {
	sizes := []int{3}
	for range o.Layers {
		sizes = append(sizes, o.Width)
	}
	n := &levelset.Network{MLP: score.NewMLP[float64](append(sizes, 1), o.Seed), Beta: o.Beta}
	for l := range n.Layers() {
		w := n.Weight(l)
		keyed.Layers.Stream(o.Seed, uint64(l)).Normals(w, keyed.LevelSetWeights, 0)
		clear(n.Bias(l))
		for i := range w {
			if l == n.Layers()-1 {
				w[i] = (math.Sqrt(math.Pi/float64(o.Width)) + 1e-4*w[i]) * math.Sqrt(3/float64(o.Width))
			} else {
				w[i] *= math.Sqrt(2 / float64(n.Sizes[l]))
			}
		}
	}
	for i := range n.Bias(0) { // around the mesh's centre
		for j, c := range centre {
			n.Bias(0)[i] -= n.Weight(0)[3*i+j] * c
		}
	}
	h := make([]float64, 6)
	x := make([]float64, 18)
	for i := range h { // zero on average at the radius
		copy(x[3*i:], centre[:])
		x[3*i+i/2] += radius * float64(2*(i%2)-1)
	}
	levelset.New(n).Values(h, x, 6)
	for _, v := range h {
		n.Bias(n.Layers() - 1)[0] -= v / 6
	}
	return n
}

func (f *fitter) step(k int) Step {
	chunks := (f.o.Batch + rows - 1) / rows
	f.pool.Do(lanes, func(_, l int) {
		w := f.lanes[l]
		w.sum.Clear()
		w.loss = [3]float64{}
		for c := l; c < chunks; c += lanes {
			f.chunk(w, k, c*rows, c*rows < f.o.Batch/2)
		}
	})
	clear(f.grad)
	s := Step{Step: k + 1}
	for _, w := range f.lanes {
		w.sum.Sum(f.part)
		for i, g := range f.part {
			f.grad[i] += g
		}
		s.Value, s.Normal, s.Eikonal = s.Value+w.loss[0], s.Normal+w.loss[1], s.Eikonal+w.loss[2]
	}
	s.Value, s.Normal, s.Eikonal = math.Sqrt(s.Value), math.Sqrt(s.Normal), math.Sqrt(s.Eikonal)
	rate := f.o.Rate * (0.505 + 0.495*math.Cos(math.Pi*float64(k)/float64(f.o.Steps)))
	kernel.Adam(f.net.Params, f.m, f.v, f.grad, kernel.AdamStep{Rate: rate, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8,
		Scale: 1, T: k + 1})
	f.packed.Set()
	return s
}

// chunk adds the derivatives of the loss at the points first, first+1, … of a step:
//
//	L = a⟨h²⟩ + b⟨‖∇h − n‖²⟩ + c⟨(‖∇h‖ − 1)²⟩
//
// with the first two means over points of the surface, the last over all.
func (f *fitter) chunk(w *lane, k, first int, on bool) {
	for i := range rows {
		f.point(w.x[3*i:3*i+3], w.n[3*i:3*i+3], uint64(first+i), k, on)
	}
	q := w.pass
	q.Value(w.x, rows)
	q.Gradient()
	surface, all := 1/float64(f.o.Batch/2), 1/float64(f.o.Batch)
	for i := range rows {
		h, g, n, v := q.Out[i*kernel.Pad64(1)], q.Grad[i*kernel.Pad64(3):][:3], w.n[3*i:3*i+3], w.v[3*i:3*i+3]
		length := math.Sqrt(g[0]*g[0] + g[1]*g[1] + g[2]*g[2])
		w.loss[2] += (length - 1) * (length - 1) * all
		w.c[i] = 0
		for j := range v {
			v[j] = 2 * f.o.Eikonal * all * (length - 1) * g[j] / max(length, 1e-12)
		}
		if !on {
			continue
		}
		w.c[i] = 2 * f.o.Value * surface * h
		w.loss[0] += h * h * surface
		for j := range v {
			e := g[j] - n[j]
			v[j] += 2 * f.o.Normal * surface * e
			w.loss[1] += e * e * surface
		}
	}
	q.Direct(w.v)
	q.Tangent()
	q.Adjoint(w.c)
	w.sum.Add(q, w.c)
}

// point writes a point of step k: on the surface with its normal, or around it:
// half of those near the surface, half anywhere in the box.
func (f *fitter) point(x, n []float64, i uint64, k int, on bool) {
	face, _ := f.sampler.Sample(x, keyed.FitSurface.Stream(f.o.Seed, 0), i, k)
	if on {
		normal := f.mesh.Normal(face)
		copy(n, normal[:])
		return
	}
	if i%2 == 0 {
		keyed.FitNear.Stream(f.o.Seed, 0).Normals(n, i, k)
		for j := range x {
			x[j] += 0.1 * f.half * n[j]
		}
		return
	}
	keyed.FitVolume.Stream(f.o.Seed, 0).Uniforms(n, i, k)
	for j := range x {
		x[j] = f.centre[j] + f.half*(2*n[j]-1)
	}
}

// Place returns the mesh in coordinates that networks learn well: the mesh itself if it lies in [−1.5, 1.5]³ and is not
// small there, else one moved by −centre and scaled to [−1, 1]³. Data on it must be moved alike.
func Place(m *mesh.Mesh) (placed *mesh.Mesh, centre [3]float64, scale float64) {
	lo, hi := m.Bounds()
	far, half := 0.0, 0.0
	for j := range 3 {
		far = max(far, math.Abs(lo[j]), math.Abs(hi[j]))
		half = max(half, (hi[j]-lo[j])/2)
	}
	if far <= 1.5 && half >= 0.5 {
		return m, centre, 1
	}
	for j := range centre {
		centre[j] = (lo[j] + hi[j]) / 2
	}
	return m.Scaled(centre, 1/half), centre, 1 / half
}
