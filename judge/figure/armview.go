package figure

import (
	"encoding/json"
	"fmt"
	"math"
)

// An ArmView is an interactive view of trajectories of a serial arm: it is turned by
// dragging or the arrow keys, and plays them.
type ArmView struct {
	Title, Caption string
	Joints         []ArmJoint
	Tip            ArmPoint    // whose way is drawn
	Volume         []ArmSphere // the arm's own
	Solids         []Solid     // obstacles
	Ends           [][3]float64
	Steps          int      // way points of a trajectory, at least 1
	Modes          []string // names of modes; nil: trajectories have none
	Layers         []ArmLayer
}

// An ArmJoint carries its link's frame to that of the link before: the rotation
// R (row-major) and then P, after the joint's own turn about Axis or shift along it.
type ArmJoint struct {
	Kind  JointKind  `json:"kind"`
	Wraps bool       `json:"wraps,omitempty"` // goes the short way around between way points
	R     [9]float64 `json:"r"`
	P     [3]float64 `json:"p"`
	Axis  [3]float64 `json:"axis"`

	Follow *[3]float64 `json:"follow,omitempty"` // i, m and o: its value is m·q_i + o, q those of the joints that move
}

// A JointKind says how a joint moves.
type JointKind string

// The kinds of joints.
const (
	Fixed  JointKind = "fixed"
	Turns  JointKind = "turn"
	Slides JointKind = "slide"
)

// An ArmPoint is fixed to a link, −1 for the base; metres in the link's frame.
type ArmPoint struct {
	Link  int        `json:"link"`
	Local [3]float64 `json:"local"`
}

// An ArmSphere is a part of the arm's volume.
type ArmSphere struct {
	ArmPoint
	Radius float64
}

// An ArmLayer is trajectories with a name: data, samples.
type ArmLayer struct {
	Name   string
	Values []float64 // n×Steps×joints that move: radians and metres
	Labels []string  // a sentence about each
	Modes  []int     // of each, an index of ArmView.Modes; nil if that is nil
}

// Bounds of what a page holds of a layer.
const (
	armTrajectories = 60
	armRoom         = 60_000 // numbers
)

// Shown returns how many trajectories a page shows of n.
func (a *ArmView) Shown(n int) int {
	return min(n, armTrajectories, max(1, armRoom/max(1, a.Steps*a.moving())))
}

func (a *ArmView) moving() (n int) {
	for _, j := range a.Joints {
		if j.Kind != Fixed && j.Follow == nil {
			n++
		}
	}
	return n
}

// armData is what the script in arm.js reads.
type armData struct {
	Joints []ArmJoint   `json:"joints"`
	Tip    ArmPoint     `json:"tip"`
	Volume [][5]float64 `json:"volume"` // link, centre, radius
	Solids []Solid      `json:"solids"`
	Ends   [][3]float64 `json:"ends"`
	Steps  int          `json:"steps"`
	Modes  []twoInks    `json:"modes"`
	Layers []armLayer   `json:"layers"`
}

type armLayer struct {
	twoInks
	Values [][]float64 `json:"values"` // to 0.0001
	Labels []string    `json:"labels"`
	Modes  []int       `json:"modes"`
}

type twoInks struct {
	Light string `json:"light"`
	Dark  string `json:"dark"`
}

func inks(k ink) twoInks { return twoInks{hex(k.light), hex(k.dark)} }

func (a *ArmView) view() (*sceneView, error) {
	n := a.moving()
	if n == 0 || a.Steps < 1 {
		return nil, fmt.Errorf("figure: a page with an arm of %d joints and %d way points", n, a.Steps)
	}
	v := &sceneView{kind: "arm", Title: a.Title, Caption: a.Caption}
	data := armData{Joints: a.Joints, Tip: a.Tip, Volume: [][5]float64{}, Solids: append([]Solid{}, a.Solids...),
		Ends: append([][3]float64{}, a.Ends...), Steps: a.Steps}
	for _, s := range a.Volume {
		data.Volume = append(data.Volume, [5]float64{float64(s.Link), s.Local[0], s.Local[1], s.Local[2], s.Radius})
	}
	for i, name := range a.Modes {
		k := modeInk(i)
		data.Modes = append(data.Modes, inks(k))
		v.Keys = append(v.Keys, sceneKey{name, hex(k.light), "fill-" + k.class})
	}
	size := a.Steps * n
	for i, l := range a.Layers {
		count := len(l.Values) / size
		if len(l.Values)%size != 0 || len(l.Labels) != count || l.Modes != nil && len(l.Modes) != count ||
			(l.Modes == nil) != (a.Modes == nil) {
			return nil, fmt.Errorf("figure: layer %q has %d numbers, %d labels and %d modes, of trajectories of %d",
				l.Name, len(l.Values), len(l.Labels), len(l.Modes), size)
		}
		layer := armLayer{twoInks: inks(seriesInk(i, nil))}
		for t := range a.Shown(count) {
			x := make([]float64, size)
			for j, q := range l.Values[t*size : (t+1)*size] {
				x[j] = decimals(q, 4)
			}
			layer.Values, layer.Labels = append(layer.Values, x), append(layer.Labels, l.Labels[t])
			if l.Modes != nil {
				if m := l.Modes[t]; m < 0 || m >= len(a.Modes) {
					return nil, fmt.Errorf("figure: layer %q has mode %d of %d", l.Name, m, len(a.Modes))
				}
				layer.Modes = append(layer.Modes, l.Modes[t])
			}
		}
		if len(layer.Values) == 0 {
			continue
		}
		v.Names, data.Layers, v.last = append(v.Names, l.Name), append(data.Layers, layer), layer
	}
	if data.Layers == nil {
		return nil, fmt.Errorf("figure: a page with no trajectory of an arm")
	}
	v.Data = data
	return v, nil
}

// modeInk is the ink of a mode: the samples' first, then those after it.
func modeInk(i int) ink { return series[1+i%(len(series)-1)] }

// A Solid is an obstacle: what is within Radius of the segment from A to B, or if Half
// is not 0 a box about A of half sides Half along the columns of R, row-major.
type Solid struct {
	A, B   [3]float64
	Radius float64
	R      [9]float64
	Half   [3]float64
}

func (s Solid) box() bool { return s.Half != [3]float64{} }

// MarshalJSON writes the solid as the script in arm.js reads it.
func (s Solid) MarshalJSON() ([]byte, error) {
	if s.box() {
		return json.Marshal(map[string]any{"centre": s.A, "r": s.R, "half": s.Half})
	}
	return json.Marshal(map[string]any{"a": s.A, "b": s.B, "radius": s.Radius})
}

// outline returns the solid's outline as a plane sees it, counterclockwise: axes are two
// unit vectors that are orthogonal.
func (s Solid) outline(axes [2][3]float64) []xy {
	const round = 72
	at := func(p [3]float64) xy { return xy{along(p, axes[0]), along(p, axes[1])} }
	var points []xy
	if s.box() {
		for corner := range 8 {
			p := s.A
			for k := range 3 {
				side := s.Half[k] * float64(1-2*(corner>>k&1))
				for i := range 3 {
					p[i] += side * s.R[3*i+k]
				}
			}
			points = append(points, at(p))
		}
		return hull(points)
	}
	for _, c := range []xy{at(s.A), at(s.B)} {
		for i := range round {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / round)
			points = append(points, xy{c.x + s.Radius*cos, c.y + s.Radius*sin})
		}
	}
	return hull(points)
}

func along(p, axis [3]float64) float64 { return p[0]*axis[0] + p[1]*axis[1] + p[2]*axis[2] }
