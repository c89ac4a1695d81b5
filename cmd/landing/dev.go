package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/internal/text"
)

// devVerb is the parent of the verbs for developers of the program and of programs around it. Help does not list it.
func devVerb(a *app) *cobra.Command {
	cmd := parent("dev", "Verbs for developers", "  landing dev schema problem", schemaVerb(a), manVerb(a),
		forwardVerb(a), valuesVerb(a))
	cmd.Hidden = true
	return cmd
}

// pages are what man prints.
type pages struct {
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

// manOptions are the flags of dev man.
type manOptions struct{ markdown, force bool }

func (o *manOptions) flags(f *pflag.FlagSet) {
	f.BoolVar(&o.markdown, "markdown", false, "write Markdown instead of manual pages")
	f.BoolVar(&o.force, "force", false, "write over pages that exist")
}

func manVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "man DIR",
		Short: "Write manual pages of all verbs",
		Long: `man writes a manual page (section 1) of every verb into a folder: landing.1, landing-train.1 and so on.
With --markdown the pages are Markdown.`,
		Example: "  landing dev man ~/.local/share/man/man1 && man landing-train",
	}, new(manOptions), runMan)
}

func runMan(_ context.Context, a *app, o *manOptions, args []string) (answer, error) {
	if err := os.MkdirAll(args[0], 0o777); err != nil {
		return answer{}, err
	}
	out := pages{Folder: args[0], Files: []string{}}
	for _, c := range verbs((&app{}).root()) {
		name, page, err := page(c, o.markdown)
		if err != nil {
			return answer{}, err
		}
		if err := run.WriteFile(filepath.Join(args[0], name), page, o.force); err != nil {
			return answer{}, err
		}
		out.Files = append(out.Files, name)
	}
	return answer{out, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s to %s\n", plural(len(out.Files), "page"), text.Shell(out.Folder))
	}}, nil
}

// verbs returns a command and those below it that have a page.
func verbs(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(all, verbs(c)...)
		}
	}
	return all
}

// page returns the page of a verb and the name of its file. The same program writes the same bytes.
func page(c *cobra.Command, markdown bool) (name string, page []byte, err error) {
	c.DisableAutoGenTag = true // a date
	c.InitDefaultHelpFlag()    // which they have once they have run
	name = strings.ReplaceAll(c.CommandPath(), " ", "-")
	var b bytes.Buffer
	if markdown {
		err := doc.GenMarkdownCustom(c, &b, func(file string) string {
			return strings.ReplaceAll(strings.TrimSuffix(file, ".md"), "_", "-") + ".md"
		})
		return name + ".md", b.Bytes(), err
	}
	build := run.ThisBuild()
	header := doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: "landing " + build.Version,
		Manual: "landing"}
	if built, err := time.Parse(time.RFC3339, build.Time); err == nil {
		built = built.UTC()
		header.Date = &built
	}
	err = doc.GenMan(c, &header, &b)
	return name + ".1", b.Bytes(), err
}

// values are what dev values prints: the names of the columns.
type values struct {
	Equalities   []string `json:"equalities"`
	Inequalities []string `json:"inequalities"`
}

func valuesVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "values PROBLEM",
		Short: "Evaluate the constraints of a problem at points",
		Long: `values writes h(x) and g(x) of each row of the NPY file --data to an NPY file. It prints the names of the
columns.`,
		Example: "  landing dev values problem.yaml --data points.npy -o values.npy",
	}, new(mcmcOptions), runValues)
}

func runValues(_ context.Context, _ *app, o *mcmcOptions, args []string) (answer, error) {
	p, _, err := o.load(args[0])
	if err != nil {
		return answer{}, err
	}
	proc, err := p.Assemble()
	if err != nil {
		return answer{}, err
	}
	x, err := arrayfile.ReadNPY(o.data)
	if err != nil {
		return answer{}, err
	}
	told := values{append([]string{}, proc.Set.Equalities()...), append([]string{}, proc.Set.Inequalities()...)}
	d, names := proc.Set.Dim(), constraint.Components(proc.Set)
	n := x.Len() / d
	if n*d != x.Len() || n*len(names) > dataset.MaxNumbers {
		return answer{}, fault.Errorf(fault.Data, o.data, "%d numbers; expected rows of %d, and at most %d values",
			x.Len(), d, dataset.MaxNumbers)
	}
	_, err = o.saveNPY(constraint.Values(proc.Set, x.AsFloat64()), n, len(names))
	return answer{told, func(w io.Writer) { fmt.Fprintln(w, strings.Join(names, "\n")) }}.unless(err)
}

// forwardOptions are the flags of dev forward.
type forwardOptions struct {
	outFile
	n, step int
	data    string
	seed    int64
}

func (o *forwardOptions) flags(f *pflag.FlagSet) {
	o.outFile.flags(f, "paths.npy", "file to write: .npy")
	f.IntVarP(&o.n, "number", "n", 1000, "number of paths")
	f.IntVar(&o.step, "step", -1, "k of the states x_k, 0 being the data (default: the last)")
	movedFlag(f, &o.data)
	f.Int64Var(&o.seed, "seed", -1, "seed (default: the problem's)")
}

func (o *forwardOptions) check(given func(flag string) bool, _ []string) error {
	if err := bounds(positive("number", o.n), bound{"step", o.step >= 0 || !given("step"), o.step, "0 or more"},
		bound{"seed", o.seed >= 0 || !given("seed"), o.seed, "0 or more"}); err != nil {
		return err
	}
	_, err := o.ready(".npy")
	return err
}

// simulated is what dev forward prints.
type simulated struct {
	File   string   `json:"file"`
	Paths  int      `json:"paths"` // asked for
	Step   int      `json:"step"`
	Seed   uint64   `json:"seed"`
	Failed []uint64 `json:"failed"` // their numbers
}

func forwardVerb(a *app) *cobra.Command {
	return command(a, &cobra.Command{
		Use:   "forward RUN",
		Short: "Simulate forward paths of a run's process, from data to noise",
		Long: `forward simulates paths of the process that a run was trained on, from its training rows. It writes
the states x_k of all paths to an NPY file (n×d, float64): the last states, or those of --step. Fewer
paths than rows begin at rows at equal distances; more begin at all rows again and again. With the run's
seed the ends of the paths are those of an empirical prior of that size. Paths that fail a projection are
not in the file; their numbers are printed.`,
		Example: "  landing dev forward runs/volcano-001 -n 10000 -o ends.npy",
	}, new(forwardOptions), runForward)
}

func runForward(ctx context.Context, a *app, o *forwardOptions, args []string) (answer, error) {
	r, err := a.open(ctx, args[0], o.data, experiment.Open)
	if err != nil {
		return answer{}, err
	}
	d, steps := r.Data.D, r.Process.Schedule.N
	made := simulated{File: o.path, Paths: o.n, Step: o.step, Seed: r.Problem.Seed}
	if made.Step < 0 {
		made.Step = steps
	}
	if o.seed >= 0 {
		made.Seed = uint64(o.seed)
	}
	if err := bounds(bound{"number", o.n <= dataset.MaxNumbers/d, o.n, fmt.Sprintf("at most %d paths of %d coordinates",
		dataset.MaxNumbers/d, d)}, bound{"step", made.Step <= steps, made.Step,
		fmt.Sprintf("at most %d, the last of a path", steps)}); err != nil {
		return answer{}, err
	}
	tick, end := counting[int](&a.out, "simulated")
	x, failed, err := r.Forward(ctx, o.n, made.Step, made.Seed, tick)
	end()
	if err != nil {
		return answer{}, err
	}
	made.Failed = append([]uint64{}, failed...)
	if len(failed) > 0 {
		a.out.say("%d of %d paths failed and are not in %s: %s", len(failed), o.n, o.path, numbers(failed))
	}
	_, err = o.saveNPY(x, len(x)/d, d)
	return answer{made, func(w io.Writer) {
		fmt.Fprintf(w, "states x_%d of %s in %s\n", made.Step, plural(o.n-len(failed), "path"), o.path)
	}}.unless(err)
}
