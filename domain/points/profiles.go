package points

import (
	"fmt"
	"math"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
)

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
