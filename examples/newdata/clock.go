// Package newdata is a kind of data of one's own: times of the day, as points of the circle.
//
// To use it in problem files as data.kind clock, give it a row in domain/kinds.
package newdata

import (
	"math"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Kind is its row: files of hours, on sets in the plane.
var Kind = domain.Kind{Name: "clock", Data: "clock", Dim: 2, Read: read, New: clock}

// read reads a file with an hour on each line, and turns hours into unit vectors.
func read(path string) (*dataset.Points, error) {
	hours, err := dataset.ReadPoints(path)
	if err != nil {
		return nil, err
	}
	if hours.D != 1 {
		return nil, &dataset.Error{File: path, Value: "more than one column", Want: "an hour on each line"}
	}
	x := make([]float64, 0, 2*hours.N)
	for _, h := range hours.X {
		sin, cos := math.Sincos(h * math.Pi / 12)
		x = append(x, cos, sin)
	}
	return &dataset.Points{Name: hours.Name, N: hours.N, D: 2, X: x, SHA256: hours.SHA256}, nil
}

// hours writes the hour of each of n points.
func hours(dst, x []float64, n int) {
	for i := range n {
		if dst[i] = math.Atan2(x[2*i+1], x[2*i]) * 12 / math.Pi; dst[i] < 0 {
			dst[i] += 24
		}
	}
}

// clock makes the domain: one observable, a file of hours and a picture.
func clock(domain.Input) (*domain.Domain, error) {
	hour := domain.Observable{Name: "hour", Unit: "h", File: "hour", Bins: metric.Bins{Lo: 0, Hi: 24, N: 24,
		Circular: true}}
	return &domain.Domain{
		Observables: &domain.Observables{List: []domain.Observable{hour}, Values: hours},
		Table: &domain.Table{Header: []string{"hour"}, Format: "%.4f", Lines: func(x []float64, _ int) []float64 {
			h := make([]float64, len(x)/2)
			hours(h, x, len(h))
			return h
		}},
		Draw: func(c domain.Canvas, v domain.View) {
			c.Add("dial", figure.FigureRef{Title: "On the dial", Caption: "Data and samples on the circle."},
				figure.Scatter(figure.ScatterOptions{}, 2, figure.PointLayer{Name: "data", Points: v.Data},
					figure.PointLayer{Name: "samples", Points: v.Samples}))
		},
	}, nil
}
