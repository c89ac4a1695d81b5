package dataset

import (
	"cmp"
	"context"
	"fmt"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/mesh/spectrum"
	"github.com/landing-diffusion/landing/learn/levelset"
)

// Eigenfunction describes the data of the paper's experiments on surfaces: points of
// a mesh with density proportional to max(f, 0) by area, f being its K-th
// eigenfunction, moved to a level set near it. Zero values stand for the defaults.
type Eigenfunction struct {
	Mesh     *mesh.Mesh // f is computed on it: cut a coarse one first (spectrum.Cut, spectrum.Levels)
	K        int        // number of f, from 1; the constant is number 0. Default 100
	Negative bool       // the density of −f; the entry of f of largest size is positive
	Surface  *levelset.Surface
	Count    int // points; default 50 000
	Seed     uint64
}

const (
	maxEigenfunctionPoints = 300_000_000 / 3
	lostPoints             = 100 // that Surface does not take, besides a tenth of all
)

// An EigenfunctionSample is what Eigenfunction generates.
type EigenfunctionSample struct {
	*Points
	Lambda float64 // the eigenvalue
	Lost   int     // points that could not be moved to the surface, and were drawn again
}

// Generate draws the points. It calls tick, which may be nil, with the dimension of the space in which it searches for
// f. The error is the context's, of kind fault.Config, or an *Error that names a field: the surface if more than a
// tenth of the points cannot be moved to it.
func (e Eigenfunction) Generate(ctx context.Context, tick func(size int)) (*EigenfunctionSample, error) {
	e.K, e.Count = cmp.Or(e.K, 100), cmp.Or(e.Count, 50_000)
	bad := func(field string, value any, want string) error {
		return &Error{File: "eigenfunction", Column: field, Value: fmt.Sprint(value), Want: want}
	}
	vertices, _ := e.Mesh.N()
	switch {
	case e.K < 1 || e.K >= vertices:
		return nil, bad("k", e.K, fmt.Sprintf("1 to %d, as the mesh has %d vertices", vertices-1, vertices))
	case e.Count < 1 || e.Count > maxEigenfunctionPoints:
		return nil, bad("count", e.Count, fmt.Sprintf("1 to %d points", maxEigenfunctionPoints))
	}
	functions, err := spectrum.New(e.Mesh).Lowest(ctx, e.K+1, tick)
	if err != nil {
		return nil, err
	}
	f := functions[e.K]
	if e.Negative {
		for v := range f.F {
			f.F[v] = -f.F[v]
		}
	}
	density, stream := spectrum.NewDensity(e.Mesh, f.F), keyed.EigenfunctionData.Stream(e.Seed, uint64(e.K))
	p := &Points{Name: fmt.Sprintf("eigenfunction%d", e.K), N: e.Count, D: 3, X: make([]float64, 0, 3*e.Count)}
	out, y := &EigenfunctionSample{Points: p, Lambda: f.Lambda}, make([]float64, 3)
	for i := uint64(0); len(p.X) < 3*e.Count; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		density.Sample(y, stream, i)
		if e.Surface != nil && !e.Surface.Refine(y) {
			if out.Lost++; out.Lost > e.Count/10+lostPoints {
				return nil, bad("surface", fmt.Sprintf("not near the mesh (%d of %d points could not be moved to it)",
					out.Lost, i+1), "the level set fitted to the mesh")
			}
			continue
		}
		p.X = append(p.X, y...)
	}
	return out, nil
}
