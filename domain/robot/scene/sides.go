package scene

import (
	"math"

	"github.com/landing-diffusion/landing/internal/vec3"
)

// A Compass tells on which side a way passes a place, as seen with up above. How far the way turns about the place
// depends, between two ends, on the way's class alone, as long as it does not pass over or under the place: below 0 the
// place is on its right hand, and it passes on the left; above 0 it passes on the right.
type Compass struct {
	Up, East, North [3]float64 // orthonormal, East × North = Up
}

// NewCompass returns a compass of a direction other than 0. East is any across it.
func NewCompass(up [3]float64) Compass {
	c := Compass{Up: vec3.Scaled(1/vec3.Norm(up), up)}
	least := 0
	for i := range c.Up {
		if math.Abs(c.Up[i]) < math.Abs(c.Up[least]) {
			least = i
		}
	}
	var e [3]float64
	e[least] = 1
	e = vec3.Minus(e, vec3.Scaled(c.Up[least], c.Up))
	c.East = vec3.Scaled(1/vec3.Norm(e), e)
	c.North = vec3.Cross(c.Up, c.East)
	return c
}

// Turned returns by how much a way, n×3, turns about a place, in radians, counterclockwise
// above 0. Each of its steps is straight, so it turns by at most π.
func (c *Compass) Turned(way []float64, about [3]float64) (sum float64) {
	var last [2]float64
	for i := 0; i < len(way); i += 3 {
		d := vec3.Minus([3]float64(way[i:i+3]), about)
		now := [2]float64{vec3.Dot(d, c.East), vec3.Dot(d, c.North)}
		if i > 0 {
			sum += math.Atan2(last[0]*now[1]-last[1]*now[0], last[0]*now[0]+last[1]*now[1])
		}
		last = now
	}
	return sum
}

// Centre returns the middle of the obstacle.
func (o *Obstacle) Centre() [3]float64 {
	if o.Shape != Capsule {
		return o.A
	}
	return vec3.Scaled(0.5, vec3.Add(o.A, 1, o.B))
}
