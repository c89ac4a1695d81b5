package urdf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// pinocchio runs the script of tools/bench/rivals, or skips. Set LANDING_PYTHON to a Python that has Pinocchio.
func pinocchio(t *testing.T, args ...string) (string, error) {
	t.Helper()
	python := cmp.Or(os.Getenv("LANDING_PYTHON"), "python3")
	if _, err := exec.LookPath(python); err != nil {
		t.Skip("there is no Python: ", err)
	}
	args = append([]string{"../../../tools/bench/rivals/pinocchio_paths.py"}, args...)
	out, err := exec.Command(python, args...).CombinedOutput()
	if strings.HasPrefix(string(out), "skipped") {
		t.Skip(strings.TrimSpace(string(out)))
	}
	return string(out), err
}

// folder writes what the script compares: the chain, configurations and our poses.
func folder(t *testing.T, urdf []byte, a *robot.Arm, x []float64) string {
	t.Helper()
	k, d := a.NewKinematics(), a.Dim()
	var links []string
	for i := range a.Joints {
		links = append(links, a.Joints[i].Link)
	}
	var poses []float64
	for i := range len(x) / d {
		k.At(x[i*d : (i+1)*d])
		for l := range links {
			p := k.Pose(l)
			for r := range 3 {
				poses = append(poses, p.R[3*r], p.R[3*r+1], p.R[3*r+2], p.P[r])
			}
		}
	}
	chain := testkit.Must(json.Marshal(map[string]any{"base": a.Base, "tip": links[len(links)-1], "links": links}))
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"arm.urdf": urdf, "chain.json": chain,
		"x.npy":     npy(t, x, len(x)/d, d),
		"poses.npy": npy(t, poses, len(x)/d, len(links), 3, 4),
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o666))
	}
	return dir
}

func npy(t *testing.T, v []float64, shape ...int) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Of(v, shape...)))
	return b.Bytes()
}

// Pinocchio puts every link where we do, to 1e-9: of files read by both, and of files that Write wrote.
func TestPinocchioPoses(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	slanted := &robot.Arm{Name: "slanted", Base: "base"}
	for i, kind := range []robot.Kind{robot.Revolute, robot.Prismatic, robot.Fixed, robot.Continuous, robot.Revolute} {
		origin := robot.Pose{R: [9]float64{0.6, 0, 0.8, 0, 1, 0, -0.8, 0, 0.6}, P: [3]float64{0.1, 0.2 * float64(i),
			-0.3}}
		slanted.Joints = append(slanted.Joints, robot.Joint{Name: fmt.Sprint("j", i), Link: fmt.Sprint("l", i),
			Kind: kind, Origin: origin, Axis: [3]float64{0.48, 0.6, -0.64}, Lower: -3, Upper: 3, Velocity: 1})
	}
	try := func(name string, urdf []byte, a *robot.Arm) {
		t.Run(name, func(t *testing.T) {
			x, q := make([]float64, 50*a.Dim()), make([]float64, a.Moving())
			for i := range 50 {
				for j := range q {
					q[j] = 2 * r.NormFloat64()
				}
				a.Coordinates(x[i*a.Dim():(i+1)*a.Dim()], q)
			}
			out, err := pinocchio(t, "poses", folder(t, urdf, a, x))
			if err != nil || !strings.Contains(out, fmt.Sprintf("50 configurations of %d links", len(a.Joints))) {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Log(strings.TrimSpace(out))
			// An origin that is off by a part in a million is seen.
			j := len(a.Joints) / 2
			a.Joints[j].Origin.P[0] += 1e-6
			if out, err := pinocchio(t, "poses", folder(t, urdf, a, x)); err == nil || !strings.Contains(out, "FAULT") {
				t.Errorf("a moved origin: %v\n%s", err, out)
			}
			a.Joints[j].Origin.P[0] -= 1e-6
		})
	}
	for _, name := range []string{"panda.urdf", "six.urdf", "gantry.urdf"} {
		data := testkit.Must(os.ReadFile(filepath.Join("testdata", name)))
		o := Options{}
		if name == "panda.urdf" {
			o = Options{Base: "panda_link0", Tip: "panda_leftfinger"}
		}
		a, _ := read(t, name, o)
		try(name, data, a)
	}
	for _, a := range []*robot.Arm{robot.Panda(), slanted} {
		var b bytes.Buffer
		testkit.OK(t, Write(&b, a))
		try("written "+a.Name, b.Bytes(), a)
	}
}

// The published trajectories, where they are (testkit.Shared): all links of all way points.
func TestPinocchioPublished(t *testing.T) {
	data := testkit.Must(arrayfile.ReadNPY(testkit.Shared(t, "data/robot/L10_paths.npy")))
	urdf := testkit.Must(os.ReadFile("testdata/panda.urdf"))
	// Pinocchio has angles, so the float32 pairs are brought to length 1 for both.
	x, a := data.AsFloat64(), robot.Panda()
	for i := range len(x) / 14 {
		a.Unit(x[14*i:14*i+14], x[14*i:14*i+14])
	}
	out, err := pinocchio(t, "poses", folder(t, urdf, a, x))
	if err != nil || !strings.Contains(out, "4000 configurations of 8 links") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Log(strings.TrimSpace(out))
}

// The script finds what is planted in trajectories that keep to everything, kind by kind.
func TestPinocchioPaths(t *testing.T) {
	a := robot.Panda()
	k := a.NewKinematics()
	// The first joint turns alone: the tool stays upright, at one height.
	q := func(turn float64) []float64 { return []float64{turn, 0.2, 0, -2, 0, 2.2, 0.7} }
	at := func(turn float64) ([]float64, [3]float64) {
		x := make([]float64, 14)
		a.Coordinates(x, q(turn))
		k.At(x)
		return x, k.Point(7, [3]float64{})
	}
	var x []float64
	const steps = 5
	for i := range steps {
		y, _ := at(0.2 * float64(i))
		x = append(x, y...)
	}
	_, start := at(0)
	_, middle := at(0.1)
	_, goal := at(0.8)
	down := k.Direction(7, [3]float64{0, 0, 1})
	if math.Abs(down[2]+1) > 1e-12 {
		t.Fatalf("the tool points along %v", down)
	}
	three := func(p [3]float64) string { return fmt.Sprintf("%.17g,%.17g,%.17g", p[0], p[1], p[2]) }
	check := func(x []float64, more ...string) (string, error) {
		file := filepath.Join(t.TempDir(), "x.npy")
		testkit.OK(t, os.WriteFile(file, npy(t, x, 1, steps, 14), 0o666))
		args := []string{"paths", file, "--urdf", "testdata/panda.urdf", "--base", "panda_link0", "--tip",
			"panda_link8",
			"--fix", fmt.Sprintf("z=%.17g", start[2]), "--start", three(start), "--goal", three(goal), "--limits",
			"--upright", "0,0,1:0,0,-1", "--tolerance", "1e-9", "--bodies", "panda_link8", "--margin", "0.01"}
		return pinocchio(t, append(args, more...)...)
	}
	ball := func(p [3]float64, radius float64) string { return fmt.Sprintf("%s,%g", three(p), radius) }
	// How far the way points are from a point in the middle of the first segment.
	gap := math.Hypot(middle[0]-start[0], middle[1]-start[1])
	out, err := check(x, "--sphere", ball(start, 0.001), "--margin", "-1")
	if err != nil || !strings.Contains(out, "1 of 1 trajectories keep to everything within 1e-09") {
		t.Fatalf("%v\n%s", err, out)
	}
	plant := func(name, want string, change func(x []float64) []string) {
		y := append([]float64(nil), x...)
		out, err := check(y, change(y)...)
		_, rest, found := strings.Cut(out, want)
		if err == nil || !found || !strings.Contains(rest, "0 of 1 trajectories keep") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	set := func(x []float64, step int, q []float64) { a.Coordinates(x[14*step:14*step+14], q) }
	count := func(name string) string { return fmt.Sprintf("%-26s", name+":") + "worst " }
	plant("height", count(fmt.Sprintf("z = %.6g", start[2])), func(x []float64) []string {
		v := q(0.4)
		v[1] += 1e-6
		v[5] += 1e-6 // upright again
		set(x, 2, v)
		return nil
	})
	plant("start", count("start"), func(x []float64) []string { set(x, 0, q(1e-6)); return nil })
	plant("goal", count("goal"), func(x []float64) []string { set(x, steps-1, q(0.8+1e-6)); return nil })
	plant("upright", count("upright"), func(x []float64) []string {
		v := q(0.4)
		v[5] += 1e-6
		set(x, 2, v)
		return nil
	})
	plant("limits", count("limits"), func(x []float64) []string {
		v := q(0.4)
		v[6] = 2.9
		set(x, 2, v)
		return nil
	})
	plant("circle", count("circles"), func(x []float64) []string { x[3] *= 1 + 1e-6; x[10] *= 1 + 1e-6; return nil })
	plant("way point", count("clearance at way points"), func([]float64) []string {
		return []string{"--sphere", ball([3]float64{start[0], start[1], start[2] + 0.105}, 0.1)}
	})
	plant("segment", "collide: 1", func([]float64) []string { return []string{"--sphere", ball(middle, gap-0.02)} })
	if out, _ := check(x, "--sphere", ball(middle, gap-0.02), "--between", "0"); !strings.Contains(out,
		"1 of 1 trajectories keep") {
		t.Errorf("way points alone miss it:\n%s", out)
	}
}
