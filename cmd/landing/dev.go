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
