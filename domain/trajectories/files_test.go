package trajectories

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
)

func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// taken reads a file and makes points of the set of it.
func taken(set constraint.Set, path string) (*dataset.Points, error) {
	p, err := Read(path)
	if err != nil {
		return nil, err
	}
	return fit(set, p)
}

// What is written in any form is read back: configurations to round-off.
func TestRoundTrip(t *testing.T) {
	x := golden.Read(t, "robot10_ops.npz")["x_on"].AsFloat64()
	for i := 0; i < len(x); i += 14 { // the published ones are float32
		for j := range 7 {
			r := math.Hypot(x[i+j], x[i+7+j])
			x[i+j], x[i+7+j] = x[i+j]/r, x[i+7+j]/r
		}
	}
	set := panda(t, 10)
	d := domainOf(t, set, x, "x.npy")
	for _, ext := range []string{".npy", ".csv", ".json"} {
		var b bytes.Buffer
		testkit.OK(t, d.Writer(ext)(&b, arrayfile.RowsOf(x, 140)))
		testkit.InBlocks(t, ext, d.Writer(ext), x, 140)
		got, err := taken(set, file(t, "x"+ext, b.String()))
		if err != nil {
			t.Fatalf("%s: %v", ext, err)
		}
		if got.N != 6 || got.D != 140 || got.Header != nil || got.SHA256 == "" || got.Name != "x"+ext {
			t.Fatalf("%s: %d × %d, %v", ext, got.N, got.D, got.Header)
		}
		for i, v := range x {
			if math.Abs(got.X[i]-v) > 1e-14 {
				t.Fatalf("%s: number %d is %v, want %v", ext, i, got.X[i], v)
			}
		}
	}
}

// First configurations are read from every form that motions are written in, from configurations alone
// and from motions with a condition beside them; rows that are none are refused.
func TestFirsts(t *testing.T) {
	set := hand(t, 3, nil)
	x := angles([]float64{0.2, 0.5, 0.25}, []float64{3, -3, -3})
	d, arm := domainOf(t, set, x, "x.npy"), motionOf(set).arm
	files := map[string]string{
		"angles.csv": "0.2\n3\n", "one.csv": "joint1[0]\n0.2\n3\n",
		"given.csv": "trajectory,waypoint,start_x,joint1\n0,0,7,0.2\n0,1,7,0.5\n1,0,7,3\n1,1,7,-3\n",
	}
	for _, ext := range []string{".npy", ".csv", ".json"} {
		var b bytes.Buffer
		testkit.OK(t, d.Writer(ext)(&b, arrayfile.RowsOf(x, 6)))
		files["x"+ext] = b.String()
	}
	for name, text := range files {
		got, err := Firsts(file(t, name, text), arm)
		if err != nil || len(got) != 2 || math.Abs(got[0][0]-0.2) > 1e-15 || math.Abs(got[1][0]-3) > 1e-15 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	panda := robot.Panda()
	for text, want := range map[string]string{
		"1,2,3\n":                                "its rows have 3 numbers; expected configurations, 14 coordinates or",
		strings.Repeat("0.5,", 14) + "0.5\n":     "row 0, way point 0, joint panda_joint1",
		"panda_joint1[0],panda_joint2[0]\n0,0\n": "expected a column for joint panda_joint3",
	} {
		path := file(t, "x.csv", text)
		if _, err := Firsts(path, panda); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The forms themselves: an array of n×L×D; a table with a header of joints and time stamps that
// no velocity limit is broken by; ROS's messages, whose times have nanoseconds.
func TestForms(t *testing.T) {
	set := hand(t, 3, nil)
	x := angles([]float64{0, 0.5, 0.25}, []float64{3, -3, -3})
	d := domainOf(t, set, x, "x.npy")
	written := func(ext string) string {
		var b bytes.Buffer
		testkit.OK(t, d.Writer(ext)(&b, arrayfile.RowsOf(x, 6)))
		return b.String()
	}
	given := domain.Given(d, 6, []string{"c"}, []float64{1})
	under := slices.Concat(x[:6], []float64{0.5}, x[6:], []float64{-2})
	for _, ext := range []string{".csv", ".json", ".npy"} {
		testkit.InBlocks(t, ext+" under a condition", given.Writer(ext), under, 7)
	}
	var table strings.Builder
	testkit.OK(t, given.Writer(".csv")(&table, arrayfile.RowsOf(under, 7)))
	for i, line := range strings.Split(strings.TrimSpace(table.String()), "\n") {
		own := strings.Split(written(".csv"), "\n")[i]
		testkit.Equal(t, line, own+[]string{",c", ",0.5", ",-2"}[(i+16)/17], "line %d", i)
	}
	a, err := arrayfile.DecodeNPY(strings.NewReader(written(".npy")))
	if err != nil || !slices.Equal(a.Shape, []int{2, 3, 2}) || !slices.Equal(a.Float64, x) {
		t.Errorf("%v of %v", err, a.Shape)
	}
	lines := strings.Split(strings.TrimSpace(written(".csv")), "\n")
	const points = 2*8 + 1
	if lines[0] != "trajectory,point,time,joint1,joint1_velocity" || len(lines) != 1+2*points {
		t.Fatalf("%q", lines)
	}
	across := 2*math.Pi - 6 // the step across π
	for i, l := range lines[1:] {
		var r [5]float64
		testkit.Must(fmt.Sscanf(l, "%g,%g,%g,%g,%g", &r[0], &r[1], &r[2], &r[3], &r[4]))
		want := [][]float64{{0, 0.5, 0.25}, {3, 3 + across, 3 + across}}[i/points]
		if k := i % points; r[0] != float64(i/points) || r[1] != float64(k) || k == 0 && r[2] != 0 ||
			k%8 == 0 && math.Abs(r[3]-want[k/8]) > 1e-14 || k%16 == 0 && r[4] != 0 {
			t.Errorf("line %d is %v", i+2, r)
		}
	}
	var messages []struct {
		Header      struct{ Frame_id string }
		Joint_names []string
		Points      []struct {
			Positions       []float64
			Velocities      []float64
			Time_from_start struct{ Sec, Nanosec int64 }
		}
	}
	if err := json.Unmarshal([]byte(written(".json")), &messages); err != nil || len(messages) != 2 {
		t.Fatal(err)
	}
	m := messages[0]
	if m.Header.Frame_id != "base" || !slices.Equal(m.Joint_names, []string{"joint1"}) || len(m.Points) != points ||
		m.Points[16].Positions[0] != 0.25 || m.Points[16].Time_from_start.Nanosec == 0 ||
		m.Points[8].Velocities == nil {
		t.Errorf("%+v", m)
	}
}

// Files of motions, read as a controller reads them, keep velocities, accelerations and periods everywhere, and begin
// and end at rest.
func TestFilesKeepTheirBounds(t *testing.T) {
	for _, c := range []struct {
		name                       string
		period, acceleration, want float64 // rad/s²
	}{{"the default", 0, 0, 2 / ramp}, {"of a period", 0.25, 0.5, 0.5}, {"of steps", 0, 0.5, 2 / ramp},
		{"a slow period", 2, 0.5, 0.5}} {
		set := hand(t, 5, func(s *trajectory.Spec) {
			h := cmp.Or(c.period, 1)
			s.Period, s.Bends = c.period, []float64{c.acceleration * h * h, 0}
		})
		d := domainOf(t, set, angles([]float64{0, 1, 2, 1.5, 1}), "x.npy")
		x := angles([]float64{0, 0.3, 0.9, 1, 0.4}, []float64{0, 0, 0, 0, 0}, []float64{0, 3, 0, 3, 0})
		var b bytes.Buffer
		testkit.OK(t, d.Writer(".json")(&b, arrayfile.RowsOf(x, 10)))
		var messages []struct {
			Points []struct {
				Positions, Velocities []float64
				Time_from_start       struct{ Sec, Nanosec int64 }
			}
		}
		testkit.OK(t, json.Unmarshal(b.Bytes(), &messages))
		for i, m := range messages {
			at := func(k int) float64 {
				s := m.Points[k].Time_from_start
				return float64(s.Sec) + 1e-9*float64(s.Nanosec)
			}
			fastest, hardest, last := 0.0, 0.0, len(m.Points)-1
			for k := range last {
				a, z, h := m.Points[k], m.Points[k+1], at(k+1)-at(k)
				q0, q1, v0, v1 := a.Positions[0], z.Positions[0], a.Velocities[0], z.Velocities[0]
				for e := range 33 {
					u := float64(e) / 32
					fastest = max(fastest, math.Abs(6*u*(1-u)*(q1-q0)/h+(1-u)*(1-3*u)*v0+u*(3*u-2)*v1))
					hardest = max(hardest, math.Abs((6-12*u)*(q1-q0)/h+(6*u-4)*v0+(6*u-2)*v1)/h)
				}
			}
			if fastest > 2 || hardest > c.want || m.Points[0].Velocities[0] != 0 || m.Points[last].Velocities[0] != 0 ||
				at(last) < 4*c.period || i != 1 && hardest < 0.9*c.want {
				t.Errorf("%s, motion %d: %g rad/s, %g rad/s², %g s; expected at most 2 and %g, from rest to rest",
					c.name, i, fastest, hardest, at(last), c.want)
			}
		}
	}
}

// Tables that people write: rows of way points with any of the three columns, in any order of
// columns; rows of trajectories by name; values without names; plain coordinates.
func TestTables(t *testing.T) {
	set := hand(t, 2, nil)
	want := angles([]float64{0.1, 0.2}, []float64{0.3, 0.4})
	line := func(x []float64) string { return fmt.Sprintf("%.17g,%.17g,%.17g,%.17g\n", x[0], x[1], x[2], x[3]) }
	for name, text := range map[string]string{
		"trajectory":  "trajectory,joint1\n7,0.1\n7,0.2\n5,0.3\n5,0.4\n",
		"waypoint":    "joint1,waypoint\n0.1,0\n0.2,1\n0.3,0\n0.4,1\n",
		"time":        "Time,joint1\n0,0.1\n2,0.2\n0,0.3\n0.5,0.4\n",
		"all":         "# by hand\ntrajectory,waypoint,time,joint1\n0,0,0,0.1\n\n0,1,9,0.2\n1,0,0,0.3\n1,1,9,0.4\n",
		"wide":        "joint1[1],joint1[0]\n0.2,0.1\n0.4,0.3\n",
		"no names":    "0.1,0.2\n0.3,0.4\n",
		"coordinates": "x0,x1,x2,x3\n" + line(want[:4]) + line(want[4:]),
	} {
		p, err := taken(set, file(t, "x.csv", text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.N != 2 || p.D != 4 || !slices.Equal(p.X, want) {
			t.Errorf("%s: %v, want %v", name, p.X, want)
		}
	}
	one := `{"header": {"stamp": {"sec": 1}}, "joint_names": ["joint1"], "points": [
		{"positions": [0.1], "velocities": [9]}, {"positions": [0.2], "effort": []}]}`
	p, err := taken(set, file(t, "x.json", one))
	if err != nil || p.N != 1 || !slices.Equal(p.X, want[:4]) {
		t.Errorf("a message alone: %v", err)
	}
}

// What is wrong is named, with its place.
func TestBadFiles(t *testing.T) {
	set := hand(t, 2, nil)
	testkit.Cases(t, func(input string) string {
		name, text, _ := strings.Cut(input, " ")
		path := file(t, name, testkit.Must(strconv.Unquote(text)))
		return strings.ReplaceAll(fmt.Sprint(testkit.Err(taken(set, path))), path, name)
	})
	long := "waypoint," + strings.Repeat("j,", 256) + "j\n0" + strings.Repeat(",0", 257) + "\n"
	testkit.Refused(t, testkit.Err(Read(file(t, "x.csv", long))), "257 columns of joints")
}

// Joint values in degrees are doubted: whole numbers beyond a turn, and any beyond two. Radians of half a turn, wrapped
// or not, are not, nor are whole numbers of them.
func TestDegrees(t *testing.T) {
	for row, doubt := range map[string]string{"30.5,88.6": "88.6", "-90,45": "90", "0,7": "7", "6.9,1.2": "",
		"3.1,-3.1": "", "0,2": ""} {
		told := strings.Join(testkit.Must(taken(hand(t, 2, nil), file(t, "a.csv", row+"\n"))).Doubts, "")
		if (told == "") != (doubt == "") || doubt != "" && told != "joint values go up to "+doubt+
			": they look like degrees where radians are expected" {
			t.Errorf("%s: %q", row, told)
		}
	}
}

// What a point is given for stands behind it, from its own ends: the first configuration and
// where the hand is at the last.
func TestGiven(t *testing.T) {
	set := hand(t, 3, func(s *trajectory.Spec) {
		s.Start.Given.Joints = true
		s.Goal.Given.Position = &robot.Point{Link: 1, Local: [3]float64{1, 0, 0}}
	})
	p := testkit.Must(taken(set, file(t, "x.csv", "0.1,0.2,0.3\n")))
	want := append(angles([]float64{0.1, 0.2, 0.3, 0.1}), 2*math.Cos(0.3), 2*math.Sin(0.3), 0)
	if p.D != 11 || len(p.X) != 11 {
		t.Fatalf("%d numbers, want 11", p.D)
	}
	for i, v := range want {
		testkit.Near(t, p.X[i], v, 1e-15, "number %d", i)
	}
	again, err := fit(set, p)
	if err != nil || !slices.Equal(again.X, p.X) {
		t.Errorf("points of the set are changed: %v", err)
	}
	var b bytes.Buffer
	d := domainOf(t, set, p.X, "x.npy")
	testkit.OK(t, d.Writer(".npy")(&b, arrayfile.RowsOf(p.X, 11)))
	if a, err := arrayfile.DecodeNPY(&b); err != nil || !slices.Equal(a.Shape, []int{1, 11}) {
		t.Errorf("%v, shape %v", err, a.Shape)
	}
	d.Find(p.X)
}

// A condition is in columns of its names, or behind the coordinates, or told by the trajectory; a
// slice of a set with open ends is a set of way points alone.
func TestOpen(t *testing.T) {
	set := constraint.Hold(hand(t, 3, func(s *trajectory.Spec) {
		s.Goal.Given.Position = &robot.Point{Link: 1, Local: [3]float64{1, 0, 0}}
	}), []int{6, 7, 8})
	names := []string{"gx", "gy", "gz"}
	read := func(text string) (*dataset.Points, error) {
		p := testkit.Must(Read(file(t, "x.csv", text)))
		return open(set, p, names)
	}
	path := angles([]float64{0.1, 0.2, 0.3})
	own := append(slices.Clone(path), 2*math.Cos(0.3), 2*math.Sin(0.3), 0)
	asked := append(slices.Clone(path), 1, 2, 3)
	for text, want := range map[string][]float64{
		"0.1,0.2,0.3\n":                          own,
		"waypoint,joint1\n0,0.1\n1,0.2\n2,0.3\n": own,
		"waypoint,gy,joint1,gx,gz\n0,2,0.1,1,3\n1,2,0.2,1,3\n2,2,0.3,1,3\n":        asked,
		"gz,joint1[2],joint1[0],joint1[1],gx,gy\n3,0.3,0.1,0.2,1,2\n":              asked,
		strings.Trim(strings.ReplaceAll(fmt.Sprint(asked), " ", ","), "[]") + "\n": asked,
	} {
		p, err := read(text)
		if err != nil || p.D != 9 || len(p.X) != 9 {
			t.Errorf("%q: %v, %+v", text, err, p)
			continue
		}
		for i, v := range want {
			testkit.Near(t, p.X[i], v, 1e-15, "%q: number %d", text, i)
		}
	}
	for text, want := range map[string]string{
		"waypoint,joint1,gx,gy,gz\n0,0.1,1,2,3\n1,0.2,1,2,3\n2,0.3,1.5,2,3\n": "gx is 1 and 1.5; expected one value",
		"joint1[0],joint1[1],joint1[2],gx,gz\n0.1,0.2,0.3,1,2\n":              `no column "gy"`,
		"0.1,0.2\n": "2 numbers",
	} {
		testkit.Refused(t, testkit.Err(read(text)), want, text)
	}
	if m := motionOf(constraint.Slice(set, []float64{1, 2, 3})); m == nil || m.dim != 6 || m.given != nil ||
		m.tip.Local[0] != 1 {
		t.Errorf("of a slice: %+v", m)
	}
	if fits(constraint.Slice(constraint.Hold(hand(t, 3, nil), []int{0}), []float64{1})) {
		t.Error("way points of which a number is held fit")
	}
}

// No table makes the reader panic, and what it takes is whole trajectories of finite numbers, as
// many as the table has for joints.
func FuzzTable(f *testing.F) {
	for _, s := range []string{"trajectory,waypoint,time,joint1\n0,0,0,1\n0,1,1,2\n", "waypoint,a,b\n0,1,2\n",
		"time,a\n0,1\n0,2\n", "joint1[0],joint1[1]\n1,2\n", "trajectory\n1\n", "trajectory,a\n1e308,1\n-0,2\n"} {
		f.Add(s)
	}
	path := filepath.Join(f.TempDir(), "x.csv")
	set := hand(f, 2, nil)
	f.Fuzz(func(t *testing.T, text string) {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		p, err := Read(path)
		if err != nil {
			return
		}
		if p.N < 1 || p.D < 1 || len(p.X) != p.N*p.D || p.Header != nil && len(p.Header) != p.D {
			t.Fatalf("%d × %d, %d numbers, %d names", p.N, p.D, len(p.X), len(p.Header))
		}
		for _, v := range p.X {
			if v-v != 0 {
				t.Fatal("a number that is not finite")
			}
		}
		if q, err := fit(set, p); err == nil && (q.D != 4 || len(q.X) != 4*q.N) {
			t.Fatalf("points of %d numbers", q.D)
		}
	})
}

// No text makes the reader of JSON panic, and what it takes is whole.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`[{"joint_names":["a"],"points":[{"positions":[1]}]}]`, `{"joint_names":["a"]}`, `[]`,
		`null`, `[null]`, `[{"joint_names":["a"],"points":[{"positions":[1e400]}]}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := decodeJSON("x.json", []byte(text))
		if err == nil && (p.N < 1 || p.D < 1 || len(p.X) != p.N*p.D || len(p.Header) != p.D) {
			t.Fatalf("%d × %d, %d numbers, %d names", p.N, p.D, len(p.X), len(p.Header))
		}
	})
}
