package sets

import (
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func buildArm(t *testing.T, text string) (constraint.Set, error) {
	t.Helper()
	var s Set
	testkit.OK(t, yaml.Unmarshal([]byte(text), &s))
	return s.Build("set")
}

// All keys reach the set: names and numbers of components tell.
func TestArm(t *testing.T) {
	s, err := buildArm(t, `
kind: arm
robot: panda
waypoints: 3
start: {joints: [0, -0.3, 0.1, -2, 0.2, 1.8, 0.7]}
goal: {position: [0.4, 0.3, 0.5], rpy: [3.14159265, 0, 0]}
path:
  - {name: lid, link: panda_link5, point: [0, 0, 0.1], box: {min: [-1, -1, 0], max: [1, 1, 2]}}
  - {cone: [0, 0, -1], angle: 1.5}
step: [1, 1, 1, 1, 1, 1, 2]
period: 0.5
acceleration: [1, 1, 1, 1, 1, 1, 2]
obstacles:
  - {sphere: [1, 1, 1], radius: 0.1}
  - {capsule: [[-1, 1, 0], [-1, 1, 1]], radius: 0.1}
  - {box: [0, 0, 2.5], size: [1, 1, 0.1], rpy: [0.1, 0, 0]}
spheres: [{link: panda_link4, at: [0, 0, 0.1], radius: 0.05}, {link: panda_link7, radius: 0.1}]
self: [[panda_link4, panda_link7]]
margin: 0.01
`)
	testkit.OK(t, err)
	set, ok := constraint.As[*trajectory.Set](s)
	if !ok {
		t.Fatalf("%T", s)
	}
	all := strings.Join(constraint.Components(set), " ")
	for _, name := range []string{"circle[0,panda_joint1]", "start.panda_joint7 ", "start.panda_joint7.side", "goal.x",
		"goal.turn.a", "lid.x.min[1]", "lid.z.max[2]", "cone[1]", "limit[1,panda_joint4]", "clear[2,panda_link4,2]",
		"self[1,panda_link4,panda_link7]", "step[1,panda_joint6]", "bend[1,panda_joint7]"} {
		testkit.Contains(t, all, name, "there")
	}
	if strings.Contains(all, "limit[0,") || strings.Contains(all, "cone[0]") {
		t.Errorf("joints that are told are asked for more: %s", all)
	}
	if steps := set.Spec().Steps; steps[0] != 1 || steps[6] != 1.305 {
		t.Errorf("steps %v", steps)
	}
	if bends := set.Spec().Bends; len(bends) != 8 || bends[0] != 0.25 || bends[6] != 0.5 || bends[7] != 0 {
		t.Errorf("bends %v", bends)
	}
	s = testkit.Must(buildArm(t, "{kind: arm, robot: panda, waypoints: 3, acceleration: 0.3}"))
	if set, _ = constraint.As[*trajectory.Set](s); set.Spec().Bends[6] != 0.3 || set.Spec().Steps != nil {
		t.Errorf("bends %v, steps %v", set.Spec().Bends, set.Spec().Steps)
	}
	s = testkit.Must(buildArm(t, "{kind: arm, robot: panda, waypoints: 2, limits: false, "+
		"start: {joints: condition}, goal: {position: condition}}"))
	held := s.Capabilities().Held
	if s.Dim() != 28+14+3 || len(held) != 17 || held[0] != 28 {
		t.Errorf("R^%d with %v held", s.Dim(), held)
	}
	s, err = buildArm(t, "{kind: arm, urdf: ../../domain/robot/urdf/testdata/six.urdf, base: shoulder, tip: tool, "+
		"waypoints: 2}")
	testkit.OK(t, err)
	if set, ok := constraint.As[*trajectory.Set](s); !ok || set.Spec().Arm.Base != "shoulder" ||
		set.Spec().Arm.Joints[0].Name != "lift" {
		t.Errorf("a chain that begins at the shoulder is %+v", set.Spec().Arm)
	}
}

// What cannot be is named by its key.
func TestBadArms(t *testing.T) {
	const home = "start: {joints: [0, -0.3, 0.1, -2, 0.2, 1.8, 0.7]}"
	for _, c := range []struct{ keys, want string }{
		{"robot: panda", "set.waypoints is 0; expected a number in [1, 1000]"},
		{"robot: panda, waypoints: 2000", "set.waypoints is 2000; expected a number in [1, 1000]"},
		{"waypoints: 3", "set.robot is <nil>; expected panda, or the arm's file in set.urdf"},
		{"robot: kuka, waypoints: 3", "set.robot is kuka; expected panda"},
		{"robot: panda, urdf: arm.urdf, waypoints: 3", "set.robot: the arm is there twice"},
		{"robot: panda, base: panda_link1, waypoints: 3", "set.base: only an arm of a file"},
		{"urdf: ../../domain/robot/urdf/testdata/six.urdf, base: hip, waypoints: 3",
			`set.urdf: ../../domain/robot/urdf/testdata/six.urdf: `},
		{"urdf: nosuch.urdf, waypoints: 3", "set.urdf: open nosuch.urdf"},
		{"dh: [{d: 1, kind: loose}], waypoints: 3", "set.dh[0].kind is loose; expected one of revolute"},
		{"dh: [{d: 1, limits: [2, 1]}], waypoints: 3", "set.dh[0].limits is [2 1]; expected two numbers"},
		{"robot: panda, tip: hand, waypoints: 3", `set.tip: no link "hand"; the links of panda are`},
		{"robot: panda, waypoints: 3, start: {joints: [0, 0, 0]}",
			"set.start.joints: 3 values; expected those of the 7"},
		{"robot: panda, waypoints: 3, start: {joints: [0, 0, 0, 0, 0, 0, 0]}",
			`set.start.joints: joint "panda_joint4" at 0 is outside of its limits [-3.0718, -0.0698]`},
		{"robot: panda, waypoints: 3, start: {joints: [0, 0, 0, -3.1, 0, 1, 0]}",
			`set.start.joints: joint "panda_joint4" at -3.1 is outside of its limits`},
		{"robot: panda, waypoints: 3, start: {joints: home}", "set.start.joints is home; expected a list"},
		{"robot: panda, waypoints: 3, goal: {position: [5, 0, 0]}",
			"set.goal: no configuration of the arm keeps it: of 200 searches the nearest violates \"goal.x\" by 4"},
		{"robot: panda, waypoints: 3, start: {position: [0.4, 0, 0.3]}, " +
			"obstacles: [{sphere: [0.4, 0, 0.3], radius: 0.3}]", "set.start: no configuration of the arm keeps it"},
		{"robot: panda, waypoints: 3, path: [{link: panda_link4, box: {min: [-1, -1, 1.5], max: [1, 1, 2]}}]",
			"set.path: no configuration of the arm keeps it"},
		{"robot: panda, waypoints: 3, goal: {position: [1]}", "set.goal.position is [1]; expected three numbers"},
		{"robot: panda, waypoints: 3, path: [{name: x}]", "set.path[0]: expected one of position, plane"},
		{"robot: panda, waypoints: 3, path: [{cone: [0, 0, 1], angle: 4}]", "set.path[0].angle is 4; expected radians"},
		{"robot: panda, waypoints: 3, path: [{plane: {normal: [0, 0, 0]}}]", "set.path[0]: the axis is 0"},
		{"robot: panda, waypoints: 3, path: [{name: h, position: {z: 0.2}}], goal: {position: [0.4, 0, 0.3]}",
			"set.goal: goal.z must be 0.3, which h excludes"},
		{"robot: panda, waypoints: 3, path: [{link: panda_link2, position: {z: 0.2}}]",
			"set.path[0]: no joint moves what it asks for: it is at 0.333; expected 0.2"},
		{"robot: panda, waypoints: 3, step: 0", "set.step is 0; expected a number above 0"},
		{"robot: panda, waypoints: 3, step: [1]", "set.step is [1]; expected a number, or those of the 7 joints"},
		{"robot: panda, waypoints: 3, acceleration: -1", "set.acceleration is -1; expected a number above 0"},
		{"robot: panda, waypoints: 3, acceleration: [1, 1, 1, 1, 1, 1, -1]",
			`set.acceleration: steps of joint "panda_joint7" may differ by -1`},
		{"dh: [{}, {a: 1}, {kind: prismatic}], waypoints: 3, clearance: segments, obstacles: [{sphere: [3, 1, 1], " +
			"radius: 0.1}]", `set.clearance: joint "joint3" slides without limits`},
		{"robot: panda, waypoints: 3, obstacles: [{cylinder: [[1, 0, 0]], radius: 0.1}]",
			"set.obstacles[0].cylinder is [[1 0 0]]; expected the two ends of its axis"},
		{"robot: panda, waypoints: 3, cloud: none.csv, cloud_radius: 0.1", "set.cloud: open none.csv"},
		{"robot: panda, waypoints: 3, obstacles: [{radius: 0.1}]", "set.obstacles[0]: expected one of sphere, capsule"},
		{"robot: panda, waypoints: 3, obstacles: [{sphere: [0, 0, 0.3], radius: 0.1}]",
			"set.obstacles[0]: it is -0.067 m from panda_link1, which no joint moves"},
		{"robot: panda, waypoints: 3, " + home + ", obstacles: [{sphere: [0.2, 0, 0.6], radius: 0.3}]",
			`set.start.joints: they violate "clear[0,panda_link3,0]" by`},
		{"robot: panda, waypoints: 3, " + home + ", path: [{name: h, position: {z: 0.2}}]",
			`set.start.joints: they violate "h[0]" by`},
		{"robot: panda, waypoints: 3, self: [[panda_link1, panda_link9]]", `set.self[0]: no link "panda_link9"`},
	} {
		_, err := buildArm(t, "{kind: arm, "+c.keys+"}")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s:\n got %v\nwant %s", c.keys, err, c.want)
		}
	}
}
