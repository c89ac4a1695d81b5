package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/constraint/levelset/fit"
	"github.com/landing-diffusion/landing/mesh"
)

// readMesh reads a mesh and says what is wrong with it. The first fault that
// refused holds for is returned as the error instead; refused may be nil.
// meshStory is what make level-set prints.
type meshStory struct {
	Weights string      `json:"weights"`
	Mesh    string      `json:"mesh"`
	Centre  [3]float64  `json:"centre"` // of where the mesh was: it is moved there
	Scale   float64     `json:"scale"`
	Seconds float64     `json:"seconds"`
	Report  *fit.Report `json:"report"`
}

func (a *app) readMesh(path string, refused func(mesh.Fault) bool) (*mesh.Mesh, error) {
	m, err := mesh.Read(path)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Check() {
		if refused == nil || !refused(f) {
			a.say("warning: %s: %v", path, f)
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

// fitTable prints how well a level set matches its mesh.
func fitTable(w io.Writer, r *fit.Report) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "distance from the mesh\tmean %.2g of its size, 99 %% %.2g, worst %.2g\n", r.Residual.Mean,
		r.Residual.Q99, r.Residual.Max)
	fmt.Fprintf(t, "|∇h| near the mesh\tfrom %.2f to %.2f, mean %.3f\n", r.Slope.Min, r.Slope.Max, r.Slope.Mean)
	fmt.Fprintf(t, "normals\toff by %.1f° on average, 99 %% %.0f°\n", r.Angle.Mean, r.Angle.Q99)
	fmt.Fprintf(t, "parts\t%d inside (the mesh has %d), %d outside (%d), on a grid of %.2g of the size\n", r.Inside,
		r.Parts-r.Cavities, r.Outside, 1+r.Cavities, r.Cell)
	t.Flush()
}

func (a *app) makeLevelSet() *cobra.Command {
	var out string
	var force bool
	o := fit.Defaults()
	cmd := &cobra.Command{
		Use:   "level-set MESH",
		Short: "Fit a network whose zero level set is a closed mesh",
		Long: `level-set fits the network h of a set {x : h(x) = 0} to a closed mesh (PLY or OBJ)
whose faces are oriented alike, and reports how well it matches. A mesh that is
not within [−1.5, 1.5]³, or much smaller, is moved and scaled to [−1, 1]³ first
and then written beside the network, as PLY. Use both in a problem file:
set: {kind: level-set, weights: NAME.npz, mesh: NAME.ply}.`,
		Example: "  landing make level-set bunny.obj -o bunny.npz",
		Args:    args(1, "a mesh"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, f := range []struct {
				name  string
				given float64
			}{{"steps", float64(o.Steps)}, {"batch", float64(o.Batch)}, {"width", float64(o.Width)},
				{"layers", float64(o.Layers)}, {"rate", o.Rate}} {
				if !(f.given > 0) { // zero stands for a default in the library
					return &usageError{fmt.Errorf("--%s is %v; expected a number above 0", f.name, f.given)}
				}
			}
			if err := o.Check(); err != nil {
				return &usageError{fmt.Errorf("--%w", err)}
			}
			if err := output(out, ".npz", force); err != nil {
				return err
			}
			m, err := a.readMesh(args[0], fit.Refuses)
			if err != nil {
				return err
			}
			meshOut, given := args[0], m
			m, centre, scale := fit.Place(m)
			if m != given {
				meshOut = strings.TrimSuffix(out, filepath.Ext(out)) + ".ply"
				if same(meshOut, args[0]) {
					return &usageError{fmt.Errorf("-o is %q; expected another name, since the mesh in its new place "+
						"would go to %s, over the one given", out, meshOut)}
				}
				if err := output(meshOut, ".ply", force); err != nil {
					return err
				}
				a.say("the mesh is moved by −(%.4g, %.4g, %.4g) and scaled by %.4g; data must be too",
					centre[0], centre[1],
					centre[2], scale)
			}
			start, bar := time.Now(), a.progress()
			n, err := fit.Fit(cmd.Context(), m, o, a.workersPool(), func(s fit.Step) {
				bar.count(s.Step, o.Steps, func() string {
					left := time.Since(start).Seconds() / float64(s.Step) * float64(o.Steps-s.Step)
					return fmt.Sprintf("step %d/%d  h on the surface %.1e  normals off by %.2f  slope off by %.2f  "+
						"%s left", s.Step,
						o.Steps, s.Value, s.Normal, s.Eikonal, clock(left))
				})
			})
			bar.done()
			if err != nil {
				return err
			}
			seconds := time.Since(start).Seconds()
			r := fit.Examine(n, m, a.workersPool())
			if m != given {
				if _, err := save(meshOut, m.WritePLY, force); err != nil {
					return err
				}
			}
			if _, err := save(out, n.Write, force); err != nil {
				return err
			}
			for _, fault := range r.Faults() {
				a.say("warning: %s: %s", out, fault)
			}
			return a.result(meshStory{out, meshOut, centre, scale, seconds, r}, func(w io.Writer) {
				fmt.Fprintf(w, "network %s, mesh %s (%.0f s)\n", out, meshOut, seconds)
				fitTable(w, r)
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "surface.npz", "network to write; a mesh that was moved goes beside it")
	f.IntVar(&o.Steps, "steps", o.Steps, "steps of the fit")
	f.IntVar(&o.Batch, "batch", o.Batch, "points a step")
	f.IntVar(&o.Width, "width", o.Width, "width of the hidden layers")
	f.IntVar(&o.Layers, "layers", o.Layers, "hidden layers")
	f.Float64Var(&o.Rate, "rate", o.Rate, "first learning rate")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "seed of the points and the first weights")
	f.BoolVar(&force, "force", false, "write over files that exist")
	return cmd
}
