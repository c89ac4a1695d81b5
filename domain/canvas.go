package domain

import (
	"fmt"

	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// A Canvas takes what a domain shows: pictures in files and on the page of a report.
// Faults of drawing and writing are the canvas's own to keep.
type Canvas interface {
	Add(name string, ref figure.FigureRef, pic figure.Picture) // PNG and SVG files, and on the page
	PNG(name string, pic figure.Picture)                       // a file alone
	Note(remark string)                                        // on the page: what is left out, and why
	Scene(s figure.Scene)                                      // on the page
}

// A View is what there is to see: the data and the samples that are left.
type View struct {
	Dim     int // of points
	Data    []float64
	Samples []float64
	Worst   metric.Float // violation of a sample; NaN without samples

	// Of the distance of the run, which is the domain's own if it has one:
	Reference *Reference // nil if there is no distance
	Marks     []float64  // of the samples
	Parts     []metric.Score
	Seed      uint64 // of the problem
}

// A Layer is the data or the samples that a view in space shows: some rows.
type Layer struct {
	Name   string    // with how many there are
	Labels []string  // of the rows
	X      []float64 // the rows
}

// Layers returns the data, with `row` as the name of a row, and the samples. shown says how many of n to take. Rows are
// taken evenly, since data may be in order.
func (v View) Layers(row string, dim int, shown func(n int) int) (out []Layer) {
	for _, l := range []struct {
		name, of string
		x        []float64
	}{{"data", row, v.Data}, {"samples", "sample", v.Samples}} {
		n := len(l.x) / dim
		count := shown(n)
		if count == 0 {
			continue
		}
		layer := Layer{Name: fmt.Sprintf("%s, %s of %s", l.name, text.Count(count), text.Count(n))}
		for k := range count {
			i := k * n / count
			layer.Labels = append(layer.Labels, fmt.Sprintf("%s %d", l.of, i))
			layer.X = append(layer.X, l.x[i*dim:(i+1)*dim]...)
		}
		out = append(out, layer)
	}
	return out
}

// WorstSample is a sentence on the worst violation of a sample, or nothing without samples.
func (v View) WorstSample() string {
	if len(v.Samples) == 0 || v.Worst.IsNaN() {
		return ""
	}
	return "The worst violation of a sample is " + text.Measured(v.Worst) + "."
}
