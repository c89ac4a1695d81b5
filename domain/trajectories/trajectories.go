// Package trajectories is the domain of motions of a serial arm: they are compared in the plane in which the data
// varies most, by how long, how smooth and how clear of obstacles they are, and by the sides on which they pass
// obstacles. Between way points joints go at constant rates, turning ones the shorter way around (package
// domain/robot/scene).
package trajectories

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/metric"
)

// Kind is data.kind trajectory: motions, on sets of an arm's way points.
var Kind = domain.Kind{Name: "trajectory", Data: "trajectory", Fits: fits, Read: Read, Fit: fit, Open: open, Ends: ends,
	New: New, Writes: []string{".json"}}

// published is the number of samples that distances on trajectories are published with.
const published = 320

func fits(set constraint.Set) bool { return motionOf(set) != nil }

// New makes the domain.
func New(in domain.Input) (*domain.Domain, error) {
	m := motionOf(in.Set)
	g := &guide{motion: m, pool: in.Pool, data: in.Data, path: in.Files["data.path"]}
	g.sort()
	out := &domain.Domain{Samples: published, Unit: "rad (root mean square over way points)",
		PerUnit: 1 / math.Sqrt(float64(m.waypoints)), Draw: g.draw, Scene: g.play, Find: g.find, Distance: g.distance(),
		Finish:      m.finisher(),
		Observables: g.observables(), Table: m.table(),
		Writers: map[string]domain.Writer{".npy": m.writeNPY, ".json": m.writeJSON}}
	for _, r := range append(slices.Clone(in.Remarks), m.remarks...) {
		out.Faults = append(out.Faults, fmt.Sprintf("%s: %s", filepath.Base(g.path), r))
	}
	for _, note := range m.arm.Notes {
		out.Faults = append(out.Faults, fmt.Sprintf("robot %s: %s", m.arm.Name, note))
	}
	return out, nil
}

// Cells of the published distance on each side, and by how much their range is wider than the data's, as a part of it.
const cells, wider = 60, 0.2

// distance is the published one, nil if the data does not vary in two directions.
func (g *guide) distance() *domain.Distance {
	d := g.dim
	mean, axes, share := metric.Principal(g.data, d, 2)
	if len(axes) < 2 {
		return nil
	}
	project := func(x []float64) []float64 {
		out := make([]float64, len(x)/d*2)
		domain.EachBlock(g.pool, len(x)/d, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				for k, v := range axes {
					out[2*i+k] = metric.Project(x[i*d:(i+1)*d], mean, v)
				}
			}
		})
		return out
	}
	plane := metric.Around(project(g.data), cells, wider)
	return &domain.Distance{
		Name: "Jensen–Shannon distance", Dim: 2, Marks: project,
		Note: fmt.Sprintf("Histogram of %d × %d cells in the plane of the two leading principal components of all "+
			"data, "+
			"%.3g %% of its variance; square root of the divergence, natural logarithm.", cells, cells, 100*share),
		Compare: func(a, b []float64) []float64 { return []float64{plane.JSD(a, b)} },
	}
}
