// Package points is the domain of plain points in R^d: what no other kind claims.
// They are compared along the directions in which the data varies most.
package points

import (
	"fmt"
	"io"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/judge/figure"
)

// Kind is data.kind points on any set: coordinates by rows.
var Kind = domain.Kind{Name: "points", Data: "points", Read: dataset.ReadPoints,
	ReadGiven: dataset.ReadPointsGiven, New: New}

// New makes the domain. It has no published distance; its observables are the leading principal components.
func New(in domain.Input) (*domain.Domain, error) {
	own := in.Set.Capabilities()
	parts, names := own.Parts, in.Names
	if names == nil {
		names = own.Names
	}
	d := &domain.Domain{
		Observables: Components(in.Train, in.Set.Dim()),
		Draw: func(c domain.Canvas, v domain.View) {
			drawProfiles(c, v, own.Profiles)
			if len(parts) > 1 {
				drawParts(c, v, parts, names)
			} else {
				draw(c, v, names)
			}
		},
	}
	if own.StepNames != nil {
		if names == nil {
			names = stepNames(own)
		}
		d.Draw = func(c domain.Canvas, v domain.View) { drawSteps(c, v, own) }
	}
	if names != nil {
		d.Named(names)
	}
	if own.StepNames != nil {
		d.Writers[".npy"] = func(w io.Writer, points arrayfile.Rows) error {
			return arrayfile.EncodeNPYRows(w, []int{points.N, own.Steps, own.StepDim}, points)
		}
	}
	return d, nil
}

// maxParts bounds the parts of a point that are drawn.
const maxParts = 8

// drawParts shows the coordinates of each part that has two of them or more.
func drawParts(c domain.Canvas, v domain.View, parts []constraint.Part, names []string) {
	drawn := 0
	for i, p := range parts {
		if p.Dim < 2 {
			continue
		}
		if drawn++; drawn > maxParts {
			c.Note(fmt.Sprintf("The first %d of %d factors of the set are drawn.", i, len(parts)))
			return
		}
		axes := make([]string, min(p.Dim, 3))
		for j := range axes {
			if axes[j] = fmt.Sprintf("x[%d]", p.At+j); names != nil {
				axes[j] = names[p.At+j]
			}
		}
		c.Add(fmt.Sprintf("points-%d", i), figure.FigureRef{Title: "Data and samples: " + p.Name, Wide: p.Dim > 2,
			Caption: fmt.Sprintf("Coordinates x[%d] to x[%d], of the factor %s.", p.At, p.At+p.Dim-1, p.Name)},
			figure.Scatter(figure.ScatterOptions{Axes: axes}, p.Dim,
				figure.PointLayer{Name: "data", Points: part(v.Data, v.Dim, p)},
				figure.PointLayer{Name: "samples", Points: part(v.Samples, v.Dim, p)}))
	}
}

// part returns the coordinates of a part of each of the rows of x.
func part(x []float64, d int, p constraint.Part) []float64 {
	out := make([]float64, 0, len(x)/d*p.Dim)
	for i := 0; i < len(x); i += d {
		out = append(out, x[i+p.At:i+p.At+p.Dim]...)
	}
	return out
}

// draw shows coordinates, and in R³ the points in space.
func draw(c domain.Canvas, v domain.View, names []string) {
	if v.Dim < 2 {
		return
	}
	if v.Dim == 3 {
		c.Add("space", figure.FigureRef{Title: "In space", Wide: true,
			Caption: "Data beside samples, seen from one side: far points are paler."},
			figure.Space(figure.SpaceOptions{}, figure.SpaceLayer{Name: "data", Points: v.Data},
				figure.SpaceLayer{Name: "samples", Points: v.Samples}))
	}
	c.Add("points", figure.FigureRef{Title: "Data and samples", Caption: "Coordinates of data and samples.",
		Wide: v.Dim > 2},
		figure.Scatter(figure.ScatterOptions{Axes: names}, v.Dim, figure.PointLayer{Name: "data", Points: v.Data},
			figure.PointLayer{Name: "samples", Points: v.Samples}))
}
