package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/learn/levelset/fit"
)

// meshStory is what make level-set prints.
type meshStory struct {
	Weights string      `json:"weights"`
	Mesh    string      `json:"mesh"`
	Centre  [3]float64  `json:"centre"` // of where the mesh was: it is moved there
	Scale   float64     `json:"scale"`
	Seconds float64     `json:"seconds"`
	Report  *fit.Report `json:"report"`
}

// readMesh reads a mesh and says what is wrong with it. The first fault that refused holds for is returned as the error
// instead; refused may be nil.
func readMesh(out *console, path string, refused func(mesh.Fault) bool) (*mesh.Mesh, error) {
	m, err := mesh.Read(path)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Check() {
		if refused == nil || !refused(f) {
			out.say("warning: %s: %v", path, f)
		} else if err == nil {
			err = fmt.Errorf("%s: %w", path, f)
		}
	}
	return m, err
}

// same reports whether two paths lead to one file that is there, links followed.
func same(a, b string) bool {
	i, err := os.Stat(a)
	if err != nil {
		return false
	}
	j, err := os.Stat(b)
	return err == nil && os.SameFile(i, j)
}

// print says how well a level set matches its mesh.
func (s meshStory) print(w io.Writer) {
	fmt.Fprintf(w, "network %s, mesh %s (%.0f s)\n", s.Weights, s.Mesh, s.Seconds)
	r, t := s.Report, tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "distance from the mesh\tmean %.2g of its size, 99 %% %.2g, worst %.2g\n", r.Residual.Mean,
		r.Residual.Q99, r.Residual.Max)
	fmt.Fprintf(t, "|∇h| near the mesh\tfrom %.2f to %.2f, mean %.3f\n", r.Slope.Min, r.Slope.Max, r.Slope.Mean)
	fmt.Fprintf(t, "normals\toff by %.1f° on average, 99 %% %.0f°\n", r.Angle.Mean, r.Angle.Q99)
	fmt.Fprintf(t, "parts\t%d inside (the mesh has %d), %d outside (%d), on a grid of %.2g of the size\n", r.Inside,
		r.Parts-r.Cavities, r.Outside, 1+r.Cavities, r.Cell)
	t.Flush()
}

// levelSetOptions are the flags of make level-set.
type levelSetOptions struct {
	fit.Options
	out   string
	force bool
}

func (o *levelSetOptions) flags(f *pflag.FlagSet) {
	o.Options = fit.Defaults()
	f.StringVarP(&o.out, "output", "o", "surface.npz", "network to write; a mesh that was moved goes beside it")
	f.IntVar(&o.Steps, "steps", o.Steps, "steps of the fit")
	f.IntVar(&o.Batch, "batch", o.Batch, "points a step")
	f.IntVar(&o.Width, "width", o.Width, "width of the hidden layers")
	f.IntVar(&o.Layers, "layers", o.Layers, "hidden layers")
	f.Float64Var(&o.Rate, "rate", o.Rate, "first learning rate")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the points and the first weights")
	f.BoolVar(&o.force, "force", false, "write over files that exist")
}

func (o *levelSetOptions) check() error {
	if err := bounds(positive("steps", o.Steps), positive("batch", o.Batch), positive("width", o.Width),
		positive("layers", o.Layers), positive("rate", o.Rate)); err != nil { // in the library zero is a default
		return err
	}
	if err := o.Options.Check(); err != nil {
		return &usageError{fmt.Errorf("--%w", err)}
	}
	return output(o.out, ".npz", o.force)
}

func makeLevelSetVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "level-set MESH",
		Short: "Fit a network whose zero level set is a closed mesh",
		Long: `level-set fits the network h of a set {x : h(x) = 0} to a closed mesh (PLY or OBJ) whose faces are
oriented alike, and reports how well it matches. A mesh that is not within [−1.5, 1.5]³, or much
smaller, is first moved and scaled to [−1, 1]³ and written beside the network, as PLY. Use both in a
problem file: set: {kind: level-set, weights: NAME.npz, mesh: NAME.ply}.`,
		Example: "  landing make level-set bunny.obj -o bunny.npz",
		Args:    args(1, "a mesh"),
	}, new(levelSetOptions), runMakeLevelSet)
}

func runMakeLevelSet(ctx context.Context, a *app, o *levelSetOptions, args []string) (answer, error) {
	if err := o.check(); err != nil {
		return answer{}, err
	}
	given, err := readMesh(&a.out, args[0], fit.Refuses)
	if err != nil {
		return answer{}, err
	}
	s := meshStory{Weights: o.out, Mesh: args[0]}
	var m *mesh.Mesh
	if m, s.Centre, s.Scale = fit.Place(given); m != given {
		if s.Mesh, err = o.moved(args[0]); err != nil {
			return answer{}, err
		}
		a.out.say("the mesh is moved by −(%.4g, %.4g, %.4g) and scaled by %.4g; data must be too", s.Centre[0],
			s.Centre[1], s.Centre[2], s.Scale)
	}
	start, bar := time.Now(), a.out.progress()
	n, err := fit.Fit(ctx, m, o.Options, a.workersPool(), func(p fit.Step) {
		bar.count(p.Step, o.Steps, func() string {
			left := time.Since(start).Seconds() / float64(p.Step) * float64(o.Steps-p.Step)
			return fmt.Sprintf("step %d/%d  h on the surface %.1e  normals off by %.2f  slope off by %.2f  %s left",
				p.Step, o.Steps, p.Value, p.Normal, p.Eikonal, clock(left))
		})
	})
	bar.done()
	if err != nil {
		return answer{}, err
	}
	s.Seconds = time.Since(start).Seconds()
	s.Report = fit.Examine(n, m, a.workersPool())
	if m != given {
		if _, err := save(s.Mesh, m.WritePLY, o.force); err != nil {
			return answer{}, err
		}
	}
	if _, err := save(o.out, n.Write, o.force); err != nil {
		return answer{}, err
	}
	for _, fault := range s.Report.Faults() {
		a.out.say("warning: %s: %s", o.out, fault)
	}
	return answer{s, s.print}, nil
}

// moved is the file of a mesh that was moved.
func (o *levelSetOptions) moved(given string) (string, error) {
	path := strings.TrimSuffix(o.out, filepath.Ext(o.out)) + ".ply"
	if same(path, given) {
		return "", badFlag("output", o.out, fmt.Sprintf("another name, since the mesh in its new place would go to "+
			"%s, over the one given", path))
	}
	return path, output(path, ".ply", o.force)
}
