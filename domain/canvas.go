package domain

import (
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
