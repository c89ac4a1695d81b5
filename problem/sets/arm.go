package sets

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/robot/urdf"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/internal/vec3"
)

// Arm is motions of a serial arm: waypoints that keep tasks, limits and distances. Metres, radians, seconds.
type Arm struct {
	Robot     string        `yaml:"robot,omitempty" words:"panda" doc:"panda, which is built in"`
	URDF      File          `yaml:"urdf,omitempty" doc:"instead of {robot}: a file; its chain to the tip"`
	Base      string        `yaml:"base,omitempty" doc:"first link of the chain in {urdf}; its root unless given"`
	DH        []DH          `yaml:"dh,omitempty" doc:"instead of {robot}: modified Denavit–Hartenberg rows"`
	Tip       string        `yaml:"tip,omitempty" doc:"that tasks are of; the last link unless given"`
	Waypoints int           `yaml:"waypoints,omitempty" bounds:"[1,1000]" doc:"L, how many configurations"`
	Start     ArmPlace      `yaml:"start,omitempty" doc:"place of the first waypoint"`
	Goal      ArmPlace      `yaml:"goal,omitempty" doc:"place of the last waypoint"`
	Path      []ArmTask     `yaml:"path,omitempty" doc:"tasks that all waypoints keep"`
	Limits    *bool         `yaml:"limits,omitempty" doc:"the joints' own are kept; true unless given"`
	Step      any           `yaml:"step,omitempty" takes:"number,numbers" doc:"most to the next waypoint"`
	Period    float64       `yaml:"period,omitempty" bounds:"[0,)" doc:"seconds between waypoints: bounds steps"`
	Bend      any           `yaml:"acceleration,omitempty" takes:"number,numbers" doc:"per s² of {period}, or step²"`
	Obstacles []ArmObstacle `yaml:"obstacles,omitempty" doc:"solids that the arm stays clear of"`
	Cloud     File          `yaml:"cloud,omitempty" doc:"points that the arm stays clear of: a table or array n×3, m"`
	Ball      float64       `yaml:"cloud_radius,omitempty" bounds:"0|[1e-6,1e3]" doc:"radius of a point of {cloud}, m"`
	Spheres   []ArmSphere   `yaml:"spheres,omitempty" doc:"its volume; the robot's, or link origins unless given"`
	Self      [][]string    `yaml:"self,omitempty" doc:"pairs of links whose spheres stay clear of each other"`
	Margin    float64       `yaml:"margin,omitempty" bounds:"[-1e6,1e6]" doc:"added to all distances that are kept"`
	Clearance string        `yaml:"clearance,omitempty" words:"waypoints,segments" doc:"segments: between too"`
}

// DH is a row of modified Denavit–Hartenberg parameters.
type DH struct {
	A        float64   `yaml:"a,omitempty" bounds:"[-1e6,1e6]" doc:"length a of the row, m"`
	D        float64   `yaml:"d,omitempty" bounds:"[-1e6,1e6]" doc:"offset d along the joint's axis, m"`
	Alpha    float64   `yaml:"alpha,omitempty" bounds:"0|[-720,720]" doc:"twist α, rad"`
	Offset   float64   `yaml:"offset,omitempty" bounds:"[-1e6,1e6]" doc:"added to the joint's value"`
	Kind     string    `yaml:"kind,omitempty" words:"revolute,prismatic,fixed" doc:"revolute unless given"`
	Limits   []float64 `yaml:"limits,omitempty" doc:"least and largest value of the joint; none unless given"`
	Velocity float64   `yaml:"velocity,omitempty" doc:"most, a second"`
}

// ArmPlace is the first or the last waypoint.
type ArmPlace struct {
	Joints   any       `yaml:"joints,omitempty" takes:"numbers,condition" doc:"values of the joints that move"`
	Link     string    `yaml:"link,omitempty" doc:"the tip unless given"`
	Point    []float64 `yaml:"point,omitempty" doc:"point of the link; its origin unless given"`
	Position any       `yaml:"position,omitempty" takes:"numbers,condition" doc:"place of the point: x, y, z"`
	RPY      []float64 `yaml:"rpy,omitempty" bounds:"[-720,720]" doc:"its rotation: about x, y, z of the base"`
}

// ArmTask is what all waypoints keep of a link: one of the keys after axis.
type ArmTask struct {
	Name  string    `yaml:"name,omitempty" doc:"name of the components, for messages"`
	Link  string    `yaml:"link,omitempty" doc:"the tip unless given"`
	Point []float64 `yaml:"point,omitempty" doc:"point of the link; its origin unless given"`
	Axis  []float64 `yaml:"axis,omitempty" doc:"vector of the link; its z axis unless given"`

	Position ArmPosition `yaml:"position,omitempty" doc:"coordinates that the point has"`
	Plane    ArmPlane    `yaml:"plane,omitempty" doc:"that the point stays in"`
	Box      ArmBox      `yaml:"box,omitempty" doc:"that the point stays in"`
	Upright  []float64   `yaml:"upright,omitempty" doc:"the axis points along it; the turn about it is free"`
	Level    []float64   `yaml:"level,omitempty" doc:"the axis is normal to this vector"`
	Cone     []float64   `yaml:"cone,omitempty" doc:"the axis is within {angle} of this vector"`
	Angle    float64     `yaml:"angle,omitempty" bounds:"0|[-720,720]" doc:"angle of the cone, rad"`
	RPY      []float64   `yaml:"rpy,omitempty" bounds:"[-720,720]" doc:"its rotation: about x, y, z of the base"`
}

// ArmPosition is coordinates of a point; those left out are free.
type ArmPosition struct {
	X *float64 `yaml:"x,omitempty" doc:"m; free unless given"`
	Y *float64 `yaml:"y,omitempty" doc:"m; free unless given"`
	Z *float64 `yaml:"z,omitempty" doc:"m; free unless given"`
}

// ArmPlane is normal·p = offset.
type ArmPlane struct {
	Normal []float64 `yaml:"normal,omitempty" doc:"normal of the plane normal·p = offset"`
	Offset float64   `yaml:"offset,omitempty" bounds:"[-1e6,1e6]" doc:"offset of the plane normal·p = offset, m"`
}

// ArmBox is min ≤ p ≤ max; infinite bounds bound nothing.
type ArmBox struct {
	Min []float64 `yaml:"min,omitempty" doc:"smallest coordinates; infinite bounds bound nothing"`
	Max []float64 `yaml:"max,omitempty" doc:"largest coordinates; infinite bounds bound nothing"`
}

// ArmObstacle is a solid: one of sphere, capsule, cylinder and box.
type ArmObstacle struct {
	Name    string      `yaml:"name,omitempty" doc:"for messages"`
	Sphere  []float64   `yaml:"sphere,omitempty" doc:"its centre"`
	Capsule [][]float64 `yaml:"capsule,omitempty" doc:"ends of its axis"`
	Bar     [][]float64 `yaml:"cylinder,omitempty" doc:"ends of its axis, where it is cut off flat"`
	Box     []float64   `yaml:"box,omitempty" doc:"its centre"`
	Size    []float64   `yaml:"size,omitempty" doc:"sides of the box"`
	RPY     []float64   `yaml:"rpy,omitempty" bounds:"[-720,720]" doc:"how the box is turned"`
	Radius  float64     `yaml:"radius,omitempty" bounds:"[-1e6,1e6]" doc:"radius of the sphere, capsule or cylinder, m"`
}

// ArmSphere is a part of the arm's volume.
type ArmSphere struct {
	Link   string    `yaml:"link,omitempty" doc:"that the sphere is a part of"`
	At     []float64 `yaml:"at,omitempty" doc:"its centre, in the link's frame; the origin unless given"`
	Radius float64   `yaml:"radius,omitempty" bounds:"[-1e6,1e6]" doc:"m"`
}

// condition stands for what a point itself says.
const condition = "condition"

func arms(k Arm) (constraint.Set, error) {
	b := armed{Arm: k}
	b.spec.Segments = k.Clearance == "segments"
	for _, step := range []func() error{b.robot, b.places, b.path, b.steps, b.bends, b.volume, b.obstacles} {
		if err := step(); err != nil || b.err != nil {
			return nil, cmp.Or(b.err, err)
		}
	}
	set, err := trajectory.New(b.spec)
	var e *trajectory.Error
	if errors.As(err, &e) {
		return nil, b.fault(e)
	}
	if err == nil {
		err = b.reach()
	}
	if err != nil {
		return nil, err
	}
	return constraint.Hold(set, trajectory.Held(b.spec)), nil
}

// A reader reads values of keys and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(err error) { r.err = cmp.Or(r.err, err) }

// count returns how many of some keys are given.
func count(given ...bool) (n int) {
	for _, is := range given {
		if is {
			n++
		}
	}
	return n
}

// three returns a vector: the default if there is none.
func (r *reader) three(key string, v []float64, instead [3]float64) [3]float64 {
	if len(v) == 3 {
		return [3]float64(v)
	}
	if v != nil {
		r.fail(Bad(key, v, "three numbers"))
	}
	return instead
}

// numbers reads a list of numbers.
func (r *reader) numbers(key string, v any) []float64 {
	list, ok := v.([]any)
	if !ok {
		r.fail(Bad(key, v, "a list of numbers, or condition"))
	}
	out := make([]float64, len(list))
	for i := range list {
		if out[i], ok = numeral(list[i]); !ok {
			r.fail(Bad(fmt.Sprintf("%s[%d]", key, i), list[i], "a number"))
		}
	}
	return out
}

// rotated returns Rz(yaw) Ry(pitch) Rx(roll), row-major.
func (r *reader) rotated(key string, rpy []float64) [9]float64 {
	if len(rpy) != 3 {
		r.fail(Bad(key, rpy, "three angles: roll, pitch and yaw"))
		return [9]float64{}
	}
	sx, cx := math.Sincos(rpy[0])
	sy, cy := math.Sincos(rpy[1])
	sz, cz := math.Sincos(rpy[2])
	return [9]float64{
		cz * cy, cz*sy*sx - sz*cx, cz*sy*cx + sz*sx,
		sz * cy, sz*sy*sx + cz*cx, sz*sy*cx - cz*sx,
		-sy, cy * sx, cy * cx,
	}
}

// armed gathers the parts of a trajectory.Spec.
type armed struct {
	Arm
	reader
	arm  *robot.Arm
	tip  int
	spec trajectory.Spec
	from []string // the key that each task of the path comes from
	self []string // likewise of pairs
}

// fault names the key that an error of package trajectory is about.
func (b *armed) fault(e *trajectory.Error) error {
	key := e.Field
	var i int
	if n, _ := fmt.Sscanf(key, "path[%d]", &i); n == 1 && i < len(b.from) {
		key = b.from[i]
	}
	if n, _ := fmt.Sscanf(key, "self[%d]", &i); n == 1 && i < len(b.self) {
		key = b.self[i]
	}
	switch {
	case key == "steps" && b.Period > 0:
		key = "period"
	case key == "steps":
		key = "step"
	case key == "bends":
		key = "acceleration"
	case key == "segments":
		key = "clearance"
	case strings.HasPrefix(key, "volume"):
		key = strings.Replace(key, "volume", "spheres", 1)
	case strings.HasPrefix(key, "start"), strings.HasPrefix(key, "goal"):
		key, _, _ = strings.Cut(key, ".tasks")
	}
	return &Error{Key: key, Fault: e.Fault}
}

func (b *armed) robot() error {
	switch given := count(b.Robot != "", b.URDF != "", b.DH != nil); {
	case given == 0:
		return Bad("robot", nil, "panda, or the arm's file in {urdf}, or its parameters in {dh}")
	case given > 1:
		return &Error{Key: "robot", Fault: "the arm is there twice; expected one of robot, urdf and dh"}
	case b.URDF == "" && b.Base != "":
		return &Error{Key: "base", Fault: "only an arm of a file (set.urdf) may begin at another link"}
	case b.URDF != "":
		var err error
		if b.arm, _, err = urdf.Read(string(b.URDF), urdf.Options{Base: b.Base, Tip: b.Tip,
			Volume: b.Spheres == nil}); err != nil {
			return &Error{Key: "urdf", Fault: err.Error()}
		}
	case b.DH != nil:
		if err := b.table(); err != nil {
			return err
		}
	default:
		b.arm = robot.Panda()
	}
	b.tip = len(b.arm.Joints) - 1
	if b.Tip != "" {
		b.tip = b.link("tip", b.Tip)
	}
	b.spec.Arm, b.spec.Waypoints = b.arm, b.Waypoints
	return nil
}

// table makes the arm of its parameters.
func (b *armed) table() error {
	if len(b.DH) > robot.MostJoints {
		return &Error{Key: "dh", Fault: fmt.Sprintf("%d rows; expected at most %d", len(b.DH), robot.MostJoints)}
	}
	var rows []robot.DH
	for i, r := range b.DH {
		row := robot.DH{A: r.A, D: r.D, Alpha: r.Alpha, Offset: r.Offset, Velocity: r.Velocity}
		key := fmt.Sprintf("dh[%d]", i)
		switch r.Kind {
		case "prismatic":
			row.Kind = robot.Prismatic
		case "fixed":
			row.Kind = robot.Fixed
		}
		if r.Limits != nil {
			if len(r.Limits) != 2 || !(r.Limits[0] < r.Limits[1]) {
				return Bad(key+".limits", r.Limits, "two numbers, the lower first")
			}
			row.Lower, row.Upper = r.Limits[0], r.Limits[1]
		}
		rows = append(rows, row)
	}
	var err error
	if b.arm, err = robot.FromDH("the arm", rows); err != nil {
		return &Error{Key: "dh", Fault: err.Error()}
	}
	return nil
}

// link returns the number of a link.
func (b *armed) link(key, name string) int {
	if name == "" {
		return b.tip
	}
	i, err := b.arm.Link(name)
	if err != nil {
		b.fail(&Error{Key: key, Fault: err.Error()})
	}
	return i
}

func (b *armed) places() error {
	for _, p := range []struct {
		key string
		ArmPlace
		to *trajectory.Place
	}{{"start", b.Start, &b.spec.Start}, {"goal", b.Goal, &b.spec.Goal}} {
		link := b.link(p.key+".link", p.Link)
		point := b.three(p.key+".point", p.Point, [3]float64{})
		p.to.Given.Joints = p.Joints == condition
		if p.Joints != nil && !p.to.Given.Joints {
			p.to.Joints = b.numbers(p.key+".joints", p.Joints)
		}
		if p.Position == condition {
			p.to.Given.Position = &robot.Point{Link: link, Local: point}
		} else if p.Position != nil {
			at := b.three(p.key+".position", b.numbers(p.key+".position", p.Position), [3]float64{})
			p.to.Tasks = append(p.to.Tasks, trajectory.Position(p.key, link, point, at)...)
		}
		if p.RPY != nil {
			r := b.rotated(p.key+".rpy", p.RPY)
			p.to.Tasks = append(p.to.Tasks, trajectory.Orientation(p.key+".turn", link, r)...)
		}
	}
	return nil
}

func (b *armed) path() error {
	for i, k := range b.Path {
		key := fmt.Sprintf("path[%d]", i)
		made := b.task(key, k)
		for range made {
			b.from = append(b.from, key)
		}
		b.spec.Path = append(b.spec.Path, made...)
	}
	return nil
}

// task returns what an entry of the path asks for.
func (b *armed) task(key string, k ArmTask) (out []trajectory.Task) {
	link := b.link(key+".link", k.Link)
	point := b.three(key+".point", k.Point, [3]float64{})
	axis := b.three(key+".axis", k.Axis, [3]float64{0, 0, 1})
	given := 0
	name := func(kind string) string {
		if given++; k.Name != "" {
			return k.Name
		}
		return kind
	}
	if p := k.Position; p != (ArmPosition{}) {
		at, n := [3]float64{}, name("position")
		for i, v := range []*float64{p.X, p.Y, p.Z} {
			if at[i] = math.NaN(); v != nil {
				at[i] = *v
			}
		}
		if out = trajectory.Position(n, link, point, at); len(out) == 1 {
			out[0].Name = n
		}
	}
	if p := k.Plane; p.Normal != nil {
		w := b.three(key+".plane.normal", p.Normal, [3]float64{})
		out = append(out, trajectory.Task{Name: name("plane"), Link: link, Local: point, Axis: w, Low: p.Offset,
			High: p.Offset})
	}
	if p := k.Box; p.Min != nil || p.Max != nil {
		inf := math.Inf(1)
		low := b.three(key+".box.min", p.Min, [3]float64{-inf, -inf, -inf})
		high := b.three(key+".box.max", p.Max, [3]float64{inf, inf, inf})
		out = append(out, trajectory.Box(name("box"), link, point, low, high)...)
	}
	for _, d := range []struct {
		kind string
		to   []float64
	}{{"upright", k.Upright}, {"level", k.Level}, {"cone", k.Cone}} {
		if d.to == nil {
			continue
		}
		to := b.three(key+"."+d.kind, d.to, [3]float64{})
		switch n := name(d.kind); d.kind {
		case "upright":
			out = append(out, trajectory.Upright(n, link, axis, to)...)
		case "level":
			out = append(out, trajectory.Level(n, link, axis, to))
		default:
			if !(k.Angle > 0 && k.Angle < math.Pi) {
				b.fail(Bad(key+".angle", k.Angle, "radians in (0, π)"))
			}
			out = append(out, trajectory.Cone(n, link, axis, to, k.Angle))
		}
	}
	if k.RPY != nil {
		r := b.rotated(key+".rpy", k.RPY)
		out = append(out, trajectory.Orientation(name("orientation"), link, r)...)
	}
	if given != 1 {
		b.fail(&Error{Key: key, Fault: "expected one of position, plane, box, upright, level, cone and rpy"})
	}
	return out
}

// each reads one number above 0 for all joints that move, or a list of theirs; nil of none.
func (b *armed) each(key string, value any) (list []float64) {
	switch v := value.(type) {
	case nil:
		return nil
	case []any:
		if list = b.numbers(key, v); len(list) != b.arm.Moving() {
			b.fail(Bad(key, v, fmt.Sprintf("a number, or those of the %d joints that move", b.arm.Moving())))
		}
	default:
		s, ok := numeral(v)
		if !ok || !(s > 0) {
			b.fail(Bad(key, v, "a number above 0, or one for each joint that moves"))
		}
		list = slices.Repeat([]float64{s}, b.arm.Moving())
	}
	return list
}

// bends bounds how much steps change: accelerations times the square of the period, or of a step.
func (b *armed) bends() error {
	list := b.each("acceleration", b.Bend)
	if list == nil || b.err != nil {
		return b.err
	}
	h := cmp.Or(b.Period, 1)
	b.spec.Bends = make([]float64, len(b.arm.Joints))
	for i := range b.arm.Joints {
		if b.arm.Joints[i].Free() {
			b.spec.Bends[i], list = list[0]*h*h, list[1:]
		}
	}
	return nil
}

// steps bounds how far joints move from a waypoint to the next.
func (b *armed) steps() error {
	b.spec.Limits = b.Limits == nil || *b.Limits
	b.spec.Period = b.Period
	if b.Step == nil && b.Period == 0 {
		return nil
	}
	out := make([]float64, len(b.arm.Joints))
	b.spec.Steps = out
	list := b.each("step", b.Step)
	if b.err != nil {
		return b.err
	}
	n := 0
	for i := range b.arm.Joints {
		j := &b.arm.Joints[i]
		if !j.Free() {
			continue
		}
		out[i] = math.Inf(1)
		if list != nil {
			out[i] = list[n]
		}
		if b.Period > 0 {
			out[i] = min(out[i], j.Velocity*b.Period)
		}
		n++
	}
	return nil
}

// volume is what stays clear: the spheres of the file, those of the robot, or the origins of the links that it moves.
func (b *armed) volume() error {
	b.spec.Margin = b.Margin
	b.spec.Volume = b.arm.Spheres
	if b.Spheres != nil {
		b.spec.Volume = nil
	}
	for i, s := range b.Spheres {
		key := fmt.Sprintf("spheres[%d]", i)
		if s.Link == "" {
			return Bad(key+".link", nil, "the name of a link")
		}
		link := b.link(key+".link", s.Link)
		at := b.three(key+".at", s.At, [3]float64{})
		b.spec.Volume = append(b.spec.Volume, robot.Sphere{Link: link, Centre: at, Radius: s.Radius})
	}
	if len(b.spec.Volume) == 0 {
		b.spec.Volume = scene.LinkOrigins(b.arm)
	}
	for i, p := range b.Self {
		key := fmt.Sprintf("self[%d]", i)
		if len(p) != 2 {
			return Bad(key, p, "the names of two links")
		}
		var links [2]int
		for e, name := range p {
			links[e] = b.link(key, name)
			has := func(s robot.Sphere) bool { return s.Link == links[e] }
			if b.err == nil && !slices.ContainsFunc(b.spec.Volume, has) {
				return &Error{Key: key, Fault: fmt.Sprintf("link %q has no sphere", name)}
			}
		}
		if b.err != nil {
			return b.err
		}
		for _, pair := range scene.SelfPairs(b.spec.Volume, [][2]int{links}) {
			b.spec.Self, b.self = append(b.spec.Self, pair), append(b.self, key)
		}
	}
	return nil
}

func (b *armed) obstacles() error {
	for i, k := range b.Obstacles {
		key := fmt.Sprintf("obstacles[%d]", i)
		o := scene.Obstacle{Name: k.Name, Radius: k.Radius}
		at := func(part string, v []float64) [3]float64 { return b.three(key+"."+part, v, [3]float64{}) }
		if k.Sphere != nil {
			o.A = at("sphere", k.Sphere)
		}
		if k.Capsule != nil {
			if len(k.Capsule) != 2 {
				return cmp.Or(b.err, Bad(key+".capsule", k.Capsule, "the two ends of its axis, three numbers each"))
			}
			o.Shape, o.A, o.B = scene.Capsule, at("capsule[0]", k.Capsule[0]), at("capsule[1]", k.Capsule[1])
		}
		if k.Bar != nil {
			if len(k.Bar) != 2 {
				return cmp.Or(b.err, Bad(key+".cylinder", k.Bar, "the two ends of its axis, three numbers each"))
			}
			o = scene.Bar(k.Name, at("cylinder[0]", k.Bar[0]), at("cylinder[1]", k.Bar[1]), k.Radius)
		}
		if k.Box != nil {
			o.Shape, o.A, o.Half = scene.Box, at("box", k.Box), at("size", k.Size)
			for e := range o.Half {
				o.Half[e] /= 2
			}
			if k.RPY != nil {
				o.R = b.rotated(key+".rpy", k.RPY)
			}
		}
		switch {
		case count(k.Sphere != nil, k.Capsule != nil, k.Bar != nil, k.Box != nil) != 1:
			return &Error{Key: key, Fault: "expected one of sphere, capsule, cylinder and box"}
		case b.err != nil:
			return b.err
		case k.Box == nil && (k.Size != nil || k.RPY != nil):
			return &Error{Key: key, Fault: "size and rpy are of a box"}
		}
		if err := o.Check(); err != nil {
			return &Error{Key: key, Fault: err.Error()}
		}
		b.spec.Obstacles = append(b.spec.Obstacles, o)
	}
	if b.Cloud == "" {
		return nil
	}
	p, err := dataset.ReadPoints(string(b.Cloud))
	if err != nil {
		return &Error{Key: "cloud", Fault: err.Error()}
	}
	if p.D != 3 || p.N > mostPoints {
		return &Error{Key: "cloud", Fault: fmt.Sprintf("%s has %d rows of %d numbers; expected at most %d of 3",
			string(b.Cloud), p.N, p.D, mostPoints)}
	}
	points := make([][3]float64, p.N)
	o := scene.Obstacle{Name: "cloud", Shape: scene.Cloud, Radius: b.Ball}
	for i := range points {
		points[i] = [3]float64(p.X[3*i:])
		o.A = vec3.Add(o.A, 1/float64(p.N), points[i]) // which side a motion passes it on
	}
	o.Points = scene.NewPoints(points)
	if err := o.Check(); err != nil {
		return &Error{Key: "cloud_radius", Fault: err.Error()}
	}
	b.spec.Obstacles = append(b.spec.Obstacles, o)
	return nil
}

// mostPoints is how many points of a cloud are read.
const mostPoints = 1_000_000

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
