package scene_test

import (
	"math"
	"testing"

	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A compass is a right-handed frame whatever its direction, and length, of up.
func TestCompass(t *testing.T) {
	for _, up := range [][3]float64{{0, 0, 1}, {0, 0, -2}, {3, 0, 0}, {0, 1e-3, 0}, {1, 1, 1}, {-0.3, 2, 0.1}} {
		c := scene.NewCompass(up)
		for k := range 3 {
			a, b := (k+1)%3, (k+2)%3
			if want := up[k] / math.Sqrt(up[0]*up[0]+up[1]*up[1]+up[2]*up[2]); math.Abs(c.Up[k]-want) > 1e-15 ||
				math.Abs(c.East[a]*c.North[b]-c.East[b]*c.North[a]-want) > 1e-15 {
				t.Errorf("up %v: %+v", up, c)
			}
		}
		if e, n := c.East, c.North; math.Abs(math.Hypot(math.Hypot(e[0], e[1]), e[2])-1) > 1e-15 ||
			math.Abs(math.Hypot(math.Hypot(n[0], n[1]), n[2])-1) > 1e-15 {
			t.Errorf("up %v: %+v", up, c)
		}
	}
}

// Ways about a place, seen from either side of their plane; heights do not count, and from a
// place that is not gone round the way back undoes the way there.
func TestTurned(t *testing.T) {
	var round, back []float64 // one turn and a quarter about (1, 2), climbing
	for i := range 11 {
		sin, cos := math.Sincos(float64(i) * math.Pi / 4)
		round = append(round, 1+cos, 2+3*sin, float64(i))
	}
	for i := 30; i >= 0; i -= 3 {
		back = append(back, round[i:i+3]...)
	}
	for _, c := range []struct {
		up    [3]float64
		about [3]float64
		way   []float64
		want  float64
	}{
		{[3]float64{0, 0, 1}, [3]float64{1, 2, -7}, round, 2.5 * math.Pi},
		{[3]float64{0, 0, -1}, [3]float64{1, 2, 0}, round, -2.5 * math.Pi},
		{[3]float64{0, 0, 2}, [3]float64{1, 2, 0}, back, -2.5 * math.Pi},
		{[3]float64{0, 0, 1}, [3]float64{9, 2, 0}, append(round[:30:30], back[3:]...), 0},
		{[3]float64{0, 0, 1}, [3]float64{1, 2, 0}, round[:3], 0},
		{[3]float64{0, 0, 1}, [3]float64{1, 2, 0}, nil, 0},
	} {
		compass := scene.NewCompass(c.up)
		testkit.Near(t, compass.Turned(c.way, c.about), c.want, 1e-14, "up %v, about %v", c.up, c.about)
	}
}

func TestCentre(t *testing.T) {
	o := scene.Obstacle{Shape: scene.Capsule, A: [3]float64{1, 2, 3}, B: [3]float64{3, 0, 3}, Radius: 1}
	testkit.Equal(t, o.Centre(), [3]float64{2, 1, 3}, "capsule")
	for _, o.Shape = range []scene.Shape{scene.Ball, scene.Box} {
		testkit.Equal(t, o.Centre(), o.A, "%v", o.Shape)
	}
}
