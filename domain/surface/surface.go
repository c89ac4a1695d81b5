// Package surface is the domain of points on the level set of a network with a mesh:
// they are counted on the nearest faces.
package surface

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/levelset"
)

// Kind is data.kind points on a level set with a mesh.
var Kind = domain.Kind{Name: "surface", Data: "points", Fits: fits, Read: dataset.ReadPoints,
	ReadGiven: dataset.ReadPointsGiven, New: New}

// published is the number of samples that distances on meshes are published with.
const published = 20_000

func fits(set constraint.Set) bool { return surface(set) != nil }

func surface(set constraint.Set) *levelset.Surface {
	if s, ok := constraint.As[*levelset.Surface](set); ok && s.Dim() == set.Dim() { // no factor of a product
		return s
	}
	return nil
}

// New makes the domain. It has no observables: a place on a surface has no number that
// says more than its face, and the problem can observe formulas of its coordinates.
func New(in domain.Input) (*domain.Domain, error) {
	s := surface(in.Set)
	tree := mesh.NewTree(s.Mesh)
	_, faces := s.Mesh.N()
	d := &domain.Domain{
		Samples: published,
		Distance: &domain.Distance{
			Name: "Jensen–Shannon divergence", Dim: 1,
			Note: fmt.Sprintf("Counts on the nearest of %s faces; the divergence itself, not its root, natural "+
				"logarithm.", text.Count(faces)),
			Marks: func(x []float64) []float64 {
				m := make([]float64, len(x)/3)
				domain.EachBlock(in.Pool, len(m),
					func(lo, hi int) { metric.NearestFaces(m[lo:hi], x[3*lo:3*hi], tree) })
				return m
			},
			Compare: func(a, b []float64) []float64 { return []float64{metric.FaceJSD(a, b, faces)} },
		},
		Draw: func(c domain.Canvas, v domain.View) { draw(c, s.Mesh, v.Reference.Full, v.Marks) },
	}
	d.Scene = func(c domain.Canvas, v domain.View) {
		if _, faces := s.Mesh.N(); faces <= figure.SurfaceFaces && len(v.Data) > 0 {
			c.Scene(&figure.SurfaceView{Title: "On the surface", Caption: "Its colour is the density of the data.",
				Mesh: s.Mesh, Layers: []figure.SurfaceLayer{{Name: "data",
					Values: density(s.Mesh, d.Distance.Marks(v.Data))}}})
		}
	}
	for _, f := range s.Faults() {
		d.Faults = append(d.Faults, fmt.Sprintf("%s: %v", in.Files["set.mesh"], f))
	}
	return d, nil
}

// draw shows the densities of points, given by their faces. Pages would be slow with all faces of a fine mesh.
func draw(c domain.Canvas, m *mesh.Mesh, data, samples []float64) {
	layers := []figure.SurfaceLayer{
		{Name: "data, " + text.Count(len(data)), Values: density(m, data)},
		{Name: "samples, " + text.Count(len(samples)), Values: density(m, samples)},
	}
	const caption = "Points by area, as counted on the nearest faces and smoothed over neighbours; one scale for both."
	pic := figure.Surface(m, layers)
	if _, faces := m.N(); faces > figure.SurfaceFaces {
		c.PNG("surface", pic)
		c.Note(fmt.Sprintf("The mesh has %s faces, above the %s that a page draws one by one: data and samples on it "+
			"are in figures/surface.png, and not on this page.", text.Count(faces), text.Count(figure.SurfaceFaces)))
		return
	}
	c.Add("surface", figure.FigureRef{Title: "Data and samples", Caption: caption + " Seen from two sides.",
		Wide: true}, pic)
	c.Scene(&figure.SurfaceView{Title: "On the surface", Caption: caption, Mesh: m, Layers: layers})
}

// density turns the faces of points into a density at the mesh's vertices that does not depend on their number.
func density(m *mesh.Mesh, faces []float64) []float64 {
	count := make([]float64, len(m.Faces)/3)
	for _, f := range faces {
		if f == f { // NaN: a point that is near no face
			count[int(f)] += 1 / float64(len(faces))
		}
	}
	return m.Density(count)
}
