// Package report writes the page of an evaluation, with its figures, into a run folder.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/learn/train"
)

// PictureWidth is the width of PNG files in pixels; tests take fewer.
var PictureWidth = 1600

// A Page is what a report is made of.
type Page struct {
	Folder     *run.Folder
	Out        func(name string) string // the name in the folder of a file
	Title      string
	Against    *judge.Reference
	Samples    []float64 // those that did not fail
	Evaluation *judge.Evaluation
	Commands   []string // that make the results again
}

// Write draws the figures into figures/ and writes the HTML report. It returns the report's path.
func (p Page) Write() (string, error) {
	c, v := &canvas{page: p}, p.Evaluation
	c.draw()
	if c.err != nil {
		return "", c.err
	}
	report := &figure.Report{
		Title: p.Title,
		Subtitle: fmt.Sprintf("%s on %s, %d epochs", p.Against.Method.Name(),
			powers(withArticle(constraint.Name(p.Against.Process.Set))), v.Epoch),
		Judged:   judged(&v.Verdict),
		Verdict:  sentence(v),
		Facts:    facts(v),
		Figures:  c.figures,
		Notes:    c.notes,
		Tables:   append(tables(v, note(p.Against.Distance), note(p.Against.Observables)), words()),
		Scene:    c.scene,
		Config:   string(p.Against.Problem.Resolved()),
		Commands: p.Commands,
	}
	var html bytes.Buffer
	if err := report.WriteHTML(&html); err != nil {
		return "", err
	}
	name := p.Out(run.ReportFile)
	return p.Folder.Path(name), p.Folder.Renew(name, html.Bytes())
}

// note explains a distance, if there is one.
func note(c *judge.Compared) string {
	if c == nil {
		return ""
	}
	return c.Note
}

// A canvas draws the figures of a report into the run folder, and collects what the report shows, for domains too.
// After an error it draws nothing more.
type canvas struct {
	page    Page
	figures []figure.FigureRef
	notes   []string // what is left out of the page, and why
	scene   figure.Scene
	err     error
}

func (c *canvas) write(name string, draw func(w io.Writer) error) []byte {
	if c.err != nil {
		return nil
	}
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		c.err = fmt.Errorf("figure %s: %w", name, err)
		return nil
	}
	c.err = c.page.Folder.Renew(c.page.Out("figures/"+name), b.Bytes())
	return b.Bytes()
}

func (c *canvas) PNG(name string, pic figure.Picture) {
	c.write(name+".png", func(w io.Writer) error { return pic.WritePNG(w, PictureWidth) })
}

func (c *canvas) Add(name string, ref figure.FigureRef, pic figure.Picture) {
	c.PNG(name, pic)
	if ref.SVG = c.write(name+".svg", pic.WriteSVG); c.err == nil {
		c.figures = append(c.figures, ref)
	}
}

func (c *canvas) Note(remark string) { c.notes = append(c.notes, remark) }

func (c *canvas) Scene(s figure.Scene) { c.scene = s }

// draw draws what there is to see of samples and their evaluation: first the points themselves.
func (c *canvas) draw() {
	x, v, r := c.page.Samples, c.page.Evaluation, c.page.Against
	view := domain.View{Dim: r.Dim, Data: r.All, Samples: x, Worst: v.Violation.Worst, Parts: v.JSD.Scores(),
		Seed: r.Problem.Seed}
	if r.Distance != nil {
		view.Reference, view.Marks = r.Distance.Reference, r.Distance.Marks(x)
	}
	if r.Domain.Draw != nil {
		r.Domain.Draw(c, view)
	}
	r.Distance.Draw(c, x, v.JSD, r.Problem.Seed)
	r.Observables.Draw(c, x, v.Observed, r.Problem.Seed)
	records, err := c.page.Folder.Metrics()
	if err != nil && c.err == nil {
		c.err = err
		return
	}
	c.loss(run.Decode[train.Epoch](records, "epoch"))
	c.progress(run.Decode[judge.Progress](records, "evaluation"), v.JSD)
	c.heldOut(records, r.Problem.Train.ByLoss())
	c.steps(v.Steps, len(r.Process.Set.Equalities()))
	if len(x) > 0 {
		c.nearest(r, x)
		c.violation(r.Process.Set, x)
	}
}

// mostComponents bounds the constraints that a text lists; JSON has all.
const mostComponents = 8

// WriteText writes what the page of an evaluation says, but for its pictures. Tabs separate the cells of tables.
func WriteText(w io.Writer, v *judge.Evaluation) {
	writeVerdict(w, &v.Verdict)
	for _, f := range facts(v) {
		fmt.Fprintf(w, "%s\t%s\t%s\n", strings.ToLower(f.Label), f.Value, f.Note)
	}
	for _, table := range tables(brief(v), "", "") {
		fmt.Fprintf(w, "\n%s\n", table.Title)
		for _, row := range append([][]string{table.Header}, table.Rows...) {
			fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
		}
		if table.Note != "" {
			fmt.Fprintf(w, "  %s\n", table.Note)
		}
	}
	fmt.Fprintln(w)
	if n := len(v.Component); n > mostComponents && len(v.Families) == 0 {
		fmt.Fprintf(w, "There are %d constraints; the %d worst are listed.\n", n, mostComponents)
	}
	if v.Steps != nil && len(v.Steps.Component) > 0 {
		fmt.Fprintf(w, "On the way: %s.\n", v.Steps)
	}
	if v.TwoSample.M == 0 && v.Failed < v.Samples {
		fmt.Fprintln(w, "Held-out points were not compared: the data has too few points to hold any out.")
	}
}

// WriteBrief writes what a newcomer wants to know of an evaluation whose page is in a file, and what to do next.
func WriteBrief(w io.Writer, v *judge.Evaluation, page string) {
	fmt.Fprintf(w, "samples:   %s, %s; the worst violates the set by %s\n", text.Count(v.Samples), losses(v),
		text.Number(v.Violation.Worst))
	fmt.Fprintf(w, "pictures:  %s (open it in a browser)\n", page)
	if j := v.JSD; j != nil {
		fmt.Fprintf(w, "distance:  %.3f to the data (%s; less is better)\n", j.Full, j.Metric)
		fmt.Fprintf(w, "  compare: %.3f ± %.3f for as many draws from the training rows\n", j.Floor.Mean, j.Floor.SD)
		if j.Law > 0 {
			fmt.Fprintf(w, "  compare: about %.3f for new draws of the data's law, %.3f for uniform samples\n", j.Law,
				j.Uniform)
		}
	}
	fmt.Fprint(w, "verdict:   ")
	writeVerdict(w, &v.Verdict)
	fmt.Fprint(w, "For your own data:\n  landing init DATA        looks at a file and writes a problem file for it\n"+
		"  landing train PROBLEM    trains, landing report RUN judges, landing generate RUN draws samples\n")
}

// writeVerdict writes the findings, and the commands that help.
func writeVerdict(w io.Writer, v *verdict.Verdict) {
	fmt.Fprintln(w, v.Title())
	for i, f := range judged(v).Findings {
		size := f.Size
		if size != "" {
			size = ", " + size
		}
		fmt.Fprintf(w, "  %d. %s %s%s: %s\n", i+1, f.Severity, f.Code, size, f.Says)
		if f.Remedy != "" {
			fmt.Fprintf(w, "     %s\n", f.Remedy)
		}
	}
	if v.Limits != "" {
		fmt.Fprintf(w, "  %s\n", v.Limits)
	}
	for _, s := range v.Grouped() {
		fmt.Fprintf(w, "  not judged: %s\n", s)
	}
	fmt.Fprintln(w)
}

// brief returns an evaluation with fewer components and walls: families instead of components that are alike, or else
// the worst components; walls with a warning before others.
func brief(v *judge.Evaluation) *judge.Evaluation {
	b := *v
	b.Component, b.Walls = slices.Clone(v.Component), slices.Clone(v.Walls)
	slices.SortStableFunc(b.Walls, func(x, y judge.Wall) int {
		return -cmp.Compare(min(1, len(x.Warning)), min(1, len(y.Warning)))
	})
	b.Walls = b.Walls[:min(len(b.Walls), mostComponents)]
	if len(v.Families) > 0 {
		b.Component = nil
		for _, f := range v.Families {
			f.Violation.Component = strings.TrimSpace(fmt.Sprintf("%s (%s) %s", f.Component,
				text.Plural(f.Components, "constraint"), f.Unit))
			b.Component = append(b.Component, f.Violation)
		}
	} else if len(b.Component) > mostComponents {
		slices.SortStableFunc(b.Component, func(x, y metric.Violation) int { return cmp.Compare(y.Worst, x.Worst) })
		b.Component = b.Component[:mostComponents]
	}
	return &b
}
