package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// landing make arm writes rows that the recipe trains on, half of them in each mode, the
// same bytes whatever the number of workers.
func TestDataArm(t *testing.T) {
	dir := t.TempDir()
	r := ok(t, dir, "make", "arm", "-n", "5", "-o", "p.npy", "--labels", "l.npy", "--json")
	v := wantJSON(t, r)
	if v["paths"] != 5.0 || v["columns"] != 140.0 || v["worst_violation"].(float64) > 1e-9 ||
		v["shares"].(map[string]any)["LR"] != 3.0 {
		t.Errorf("got %v", v)
	}
	x, err := arrayfile.ReadNPY(filepath.Join(dir, "p.npy"))
	if err != nil || len(x.Shape) != 2 || x.Shape[0] != 5 || x.Shape[1] != 140 {
		t.Fatalf("%v, %v", x.Shape, err)
	}
	l, err := arrayfile.ReadNPY(filepath.Join(dir, "l.npy"))
	if err != nil || len(l.Float64) != 5 || l.Float64[2] != 0 || l.Float64[3] != 1 {
		t.Fatalf("%v, %v", l, err)
	}
	ok(t, dir, "make", "arm", "--modes", "LR,RL", "arm", "-n", "5", "-o", "q.npy", "--workers", "1")
	first, _ := os.ReadFile(filepath.Join(dir, "p.npy"))
	second, _ := os.ReadFile(filepath.Join(dir, "q.npy"))
	if len(first) == 0 || !bytes.Equal(first, second) {
		t.Error("the same seed gives other bytes")
	}
	ok(t, dir, "refine", "arm", "--data", "p.npy", "-o", "r.npy") // Σ as the recipe reads it
	// starts about those of other rows
	ok(t, dir, "make", "arm", "-n", "2", "--near", "p.npy", "--sd", "0", "-o", "n.npy")
	n := testkit.Must(arrayfile.ReadNPY(filepath.Join(dir, "n.npy")))
	for j := range 14 {
		testkit.Near(t, n.Float64[j], x.Float64[j], 1e-9, "a start that is not drawn about its row")
	}
	// or about joint values
	var about []string
	for j := range 7 {
		about = append(about, fmt.Sprint(math.Atan2(x.Float64[7+j], x.Float64[j])))
	}
	ok(t, dir, "make", "arm", "-n", "2", "--near", strings.Join(about, ","), "--sd", "0", "-o", "j.npy")
	q := testkit.Must(arrayfile.ReadNPY(filepath.Join(dir, "j.npy")))
	for j := range 14 {
		testkit.Near(t, q.Float64[j], x.Float64[j], 1e-9, "a start that is not drawn about joint values")
	}
}

// Rows keep the margin all the way between waypoints, as they are proven to; with --graze some of
// the same queries do not.
func TestDataArmBetweenWaypoints(t *testing.T) {
	dir := t.TempDir()
	for _, graze := range []bool{false, true} {
		v := wantJSON(t, ok(t, dir, "make", "arm", "-n", "12", "-o", "p.npy", "--force", "--reserve", "0.005",
			"--modes", "any", "--json",
			fmt.Sprintf("--graze=%v", graze)))
		clear, least := v["clear_between"].(float64), v["least_room_between"].(float64)
		if graze && (clear >= 12 || least >= 0.01) || !graze && (clear != 12 || least < 0.01) || v["graze"] != graze {
			t.Errorf("--graze=%v: %v of 12 rows keep 0.01 m between waypoints, at least %v", graze, clear, least)
		}
	}
}

// Places that the set leaves open stand behind the waypoints.
func TestDataArmOpen(t *testing.T) {
	dir := t.TempDir()
	open := []string{"make", "arm", "arm", "--set", "set.start={position: condition}", "--set",
		"set.goal={position: condition}", "-n", "2", "--starts", "0.35:0.45,-0.55:-0.5,0.205", "--goals",
		"0.35:0.45,0.5:0.55,0.205"}
	v := wantJSON(t, ok(t, dir, append(open, "-o", "p.npy", "--unseen", "3", "--unseen-output", "u.csv", "--json")...))
	if v["columns"] != 146.0 || len(v["open"].([]any)) != 6 || v["unseen_paths"] != 3.0 {
		t.Errorf("got %v", v)
	}
	text, err := os.ReadFile(filepath.Join(dir, "u.csv"))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 4 || lines[0] != "start_x,start_y,start_z,goal_x,goal_y,goal_z" {
		t.Errorf("%v, %q", err, text)
	}
}

// An arm with an open start goes from the planner to samples and their figures with nothing said but
// that the start is open; motions by their joint values alone say where they start.
func TestArmByStart(t *testing.T) {
	dir := t.TempDir()
	open := []string{"--set", "set.start={position: condition}"}
	ok(t, dir, slices.Concat([]string{"make", "arm", "arm", "-n", "20", "-o", "p.npy", "--starts",
		"0.35:0.45,-0.55:-0.5,0.205"}, open)...)
	x, err := arrayfile.ReadNPY(filepath.Join(dir, "p.npy"))
	if err != nil || !slices.Equal(x.Shape, []int{20, 143}) {
		t.Fatalf("%v, %v", x.Shape, err)
	}
	alone := arrayfile.Array{Shape: []int{20, 10, 14}}
	for i := range 20 {
		alone.Float64 = append(alone.Float64, x.Float64[i*143:i*143+140]...)
	}
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, alone))
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "alone.npy"), b.Bytes(), 0o600))
	for data, out := range map[string]string{"p.npy": "run", "alone.npy": "other"} {
		ok(t, dir, slices.Concat([]string{"train", "arm", "--set", "network.kind=mlp", "--set",
			"train.window=0", "--set", "train.epochs=1", "--set", "network.width=16",
			"--set", "network.layers=2", "--set", "process.sigma.max=1", "--set", "train.max_failed=0.2",
			"--set", "process.steps=20", "--set", "process.landing.rate=100",
			"--data", data, "--out", out}, open)...)
	}
	const at = "start_x=0.4,start_y=-0.52,start_z=0.205"
	for _, name := range []string{"s.npy", "s.csv"} {
		ok(t, dir, "generate", "run", "--condition", at, "-n", "3", "-o", name)
	}
	ok(t, dir, "report", "run", "--text", "--samples", "s.csv")
	s, err := arrayfile.ReadNPY(filepath.Join(dir, "s.npy"))
	if err != nil || !slices.Equal(s.Shape, []int{3, 143}) {
		t.Fatalf("%v, %v", s.Shape, err)
	}
	for code, args := range map[int][]string{exitUsage: {"--start", "0.4,-0.52,0.205", "--condition", at},
		exitConfig: {"--start", "0.4,-0.52"}} {
		if r := do(t, dir, append([]string{"generate", "run"}, args...)...); r.code != code {
			t.Errorf("%v: exit %d, %s", args, r.code, r.stderr)
		}
	}
	ok(t, dir, "generate", "other", "--start", "0.4,-0.52,0.205", "-n", "3", "-o", "o.npy")
	o := testkit.Must(arrayfile.ReadNPY(filepath.Join(dir, "o.npy")))
	arm := robot.Panda()
	k := arm.NewKinematics()
	for i := range 3 {
		for _, rows := range [][]float64{s.Float64, o.Float64} {
			row := rows[i*143 : (i+1)*143]
			k.At(row[:14])
			p := k.Point(len(arm.Joints)-1, [3]float64{})
			if d := math.Hypot(math.Hypot(p[0]-0.4, p[1]+0.52), p[2]-0.205); d > 1e-9 {
				t.Errorf("sample %d starts %g m off", i, d)
			}
		}
	}
	ok(t, dir, "report", "run", "--text")
}

func TestDataArmFaults(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"x.npy": "", "short.csv": "1,2,3\n", "both.yaml": `name: both
data: {kind: points}
set:
  all:
    - kind: arm
      robot: panda
      waypoints: 4
      start: {joints: [0, 0, 0, -1.5, 0, 1.5, 0]}
      goal: {joints: [0.2, 0, 0, -1.5, 0, 1.5, 0]}
    - {dim: 56, inequality: [{name: still, expr: "x[21] - x[7] <= 0.01"}]}
`} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitConfig, []string{"-o", "x.npy"}, "x.npy"},
		{exitUsage, []string{"-n", "0"}, "-n is 0"},
		{exitUsage, []string{"-n", "1"}, "one for each of 2 modes"},
		{exitUsage, []string{"--modes", "L"}, `"L" has 1 letters; expected one for each of 2 obstacles`},
		{exitUsage, []string{"--modes", "LX"}, "expected the letters L, R and *"},
		{exitUsage, []string{"--even", "feet"}, "expected one of joints, tip"},
		{exitUsage, []string{"--step", "0"}, "--step is 0"},
		{exitUsage, []string{"-o", "x.csv"}, "ends in .npy"},
		{exitUsage, []string{"--starts", "0,0,0"}, "expected none: the set does not leave its start open"},
		{exitUsage, []string{"arm", "--set", "set.goal={position: condition}"}, "expected --goals with the box"},
		{exitUsage, []string{"--unseen", "3"}, "go together"},
		{exitUsage, []string{"--unseen", "3", "--unseen-output", "u.csv"}, "leave start or goal open"},
		{exitUsage, []string{"arm", "--set", "set.start={position: condition}", "--set",
			"data.kind=points", "--starts", "1:0,0,0"}, "LOW:HIGH"},
		{exitUsage, []string{"earthquake"}, "expected kind arm"},
		{exitUsage, []string{"arm", "--set", "condition.columns=[speed]", "--set", "data.kind=points"},
			"a condition (speed) that its set does not know"},
		{exitUsage, []string{"--near", "short.csv"}, "its rows have 3 numbers; expected configurations"},
		{exitUsage, []string{"--near", "0.1,0.2"}, "--near has 2 joint values; expected 7"},
		{exitUsage, []string{"arm", "earthquake"}, "got 2 arguments"},
		{exitConfig, []string{"both.yaml", "-n", "1"}, "violates still"}, // what is beside the arm is kept too, or said
		{exitConfig, []string{"--set", "set.goal={position: [0.4, 1.9, 0.205]}"},
			"no configuration of the arm keeps it"},
		{exitConfig, []string{"--set", "set.obstacles=[{sphere: [0.4, 0.5, 0.205], radius: 0.05}]", "--modes", "any"},
			"the goal is blocked: between panda_link8 and obstacle 0 there is -0.05 m"},
	} {
		r := do(t, dir, append([]string{"make", "arm"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
}
