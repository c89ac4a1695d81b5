package sets

import (
	"fmt"
	"math"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/trajectory"
)

// reachTries is how many random configurations a search begins from, and reachMiss what it
// may be off by: metres or radians. A place that the arm has is mostly found at once.
const (
	reachTries = 200
	reachMiss  = 1e-3
)

// reach refuses a start, a goal or a path that no configuration of the arm keeps, as far as a search can tell.
func (b *armed) reach() error {
	for _, p := range []struct {
		key         string
		start, goal trajectory.Place
		at          int
	}{{"start", b.spec.Start, trajectory.Place{}, 0}, {"goal", trajectory.Place{}, b.spec.Goal, b.Waypoints - 1},
		{"path", trajectory.Place{}, trajectory.Place{}, 0}} {
		asked := len(p.start.Tasks)+len(p.goal.Tasks) > 0 || p.key == "path" && len(b.spec.Path) > 0
		given := p.start.Given != (trajectory.Given{}) || p.goal.Given != (trajectory.Given{})
		if !asked || given || p.start.Joints != nil || p.goal.Joints != nil {
			continue
		}
		one := b.spec
		one.Waypoints, one.Start, one.Goal, one.Steps, one.Segments = 1, p.start, p.goal, nil, false
		one.Form = trajectory.Separate
		set, err := trajectory.New(one)
		if err != nil {
			return err
		}
		if component, miss := nearest(set, b.arm); miss > reachMiss {
			name := strings.Replace(component, "[0", fmt.Sprintf("[%d", p.at), 1)
			return &Error{Key: p.key, Fault: fmt.Sprintf("no configuration of the arm keeps it: of %d searches the "+
				"nearest violates %q by %.3g", reachTries, name, miss)}
		}
	}
	return nil
}

// nearest searches for a point of a set, and returns the component that the best violates most, and by how much.
func nearest(set constraint.Set, arm *robot.Arm) (component string, miss float64) {
	solver, start, names := geometry.NewSolver(set, 0), set.Capabilities().Start, constraint.Components(set)
	x := make([]float64, set.Dim())
	miss = math.Inf(1)
	for try := 0; try < reachTries && miss > reachMiss; try++ {
		start(x, keyed.ReachStart.Stream(1, 0), 0, try)
		solver.Descend(x, 1e-12)
		arm.Unit(x, x) // of what is missed, tell not what a search does to the circles
		if v, at := constraint.Worst(constraint.Values(set, x), len(set.Equalities())); v < miss {
			if miss = v; at >= 0 {
				component = names[at]
			}
		}
	}
	return component, miss
}
