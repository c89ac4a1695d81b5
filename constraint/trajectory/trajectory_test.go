package trajectory_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/constrainttest"
	"github.com/landing-diffusion/landing/constraint/trajectory"
	"github.com/landing-diffusion/landing/robot"
)

const flange = 7 // of the Panda

var none = math.NaN()

// published is the scene of the published trajectories.
func published(waypoints int) trajectory.Spec {
	arm := robot.Panda()
	spec := trajectory.Spec{
		Arm: arm, Waypoints: waypoints, Margin: 0.01,
		Path:  trajectory.Position("tool", flange, [3]float64{}, [3]float64{none, none, 0.205}),
		Start: trajectory.Place{Tasks: trajectory.Position("start", flange, [3]float64{}, [3]float64{0.4, -0.5, 0.205})},
		Goal:  trajectory.Place{Tasks: trajectory.Position("goal", flange, [3]float64{}, [3]float64{0.4, 0.5, 0.205})},
		Obstacles: []trajectory.Obstacle{
			trajectory.Ball{Centre: [3]float64{0.4, 0.3, 0.205}, Radius: 0.1},
			trajectory.Ball{Centre: [3]float64{0.4, -0.3, 0.205}, Radius: 0.1},
		},
	}
	for link := range 7 {
		spec.Volume = append(spec.Volume, robot.Sphere{Link: link})
	}
	return spec
}

func set(t testing.TB, spec trajectory.Spec) constraint.Set {
	t.Helper()
	s, err := trajectory.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSuite(t *testing.T) {
	for name, spec := range map[string]trajectory.Spec{
		"published": published(3),
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, spec)
			constrainttest.Run(t, s, constrainttest.Options{Points: 6})
		})
	}
}
