package plan

import (
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint/zoo"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A waypoint keeps the margin, though segments need not: one with a nanometre less is refused,
// with its number and what is near, one with a nanometre more is not.
func TestWaypointsKeepTheMargin(t *testing.T) {
	arm := testkit.Must(robot.FromDH("planar", []robot.DH{{}, {A: 0.5}, {A: 0.4}}))
	tip := robot.Point{Link: 2, Local: [3]float64{0.3}}
	from, to := []float64{0, 0, 0}, []float64{1, 0, 0}
	const margin, radius, between = 0.02, 0.05, 4
	for _, c := range []struct {
		waypoint int
		room     float64
		refused  bool
	}{{1, margin - 1e-9, true}, {1, margin + 1e-9, false}, {3, margin - 1e-9, true}, {3, 1, false}} {
		sin, cos := math.Sincos(float64(c.waypoint) / between) // the tip goes around on a circle of 1.2
		at := 1.2 + radius + c.room
		spec := trajectory.Spec{Arm: arm, Waypoints: between + 1, Margin: margin,
			Start: trajectory.Place{Joints: from}, Goal: trajectory.Place{Joints: to},
			Volume: []robot.Sphere{{Link: tip.Link, Centre: tip.Local}},
			Obstacles: []scene.Obstacle{{Name: "ball", A: [3]float64{at * cos, at * sin},
				Radius: radius}}}
		p := testkit.Must(Of(spec, tip))
		pl := testkit.Must(New(p, Options{Waypoints: between + 1}))
		way := [][]float64{{0, 0, 0}, {0.4, 0, 0}, {1, 0, 0}}
		fault := pl.waypoints(way)
		if !c.refused {
			if fault != nil || math.Abs(pl.out.Length-1) > 1e-12 || c.room < 1 &&
				!(math.Abs(pl.out.Room.Upper-c.room) < 1e-4) {
				t.Errorf("waypoint %d with %v: %v, a way of %v with room %+v", c.waypoint, c.room, fault, pl.out.Length,
					pl.out.Room)
			}
			continue
		}
		if fault == nil || fault.Reason != Coarse || !strings.Contains(fault.Detail,
			"waypoint "+string(rune('0'+c.waypoint))+" is too near: ") || !strings.Contains(fault.Detail, "ball") {
			t.Errorf("waypoint %d with %v: %+v", c.waypoint, c.room, fault)
		}
	}
}

// A solver goes as far as it may, and not farther.
func TestSolveWithinADistance(t *testing.T) {
	arm := &robot.Arm{Joints: []robot.Joint{{Kind: robot.Prismatic, Axis: [3]float64{1, 0, 0}, Upper: 1}}}
	s := newSolver(arm, zoo.Affine{A: [][]float64{{1}}, B: []float64{0.125}}, true)
	q := []float64{0}
	if !s.solve(q, 1) || math.Abs(q[0]-0.125) > arrived {
		t.Fatalf("the solver ends at %v", q)
	}
	far := q[0]
	testkit.Equal(t, s.solve([]float64{0}, far), true, "exactly as far")
	testkit.Equal(t, s.solve([]float64{0}, math.Nextafter(far, 0)), false, "a little farther")
}
