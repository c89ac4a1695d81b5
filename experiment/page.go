package experiment

import (
	"bytes"
	"fmt"
	"io"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/figure"
	"github.com/landing-diffusion/landing/metric"
)

const pictureWidth = 1600 // pixels of PNG files

// A page draws the figures of a report into the run folder, and collects what the
// report shows: it is the canvas of domains. After an error nothing more is drawn.
type page struct {
	run     *Run
	figures []figure.FigureRef
	notes   []string // what is left out of the page, and why
	scene   figure.Scene
	err     error
}

// write writes a file of a picture.
func (p *page) write(name string, draw func(w io.Writer) error) []byte {
	if p.err != nil {
		return nil
	}
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		p.err = fmt.Errorf("figure %s: %w", name, err)
		return nil
	}
	p.err = p.run.Folder.Write(p.run.Out("figures/"+name), b.Bytes())
	return b.Bytes()
}

// PNG implements domain.Canvas.
func (p *page) PNG(name string, pic figure.Picture) {
	p.write(name+".png", func(w io.Writer) error { return pic.WritePNG(w, pictureWidth) })
}

// Add implements domain.Canvas.
func (p *page) Add(name string, ref figure.FigureRef, pic figure.Picture) {
	p.PNG(name, pic)
	if ref.SVG = p.write(name+".svg", pic.WriteSVG); p.err == nil {
		p.figures = append(p.figures, ref)
	}
}

// Note implements domain.Canvas.
func (p *page) Note(remark string) { p.notes = append(p.notes, remark) }

// Scene implements domain.Canvas.
func (p *page) Scene(s figure.Scene) { p.scene = s }

// draw draws what there is to see of samples x and their evaluation: first the points
// themselves.
func (r *Run) draw(p *page, x []float64, v *Evaluation) {
	view := domain.View{Dim: r.Data.D, Data: r.Data.X, Samples: x, Worst: v.Violation.Worst, Parts: v.JSD.parts(),
		Seed: r.Problem.Seed}
	if r.distance != nil {
		view.Reference, view.Marks = r.distance.Reference, r.distance.Marks(x)
	}
	if r.Domain.Draw != nil {
		r.Domain.Draw(p, view)
	}
	r.distance.draw(p, x, v.JSD, r.Problem.Seed)
	r.observed.draw(p, x, v.Observed, r.Problem.Seed)
	records, err := r.Folder.Metrics()
	if err != nil && p.err == nil {
		p.err = err
		return
	}
	epochs, evaluations := decode(records)
	p.loss(epochs)
	p.progress(evaluations, v.JSD)
	p.heldOut(records, r.Problem.Train.ByLoss())
	p.steps(v.Steps, len(r.Process.Set.Equalities()))
	if len(x) > 0 {
		r.nearest(p, x)
		p.violation(r.Process.Set, x)
	}
}

// draw shows the observables of points x, if it is they that are compared.
func (c *compared) draw(p *page, x []float64, j *JSD, seed uint64) {
	if c != nil && c.observables != nil && !c.drawn {
		c.observables.Draw(p, c.Reference, c.Marks(x), j.parts(), seed)
	}
}

// parts are the scores of the parts; nil where there is no distance.
func (j *JSD) parts() []metric.Score {
	if j == nil {
		return nil
	}
	var out []metric.Score
	for _, p := range j.Parts {
		out = append(out, p.Score)
	}
	return out
}
