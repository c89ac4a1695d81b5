package plan

import (
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
)

// Of returns the problem whose paths are points of the set of spec: the same tasks, limits, volume, obstacles and
// margin, kept along segments too. Places that spec leaves open (trajectory.Given) are open: At fixes them. Bounds on
// steps are not kept: shorter ones need more waypoints. The error is a *trajectory.Error, or that of an obstacle.
func Of(spec trajectory.Spec, tip robot.Point) (Problem, error) {
	p := Problem{Scene: &scene.Scene{Arm: spec.Arm, Bodies: spec.Volume, Obstacles: spec.Obstacles},
		Margin: spec.Margin, Limits: spec.Limits, Tip: tip}
	for _, pair := range spec.Self {
		if spec.Volume[pair[0]].Link != spec.Volume[pair[1]].Link {
			p.Scene.Self = append(p.Scene.Self, pair)
		}
	}
	var err error
	if p.Path, err = place(spec, trajectory.Place{}); err != nil {
		return p, err
	}
	return p.At(spec, spec.Start, spec.Goal)
}

// At returns the problem with other ends.
func (p Problem) At(spec trajectory.Spec, start, goal trajectory.Place) (Problem, error) {
	var err error
	if p.Start, err = place(spec, start); err != nil {
		return p, err
	}
	p.Goal, err = place(spec, goal)
	return p, err
}

// place returns the set of one configuration that keeps what the path and a place ask.
func place(spec trajectory.Spec, at trajectory.Place) (constraint.Set, error) {
	at.Given = trajectory.Given{}
	return trajectory.New(trajectory.Spec{Arm: spec.Arm, Waypoints: 1, Path: spec.Path, Start: at})
}
