package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/constraint/levelset"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/mesh"
	"github.com/landing-diffusion/landing/mesh/spectrum"
	"github.com/landing-diffusion/landing/run"
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

func (a *app) makeEigenfunction() *cobra.Command {
	var out, weights string
	var k, n, levels int
	var seed uint64
	var negative, force bool
	cmd := &cobra.Command{
		Use:   "eigenfunction MESH",
		Short: "Draw points with the density of an eigenfunction on a mesh",
		Long: `eigenfunction draws points on a mesh with density proportional to max(f, 0) by
area, f being the k-th eigenfunction of its Laplace–Beltrami operator (the constant
is number 0), and writes them to an NPY file (n×3). With --weights they are moved to
the level set of that network, for a problem file with the same weights and mesh.
The sign of f is that in which its value of largest size is positive; --negative
takes the other one.

Each face is cut in four --subdivide times before f is computed, which leaves the
surface as it is and f nearer to the surface's own: on a mesh with few vertices for
each change of sign, f is a mixture with its neighbours.`,
		Example: "  landing make eigenfunction bunny.ply --k 100 --weights bunny_sdf.npz -o bunny100.npy",
		Args:    args(1, "a mesh"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if k < 1 || n < 1 || n > maxNumbers/3 {
				return &usageError{fmt.Errorf("--k %d -n %d; expected an eigenfunction from 1 on and 1 to %d points",
					k, n,
					maxNumbers/3)}
			}
			if err := output(out, ".npy", force); err != nil {
				return err
			}
			m, err := a.readMesh(args[0], nil)
			if err != nil {
				return err
			}
			e := dataset.Eigenfunction{K: k, Negative: negative, Count: n, Seed: seed}
			if e.Mesh, levels, err = cut(m, levels, cmd.Flags().Changed("subdivide")); err != nil {
				return err
			}
			vertices, _ := e.Mesh.N()
			if k >= vertices {
				return &usageError{fmt.Errorf("--k is %d; the mesh, cut %s, has %d vertices and as many "+
					"eigenfunctions, from number 0", k, plural(levels, "time"), vertices)}
			}
			if weights != "" {
				net, err := levelset.ReadNetwork(weights)
				if err != nil {
					return err
				}
				if e.Surface, err = levelset.NewSurface(net, m); err != nil {
					return &experiment.DataError{Path: weights, Problem: err.Error()}
				}
			}
			bar := a.progress()
			points, err := e.Generate(cmd.Context(), func(size int) {
				bar.update(false, func() string { return fmt.Sprintf("eigenfunctions: %d directions", size) })
			})
			bar.done()
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			var b bytes.Buffer
			if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{n, 3}, Float64: points.X}); err != nil {
				return err
			}
			if err := run.WriteFile(out, b.Bytes(), force); err != nil {
				return err
			}
			return a.result(eigenStory{out, n, points.Lost, points.Lambda, levels, vertices}, func(w io.Writer) {
				fmt.Fprintf(w, "%s in %s; eigenvalue %d is %.4g, of the mesh cut %s (%d vertices)\n",
					plural(n, "point"), out, k,
					points.Lambda, plural(levels, "time"), vertices)
				if points.Lost > 0 {
					fmt.Fprintf(w, "%s could not be moved to the level set and were drawn again\n",
						plural(points.Lost, "point"))
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "points.npy", "file to write")
	f.StringVar(&weights, "weights", "", "network of the level set to move the points to")
	f.IntVar(&k, "k", 100, "number of the eigenfunction")
	f.IntVar(&levels, "subdivide", 0, "how often each face is cut in four first (default: 2, or less where more than "+
		"50 000 vertices would come of it)")
	f.IntVarP(&n, "number", "n", 50_000, "number of points")
	f.Uint64Var(&seed, "seed", 1, "seed")
	f.BoolVar(&negative, "negative", false, "the density of −f")
	f.BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
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
