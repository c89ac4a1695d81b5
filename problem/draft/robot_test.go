package draft

import (
	"os"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// arm is a URDF file of an arm of four turning joints whose forearm is a mesh, on a floating base, with a gripper whose
// second finger mimics the first; parts that the chain does not use are wrong.
const arm = `<robot name="r">
<link name="world"/><link name="base"/><link name="a"/><link name="b"/>
<link name="c"><collision><geometry><mesh filename="package://all/other/meshes/c.stl" scale="0.001 0.001 0.001"/>
</geometry></collision></link>
<link name="d"><collision><geometry><cylinder radius="0.03" length="0.2"/></geometry></collision></link>
<link name="f1"/><link name="f2"/><link name="tool0"/><link name="rotor"><collision><geometry><cone/>
</geometry></collision></link>
<joint name="float" type="floating"><parent link="world"/><child link="base"/></joint>
<joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
  <limit lower="-3.14159265359" upper="3.14159265359" velocity="2"/></joint>
<joint name="j2" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" velocity="2"/><safety_controller soft_lower_limit="-1.9" soft_upper_limit="1.9"/>
</joint>
<joint name="j3" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" velocity="0"/></joint>
<joint name="j4" type="revolute"><parent link="c"/><child link="d"/><origin xyz="0 0 0.4"/><axis xyz="1 0 0"/>
  <limit lower="-180" upper="180"/></joint>
<joint name="t" type="fixed"><parent link="d"/><child link="tool0"/><origin xyz="0 0 0.1"
  rpy="0 0 90"/><axis xyz="0 0 0"/></joint>
<joint name="g1" type="prismatic"><parent link="d"/><child link="f1"/><origin xyz="0 0 0.1"/>
<limit lower="0" upper="0.04"/></joint>
<joint name="g2" type="prismatic"><parent link="d"/><child link="f2"/><origin xyz="0 0 0.1"/>
<mimic joint="g1"/></joint>
<joint name="r" type="revolute"><parent link="base"/><child link="rotor"/><axis xyz="0 0 0"/>
<limit lower="-1e16"/></joint>
</robot>`

// Of an arm's file a draft has the chain, its volume and the commands that go on; what is odd about it is said; a mesh
// that is missing or flat is an error with its link and file.
func TestRobot(t *testing.T) {
	t.Chdir(t.TempDir())
	testkit.OK(t, os.MkdirAll("pack/meshes", 0o777))
	testkit.OK(t, os.MkdirAll("pack/urdf", 0o777))
	testkit.OK(t, os.WriteFile("pack/urdf/r.urdf", []byte(arm), 0o666))
	_, err := Robot(Options{Path: "pack/urdf/r.urdf"}, "problem.yaml")
	testkit.Refused(t, err, `link "c" <collision> <mesh>: "package://all/other/meshes/c.stl" is missing (1 in all): `+
		"looked for")
	stl := func(corners ...string) {
		text := "solid s\n"
		for _, c := range corners {
			text += "facet normal 0 0 0\nouter loop\nvertex " + strings.ReplaceAll(c, ", ", "\nvertex ") +
				"\nendloop\nendfacet\n"
		}
		testkit.OK(t, os.WriteFile("pack/meshes/c.stl", []byte(text+"endsolid\n"), 0o666))
	}
	stl("0 0 0, 100 0 0, 0 0 400")
	_, err = Robot(Options{Path: "pack/urdf/r.urdf"}, "problem.yaml")
	testkit.Refused(t, err, `link "c" <collision> <mesh>: "package://all/other/meshes/c.stl"`, "has no volume")
	stl("0 0 0, 0 100 0, 100 0 0", "0 0 0, 100 0 0, 0 0 400", "0 0 0, 0 0 400, 0 100 0", "100 0 0, 0 100 0, 0 0 400")
	d := testkit.Must(Robot(Options{Path: "pack/urdf/r.urdf"}, "problem.yaml"))
	testkit.Keep(t, "%s\n%s", strings.Join(d.Lines(), "\n"), d.YAML)
	d = testkit.Must(Robot(Options{Path: "pack/urdf/r.urdf", Tip: "f2", NoVolume: true}, "problem.yaml"))
	out := strings.Join(append(d.Robot, d.Notes...), "\n")
	if !strings.Contains(out, `"g2" follows joint "g1", which is not on`) {
		t.Error(out)
	}
	d = testkit.Must(Robot(Options{Path: "pack/urdf/r.urdf", Folder: "pack/own", NoVolume: true}, "pack/own/p.yaml"))
	if !strings.Contains(d.YAML, `urdf: "../urdf/r.urdf"`) {
		t.Errorf("in another folder:\n%s", d.YAML)
	}
}
