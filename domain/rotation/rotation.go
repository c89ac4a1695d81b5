// Package rotation is the domain of orthogonal matrices: sets of them are compared by the traces of their powers.
package rotation

import (
	"fmt"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/internal/text"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Kind is data.kind points on O(n) or SO(n): matrices by rows.
var Kind = domain.Kind{Name: "rotation", Data: "points", Fits: fits, Read: dataset.ReadPoints,
	ReadGiven: dataset.ReadPointsGiven, New: New}

func fits(set constraint.Set) bool { return group(set) != nil }

func group(set constraint.Set) *zoo.Orthogonal {
	if g, ok := constraint.As[*zoo.Orthogonal](set); ok && g.Dim() == set.Dim() { // no factor of a product
		return g
	}
	return nil
}

// New makes the domain.
func New(in domain.Input) (*domain.Domain, error) {
	order := group(in.Set).Order()
	o := &domain.Observables{Values: func(dst, x []float64, _ int) { metric.PowerTraces(dst, x, order) }}
	for _, k := range metric.TracePowers {
		name := "tr X"
		if k > 1 {
			name += text.Superscript(k)
		}
		o.List = append(o.List, domain.Observable{Name: name, File: fmt.Sprintf("trace-%d", k),
			Bins: metric.TraceBinning})
	}
	d := o.Distance(order*order, in.Pool)
	d.Name = "Jensen–Shannon distance"
	d.Note = "Mean over tr Xᵏ, k = 1, 2, 4, 5, of distances between histograms of 100 bins; " +
		"square roots of the divergence, natural logarithm."
	d.Compare = func(a, b []float64) []float64 {
		each, mean := metric.TraceJSD(a, b)
		return append([]float64{mean}, each[:]...)
	}
	return &domain.Domain{
		Distance:    d,
		Observables: o,
		Draw:        func(c domain.Canvas, v domain.View) { o.Draw(c, v.Reference, v.Marks, v.Parts, v.Seed) },
	}, nil
}
