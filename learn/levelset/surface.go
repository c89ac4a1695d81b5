package levelset

import (
	"fmt"
	"math"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/constraint/mesh"
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
		if at := [3]float64(x); !arrives(r, x) {
			return nil, fmt.Errorf("the mesh is not near the level set: Newton's method from its point %.3g does "+
				"not get there; expected the mesh that the network was fitted to, of the same size and place", at)
		}
	}
	return s, nil
}

const (
	probes = 50
	tries  = 1000 // at points that cannot be moved to Σ, before giving up
)

// Refine moves a point x (3 numbers) near the mesh to Σ, to |h| ≤ 1e-13 or, where round-off ends the descent there,
// 1e-12, by at most a tenth of the mesh's size. It reports whether it arrived; if not, x is what it was.
func (s *Surface) Refine(x []float64) bool { return arrives(newRefiner(s.Set, s.far), x) }

func (s *Surface) Capabilities() constraint.Capabilities {
	c := s.Set.Capabilities()
	c.SampleUniform = s.SampleUniform
	return c
}

func (s *Surface) SampleUniform(dst []float64, st keyed.Stream, sample uint64) {
	r := newRefiner(s.Set, s.far)
	for try := range tries {
		s.sampler.Sample(dst, st, sample, try)
		if arrives(r, dst) {
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
		if !arrives(r, x) {
			lost++
			continue
		}
		d := [3]float64{x[0] - from[0], x[1] - from[1], x[2] - from[2]}
		moved = append(moved, math.Sqrt(d[0]*d[0]+d[1]*d[1]+d[2]*d[2]))
	}
	return moved, lost
}

// newRefiner makes what moves points to a level set by Newton's method along the
// gradient, x ← x − h∇h/‖∇h‖², by at most far.
func newRefiner(s *Set, far float64) *geometry.Approach {
	return geometry.NewApproach(gradient{s.packed.NewPass(1)}, s.Dim(), geometry.ApproachOptions{Steps: 30, Reach: far})
}

// A gradient is the way to a level set from a point; ∇h is computed only where a step is taken.
type gradient struct{ *Pass }

func (g gradient) At(x []float64, n int) error {
	g.Value(x, n)
	return nil
}

func (g gradient) Values() []float64 { return g.Out[:1] }

func (g gradient) Landing(dst []float64) {
	g.Gradient()
	gg := 0.0
	for _, v := range g.Grad[:len(dst)] {
		gg += v * v
	}
	for j, v := range g.Grad[:len(dst)] {
		dst[j] = g.Out[0] / gg * v
	}
}

func arrives(a *geometry.Approach, x []float64) bool {
	_, ok := a.Run(x)
	return ok
}

// A MeshFault is a fault of a surface's mesh, seen by those who use the surface.
type MeshFault struct{ Fault mesh.Fault }

// String names the fault and what it does to uniform points and to counts of points on the mesh's faces.
func (f MeshFault) String() string {
	return f.Fault.Name() + "; " + [...]string{
		mesh.Hole: "uniform points are missing on Σ there, and points of Σ there count on the faces at the rim",
		mesh.NonManifold: "where faces are doubled or inside, uniform points are too many and counts are split " +
			"between faces",
		mesh.Flipped: "points beside an edge may count on the other of its two faces, in data and samples " +
			"alike, and pictures are shaded wrongly there",
		mesh.InsideOut: "points beside an edge count on the other of its two faces, in data and samples alike, " +
			"and pictures are shaded as from inside",
		mesh.Degenerate: "no uniform point starts on them, but points of neighbouring faces may count on them",
		mesh.Unused:     "they are passed over",
	}[f.Fault.Kind]
}

// Faults returns the faults of the surface's mesh, one of each kind at most. With
// any of them the surface works; the level set itself is that of the network.
func (s *Surface) Faults() []MeshFault {
	var out []MeshFault
	for _, f := range s.Mesh.Check() {
		out = append(out, MeshFault{f})
	}
	return out
}
