package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/landing-diffusion/landing/discover"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/draft"
	"github.com/landing-diffusion/landing/run"
)

func (a *app) init() *cobra.Command {
	var o draft.Options
	var out string
	cmd := &cobra.Command{
		Use:   "init DATA",
		Short: "Look at a data file and write a problem file for it",
		Long: `init looks at a data file (CSV, NPY, NPZ, Parquet, or a molecule's PDB, XYZ, SDF) and writes a
problem file that check and train accept: shape, labels, latitude and longitude, unit
vectors, rotation matrices, sums, distances, linear and quadratic relations. What all rows
keep to round-off is active, as a ready-made set where one fits; what they nearly keep is
commented out with its residual. Nothing else is assumed, and every other key is left to
its default. Beside it goes ` + problem.SchemaFile + `, by which editors complete and check it.

Files that train would refuse (cells that are no numbers, columns of words, labels between
coordinates) are refused, unless --clean names a file for the rows and columns that can be
used.`,
		Example: "  landing init points.csv\n  landing init points.csv --formula \"norm(x[0:3]) = 1\" -o arm.yaml\n" +
			"  landing init table.csv --drop id --clean clean.csv\n" +
			"  landing init torsions.csv --angles phi,psi --clean circles.csv",
		Args: args(1, "a data file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ext := strings.ToLower(filepath.Ext(out)); ext != ".yaml" && ext != ".yml" {
				return &usageError{fmt.Errorf("-o is %q; expected a file that ends in .yaml", out)}
			}
			o.Path, o.Folder = args[0], filepath.Dir(out)
			for _, path := range []string{out, o.Clean} {
				if path == "" {
					continue
				}
				if err := run.Free(path); err != nil {
					return keeps(err)
				}
			}
			d, err := draft.New(o)
			if e := new(discover.GivenError); errors.As(err, new(*draft.OptionError)) || errors.As(err, &e) &&
				e.Row < 0 {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			if d.Cleaned != nil {
				if err := run.WriteFile(o.Clean, d.Cleaned.Bytes, false); err != nil {
					return keeps(err)
				}
			}
			if err := run.WriteFile(out, []byte(d.YAML), false); err != nil {
				return keeps(err)
			}
			if note, err := keepSchema(filepath.Join(filepath.Dir(out), problem.SchemaFile)); err != nil {
				a.say("note: editors cannot check %s: %v", out, err)
			} else if note != "" {
				a.say("note: %s", note)
			}
			return a.result(drafted{out, d}, func(w io.Writer) {
				for _, line := range d.Lines(columns(a.stdout)) {
					fmt.Fprintln(w, oneLine(line))
				}
				if d.Cleaned != nil {
					fmt.Fprintf(w, "%-11s%s: %d rows of %d columns\n", "cleaned", d.Cleaned.File, d.Cleaned.Rows,
						d.Cleaned.Columns)
				}
				fmt.Fprintf(w, "%-11s%s; next: landing check %s\n", "wrote", out, text.Shell(out))
			})
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "problem.yaml", "problem file to write; one that exists is left as it is")
	f.StringArrayVar(&o.Formulas, "formula", nil, "a formula to measure, and to add where it holds (repeatable)")
	f.StringSliceVar(&o.Drop, "drop", nil, "columns to leave out, by name or number from 0; needs --clean")
	f.StringSliceVar(&o.Angles, "angles", nil, "columns that are angles, by name or number from 0, in degrees or "+
		"radians: their cosines and sines take their places; needs --clean")
	f.StringVar(&o.Clean, "clean", "", "file for the rows and columns that can be used: .csv, .npy or .parquet")
	f.StringVar(&o.Array, "array", "", "which array of an NPZ file")
	return cmd
}

// drafted is what init prints.
type drafted struct {
	Problem string `json:"problem"`
	*draft.Draft
}

// A kept is the error of a file that is there, of a verb that writes over none.
type kept struct{ *run.ExistsError }

func (e kept) Error() string {
	return e.Path + " exists already; init writes over no file: name another"
}

func (e kept) Unwrap() error { return e.ExistsError }

// keeps makes an error about a file that is there one of a verb that writes over none.
func keeps(err error) error {
	if e := new(run.ExistsError); errors.As(err, &e) {
		return kept{e}
	}
	return err
}

// columns is the width of a terminal; 0 of what is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
