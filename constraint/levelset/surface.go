package levelset

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/mesh"
)

// A Surface is a Set with a mesh near it, which gives it a uniform sampler: points
// uniform by area on the mesh, moved to Σ.
type Surface struct {
	*Set
	Mesh *mesh.Mesh

	sampler *mesh.Sampler
	far     float64 // Refine moves points by at most this
}

// NewSurface joins the level set of a network with a mesh near it. The error says
// that the mesh is not near: some point of it cannot be moved to Σ.
func NewSurface(n *Network, m *mesh.Mesh) (*Surface, error) {
	if n.In() != 3 {
		return nil, fmt.Errorf("the network takes %d coordinates; expected 3, as a mesh has", n.In())
	}
	set := New(n)
	s := &Surface{Set: set, Mesh: m, sampler: mesh.NewSampler(m, nil), far: m.Size() / 10}
	x, r := make([]float64, 3), newRefiner(set, s.far)
	for i := range uint64(probes) {
		s.sampler.Sample(x, keyed.SurfaceProbe.Stream(0, 0), i, 0)
		if at := [3]float64(x); !r.move(x) {
			return nil, fmt.Errorf("the mesh is not near the level set: Newton's method from its point %.3g does not get there; "+
				"expected the mesh that the network was fitted to, of the same size and place", at)
		}
	}
	return s, nil
}

const (
	probes = 50
	tries  = 1000 // at points that cannot be moved to Σ, before giving up
)

// Refine moves a point x (3 numbers) near the mesh to Σ, to |h| ≤ 1e-13 or, where
// round-off ends the descent there, 1e-12, by at most a tenth of the mesh's size. It
// reports whether it arrived; if not, x is what it was.
func (s *Surface) Refine(x []float64) bool { return newRefiner(s.Set, s.far).move(x) }

func (s *Surface) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.SampleUniform = s.SampleUniform
	return c
}

// SampleUniform is as in constraint.Capabilities.
func (s *Surface) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	r := newRefiner(s.Set, s.far)
	for try := range tries {
		s.sampler.Sample(dst, st, sample, try)
		if r.move(dst) {
			return
		}
	}
	panic(fmt.Sprintf("levelset: %d points of the mesh in turn cannot be moved to the level set", tries))
}

// Moves moves n points uniform by area on the mesh to Σ. It returns how far each
// that arrives is from its start, and how many do not arrive.
func (s *Surface) Moves(st keyed.Stream, n int) (moved []float64, lost int) {
	x, r := make([]float64, 3), newRefiner(s.Set, s.far)
	for i := range uint64(n) {
		s.sampler.Sample(x, st, i, 0)
		from := [3]float64(x)
		if !r.move(x) {
			lost++
			continue
		}
		moved = append(moved, math.Sqrt((x[0]-from[0])*(x[0]-from[0])+(x[1]-from[1])*(x[1]-from[1])+(x[2]-from[2])*(x[2]-from[2])))
	}
	return moved, lost
}

// A refiner moves points to a level set by Newton's method along the gradient,
// x ← x − h∇h/‖∇h‖². It is scratch for one goroutine.
type refiner struct {
	pass *Pass
	y    []float64 // the point on its way
	far2 float64
}

// newRefiner makes a refiner that moves points by at most far.
func newRefiner(s *Set, far float64) *refiner {
	return &refiner{s.packed.NewPass(1), make([]float64, s.Dim()), far * far}
}

// move moves one point to |h| ≤ 1e-13, or to 1e-12 where round-off ends the
// descent there, and reports whether it arrived; if not, x is what it was.
func (r *refiner) move(x []float64) bool {
	const steps, tolerance, roundoff = 30, 1e-13, 1e-12
	q, y := r.pass, r.y
	copy(y, x)
	last := math.Inf(1)
	for range steps {
		q.Value(y, 1)
		h := q.Out[0]
		size := math.Abs(h)
		if size <= tolerance || size <= roundoff && size >= last {
			copy(x, y)
			return true
		}
		last = size
		q.Gradient()
		gg, far := 0.0, 0.0
		for _, g := range q.Grad[:len(x)] {
			gg += g * g
		}
		for j, g := range q.Grad[:len(x)] {
			y[j] -= h / gg * g
			far += (y[j] - x[j]) * (y[j] - x[j])
		}
		if !(far <= r.far2) {
			return false
		}
	}
	return false
}
