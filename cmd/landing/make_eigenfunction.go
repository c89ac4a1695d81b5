package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/mesh/spectrum"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/learn/levelset"
)

// eigenStory is what make eigenfunction prints.
type eigenStory struct {
	File       string  `json:"file"`
	Points     int     `json:"points"`
	Lost       int     `json:"lost"`
	Eigenvalue float64 `json:"eigenvalue"`
	Subdivided int     `json:"subdivided"` // times
	Vertices   int     `json:"vertices"`
}

// eigenOptions are the flags of make eigenfunction.
type eigenOptions struct {
	dataset.Eigenfunction
	out, weights string
	levels       int
	force        bool
	given        func(flag string) bool
}

func (o *eigenOptions) flags(f *pflag.FlagSet) {
	o.given = f.Changed
	f.StringVarP(&o.out, "output", "o", "points.npy", "file to write")
	f.StringVar(&o.weights, "weights", "", "network of the level set to move the points to")
	f.IntVar(&o.K, "k", 100, "number of the eigenfunction")
	f.IntVar(&o.levels, "subdivide", 0, "how often each face is cut in four first (default: 2, or less where more "+
		"than 50 000 vertices would come of it)")
	f.IntVarP(&o.Count, "number", "n", 50_000, "number of points")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of all random numbers")
	f.BoolVar(&o.Negative, "negative", false, "the density of −f")
	f.BoolVar(&o.force, "force", false, "write over the file if it exists")
}

func (o *eigenOptions) check() error {
	if o.K < 1 || o.Count < 1 || o.Count > maxNumbers/3 {
		return &usageError{fmt.Errorf("--k %d -n %d; expected an eigenfunction from 1 on and 1 to %d points", o.K,
			o.Count, maxNumbers/3)}
	}
	return output(o.out, ".npy", o.force)
}

func makeEigenfunctionVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "eigenfunction MESH",
		Short: "Draw points with the density of an eigenfunction on a mesh",
		Long: `eigenfunction draws points on a mesh with density proportional to max(f, 0) by area, and writes them
to an NPY file (n×3). f is the k-th eigenfunction of the mesh's Laplace–Beltrami operator (the constant
is number 0). With --weights the points are moved to the level set of that network, for a problem file
with the same weights and mesh. The sign of f is that in which its value of largest size is positive;
--negative takes the other one.

Each face is cut in four --subdivide times before f is computed. This leaves the surface as it is and
brings f nearer to the surface's own: on a mesh with few vertices for each change of sign, f is a
mixture with its neighbours.`,
		Example: "  landing make eigenfunction bunny.ply --k 100 --weights bunny_sdf.npz -o bunny100.npy",
		Args:    args(1, "a mesh"),
	}, new(eigenOptions), runMakeEigenfunction)
}

func runMakeEigenfunction(ctx context.Context, a *app, o *eigenOptions, args []string) (answer, error) {
	if err := o.check(); err != nil {
		return answer{}, err
	}
	m, err := readMesh(&a.out, args[0], nil)
	if err != nil {
		return answer{}, err
	}
	s := eigenStory{File: o.out, Points: o.Count}
	if o.Mesh, s.Subdivided, err = cut(m, o.levels, o.given("subdivide")); err != nil {
		return answer{}, err
	}
	times := plural(s.Subdivided, "time")
	if s.Vertices, _ = o.Mesh.N(); o.K >= s.Vertices {
		return answer{}, &usageError{fmt.Errorf("--k is %d; the mesh, cut %s, has %d vertices and as many "+
			"eigenfunctions, from number 0", o.K, times, s.Vertices)}
	}
	if o.weights != "" {
		net, err := levelset.ReadNetwork(o.weights)
		if err != nil {
			return answer{}, err
		}
		if o.Surface, err = levelset.NewSurface(net, m); err != nil {
			return answer{}, fault.Errorf(fault.Data, o.weights, "%v", err)
		}
	}
	bar := a.out.progress()
	points, err := o.Generate(ctx, func(size int) {
		bar.update(false, func() string { return fmt.Sprintf("eigenfunctions: %d directions", size) })
	})
	bar.done()
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", args[0], err)
	}
	s.Lost, s.Eigenvalue = points.Lost, points.Lambda
	if _, err := saveNPY(o.out, []int{o.Count, 3}, points.X, o.force); err != nil {
		return answer{}, err
	}
	return answer{s, func(w io.Writer) {
		fmt.Fprintf(w, "%s in %s; eigenvalue %d is %.4g, of the mesh cut %s (%d vertices)\n", plural(o.Count, "point"),
			o.out, o.K, s.Eigenvalue, times, s.Vertices)
		if s.Lost > 0 {
			fmt.Fprintf(w, "%s could not be moved to the level set and were drawn again\n", plural(s.Lost, "point"))
		}
	}}, nil
}

// cut returns the mesh with each face cut in four, as often as was asked or, if it
// was not, as spectrum.Levels says, and how often that is.
func cut(m *mesh.Mesh, levels int, asked bool) (*mesh.Mesh, int, error) {
	if !asked {
		levels = spectrum.Levels(m)
	}
	if levels < 0 {
		return nil, 0, &usageError{fmt.Errorf("--subdivide is %d; expected 0 or more", levels)}
	}
	fine, err := spectrum.Cut(m, levels)
	if err != nil {
		return nil, 0, &usageError{fmt.Errorf("--subdivide is %d: %w", levels, err)}
	}
	return fine, levels, nil
}
