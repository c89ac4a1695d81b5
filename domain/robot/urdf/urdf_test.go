package urdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/tools/testkit"
)

func read(t testing.TB, name string, o Options) (*robot.Arm, []string) {
	t.Helper()
	a, notes, err := Read(filepath.Join("testdata", name), o)
	testkit.OK(t, err)
	return a, notes
}

// at returns the kinematics of an arm at joint values.
func at(a *robot.Arm, q []float64) *robot.Kinematics {
	k, x := a.NewKinematics(), make([]float64, a.Dim())
	a.Coordinates(x, q)
	k.At(x)
	return k
}

// samePose fails unless two poses are within tol.
func samePose(t *testing.T, what string, got, want robot.Pose, tol float64) {
	t.Helper()
	for i := range 9 {
		if !(math.Abs(got.R[i]-want.R[i]) <= tol) {
			t.Fatalf("%s: R %v, want %v", what, got.R, want.R)
		}
	}
	for i := range 3 {
		if !(math.Abs(got.P[i]-want.P[i]) <= tol) {
			t.Fatalf("%s: origin %v, want %v", what, got.P, want.P)
		}
	}
}

// The chain in the file is the table of Denavit–Hartenberg parameters.
func TestPanda(t *testing.T) {
	got, notes := read(t, "panda.urdf", Options{Base: "panda_link0", Tip: "panda_link8"})
	want := robot.Panda()
	if len(notes) > 0 {
		t.Error(notes)
	}
	if got.Name != want.Name || got.Base != want.Base || len(got.Joints) != 8 || len(got.Spheres) != 0 {
		t.Fatalf("%q, base %q, %d joints, %d spheres", got.Name, got.Base, len(got.Joints), len(got.Spheres))
	}
	for i := range want.Joints {
		g, w := got.Joints[i], want.Joints[i]
		if g.Name != w.Name || g.Link != w.Link || g.Kind != w.Kind ||
			g.Kind != robot.Fixed && (g.Lower != w.Lower || g.Upper != w.Upper || g.Velocity != w.Velocity) {
			t.Errorf("joint %d: %+v, want %+v", i, g, w)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		q := make([]float64, 7)
		for i := range q {
			q[i] = 6 * (r.Float64() - 0.5)
		}
		g, w := at(got, q), at(want, q)
		for l := range 8 {
			samePose(t, want.Joints[l].Link, g.Pose(l), w.Pose(l), 1e-12)
		}
	}
}

// From another base and to another tip: fixed links before and behind.
func TestEnds(t *testing.T) {
	a, _ := read(t, "panda.urdf", Options{Tip: "panda_leftfinger"})
	if a.Base != "world" || len(a.Joints) != 11 || a.Turning() != 7 || a.Sliding() != 1 || a.Dim() != 15 {
		t.Fatalf("base %q, %d joints, %d coordinates", a.Base, len(a.Joints), a.Dim())
	}
	q := []float64{0, 0, 0, -1.5, 0, 1.5, 0.7, 0.03}
	hand, finger := at(a, q).Pose(9), at(a, q).Pose(10)
	want := hand.Apply([3]float64{0, 0.03, 0.0584})
	samePose(t, "finger", finger, robot.Pose{R: hand.R, P: want}, 1e-15)

	a, _ = read(t, "panda.urdf", Options{Base: "panda_link5", Tip: "panda_hand"})
	if a.Base != "panda_link5" || a.Moving() != 2 || len(a.Joints) != 4 {
		t.Errorf("base %q, %d joints", a.Base, len(a.Joints))
	}
}

// Six turning joints by their standard table: Rz(θ) Tz(d) Tx(a) Rx(α) one after another.
func TestSix(t *testing.T) {
	a, notes := read(t, "six.urdf", Options{})
	if len(notes) != 2 || !strings.HasPrefix(notes[0], "more than a whole turn: lift (12.56 rad). ") ||
		notes[1] != "velocity=0 is taken as no limit: swing" {
		t.Errorf("notes %q", notes)
	}
	if a.Joints[0].Kind != robot.Continuous || a.Joints[0].Velocity != 3.15 || !math.IsInf(a.Joints[4].Velocity, 1) ||
		a.Joints[5].Velocity != 3.2 || a.Joints[0].Axis != [3]float64{0, 0, 1} {
		t.Errorf("joints %+v", a.Joints)
	}
	q := []float64{0.4, -1.1, 1.9, -0.6, 2.2, 0.8}
	k := at(a, q)
	want := robot.Identity()
	for i, row := range [6][3]float64{ // a, d, α
		{0, 0.089159, math.Pi / 2}, {-0.425, 0, 0}, {-0.39225, 0, 0},
		{0, 0.10915, math.Pi / 2}, {0, 0.09465, -math.Pi / 2}, {0, 0.0823, 0},
	} {
		s, c := math.Sincos(q[i])
		sα, cα := math.Sincos(row[2])
		want = want.Then(robot.Pose{
			R: [9]float64{c, -s * cα, s * sα, s, c * cα, -c * sα, 0, sα, cα},
			P: [3]float64{row[0] * c, row[0] * s, row[1]},
		})
	}
	samePose(t, "tool", k.Pose(6), want, 1e-14)
}

// Slides and a slanted axis in closed form.
func TestGantry(t *testing.T) {
	a, _ := read(t, "gantry.urdf", Options{})
	if a.Dim() != 5 || a.Sliding() != 3 {
		t.Fatalf("%d coordinates, %d slides", a.Dim(), a.Sliding())
	}
	k := at(a, []float64{1.25, -0.5, 0.75, math.Pi})
	// Half a turn about (1, 0, 1)/√2 in a frame that is turned by a quarter about z: x ↔ z, y ↦ −y.
	want := robot.Pose{R: [9]float64{0, 1, 0, 0, 0, 1, 1, 0, 0}, P: [3]float64{1.25, -0.5, 2 - 0.75 - 0.1}}
	samePose(t, "wrist", k.Pose(3), want, 1e-15)
}

// What is written reads back as the same chain, fixed joints, slanted axes, spheres and
// a pitch of a quarter turn included.
func TestWrite(t *testing.T) {
	six, _ := read(t, "six.urdf", Options{})
	gantry, _ := read(t, "gantry.urdf", Options{})
	volume, _ := read(t, "panda.urdf", Options{Tip: "panda_leftfinger", Volume: true})
	odd := &robot.Arm{Name: `a "b" <c>`, Base: "b&", Joints: []robot.Joint{
		{Name: "1", Link: "l", Axis: [3]float64{0, 0.6, 0.8}, Lower: math.Inf(-1), Upper: math.Inf(1), Velocity: 2,
			Origin: robot.Pose{R: [9]float64{0, 0, 1, 0, 1, 0, -1, 0, 0}, P: [3]float64{1, 1e-9, 0}}},
		{Link: "m", Kind: robot.Fixed, Origin: robot.Pose{R: [9]float64{0, 0, -1, 0, 1, 0, 1, 0, 0}}},
		// A roll, then a pitch of a quarter turn.
		{Link: "n", Kind: robot.Fixed, Origin: robot.Pose{R: [9]float64{0, 0.6, 0.8, 0, 0.8, -0.6, -1, 0, 0}}},
	}}
	r := rand.New(rand.NewPCG(3, 4))
	for _, a := range []*robot.Arm{robot.Panda(), six, gantry, volume, odd} {
		var b bytes.Buffer
		testkit.OK(t, Write(&b, a))
		got, notes, err := Decode(&b, "x.urdf", Options{Volume: true})
		testkit.OK(t, err)
		if got.Name != a.Name || got.Base != a.Base || !slices.Equal(got.Spheres, a.Spheres) {
			t.Errorf("%s: name %q, base %q, %d spheres, notes %q", a.Name, got.Name, got.Base, len(got.Spheres), notes)
		}
		q := make([]float64, a.Moving())
		for i := range q {
			q[i] = r.NormFloat64()
		}
		g, w := at(got, q), at(a, q)
		for l := range a.Joints {
			j, o := got.Joints[l], a.Joints[l]
			free := o.Kind == robot.Fixed || o.Kind == robot.Continuous || math.IsInf(o.Lower, -1)
			if j.Link != o.Link || !free && (j.Lower != o.Lower || j.Upper != o.Upper) ||
				o.Kind != robot.Fixed && j.Velocity != o.Velocity {
				t.Errorf("%s: joint %+v, want %+v", a.Name, j, o)
			}
			samePose(t, j.Link, g.Pose(l), w.Pose(l), 1e-14)
		}
	}
	open := robot.Panda()
	open.Joints[2].Lower = math.Inf(-1)
	unnamed := robot.Panda()
	unnamed.Joints[2].Link = ""
	for want, a := range map[string]*robot.Arm{
		"joint 2 (panda_joint3) has limits from -Inf": open, "link 2 has no name": unnamed, "no joint that moves": {},
	} {
		testkit.Refused(t, Write(&bytes.Buffer{}, a), want)
	}
}

// holds reports whether a point of a link's frame is in one of its spheres.
func holds(a *robot.Arm, link int, p [3]float64) bool {
	for _, s := range a.Spheres {
		if s.Link == link && dist(s.Centre, p) <= s.Radius+1e-12 {
			return true
		}
	}
	return false
}

func dist(a, b [3]float64) float64 { return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]) }

// Every point of a shape is in a sphere that covers it, and no sphere stands out by more than it may.
func TestVolume(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	data := testkit.Must(os.ReadFile("testdata/panda.urdf"))
	// With capsules for two of its cylinders.
	text := strings.NewReplacer(`cylinder radius="0.06" length="0.15"`, `capsule radius="0.06" length="0.15"`,
		`cylinder radius="0.04"`, `capsule radius="0.04"`).Replace(string(data))
	for _, excess := range []float64{0.01, 0, 0.1} {
		o := Options{Base: "panda_link0", Tip: "panda_link8", Volume: true, Excess: excess}
		a, notes, err := Decode(strings.NewReader(text), "panda.urdf", o)
		testkit.OK(t, err)
		if len(notes) != 2 || !strings.HasPrefix(notes[0], "the volume leaves out the meshes of panda_link5") ||

			notes[1] != "the volume leaves out panda_leftfinger, which other joints than the chain's move" {
			t.Errorf("notes %q", notes)
		}
		if excess == 0 {
			excess = 0.02
		}
		const box, cylinder, ball, capsule, hand = -1, 0, 1, 2, 7
		turned := func(p [3]float64) [3]float64 { // of the hand: Rz(−45°) (Rx(90°) p + (0, 0, 0.04))
			h, y, z := math.Sqrt2/2, -p[2], p[1]+0.04
			return [3]float64{h * (p[0] + y), h * (y - p[0]), z}
		}
		for range 1500 {
			u := func(half float64) float64 { return half * (2*r.Float64() - 1) }
			inBox := [3]float64{-0.04 + u(0.12), u(0.1), 0.07 + u(0.07)}
			θ := u(math.Pi)
			rim := [3]float64{0.06 * math.Cos(θ), 0.06 * math.Sin(θ), -0.19 + u(0.14)}
			if r.IntN(4) == 0 { // where end and side meet
				rim[2] = -0.19 + math.Copysign(0.14, u(1))
			}
			n := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			l := dist(n, [3]float64{})
			bar, h := u(0.075), u(0.05)
			ofCapsule := [3]float64{0.06 * n[0] / l, 0.06 * n[1] / l, 0.06*n[2]/l - 0.145 + bar}
			ofHand := turned([3]float64{0.04 * n[0] / l, 0.04 * n[1] / l, 0.04*n[2]/l + h})
			for link, p := range map[int][3]float64{box: inBox, cylinder: rim, capsule: ofCapsule, hand: ofHand,
				ball: {0.09 * n[0] / l, 0.09 * n[1] / l, 0.09 * n[2] / l}} {
				if !holds(a, link, p) {
					t.Fatalf("excess %g: %v of link %d is in no sphere", excess, p, link)
				}
			}
		}
		for i, s := range a.Spheres {
			if i > 0 && s.Link < a.Spheres[i-1].Link {
				t.Error("spheres are not in the order of links")
			}
			out := 0.0
			switch s.Link {
			case box:
				out = max(math.Abs(s.Centre[0]+0.04)-0.12, math.Abs(s.Centre[1])-0.1, math.Abs(s.Centre[2]-0.07)-0.07)
			case cylinder:
				out = -0.06
			case ball:
				out = -0.09
			case capsule:
				out = -0.06
			case hand:
				out = -0.04
			default:
				t.Errorf("a sphere of link %d", s.Link)
			}
			if out+s.Radius > excess+1e-12 {
				t.Errorf("excess %g: a sphere of link %d stands out by %g", excess, s.Link, out+s.Radius)
			}
		}
	}
	// What hangs on the base by a fixed joint, above it too, is of the base, in its frame;
	// spheres are in the order of links, whatever that of the file.
	text = `<robot>
		<link name="tip"><collision><geometry><sphere radius="3"/></geometry></collision></link>
		<link name="base"/>
		<link name="above"><collision><origin xyz="0 0 1"/><geometry><sphere radius="1"/></geometry></collision></link>
		<link name="beside"><collision><geometry><sphere radius="2"/></geometry></collision></link>
		<joint name="f" type="fixed"><parent link="above"/><child link="base"/>
			<origin xyz="5 0 0" rpy="0 0 1.5707963267948966"/></joint>
		<joint name="g" type="fixed"><parent link="above"/><child link="beside"/><origin xyz="0 7 0"/></joint>
		<joint name="j" type="continuous"><parent link="base"/><child link="tip"/></joint>
	</robot>`
	a, _, err := Decode(strings.NewReader(text), "f", Options{Base: "base", Tip: "tip", Volume: true})
	if err != nil || len(a.Spheres) != 3 {
		t.Fatalf("%v, %v", err, a)
	}
	for i, want := range []robot.Sphere{{Link: -1, Centre: [3]float64{0, 5, 1}, Radius: 1},
		{Link: -1, Centre: [3]float64{7, 5, 0}, Radius: 2}, {Link: 0, Radius: 3}} {
		got := a.Spheres[i]
		if got.Link != want.Link || got.Radius != want.Radius || dist(got.Centre, want.Centre) > 1e-14 {
			t.Errorf("sphere %d is %v, want %v", i, got, want)
		}
	}
	a, notes := read(t, "gantry.urdf", Options{Volume: true})
	if len(a.Spheres) != 0 || len(notes) != 1 || !strings.Contains(notes[0], "the arm has no volume") {
		t.Errorf("%d spheres, notes %q", len(a.Spheres), notes)
	}
}

// Spheres hold what a mesh encloses and stand out of it by what is said: of an L of two bars that touch, written as a
// DAE file with nodes, units and polygons, inside out.
func TestCovers(t *testing.T) {
	dir := t.TempDir()
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "l.dae"), []byte(`<?xml version="1.0"?><COLLADA><asset>
<unit meter="0.01"/></asset>
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array>0 0 0 1 0 0 1 1 0 0 1 0 0 0 1 1 0 1 1 1 1 0 1 1</float_array>
<technique_common><accessor stride="3"/></technique_common></source><vertices id="v">
<input semantic="POSITION" source="#p"/></vertices>
<polylist count="6"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<vcount>4 4 4 4 4 4</vcount>
<p>0 0 1 0 2 0 3 0 4 0 7 0 6 0 5 0 0 0 4 0 5 0 1 0 1 0 5 0 6 0 2 0 2 0 6 0 7 0 3 0 3 0 7 0 4 0 0 0</p></polylist>
</mesh></geometry></library_geometries><library_visual_scenes><visual_scene><node><rotate>0 0 1 90</rotate>
<node><scale>50 8 8</scale><instance_geometry url="#g"/></node>
<node><translate>0 -30 0</translate><scale>8 30 8</scale><instance_geometry url="#g"/></node></node>
</visual_scene></library_visual_scenes>
</COLLADA>`), 0o666))
	path := filepath.Join(dir, "l.urdf")
	testkit.OK(t, os.WriteFile(path, []byte(`<robot><link name="a"/><link name="b"><collision>
<origin xyz="0 0 1"/><geometry>
<mesh filename="l.dae" scale="-1 1 1"/></geometry></collision></link><joint name="j" type="continuous">
<parent link="a"/><child link="b"/>
</joint></robot>`), 0o666))
	a, covers, err := Covered(path, Options{Cover: 12, Excess: 0.03})
	testkit.OK(t, err)
	if len(covers) != 1 || covers[0].Spheres != len(a.Spheres) || len(a.Spheres) > 12 || covers[0].Excess > 0.08 {
		t.Fatalf("%+v", covers)
	}
	// Turned by a quarter, in metres and mirrored the bars are [0, 0.08]×[0, 0.5] and [−0.3, 0]×[0, 0.08] by [0, 0.08].
	bars := [2][2][3]float64{{{0, 0, 1}, {0.08, 0.5, 1.08}}, {{-0.3, 0, 1}, {0, 0.08, 1.08}}}
	r := rand.New(rand.NewPCG(7, 8))
	for range 4000 {
		b := bars[r.IntN(2)]
		var p [3]float64
		for k := range p {
			p[k] = b[0][k] + r.Float64()*(b[1][k]-b[0][k])
		}
		k := r.IntN(3)
		if p[k] = b[r.IntN(2)][k]; k != 0 && !holds(a, 0, p) { // where the bars touch is inside
			t.Fatalf("%v is in no sphere", p)
		}
		s := a.Spheres[r.IntN(len(a.Spheres))]
		n := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		least := math.Inf(1)
		for _, b := range bars {
			sum := 0.0
			for k := range n {
				v := s.Centre[k] + s.Radius*n[k]/dist(n, [3]float64{})
				d := max(b[0][k]-v, v-b[1][k], 0)
				sum += d * d
			}
			least = min(least, math.Sqrt(sum))
		}
		if least > covers[0].Excess {
			t.Fatalf("a sphere stands out by %v, said to be %v", least, covers[0].Excess)
		}
	}
}

// A file that is wrong in one place, and what is said of it.
func TestFaults(t *testing.T) {
	const (
		limit = `<limit lower="-1" upper="1"/>`
		join  = `<joint name="j" type="revolute"><parent link="a"/><child link="b"/>` + limit + `</joint>`
	)
	short := strings.NewReplacer("AB", `<link name="a"/><link name="b"/>`, "JOIN", join, "LIMIT", limit)
	testkit.Cases(t, func(input string) string {
		var o Options
		body := input
		if options, rest, ok := strings.Cut(input, "\n"); ok && strings.HasPrefix(options, "base ") {
			body = rest
			testkit.Must(fmt.Sscanf(options, "base %q tip %q volume %t excess %g", &o.Base, &o.Tip, &o.Volume,
				&o.Excess))
		}
		text := short.Replace(body)
		if !strings.HasPrefix(body, "whole ") {
			text = `<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">` + text + "</robot>"
		}
		_, _, err := Decode(strings.NewReader(strings.TrimPrefix(text, "whole ")), "f.urdf", o)
		testkit.Equal(t, fault.KindOf(err), fault.Config, input)
		return fmt.Sprint(err)
	})
	_, _, err := Decode(strings.NewReader("\x00"), "f.urdf", Options{})
	testkit.Refused(t, err, "no well-formed XML")
}

// Sizes are bounded, and deep nesting is passed over.
func TestSizes(t *testing.T) {
	var b strings.Builder
	b.WriteString("<robot>")
	for i := range MostLinks + 1 { // of different names
		b.WriteString("<link name='" + strings.Repeat("x", i%200+1) + string(rune('a'+i/200)) + "'/>\n")
	}
	_, _, err := Decode(strings.NewReader(b.String()), "f", Options{})
	testkit.Refused(t, err, "f:4097: more than 4096 links")
	_, _, err = Decode(strings.NewReader("<robot>"+strings.Repeat("<a>", 1<<16)), "f", Options{})
	testkit.Refused(t, err, "unexpected EOF")
	_, _, err = Read("testdata", Options{})
	var path *fs.PathError
	if !errors.As(err, &path) {
		t.Error(err)
	}
	large := filepath.Join(t.TempDir(), "large.urdf")
	testkit.OK(t, os.WriteFile(large, nil, 0o666))
	testkit.OK(t, os.Truncate(large, MostBytes+1))
	_, _, err = Read(large, Options{})
	testkit.Refused(t, err, "16777216")
}

// A chain longer than an arm may be is refused, and one as long is read.
func TestLongChain(t *testing.T) {
	chain := func(n int) string {
		name := func(i int) string { return strings.Repeat("l", i%16+1) + strings.Repeat("m", i/16+1) }
		var b strings.Builder
		b.WriteString("<robot><link name='" + name(0) + "'/>")
		for i := range n {
			b.WriteString("<link name='" + name(i+1) + "'/><joint type='continuous' name='" + name(i) +
				"'><parent link='" + name(i) + "'/><child link='" + name(i+1) + "'/></joint>")
		}
		return b.String() + "</robot>"
	}
	a, _, err := Decode(strings.NewReader(chain(robot.MostJoints)), "f", Options{})
	if err != nil || a.Turning() != robot.MostJoints {
		t.Error(err)
	}
	_, _, err = Decode(strings.NewReader(chain(robot.MostJoints+1)), "f", Options{})
	testkit.Refused(t, err, "257 joints; expected at most 256")
}

// Joints that mimic others follow them: links are where values that are written out put them, derivatives are those of
// differences, and limits are those of both. What is wrong outside of the chain does not matter.
func TestMimic(t *testing.T) {
	const text = `<robot><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
<link name="x"/>
		<joint name="1" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2"/></joint>
		<joint name="2" type="prismatic"><parent link="b"/><child link="c"/><limit lower="-1" upper="1"/></joint>
		<joint name="3" type="revolute"><parent link="c"/><child link="d"/><origin xyz="0 0 1"/>
<axis xyz="0 0.6 0.8"/>
			<limit lower="-1" upper="5"/><mimic joint="1" multiplier="-1" offset="0.5"/></joint>
		<joint name="4" type="prismatic"><parent link="d"/><child link="e"/><axis xyz="0 0 1"/>
			<mimic joint="2" multiplier="3" offset="-1"/></joint>
		<joint name="5" type="ball"><parent link="e"/><child link="x"/><limit lower="x"/></joint></robot>`
	a, notes, err := Decode(strings.NewReader(text), "f", Options{Tip: "e"})
	testkit.OK(t, err)
	if a.Dim() != 3 || a.Joints[0].Upper != 1.5 || len(notes) != 2 || !slices.Equal(a.Support(3), []int{0, 1, 2}) {
		t.Fatalf("%d numbers, limits %v, notes %q, support %v", a.Dim(), a.Joints[0].Upper, notes, a.Support(3))
	}
	free, _, err := Decode(strings.NewReader(strings.NewReplacer(`<mimic joint="1" multiplier="-1" offset="0.5"/>`, "",
		`<mimic joint="2" multiplier="3" offset="-1"/>`, `<limit lower="-9" upper="9"/>`).Replace(text)),
		"f", Options{Tip: "e"})
	testkit.OK(t, err)
	samePose(t, "tip", at(a, []float64{0.4, 0.3}).Pose(3), at(free, []float64{0.4, 0.3, 0.1, -0.1}).Pose(3), 1e-14)
	k, x, v := a.NewKinematics(), []float64{0.9, 0.5, 0.3}, []float64{0.2, -0.4, 0.7}
	var jac, up, down, hess [9]float64
	k.At(x)
	k.Along(v)
	k.Track([]robot.Point{{Link: 3, Local: [3]float64{1, 2, 3}}})
	k.PointsJacobian(jac[:])
	k.PointHessian(hess[:], 3, [3]float64{1, 2, 3})
	const h = 1e-5
	for c := range 3 {
		p := [2][3]float64{}
		for e, sign := range []float64{1, -1} {
			y := slices.Clone(x)
			y[c] += sign * h
			k.At(y)
			p[e] = k.Point(3, [3]float64{1, 2, 3})
		}
		for r := range 3 {
			testkit.Near(t, jac[3*r+c], (p[0][r]-p[1][r])/(2*h), 1e-8, "derivative %d of %d", c, r)
		}
	}
	for e, to := range []*[9]float64{&up, &down} {
		y := slices.Clone(x)
		for i := range y {
			y[i] += []float64{h, -h}[e] * v[i]
		}
		k.At(y)
		k.PointsJacobian(to[:])
	}
	for i := range hess {
		testkit.Near(t, hess[i], (up[i]-down[i])/(2*h), 1e-7, "second derivative %d", i)
	}
}

// What is none of URDF's is passed over with a note.
func TestStrange(t *testing.T) {
	text := `<robot><links/><link name="a"><colision/><colision/></link><link name="b"/>
		<joint name="j" type="continuous"><parent link="a"/><child link="b"/>
		<limits><limit/></limits></joint></robot>`
	a, notes, err := Decode(strings.NewReader(text), "f", Options{})
	testkit.OK(t, err)
	if !math.IsInf(a.Joints[0].Velocity, 1) {
		t.Errorf("velocity %v without a limit", a.Joints[0].Velocity)
	}
	want := []string{"passed over <links>, 1 times: not of URDF", "passed over <colision>, 2 times: not of URDF",
		"passed over <limits>, 1 times: not of URDF"}
	if !slices.Equal(notes, want) || !slices.Equal(a.Notes, want) {
		t.Errorf("notes %q, of the arm %q", notes, a.Notes)
	}
}

// Whatever is read is an arm that can be asked where it is, and written.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"panda.urdf", "six.urdf", "gantry.urdf"} {
		data := testkit.Must(os.ReadFile(filepath.Join("testdata", name)))
		f.Add(data, "", "")
		f.Add(data, "panda_link0", "panda_link8")
	}
	f.Add([]byte("<!DOCTYPE a [<!ENTITY b 'c'>]><robot>&b;</robot>"), "", "")
	f.Add([]byte("<robot><link name='a'/><link name='b'/><joint name='j' type='continuous'>"+
		"<parent link='a'/><child link='b'/><origin rpy='1 2 3'/><axis xyz='1 1 1'/></joint></robot>"), "a", "b")
	f.Fuzz(func(t *testing.T, data []byte, base, tip string) {
		a, _, err := Decode(bytes.NewReader(data), "f", Options{Base: base, Tip: tip, Volume: true})
		if err != nil {
			if fault.KindOf(err) != fault.Config {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		testkit.OK(t, a.Check())
		p := at(a, make([]float64, a.Moving())).Pose(len(a.Joints) - 1)
		for _, v := range p.P {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("origin %v", p.P)
			}
		}
		var b bytes.Buffer
		testkit.OK(t, Write(&b, a))
		again, _, err := Decode(bytes.NewReader(b.Bytes()), "g", Options{Volume: true})
		if err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
		if again.Dim() != a.Dim() || len(again.Joints) != len(a.Joints) || len(again.Spheres) != len(a.Spheres) {
			t.Fatalf("%d joints, %d spheres; want %d, %d", len(again.Joints), len(again.Spheres), len(a.Joints),
				len(a.Spheres))
		}
	})
}

// Decode is Read of a stream, under the name that errors call it by.
func Decode(r io.Reader, name string, o Options) (*robot.Arm, []string, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err
	}
	d, arm, err := decode(data, name, o)
	if err != nil {
		return nil, nil, err
	}
	return arm, d.notes, nil
}
