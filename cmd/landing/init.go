package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/discover"
	"github.com/landing-diffusion/landing/problem/draft"
)

// initOptions are the flags of init.
type initOptions struct {
	draft.Options
	out string
}

func (o *initOptions) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "output", "o", "problem.yaml", "problem file to write; one that exists is left as it is")
	f.StringArrayVar(&o.Formulas, "formula", nil, "a formula to measure, and to add where it holds (repeatable)")
	f.StringSliceVar(&o.Drop, "drop", nil, "columns to leave out, by name or number from 0")
	f.StringSliceVar(&o.Angles, "angles", nil, "columns that are angles, by name or number from 0, in degrees or "+
		"radians: their cosines and sines take their places")
	f.StringVar(&o.Clean, "clean", "", "file for the rows and columns that can be used: .csv, .npy or .parquet "+
		"(default NAME-clean beside the problem file, where it keeps all rows)")
	f.StringSliceVar(&o.Keep, "keep", nil, "columns that are coordinates, though they look like times or numbers "+
		"of rows")
	f.StringSliceVar(&o.Given, "condition", nil, "columns that are given with each point; samples are drawn for "+
		"values of them")
	f.Float64Var(&o.MaxLoss, "max-loss", draft.MaxLoss, "the largest share of rows that --clean may leave "+
		"out for one reason")
	f.StringVar(&o.Decimal, "decimal", "", "what stands before decimals in numbers of a table: point or comma")
	f.StringVar(&o.Header, "header", "", "whether the first line of a table names its columns: yes or no")
	f.StringVar(&o.Atoms, "atoms", "", "of a molecule: heavy or all (default heavy, unless nothing turns without "+
		"hydrogens)")
	f.StringVar(&o.Template, "template", "", "of conformations: a PDB, SDF or XYZ file with their atoms and "+
		"bond lengths")
	f.StringVar(&o.Array, "array", "", "which array of an NPZ file")
	f.StringVar(&o.Base, "base", "", "first link of the arm in a URDF file (default by its longest chain)")
	f.StringVar(&o.Tip, "tip", "", "last link of the arm in a URDF file")
	f.BoolVar(&o.NoVolume, "no-volume", false, "leave out the spheres that cover the links of a URDF file")
}

func (o *initOptions) check(func(flag string) bool, []string) error {
	if ext := strings.ToLower(filepath.Ext(o.out)); ext != ".yaml" && ext != ".yml" {
		return badFlag("output", o.out, "a file that ends in .yaml")
	}
	for _, flag := range []struct{ name, value, a, b string }{{"decimal", o.Decimal, "point", "comma"},
		{"header", o.Header, "yes", "no"}, {"atoms", o.Atoms, "heavy", "all"}} {
		if flag.value != "" && flag.value != flag.a && flag.value != flag.b {
			return badFlag(flag.name, flag.value, flag.a+" or "+flag.b)
		}
	}
	if !(o.MaxLoss >= 0 && o.MaxLoss <= 1) {
		return badFlag("max-loss", o.MaxLoss, "a share from 0 to 1")
	}
	for _, path := range []string{o.out, o.Clean} {
		if path != "" {
			if err := run.Free(path); err != nil {
				return keeps("init", " by -o", err)
			}
		}
	}
	return nil
}

func initVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "init DATA",
		Short: "Look at a data file or a robot and write a problem file for it",
		Long: `init looks at a data file (CSV, NPY, NPZ, Parquet), a molecule (PDB, XYZ, SDF) or a robot (URDF)
and writes a problem file that check and train accept. It finds shape, labels, latitude and longitude, unit
vectors, rotation matrices, sums, distances, linear and quadratic relations. What all rows keep to
round-off becomes part of the set, as a ready-made set where one fits. Relations that they nearly keep are
commented out, with their residuals. Nothing else is assumed, and every other key is left to its default.

For a molecule, the set keeps bonds, flat rings, chirality, double bonds and amides as the conformations have
them. Torsions and angles are free; init prints the rotors.

For a robot (URDF), the set has the chain of most joints. init prints joints, limits, reach and volume, and the
commands that plan motions and train on them. Spheres cover the collision shapes of the links.

Beside the problem file goes ` + problem.SchemaFile + `, by which editors complete and check it.

Where train would refuse the file as it is (columns of words or times, decimal commas), init writes
what can be used to another file beside the problem file. If rows would be left out (cells that are
no numbers), it refuses to, unless --clean names a file for the rows and columns that can be used.`,
		Example: "  landing init points.csv\n  landing init arm.urdf --tip tool0\n" +
			"  landing init points.csv --formula \"norm(x[0:3]) = 1\" -o arm.yaml\n" +
			"  landing init table.csv --drop id --max-loss 0.05 --clean clean.csv\n" +
			"  landing init torsions.csv --angles phi,psi\n  landing init conformers.sdf",
	}, new(initOptions), runInit)
}

func runInit(ctx context.Context, a *app, o *initOptions, args []string) (answer, error) {
	o.Path, o.Folder = args[0], filepath.Dir(o.out)
	d, err := parallel.Until(ctx, func() (*draft.Draft, error) {
		if strings.EqualFold(filepath.Ext(o.Path), ".urdf") {
			a.out.say("covering the links by spheres, then planning motions to find a posture to start in: up to 10 s")
			return draft.Robot(o.Options, o.out)
		}
		return draft.New(o.Options)
	})
	if e := new(discover.GivenError); errors.As(err, &e) && e.Row < 0 {
		return answer{}, usage("%w", err)
	}
	if err != nil {
		return answer{}, err
	}
	if d.Cleaned != nil {
		if err := run.WriteFile(d.Cleaned.File, d.Cleaned.Bytes, false); err != nil {
			return answer{}, keeps("init", " by --clean", err)
		}
	}
	if err := run.WriteFile(o.out, []byte(d.YAML), false); err != nil {
		return answer{}, keeps("init", " by -o", err)
	}
	if note, err := keepSchema(filepath.Join(o.Folder, problem.SchemaFile)); err != nil {
		a.out.say("note: editors cannot check %s: %v", o.out, err)
	} else if note != "" {
		a.out.say("note: %s", note)
	}
	return answer{drafted{o.out, d}, func(w io.Writer) {
		for _, line := range d.Lines() {
			fmt.Fprintln(w, text.Line(line))
		}
		if d.Cleaned != nil {
			fmt.Fprintf(w, "%-11s%s: %d rows of %d columns\n", "cleaned", d.Cleaned.File, d.Cleaned.Rows,
				d.Cleaned.Columns)
		}
		next := "landing check " + text.Shell(o.out)
		if d.Robot != nil {
			next = "the commands above"
		}
		fmt.Fprintf(w, "%-11s%s; next: %s\n", "wrote", o.out, next)
		if d.Molecule != nil {
			fmt.Fprintf(w, "%-11slanding train %s --for 5m\n", "then", text.Shell(o.out))
			given := ""
			if d.Molecule.Apart > 0 { // samples are drawn again in which atoms come closer than in any row
				fmt.Fprintf(w, "%-11secho 'apart: [{min: %g, beyond: 3}]' > apart.yaml\n", "", d.Molecule.Apart)
				given = "--given apart.yaml "
			}
			fmt.Fprintf(w, "%-11slanding generate %s %s-o samples.sdf\n", "", "runs/"+text.Shell(d.Name)+"-001", given)
		}
	}}, nil
}

// drafted is what init prints.
type drafted struct {
	Problem string `json:"problem"`
	*draft.Draft
}
