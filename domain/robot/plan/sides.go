package plan

import (
	"strings"

	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// Walls keep the tip to a side of an obstacle: to pass it on the left it may not cross the
// half-plane that begins at the obstacle's centre, goes to the right of the line from start
// to goal, and all the way up and down. So RRT-Connect finds only ways of that side.

const (
	wallThick = 1e-4 // half of it, m
	wallFar   = 50.0 // half its length and height
)

// gateway makes the scene of walls, if the options name a side.
func (pl *Planner) gateway() {
	walls := len(pl.o.Sides) - strings.Count(pl.o.Sides, string(Any))
	if walls == 0 {
		return
	}
	pl.gates = &scene.Scene{Arm: pl.arm, Bodies: []scene.Body{{Link: pl.p.Tip.Link, Centre: pl.p.Tip.Local}}}
	for range walls {
		pl.gates.Obstacles = append(pl.gates.Obstacles, scene.Obstacle{Shape: scene.Box,
			Half: [3]float64{wallThick, wallFar, wallFar}})
	}
	pl.gate = pl.gates.NewChecker()
}

// walls puts the walls up between a start and a goal.
func (pl *Planner) walls(start, goal []float64) *Error {
	if pl.gate == nil {
		return nil
	}
	a, b := pl.tip(start), pl.tip(goal)
	ahead := [3]float64{b[0] - a[0], b[1] - a[1], 0}
	long := vec3.Norm(ahead)
	if long < 1e-6 {
		return &Error{Reason: NotJoined, Detail: "start and goal of the tip are above each other: there is no left " +
			"and right"}
	}
	ahead = vec3.Scaled(1/long, ahead)
	left := [3]float64{-ahead[1], ahead[0], 0}
	k := 0
	for i, s := range pl.o.Sides {
		if s == Any {
			continue
		}
		to := wallFar // the wall stands on the other side
		if s == Left {
			to = -wallFar
		}
		w := &pl.gates.Obstacles[k]
		w.A = vec3.Add(pl.p.Scene.Obstacles[i].Centre(), to, left)
		w.R = [9]float64{ahead[0], left[0], 0, ahead[1], left[1], 0, 8: 1}
		k++
	}
	return nil
}
