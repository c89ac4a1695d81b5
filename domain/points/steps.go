package points

import (
	"fmt"
	"strings"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/judge/figure"
)

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
