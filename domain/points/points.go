// Package points is the domain of plain points in R^d: what no other kind claims.
// They are compared along the directions in which the data varies most.
package points

import (
	"github.com/landing-diffusion/landing/dataset"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/figure"
)

// Kind is data.kind points on any set: coordinates by rows.
var Kind = domain.Kind{Name: "points", Data: "points", Read: dataset.ReadPoints, New: New}

// New makes the domain. It has no published distance; its observables are the
// leading principal components.
func New(in domain.Input) (*domain.Domain, error) {
	return &domain.Domain{Observables: Components(in.Train, in.Set.Dim()), Draw: draw}, nil
}

// draw shows coordinates, and in R³ the points in space.
func draw(c domain.Canvas, v domain.View) {
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
		Wide: true},
		figure.Points("", v.Dim, []figure.PointLayer{{Name: "data", Points: v.Data},
			{Name: "samples", Points: v.Samples}}))
}
