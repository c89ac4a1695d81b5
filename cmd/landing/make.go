package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/constraint/mesh/spectrum"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/levelset/fit"
)

// makeVerb is the parent of the verbs that make data sets and feasible sets.
func makeVerb(a *app) *cobra.Command {
	return parent("make", "Make data sets and feasible sets", "  landing make so --modes 3 -o so10-3.npy",
		makeSOVerb(a), makeAlanineVerb(a), makeArmVerb(a), makeGridVerb(a), makeLevelSetVerb(a),
		makeEigenfunctionVerb(a))
}

// soStory is what make so prints.
type soStory struct {
	File  string  `json:"file"`
	N     int     `json:"n"`
	Modes int     `json:"modes"`
	SD    float64 `json:"sd"`
	Count int     `json:"count"`
	Seed  uint64  `json:"seed"`
	Sizes []int   `json:"mode_sizes"`
}

// soOptions are the flags of make so.
type soOptions struct {
	dataset.RotationMixture
	outFile
}

func (o *soOptions) flags(f *pflag.FlagSet) {
	f.IntVar(&o.N, "size", 10, "rows of a matrix")
	f.IntVar(&o.Modes, "modes", 3, "modes, with centres by Haar measure")
	f.Float64Var(&o.SD, "sd", 0.1, "standard deviation of the entries above the diagonal of A in C exp(A)")
	f.IntVarP(&o.Count, "number", "n", 10_000, "number of matrices")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of all random numbers")
	o.outFile.flags(f, "", "file to write (default soSIZE-MODES.npy)")
}

func (o *soOptions) check(func(flag string) bool, []string) error {
	o.path = cmp.Or(o.path, fmt.Sprintf("so%d-%d.npy", o.N, o.Modes))
	err := bounds(positive("size", o.N), positive("modes", o.Modes), positive("sd", o.SD), positive("number", o.Count))
	if err == nil { // zero stands for a default in the library
		_, err = o.ready(".npy")
	}
	return err
}

func makeSOVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "so",
		Short: "Make rotation matrices in modes: the paper's SO(10) data",
		Long: `so draws rotation matrices from a mixture, in equal parts, of wrapped normal laws around random
centres of SO(n), and writes them to an NPY file (matrices × n × n). The recipes so10-3 and so10-5
train on such files.`,
		Example: "  landing make so --modes 3 -o so10-3.npy\n  landing train so10-3 --data so10-3.npy",
	}, new(soOptions), runMakeSO)
}

func runMakeSO(ctx context.Context, _ *app, o *soOptions, _ []string) (answer, error) {
	p, modes, err := o.Generate(ctx)
	if e := new(dataset.Error); errors.As(err, &e) {
		flag := map[string]string{"n": "size", "count": "number"}[e.Column]
		return answer{}, usage("%s is %s; expected %s", dashed(cmp.Or(flag, e.Column)), e.Value, e.Want)
	}
	if err != nil {
		return answer{}, err
	}
	_, err = o.saveNPY(p.X, p.N, o.N, o.N)
	s := soStory{o.path, o.N, o.Modes, o.SD, o.Count, o.Seed, make([]int, o.Modes)}
	for _, j := range modes {
		s.Sizes[j]++
	}
	return answer{s, func(w io.Writer) {
		fmt.Fprintf(w, "%d matrices of SO(%d) in %d modes %v, written to %s\n", p.N, s.N, s.Modes, s.Sizes, o.path)
	}}.unless(err)
}

// readMesh reads a mesh and says what is wrong with it. The first fault that refused holds for is returned as the error
// instead.
func readMesh(out *console, path string, refused func(mesh.Fault) bool) (*mesh.Mesh, error) {
	m, err := mesh.Read(path)
	if err != nil {
		return nil, err
	}
	if m.Merged > 0 {
		out.say("%s: %s", path, m.MergedNote())
	}
	for _, f := range m.Check() {
		if !refused(f) {
			out.say("warning: %s: %v", path, f)
		} else if err == nil {
			err = fmt.Errorf("%s: %w", path, f)
		}
	}
	return m, err
}

// meshStory is what make level-set prints.
type meshStory struct {
	Weights string      `json:"weights"`
	Mesh    string      `json:"mesh"`
	Centre  [3]float64  `json:"centre"` // of where the mesh was: it is moved there
	Scale   float64     `json:"scale"`
	Seconds float64     `json:"seconds"`
	Report  *fit.Report `json:"report"`
}

// print says how well a level set matches its mesh.
func (s meshStory) print(w io.Writer) {
	fmt.Fprintf(w, "network %s, mesh %s (%.0f s)\n", s.Weights, s.Mesh, s.Seconds)
	r := s.Report
	fmt.Fprintf(w, "distance from the mesh\tmean %.2g of its size, 99 %% %.2g, worst %.2g\n", r.Residual.Mean,
		r.Residual.Q99, r.Residual.Max)
	fmt.Fprintf(w, "|∇h| near the mesh\tfrom %.2f to %.2f, mean %.3f\n", r.Slope.Min, r.Slope.Max, r.Slope.Mean)
	fmt.Fprintf(w, "normals\toff by %.1f° on average, 99 %% %.0f°\n", r.Angle.Mean, r.Angle.Q99)
	fmt.Fprintf(w, "parts\t%d inside (the mesh has %d), %d outside (%d), on a grid of %.2g of the size\n", r.Inside,
		r.Parts-r.Cavities, r.Outside, 1+r.Cavities, r.Cell)
}

// levelSetOptions are the flags of make level-set.
type levelSetOptions struct {
	fit.Options
	outFile
}

func (o *levelSetOptions) flags(f *pflag.FlagSet) {
	o.Options = fit.Defaults()
	o.outFile.flags(f, "surface.npz", "network to write; a mesh that was moved goes beside it")
	f.IntVar(&o.Steps, "steps", o.Steps, "steps of the fit")
	f.IntVar(&o.Batch, "batch", o.Batch, "points a step")
	f.IntVar(&o.Width, "width", o.Width, "width of the hidden layers")
	f.IntVar(&o.Layers, "layers", o.Layers, "hidden layers")
	f.Float64Var(&o.Rate, "rate", o.Rate, "first learning rate")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the points and the first weights")
}

func (o *levelSetOptions) check(func(flag string) bool, []string) error {
	if err := o.Options.Check(); err != nil {
		return usage("--%w", err)
	}
	_, err := o.ready(".npz")
	return err
}

func makeLevelSetVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "level-set MESH",
		Short: "Fit a network whose zero level set is a closed mesh",
		Long: `level-set fits the network h of a set {x : h(x) = 0} to a closed mesh (PLY, OBJ or STL) with faces of one
orientation. It reports how well they match. A mesh outside of [−1.5, 1.5]³, or much smaller, is first moved
and scaled to [−1, 1]³ and written beside the network, as PLY. Use both in a problem file:
set: {kind: level-set, weights: NAME.npz, mesh: NAME.ply}.`,
		Example: "  landing make level-set bunny.obj -o bunny.npz",
	}, new(levelSetOptions), runMakeLevelSet)
}

func runMakeLevelSet(ctx context.Context, a *app, o *levelSetOptions, args []string) (answer, error) {
	given, err := readMesh(&a.out, args[0], fit.Refuses)
	if err != nil {
		return answer{}, err
	}
	s, moved := meshStory{Weights: o.path, Mesh: args[0]}, o.beside(".ply")
	m, centre, scale := fit.Place(given)
	if s.Centre, s.Scale = centre, scale; m != given {
		s.Mesh = moved.path
		i, missing := os.Stat(moved.path)
		if j, err := os.Stat(args[0]); err == nil && missing == nil && os.SameFile(i, j) { // links followed
			return answer{}, badFlag("output", o.path, fmt.Sprintf("another name, since the mesh in its new place "+
				"would go to %s, over the one given", moved.path))
		}
		if _, err := moved.ready(".ply"); err != nil {
			return answer{}, err
		}
		a.out.say("the mesh is moved by −(%.4g, %.4g, %.4g) and scaled by %.4g; data must be too", centre[0], centre[1],
			centre[2], scale)
	}
	start, bar := time.Now(), a.out.progress()
	n, err := fit.Fit(ctx, m, o.Options, a.workersPool(), func(p fit.Step) {
		bar.count(p.Step, o.Steps, func() string {
			left := time.Since(start).Seconds() / float64(p.Step) * float64(o.Steps-p.Step)
			return fmt.Sprintf("step %d/%d  h on the surface %.1e  normals off by %.2f  slope off by %.2f  %s left",
				p.Step, o.Steps, p.Value, p.Normal, p.Eikonal, text.Clock(left))
		})
	})
	bar.done()
	if err != nil {
		return answer{}, err
	}
	s.Seconds = time.Since(start).Seconds()
	s.Report = fit.Examine(n, m, a.workersPool())
	if m != given {
		if _, err := moved.save(m.WritePLY); err != nil {
			return answer{}, err
		}
	}
	if _, err := o.save(n.Write); err != nil {
		return answer{}, err
	}
	for _, fault := range s.Report.Faults() {
		a.out.say("warning: %s: %s", o.path, fault)
	}
	return answer{s, s.print}, nil
}

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
	outFile
	weights string
	levels  int
}

func (o *eigenOptions) flags(f *pflag.FlagSet) {
	o.outFile.flags(f, "points.npy", "file to write")
	f.StringVar(&o.weights, "weights", "", "network of the level set to move the points to")
	f.IntVar(&o.K, "k", 100, "number of the eigenfunction")
	f.IntVar(&o.levels, "subdivide", -1, "how often each face is cut in four first (−1: 2, or less where more than "+
		"50 000 vertices would come of it)")
	f.IntVarP(&o.Count, "number", "n", 50_000, "number of points")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of all random numbers")
	f.BoolVar(&o.Negative, "negative", false, "the density of −f")
}

func (o *eigenOptions) check(func(flag string) bool, []string) error {
	if o.K < 1 || o.Count < 1 || o.Count > maxNumbers/3 || o.levels < -1 {
		return usage("--k %d -n %d --subdivide %d; expected an eigenfunction from 1 on, 1 to %d points, and 0 or more "+
			"times", o.K, o.Count, o.levels, maxNumbers/3)
	}
	_, err := o.ready(".npy")
	return err
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
brings f nearer to the eigenfunction of the surface. On a mesh with few vertices for each change of sign, f
mixes with its neighbours.`,
		Example: "  landing make eigenfunction bunny.ply --k 100 --weights bunny_sdf.npz -o bunny100.npy",
	}, new(eigenOptions), runMakeEigenfunction)
}

func runMakeEigenfunction(ctx context.Context, a *app, o *eigenOptions, args []string) (answer, error) {
	m, err := readMesh(&a.out, args[0], func(mesh.Fault) bool { return false })
	if err != nil {
		return answer{}, err
	}
	s := eigenStory{File: o.path, Points: o.Count, Subdivided: o.levels}
	if o.levels < 0 {
		s.Subdivided = spectrum.Levels(m)
	}
	if o.Mesh, err = spectrum.Cut(m, s.Subdivided); err != nil {
		return answer{}, usage("--subdivide is %d: %w", s.Subdivided, err)
	}
	times := plural(s.Subdivided, "time")
	if s.Vertices, _ = o.Mesh.N(); o.K >= s.Vertices {
		return answer{}, usage("--k is %d; the mesh, cut %s, has %d vertices and as many eigenfunctions, from number 0",
			o.K, times, s.Vertices)
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
	_, err = o.saveNPY(points.X, o.Count, 3)
	return answer{s, func(w io.Writer) {
		fmt.Fprintf(w, "%s in %s; eigenvalue %d is %.4g, of the mesh cut %s (%d vertices)\n", plural(o.Count, "point"),
			o.path, o.K, s.Eigenvalue, times, s.Vertices)
		if s.Lost > 0 {
			fmt.Fprintf(w, "%s could not be moved to the level set and were drawn again\n", plural(s.Lost, "point"))
		}
	}}.unless(err)
}
