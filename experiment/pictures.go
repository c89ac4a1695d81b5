package experiment

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/figure"
	"github.com/landing-diffusion/landing/metric"
	"github.com/landing-diffusion/landing/train"
)

// A picture can be drawn as PNG and SVG.
type picture interface {
	WritePNG(w io.Writer, widthPx int) error
	WriteSVG(w io.Writer) error
}

const pictureWidth = 1600 // pixels of PNG files

// pictures draws the figures of a report into the run folder. After an error
// nothing more is drawn.
type pictures struct {
	*Experiment
	good       []float64 // samples that are left
	evaluation *Evaluation

	figures []figure.FigureRef
	notes   []string // what is left out of the page, and why
	globe   *figure.Globe
	surface *figure.SurfaceView
	err     error
}

// draw draws what there is to see: first the points themselves.
func (p *pictures) draw() error {
	_, matrices := constraint.As[*zoo.Orthogonal](p.Process.Set)
	switch {
	case p.onEarth():
		p.maps()
	case p.Experiment.surface() != nil:
		p.onSurface()
	case matrices:
		p.traces()
	case p.Process.Set.Dim() >= 2:
		p.points()
	}
	records, err := p.Folder.Metrics()
	if err != nil {
		return err
	}
	epochs, evaluations := decode(records)
	p.loss(epochs)
	p.progress(evaluations)
	if len(p.good) > 0 {
		p.nearest()
		p.violation()
	}
	return p.err
}

// write writes a file of a picture.
func (p *pictures) write(name string, draw func(w io.Writer) error) []byte {
	if p.err != nil {
		return nil
	}
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		p.err = fmt.Errorf("figure %s: %w", name, err)
		return nil
	}
	p.err = p.Folder.Write("figures/"+name, b.Bytes())
	return b.Bytes()
}

func (p *pictures) png(name string, pic picture) {
	p.write(name+".png", func(w io.Writer) error { return pic.WritePNG(w, pictureWidth) })
}

// add draws a picture in both formats and shows it in the report.
func (p *pictures) add(name string, ref figure.FigureRef, pic picture) {
	p.png(name, pic)
	if ref.SVG = p.write(name+".svg", pic.WriteSVG); p.err == nil {
		p.figures = append(p.figures, ref)
	}
}

// maps shows places on Earth.
func (p *pictures) maps() {
	layers := []figure.Layer{{Name: "data", LatLon: latLon(p.Data.X)}, {Name: "samples", LatLon: latLon(p.good)}}
	p.add("map", figure.FigureRef{Title: "Data and samples", Wide: true,
		Caption: "Each point is one place: the catalogue, training rows and held-out ones, and the generated samples."}, figure.WorldMap("", layers))
	side := figure.WorldMap("", layers)
	side.Panels = true
	p.add("map-panels", figure.FigureRef{Title: "Side by side", Caption: "The same points apart.", Wide: true}, side)
	p.globe = &figure.Globe{Title: "On the sphere", Layers: layers}
	if len(p.good) > 0 {
		p.globe.Caption = fmt.Sprintf("The worst violation of a sample is %s.", measured(p.evaluation.Violation.Worst))
	}
}

// onSurface shows densities on a mesh. Pages would be slow with all faces of a
// fine one.
func (p *pictures) onSurface() {
	m := p.Experiment.surface().Mesh
	layers := []figure.SurfaceLayer{
		{Name: "data, " + count(p.Data.N), Values: p.density(p.histogram.full)},
		{Name: "samples, " + count(len(p.good)/3), Values: p.density(p.histogram.marks(p.good))},
	}
	const caption = "Points by area, as counted on the nearest faces and smoothed over neighbours; one scale for both."
	pic := figure.Surface("", m, layers)
	if _, faces := m.N(); faces > figure.SurfaceFaces {
		p.png("surface", pic)
		p.notes = append(p.notes, fmt.Sprintf("The mesh has %s faces, above the %s that a page draws one by one: data and samples on it are in figures/surface.png, and not on this page.",
			count(faces), count(figure.SurfaceFaces)))
		return
	}
	p.add("surface", figure.FigureRef{Title: "Data and samples", Caption: caption + " Seen from two sides.", Wide: true}, pic)
	p.surface = &figure.SurfaceView{Title: "On the surface", Caption: caption, Mesh: m, Layers: layers}
}

// traces shows matrices by what the distance compares: histograms of their power
// traces, in its bins.
func (p *pictures) traces() {
	h := p.histogram
	column := func(marks []float64, k int) (values []float64) {
		for i := k; i < len(marks); i += h.dim {
			values = append(values, marks[i])
		}
		return values
	}
	samples := h.marks(p.good)
	for k, name := range h.parts {
		caption := ""
		if j := p.evaluation.JSD; j != nil {
			caption = fmt.Sprintf("Distance to all data %s, floor %s ± %s.", fixed(j.Parts[k].Full), fixed(j.Parts[k].Mean), fixed(j.Parts[k].SD))
		}
		p.add(fmt.Sprintf("trace-%d", metric.TracePowers[k]), figure.FigureRef{Title: name, Caption: caption},
			figure.Histogram(figure.HistogramOptions{XLabel: name, Bins: metric.TraceBins},
				figure.Column{Name: "data", Values: column(h.full, k)}, figure.Column{Name: "samples", Values: column(samples, k)}))
	}
}

// points shows coordinates, and in R³ the points in space.
func (p *pictures) points() {
	d := p.Process.Set.Dim()
	if d == 3 {
		p.add("space", figure.FigureRef{Title: "In space", Caption: "Data beside samples, seen from one side: far points are paler.", Wide: true},
			figure.Space(figure.SpaceOptions{}, figure.SpaceLayer{Name: "data", Points: p.Data.X}, figure.SpaceLayer{Name: "samples", Points: p.good}))
	}
	p.add("points", figure.FigureRef{Title: "Data and samples", Caption: "Coordinates of data and samples.", Wide: true},
		figure.Points("", d, []figure.PointLayer{{Name: "data", Points: p.Data.X}, {Name: "samples", Points: p.good}}))
}

// loss shows how training went.
func (p *pictures) loss(epochs []train.Epoch) {
	if len(epochs) < 2 {
		return
	}
	var x, loss, rate []float64
	for _, r := range epochs {
		x, loss, rate = append(x, float64(r.Epoch)), append(loss, r.Loss), append(rate, r.Rate)
	}
	p.add("loss", figure.FigureRef{Title: "Training loss", Caption: "Mean over the batches of each epoch."},
		figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: "CWPM loss", LogY: true}, figure.Series{Name: "loss", X: x, Y: loss}))
	p.add("rate", figure.FigureRef{Title: "Learning rate", Caption: "Of each epoch's last batch. It falls when the loss stops falling, and with train.anneal at the end."},
		figure.Lines(figure.LineOptions{XLabel: "epoch", YLabel: "learning rate", LogY: true}, figure.Series{Name: "rate", X: x, Y: rate}))
}

// progress shows the distances of evaluations in the course of training.
func (p *pictures) progress(evaluations []Progress) {
	j := p.evaluation.JSD
	if len(evaluations) < 2 || j == nil {
		return
	}
	var x, y, floor []float64
	for _, v := range evaluations {
		x, y, floor = append(x, v.Seconds), append(y, float64(v.JSD)), append(floor, float64(j.Mean))
	}
	p.add("jsd", figure.FigureRef{Title: "Distance to the data against training time", Caption: "Against all data; the floor is what a perfect memoriser of the training rows scores."},
		figure.Lines(figure.LineOptions{XLabel: "seconds of training", YLabel: j.Metric, LogX: true},
			figure.Series{Name: "samples", X: x, Y: y}, figure.Series{Name: "floor", X: x, Y: floor}))
}

// nearest shows whether samples are copies.
func (p *pictures) nearest() {
	if len(p.heldOut) == 0 {
		return
	}
	d := p.Process.Set.Dim()
	p.add("nearest", figure.FigureRef{Title: "Distance to the nearest training point", Caption: "Samples much nearer than held-out points would be copies."},
		figure.Histogram(figure.HistogramOptions{XLabel: "distance", Log: true},
			figure.Column{Name: "held-out points", Values: metric.NearestDistances(nil, p.heldOut, p.train, d)},
			figure.Column{Name: "samples", Values: metric.NearestDistances(nil, p.good, p.train, d)}))
}

// violation shows how far the samples are from Σ.
func (p *pictures) violation() {
	label := "|h(x)|"
	if len(p.Process.Set.Inequalities()) > 0 {
		label = "|h(x)|, max(g(x), 0)"
	}
	p.add("violation", figure.FigureRef{Title: "Constraint violation of the samples", Caption: "Values that are exactly zero are counted below the axis."},
		figure.Histogram(figure.HistogramOptions{XLabel: label, Log: true}, p.violationColumns(p.good)...))
}

// maxColumns bounds the components that a histogram can tell apart.
const maxColumns = 8

// violationColumns returns each component's violations, or where there are many
// the largest of the equalities and of the inequalities of each sample.
func (e *Experiment) violationColumns(x []float64) []figure.Column {
	set := e.Process.Set
	names, m := constraint.Components(set), len(set.Equalities())
	values, c := e.excess(x)
	n := len(x) / set.Dim()
	var columns []figure.Column
	add := func(name string, from, to int) {
		if from == to {
			return
		}
		column := figure.Column{Name: name}
		for i := range n {
			column.Values = append(column.Values, slices.Max(values[i*c+from:i*c+to]))
		}
		columns = append(columns, column)
	}
	if c > maxColumns {
		add(fmt.Sprintf("largest |h|, m = %d", m), 0, m)
		add(fmt.Sprintf("largest max(g, 0), l = %d", c-m), m, c)
		return columns
	}
	for a, name := range names {
		add(name, a, a+1)
	}
	return columns
}

func latLon(x []float64) []float64 {
	out := make([]float64, 0, len(x)/3*2)
	for i := 0; i < len(x); i += 3 {
		lat, lon := dataset.LatLon(x[i], x[i+1], x[i+2])
		out = append(out, lat, lon)
	}
	return out
}
