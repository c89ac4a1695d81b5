package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/arrayfile"
	"github.com/landing-diffusion/landing/constraint/levelset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/keyed"
	"github.com/landing-diffusion/landing/mesh"
	"github.com/landing-diffusion/landing/mesh/spectrum"
	"github.com/landing-diffusion/landing/run"
)

// maxFaces bounds a mesh that is cut on request.
const maxFaces = 4_000_000

func (a *app) dataEigenfunction() *cobra.Command {
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
		Example: "  landing data eigenfunction bunny.ply --k 100 --weights bunny_sdf.npz -o bunny100.npy",
		Args:    args(1, "a mesh"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if k < 1 || n < 1 || n > maxNumbers/3 {
				return &usageError{fmt.Errorf("--k %d -n %d; expected an eigenfunction from 1 on and 1 to %d points", k, n, maxNumbers/3)}
			}
			if err := output(out, ".npy", force); err != nil {
				return err
			}
			m, err := a.readMesh(args[0], nil)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("subdivide") {
				levels = spectrum.Levels(m)
			}
			fine, err := cutMesh(m, levels)
			if err != nil {
				return err
			}
			vertices, _ := fine.N()
			if k >= vertices {
				return &usageError{fmt.Errorf("--k is %d; the mesh, cut %s, has %d vertices and as many eigenfunctions, from number 0", k, plural(levels, "time"), vertices)}
			}
			var refiner *levelset.Refiner
			if weights != "" {
				net, err := levelset.ReadNetwork(weights)
				if err != nil {
					return err
				}
				if _, err := levelset.NewSurface(net, m); err != nil {
					return &experiment.DataError{Path: weights, Problem: err.Error()}
				}
				refiner = levelset.NewRefiner(levelset.New(net), m.Size()/10)
			}
			bar := a.progress()
			functions, err := spectrum.New(fine).Lowest(cmd.Context(), k+1, func(size int) {
				bar.update(false, func() string { return fmt.Sprintf("eigenfunctions: %d directions", size) })
			})
			bar.done()
			if err != nil {
				return err
			}
			f := functions[k]
			if negative {
				for v := range f.F {
					f.F[v] = -f.F[v]
				}
			}
			density, stream := spectrum.NewDensity(fine, f.F), keyed.New(seed, keyed.SurfaceData, uint64(k))
			x, lost, y := make([]float64, 0, 3*n), 0, make([]float64, 3)
			for i := uint64(0); len(x) < 3*n; i++ {
				density.Sample(y, stream, i)
				if refiner != nil && !refiner.Refine(y) {
					if lost++; lost > n/10+100 {
						return &experiment.DataError{Path: weights, Problem: fmt.Sprintf("%d of %d points of %s could not be moved to its level set; expected the mesh that it was fitted to", lost, i+1, args[0])}
					}
					continue
				}
				x = append(x, y...)
			}
			var b bytes.Buffer
			if err := arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{n, 3}, Float64: x}); err != nil {
				return err
			}
			if err := run.WriteFile(out, b.Bytes(), force); err != nil {
				return err
			}
			return a.result(map[string]any{"file": out, "points": n, "lost": lost, "eigenvalue": f.Lambda, "subdivided": levels, "vertices": vertices}, func(w io.Writer) {
				fmt.Fprintf(w, "%s in %s; eigenvalue %d is %.4g, of the mesh cut %s (%d vertices)\n", plural(n, "point"), out, k, f.Lambda, plural(levels, "time"), vertices)
				if lost > 0 {
					fmt.Fprintf(w, "%s could not be moved to the level set and were drawn again\n", plural(lost, "point"))
				}
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "points.npy", "file to write")
	f.StringVar(&weights, "weights", "", "network of the level set to move the points to")
	f.IntVar(&k, "k", 100, "number of the eigenfunction")
	f.IntVar(&levels, "subdivide", 0, "how often each face is cut in four first (default: 2, or less where more than 50 000 vertices would come of it)")
	f.IntVarP(&n, "number", "n", 50_000, "number of points")
	f.Uint64Var(&seed, "seed", 1, "seed")
	f.BoolVar(&negative, "negative", false, "the density of −f")
	f.BoolVar(&force, "force", false, "write over the file if it exists")
	return cmd
}

// cutMesh returns the mesh with each face cut in four so many times.
func cutMesh(m *mesh.Mesh, levels int) (*mesh.Mesh, error) {
	_, faces := m.N()
	for l := range max(levels, 0) {
		if faces *= 4; faces > maxFaces {
			return nil, &usageError{fmt.Errorf("--subdivide is %d; cut %d times the mesh has %d faces, expected at most %d", levels, l+1, faces, maxFaces)}
		}
	}
	if levels < 0 {
		return nil, &usageError{fmt.Errorf("--subdivide is %d; expected 0 or more", levels)}
	}
	for range levels {
		m = m.Subdivided()
	}
	return m, nil
}
