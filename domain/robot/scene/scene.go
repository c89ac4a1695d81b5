// Package scene is what an arm may hit: obstacles as signed distances with exact derivatives, the arm's own volume as
// spheres, and how much room is between them: at a configuration, and along the whole segment between two, where the
// room is proven and not sampled.
//
// Metres and radians, in the base frame of the arm; configurations are in the coordinates of package robot. It is not
// for constraints (domain/trajectory) nor for finding paths (domain/robot/plan).
package scene

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Body is a sphere of the arm's volume; one of Radius 0 is a point of it that is watched.
type Body = robot.Sphere

// A Scene is an arm, its volume and what it may hit. NewChecker measures it.
type Scene struct {
	Arm       *robot.Arm
	Bodies    []Body
	Obstacles []Obstacle
	Self      [][2]int // pairs of bodies that may hit each other
}

// Most bodies, obstacles and pairs of a scene.
const (
	MostBodies    = 4096
	MostObstacles = 4096
	MostPairs     = 1 << 20
)

// LinkOrigins returns the origins of the links of all joints that move, as bodies of radius 0.
func LinkOrigins(arm *robot.Arm) []Body {
	var out []Body
	for _, i := range arm.Places() {
		out = append(out, Body{Link: i})
	}
	return out
}

// SelfPairs returns, for each pair of links, all pairs of a body on the first link and a body on the second.
func SelfPairs(bodies []Body, links [][2]int) [][2]int {
	var out [][2]int
	for _, pair := range links {
		for a := range bodies {
			for b := range bodies {
				if bodies[a].Link == pair[0] && bodies[b].Link == pair[1] {
					out = append(out, [2]int{a, b})
				}
			}
		}
	}
	return out
}

// Check returns what is wrong with the scene, or nil: the arm's error, or the first body, obstacle or pair that cannot
// be.
func (s *Scene) Check() error {
	if s.Arm == nil {
		return errors.New("a scene without an arm")
	}
	if err := s.Arm.Check(); err != nil {
		return err
	}
	pairs := len(s.Bodies)*len(s.Obstacles) + len(s.Self)
	if len(s.Bodies) > MostBodies || len(s.Obstacles) > MostObstacles || pairs > MostPairs {
		return fmt.Errorf("%d bodies and %d obstacles, %d pairs in all; expected at most %d, %d and %d", len(s.Bodies),
			len(s.Obstacles), pairs, MostBodies, MostObstacles, MostPairs)
	}
	for i, b := range s.Bodies {
		if b.Link < -1 || b.Link >= len(s.Arm.Joints) {
			return fmt.Errorf("body %d is on link %d; expected −1 to %d", i, b.Link, len(s.Arm.Joints)-1)
		}
		if !(b.Radius >= 0) || !vec3.Finite(b.Radius) || !vec3.Finite(b.Centre[:]...) {
			return fmt.Errorf("body %d has centre %v and radius %v; expected finite numbers and a radius of at least 0",
				i, b.Centre, b.Radius)
		}
	}
	for i := range s.Obstacles {
		o := &s.Obstacles[i]
		if err := o.check(cmp.Or(o.Name, strconv.Itoa(i))); err != nil {
			return err
		}
	}
	for _, p := range s.Self {
		if min(p[0], p[1]) < 0 || max(p[0], p[1]) >= len(s.Bodies) || p[0] == p[1] {
			return fmt.Errorf("the pair %v of bodies; expected two different ones, from 0 to %d", p, len(s.Bodies)-1)
		}
		if s.Bodies[p[0]].Link == s.Bodies[p[1]].Link {
			return fmt.Errorf("the pair %v of bodies, both on link %d, whose distance never changes", p,
				s.Bodies[p[0]].Link)
		}
	}
	return nil
}

// Pairs returns how many pairs are looked at: every body with every obstacle, in the order of bodies, and then Self.
func (s *Scene) Pairs() int { return len(s.Bodies)*len(s.Obstacles) + len(s.Self) }

// Pair returns pair i: a body and an obstacle, or two bodies and −1.
func (s *Scene) Pair(i int) (body, obstacle, other int) {
	if k := len(s.Obstacles); i < len(s.Bodies)*k {
		return i / k, i % k, -1
	}
	p := s.Self[i-len(s.Bodies)*len(s.Obstacles)]
	return p[0], -1, p[1]
}

// Describe names pair i for messages; "nothing" for −1.
func (s *Scene) Describe(i int) string {
	if i < 0 {
		return "nothing"
	}
	body, obstacle, other := s.Pair(i)
	if obstacle < 0 {
		return s.body(body) + " and " + s.body(other)
	}
	return s.body(body) + " and " + cmp.Or(s.Obstacles[obstacle].Name, fmt.Sprintf("obstacle %d", obstacle))
}

func (s *Scene) body(i int) string {
	link := s.Arm.Base
	if l := s.Bodies[i].Link; l >= 0 {
		link = cmp.Or(s.Arm.Joints[l].Link, fmt.Sprintf("link %d", l))
	}
	if s.Bodies[i].Radius == 0 {
		return link
	}
	return fmt.Sprintf("sphere %d on %s", i, link)
}

// A Checker measures a scene: the scratch of one goroutine. Its methods allocate
// nothing, but buffers when a segment is halved more often than any before.
type Checker struct {
	s     *Scene
	kin   *robot.Kinematics
	reach reach

	q0, q1, dq, x []float64
	bow           []float64   // of each body, a bound on |p̈| over the segment
	at            [][]float64 // where bodies are, by level of bisection
	todo          [][]int32   // pairs that are not decided, by level
	swept         Swept
	goal          float64 // what a lower bound must reach
	within        float64 // or how near the upper bound; negative: goal counts
}

// NewChecker makes a Checker. The scene must pass Check, and must not change
// afterwards, but for the numbers of its obstacles.
func (s *Scene) NewChecker() *Checker {
	if err := s.Check(); err != nil {
		panic("scene: " + err.Error())
	}
	m := s.Arm.Moving()
	c := &Checker{
		s: s, kin: s.Arm.NewKinematics(), reach: newReach(s.Arm, s.Bodies),
		x:  make([]float64, s.Arm.Dim()),
		q0: make([]float64, m), q1: make([]float64, m), dq: make([]float64, m), bow: make([]float64, len(s.Bodies)),
		at: make([][]float64, deepest+2), todo: make([][]int32, deepest+1),
	}
	points := make([]robot.Point, len(s.Bodies))
	for i, b := range s.Bodies {
		points[i] = robot.Point{Link: b.Link, Local: b.Centre}
	}
	c.kin.Track(points)
	c.level(0)
	return c
}

// level makes the buffers of a level of bisection, if they are not there.
func (c *Checker) level(i int) {
	if c.todo[i] == nil {
		c.todo[i] = make([]int32, 0, c.s.Pairs())
	}
	for k := i; k <= i+1; k++ {
		if c.at[k] == nil {
			c.at[k] = make([]float64, 3*len(c.s.Bodies))
		}
	}
}

// Clearance returns the least room between the members of a pair at the configuration x,
// of D numbers, negative where they overlap, and the pair; +Inf and −1 if there is none.
func (c *Checker) Clearance(x []float64) (room float64, pair int) {
	c.kin.At(x)
	at := c.at[0]
	c.kin.Points(at)
	return c.least(at)
}

func (c *Checker) least(at []float64) (room float64, pair int) {
	room, pair = math.Inf(1), -1
	for i := range c.s.Pairs() {
		if r := c.room(at, i); r < room {
			room, pair = r, i
		}
	}
	return room, pair
}

// room returns the room between the members of a pair, with bodies at the given places.
func (c *Checker) room(at []float64, pair int) float64 {
	body, obstacle, other := c.s.Pair(pair)
	p := [3]float64(at[3*body:])
	if obstacle >= 0 {
		return c.s.Obstacles[obstacle].Distance(p) - c.s.Bodies[body].Radius
	}
	return vec3.Norm(vec3.Minus(p, [3]float64(at[3*other:]))) - c.s.Bodies[body].Radius - c.s.Bodies[other].Radius
}
