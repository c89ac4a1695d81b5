package draft

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// motions are n rows of L configurations: at both ends the arm is the same but for its last joint, which
// turns about the flange's own axis, and between them its joints are anyhow.
func motions(n, waypoints int, values bool) []float64 {
	arm := robot.Panda()
	z := normals(n * waypoints * 7)
	x, c := []float64{}, make([]float64, arm.Dim())
	for i := range n {
		for w := range waypoints {
			q := z[(i*waypoints+w)*7:][:7]
			for j := range q {
				q[j] = 0.4 * q[j]
				if j < 6 && (w == 0 || w == waypoints-1) {
					q[j] = []float64{0.3, -0.2, 0.1, -1.5, 0.4, 1.2}[j] + 0.2*float64(w)
				}
			}
			if arm.Coordinates(c, q); values {
				x = append(x, q...)
			} else {
				x = append(x, c...)
			}
		}
	}
	return x
}

// Init finds what the flange of a Franka Panda keeps, whether rows are cosines and sines or joints' values. The draft
// trains on the rows as they are. Where no joint varies at an end, or the arm is another, init assumes nothing and says
// what to write.
func TestArm(t *testing.T) {
	t.Chdir(t.TempDir())
	const n, waypoints = 60, 4
	k := robot.Panda().NewKinematics()
	for _, values := range []bool{false, true} {
		width := map[bool]int{false: 14, true: 7}[values]
		x := motions(n, waypoints, values)
		saveArray(t, "paths.npy", x, n, waypoints, width)
		d := draft(t, Options{Path: "paths.npy"})
		c := motions(1, waypoints, false)
		k.At(c[:14])
		p := k.Point(7, [3]float64{})
		if d.Kind != "trajectory" || !strings.Contains(d.Read, "7 joints turn") || len(d.Holds) != 2 ||
			d.SetDim != (7*waypoints)-6 || !strings.Contains(d.YAML, fmt.Sprintf("waypoints: %d\n", waypoints)) {
			t.Errorf("values %v: %s, %v\n%s", values, d.Kind, d.Holds, d.YAML)
		}
		var at [3]float64
		_, after, _ := strings.Cut(d.YAML, "start: {position: [")
		if _, err := fmt.Sscanf(after, "%g, %g, %g", &at[0], &at[1], &at[2]); err != nil {
			t.Errorf("%v in\n%s", err, d.YAML)
		}
		for c := range at {
			testkit.Near(t, at[c], p[c], armRMS, "start %v; expected %v", at, p)
		}
		if strings.Contains(d.YAML, "position: {") {
			t.Errorf("a path is kept that is not:\n%s", d.YAML)
		}
	}

	// A metre is a metre: off by 5 mm at one way point the start is none.
	x := motions(n, waypoints, false)
	off := append([]float64(nil), x...)
	for i := range n {
		a := math.Atan2(off[i*14*waypoints+7+1], off[i*14*waypoints+1]) + 0.01*math.Sin(float64(i))
		off[i*14*waypoints+7+1], off[i*14*waypoints+1] = math.Sincos(a)
	}
	saveArray(t, "off.npy", off, n, waypoints, 14)
	if d := draft(t, Options{Path: "off.npy"}); len(d.Holds) != 1 || d.Holds[0].Name != "goal" {
		t.Errorf("%v", d.Holds)
	}

	// Another arm: its joints' order is that of the Panda turned around.
	for i := 0; i < len(x); i += 14 {
		for j := range 3 {
			x[i+j], x[i+6-j], x[i+7+j], x[i+13-j] = x[i+6-j], x[i+j], x[i+13-j], x[i+7+j]
		}
	}
	saveArray(t, "other.npy", x, n, waypoints, 14)
	d := draft(t, Options{Path: "other.npy"})
	if d.Kind != "points" || !strings.Contains(strings.Join(d.Notes, "\n"), "urdf: FILE, waypoints: 4") {
		t.Errorf("another arm: %s, %q", d.Kind, d.Notes)
	}

	// Numbers that do not vary at the ends put any arm's tip in one place.
	y := motions(n, waypoints, true)
	for i := range n {
		for _, w := range []int{0, waypoints - 1} {
			y[(i*waypoints+w)*7+6] = 0.5
		}
	}
	saveArray(t, "fixed.npy", y, n, 7*waypoints)
	if d := draft(t, Options{Path: "fixed.npy"}); d.Kind != "points" {
		t.Errorf("joints that do not vary: %s", d.Kind)
	}
}

// A direction is the roundest that all rows keep, with how far they are from it.
func TestDirection(t *testing.T) {
	to, off := direction([3][]float64{{0.01, -0.01, 0}, {0, 0, 0}, {1, 1, 1}})
	if to != [3]float64{0, 0, 1} {
		t.Errorf("to %v", to)
	}
	testkit.Near(t, off.max, 0.01, 1e-15, "the largest distance")
	testkit.Near(t, off.rms, 0.01*math.Sqrt(2./3), 1e-15, "the typical distance")
	if _, off := direction([3][]float64{{1, -1}, {0, 0}, {0, 0}}); !math.IsInf(off.max, 1) {
		t.Errorf("rows that point both ways keep a direction to %v", off.max)
	}
}
