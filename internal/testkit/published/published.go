// Package published compares the points that were published for eigenfunctions of
// meshes with densities of eigenfunctions computed here, for a test and for a table
// of docs/benchmarks.md.
package published

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/mesh"
	"github.com/landing-diffusion/landing/mesh/spectrum"
	"github.com/landing-diffusion/landing/metric"
)

// Points are a file of published points, and the sign of its eigenfunction.
type Points struct {
	Mesh string
	K    int
	sign float64
}

// All are the published files.
var All = []Points{{"bunny", 50, 1}, {"bunny", 100, 1}, {"spot", 50, -1}, {"spot", 100, -1}}

// A Row is how far published points are from 20 000 of their eigenfunction, as a
// divergence on faces.
type Row struct {
	Points
	Distance float64
	Before   float64 // of the function before it
	Floor    float64 // of 50 000 others of its own; 0 if not asked for
}

// Compare compares the points on a mesh of the folder, cut so many times.
func Compare(ctx context.Context, folder, name string, levels int, floor bool) ([]Row, error) {
	m, err := mesh.Read(filepath.Join(folder, name+".ply"))
	if err != nil {
		return nil, err
	}
	c := comparison{tree: mesh.NewTree(m), cut: m}
	_, c.faces = m.N()
	for range levels {
		c.cut = c.cut.Subdivided()
	}
	functions, err := spectrum.New(c.cut).Lowest(ctx, 101, nil)
	if err != nil {
		return nil, err
	}
	var out []Row
	for _, p := range All {
		if p.Mesh != name {
			continue
		}
		data, err := arrayfile.ReadNPY(filepath.Join(folder, fmt.Sprintf("%s_eigfn%d.npy", name, p.K)))
		if err != nil {
			return nil, err
		}
		want, f, before := c.facesOf(data.AsFloat64()), functions[p.K].F, functions[p.K-1].F
		row := Row{Points: p, Distance: c.distance(f, p.sign, want)}
		if levels == 0 { // signs are those of cut meshes
			row.Distance = min(row.Distance, c.distance(f, -p.sign, want))
		}
		row.Before = min(c.distance(before, 1, want), c.distance(before, -1, want))
		if floor {
			row.Floor = c.distance(f, p.sign, c.drawn(f, p.sign, 50_000, 2))
		}
		out = append(out, row)
	}
	return out, nil
}

type comparison struct {
	tree  *mesh.Tree
	cut   *mesh.Mesh
	faces int
}

// distance is that of 20 000 points of the density of sign·f.
func (c *comparison) distance(f []float64, sign float64, want []float64) float64 {
	return metric.FaceJSD(c.drawn(f, sign, 20_000, 1), want, c.faces)
}

// facesOf returns the nearest faces of points.
func (c *comparison) facesOf(x []float64) []float64 {
	out := make([]float64, len(x)/3)
	metric.NearestFaces(out, x, c.tree)
	return out
}

// drawn returns the faces of n points of the density of sign·f on the cut mesh.
func (c *comparison) drawn(f []float64, sign float64, n int, seed uint64) []float64 {
	g := make([]float64, len(f))
	for v := range g {
		g[v] = sign * f[v]
	}
	d, x := spectrum.NewDensity(c.cut, g), make([]float64, 3*n)
	for i := range n {
		d.Sample(x[3*i:3*i+3], keyed.EigenfunctionData.Stream(seed, 0), uint64(i))
	}
	return c.facesOf(x)
}
