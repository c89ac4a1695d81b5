// Package points is the domain of plain points in R^d: what no other kind claims.
// They are compared along the directions in which the data varies most.
package points

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
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

const most = 4 // components

// Components returns the leading principal components of the training rows as
// observables: at most four, those that vary. They are nil if the rows do not vary.
func Components(train []float64, d int) *domain.Observables {
	mean, axes, share := metric.Principal(train, d, most)
	o := &domain.Observables{}
	for k := range axes {
		o.List = append(o.List, domain.Observable{
			Name: fmt.Sprintf("principal component %d", k+1), File: fmt.Sprintf("component-%d", k+1),
			Bins: metric.Bins{N: domain.DefaultBins},
		})
	}
	if len(axes) == 0 {
		return nil
	}
	o.Note = fmt.Sprintf("Principal components of the training rows, %.3g %% of their variance in all; "+
		"observe in the problem file names numbers that say more.", 100*share)
	o.Values = func(dst, x []float64, n int) {
		for i := range n {
			for k, v := range axes {
				dst[i*len(axes)+k] = metric.Project(x[i*d:(i+1)*d], mean, v)
			}
		}
	}
	return o
}

// drawProfiles shows the medians of each profile, with the middle 95 % of data and samples, beside its limits.
func drawProfiles(c domain.Canvas, v domain.View, profiles []constraint.Profile) {
	for k, p := range profiles {
		n := len(p.Low)
		places := make([]float64, n)
		for i := range places {
			places[i] = float64(i + 1)
		}
		series := func(name string, x []float64) figure.Series {
			s, all := figure.Series{Name: name, X: places}, make([]float64, len(x)/v.Dim*n)
			for row := range len(x) / v.Dim {
				p.Of(all[row*n:(row+1)*n], x[row*v.Dim:(row+1)*v.Dim])
			}
			for i := range n {
				at := metric.Column(all, i, n)
				s.Y = append(s.Y, metric.Quantile(at, 0.5))
				s.Lo, s.Hi = append(s.Lo, metric.Quantile(at, 0.025)), append(s.Hi, metric.Quantile(at, 0.975))
			}
			return s
		}
		curves := []figure.Series{series("data", v.Data), series("samples", v.Samples)}
		for i, limit := range [][]float64{p.Low, p.High} {
			if slices.ContainsFunc(limit, func(v float64) bool { return !math.IsInf(v, 0) }) {
				curves = append(curves, figure.Series{X: places, Y: limit,
					Name: []string{"lower", "upper"}[i] + " limit"})
			}
		}
		c.Add(fmt.Sprintf("profile-%d", k), figure.FigureRef{Title: "Data and samples: " + p.Name, Wide: true,
			Caption: "Medians, with the middle 95 % of rows, beside the limits. Places are in the order of the set."},
			figure.Lines(figure.LineOptions{XLabel: p.Along, YLabel: p.Name}, curves...))
	}
}

// stepNames returns the names of the coordinates of a sequence: v[0], q[0][0], q[0][1], v[1], …
func stepNames(own constraint.Capabilities) (names []string) {
	for l := range own.Steps {
		for _, name := range own.StepNames {
			name, element, vector := strings.Cut(name, "[")
			if name = fmt.Sprintf("%s[%d]", name, l); vector {
				name += "[" + element
			}
			names = append(names, name)
		}
	}
	return names
}

// drawSteps shows each coordinate of the steps of a sequence over the steps.
func drawSteps(c domain.Canvas, v domain.View, own constraint.Capabilities) {
	for k, name := range own.StepNames {
		if k == maxParts {
			c.Note(fmt.Sprintf("The first %d of %d coordinates of a step are drawn.", maxParts, len(own.StepNames)))
			return
		}
		curves := func(x []float64) (points []float64) {
			for i := range len(x) / v.Dim * own.Steps { // rows hold nothing but steps
				points = append(points, float64(i%own.Steps), x[i*own.StepDim+k], 0)
			}
			return points
		}
		c.Add(fmt.Sprintf("steps-%d", k), figure.FigureRef{Title: "Data and samples: " + name,
			Caption: name + " over the steps of the sequence, a line a row."},
			figure.Tracks(figure.TracksOptions{Axes: [2]string{"step", name}, Across: [3]float64{1, 0, 0},
				Up: [3]float64{0, 1, 0}, Free: true},
				figure.TrackLayer{Name: "data", Points: curves(v.Data), Strand: own.Steps, Mode: -1},
				figure.TrackLayer{Name: "samples", Points: curves(v.Samples), Strand: own.Steps}))
	}
}
