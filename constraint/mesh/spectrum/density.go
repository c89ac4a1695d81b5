package spectrum

import (
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
)

// A Density draws points on a mesh with density proportional to max(f, 0) by
// area, f linear on each face between values at the vertices.
type Density struct {
	mesh    *mesh.Mesh
	f       []float64
	sampler *mesh.Sampler
	most    []float64 // largest value of max(f, 0) on each face
}

// NewDensity takes the values of f at the vertices, one each, and keeps them. It
// panics unless some are positive at a face with an area.
func NewDensity(m *mesh.Mesh, f []float64) *Density {
	_, n := m.N()
	d := &Density{mesh: m, f: f, most: make([]float64, n)}
	weight, sum := make([]float64, n), 0.0
	for i := range n {
		for _, v := range m.Faces[3*i : 3*i+3] {
			d.most[i] = max(d.most[i], f[v])
		}
		weight[i] = d.most[i] * m.FaceArea(i)
		sum += weight[i]
	}
	if !(sum > 0) {
		panic("spectrum: a density of a function that is nowhere positive")
	}
	d.sampler = mesh.NewSampler(m, weight)
	return d
}

// Sample writes the point of (s, sample) to dst, 3 numbers, by rejection: faces in
// proportion to their area times the largest value there.
func (d *Density) Sample(dst []float64, s keyed.Stream, sample uint64) {
	var u [4]float64 // the first three are those of the mesh's sampler
	for step := 0; ; step++ {
		face, bary := d.sampler.Sample(dst, s, sample, step)
		s.Uniforms(u[:], sample, step)
		value := 0.0
		for k, v := range d.mesh.Faces[3*face : 3*face+3] {
			value += bary[k] * d.f[v]
		}
		if u[3]*d.most[face] < value {
			return
		}
	}
}
