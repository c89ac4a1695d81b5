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
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
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
	refused(t, dir, "make", "arm")
}

var shortChains = []string{"make", "alanine", "-n", "96", "--chains", "8", "--burn", "50", "--every", "10"}

// landing make alanine writes heavy atoms in the paper's order, φ to round-off and ψ in its
// window; all atoms as models of a PDB file; and a story that has their numbers.
func TestDataAlanine(t *testing.T) {
	dir := t.TempDir()
	v := wantJSON(t, ok(t, dir, append(shortChains, "--json")...))
	if v["frames"] != 96.0 || len(v["atoms"].([]any)) != 10 || v["psi_ess"] == nil ||
		v["worst_violation"].(float64) > 1e-12 {
		t.Errorf("%v", v)
	}
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "alanine.npy"))
	if err != nil || len(a.Shape) != 3 || a.Shape[0] != 96 || a.Shape[1] != 10 || a.Shape[2] != 3 {
		t.Fatalf("%v, %v", a.Shape, err)
	}
	for i := range 96 {
		x := a.AsFloat64()[30*i : 30*i+30]
		φ, ψ := molecule.Torsion(x, 1, 3, 4, 6)*180/math.Pi, molecule.Torsion(x, 3, 4, 6, 8)*180/math.Pi
		if math.Abs(φ+70) > 1e-10 || ψ < 130 || ψ > 170 {
			t.Fatalf("frame %d: φ %v, ψ %v", i, φ, ψ)
		}
	}
	story, err := os.ReadFile(filepath.Join(dir, "alanine.json"))
	if err != nil || !strings.Contains(string(story), `"force_field": "ff14SB`) ||
		!strings.Contains(string(story), v["sha256"].(string)) {
		t.Errorf("%s, %v", story, err)
	}

	r := ok(t, dir, append(shortChains, "--atoms", "all", "--psi", "160:200", "--solvent", "vacuum", "-o",
		"all.pdb")...)
	testkit.Contains(t, r.stdout, "96 frames of 22 atoms in all.pdb, how they were made in all.json")
	f := testkit.Must(files.Read(filepath.Join(dir, "all.pdb")))
	testkit.Equal(t, len(f.X), 96*66)
	if ok(t, dir, append(shortChains, "-o", "b.npy", "--workers", "1")...); true {
		first, _ := os.ReadFile(filepath.Join(dir, "alanine.npy"))
		second, _ := os.ReadFile(filepath.Join(dir, "b.npy"))
		if len(first) == 0 || !bytes.Equal(first, second) {
			t.Error("the same flags give other bytes")
		}
	}
}

// With parameters from files the same molecule gives the same law. Other molecules and invalid flags are errors.
func TestDataAlanineFaults(t *testing.T) {
	dir := t.TempDir()
	for name, from := range map[string]string{"a.prmtop": "dipeptide.prmtop", "a.rst7": "dipeptide.rst7"} {
		b := testkit.Must(os.ReadFile(filepath.Join("..", "..", "domain", "molecule", "amber", "testdata", from)))
		for copy, text := range map[string]string{name: string(b),
			"other" + name: strings.Replace(string(b), "NME", "NMA", 1),
			"cut" + name:   string(b[:len(b)/2])} {
			testkit.OK(t, os.WriteFile(filepath.Join(dir, copy), []byte(text), 0o600))
		}
	}
	own := append(shortChains, "--prmtop", "a.prmtop", "--coordinates", "a.rst7", "--json")
	if v := wantJSON(t, ok(t, dir, own...)); v["prmtop"] != "a.prmtop" || v["force_field"] != "a.prmtop" ||
		len(v["prmtop_sha256"].(string)) != 64 || v["prmtop_sha256"] == v["coordinates_sha256"] {
		t.Errorf("%v", v)
	}
	refused(t, dir, shortChains...)
}

// A force field goes from data to a run and back: training on all atoms with the potential of a
// file, generation from the copy that the run keeps, and chains of landing mcmc.
func TestForceFieldInARun(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"dipeptide.prmtop", "dipeptide.rst7"} {
		b := testkit.Must(os.ReadFile(filepath.Join("..", "..", "domain", "molecule", "amber", "testdata", name)))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	ok(t, dir, append(shortChains, "--atoms", "all", "-o", "all.npy")...)
	text := "name: p\ndata: {kind: molecule, path: all.npy}\nset: {kind: molecule, atoms: 22, dihedrals: " +
		"[{name: phi, atoms: [4, 6, 8, 14], value: -70}]}\n" +
		"potential: {kind: amber, prmtop: dipeptide.prmtop, coordinates: dipeptide.rst7}\n" +
		"observe: [{name: psi, expr: \"dihedral(x[18:21], x[24:27], x[42:45], x[48:51])\"}]\n" +
		"process: {steps: 5, horizon: 0.1, sigma: {min: 0.05, max: 0.3}}\nprior: empirical\n" +
		"sample: {measure: level, step: 0.012, chains: 8, burn: 200, draws: 40, thin: 20, max_rhat: 10}\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600))
	ok(t, dir, append([]string{"train", "p.yaml", "--out", "r"}, tiny...)...)
	testkit.OK(t, os.Remove(filepath.Join(dir, "dipeptide.prmtop")))
	ok(t, dir, "generate", "r", "-n", "10", "-o", "x.npy")
	if r := do(t, dir, "mcmc", "p.yaml"); r.code != exitConfig || !strings.Contains(r.stderr, "dipeptide.prmtop") {
		t.Errorf("without its file: exit %d, %s", r.code, r.stderr)
	}
	r := ok(t, dir, "mcmc", filepath.Join("r", "config.yaml"), "--set", "potential.prmtop=r/potential.prmtop.prmtop",
		"--set", "potential.coordinates=dipeptide.rst7", "--json")
	v := wantJSON(t, r)
	if v["violation"].(map[string]any)["worst"].(float64) > 1e-10 || v["failed"] != 0.0 {
		t.Errorf("%v", v)
	}
}

// landing make grid writes rows that check takes under the same case, as NPY and with names as CSV.
func TestMakeGrid(t *testing.T) {
	dir := t.TempDir()
	source, err := os.ReadFile("../../domain/grid/testdata/small.m")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"small.m": string(source),
		"p.yaml": "data: {path: g.csv}\nset: {kind: grid, case: small.m, loads: condition}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	v := wantJSON(t, ok(t, dir, "make", "grid", "small.m", "-n", "60", "--json"))
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "grid.npy"))
	if err != nil || a.Shape[0] != 60 || a.Shape[1] != 19 || v["rows"] != 60.0 || len(v["notes"].([]any)) != 2 {
		t.Fatalf("%v, %v, %v", a.Shape, v, err)
	}
	r := ok(t, dir, "make", "grid", "small.m", "-n", "60", "-o", "g.csv")
	if !strings.Contains(r.stdout, "60 states of 19 numbers in g.csv; ") || !strings.Contains(r.stderr, "isolated") {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	table, err := os.ReadFile(filepath.Join(dir, "g.csv"))
	if err != nil || !strings.HasPrefix(string(table), "V_10,V_20,") {
		t.Errorf("%.40s, %v", table, err)
	}
	if r := ok(t, dir, "check", "p.yaml"); !strings.Contains(r.stdout, "0 FAIL") {
		t.Error(r.stdout)
	}
	swapped := strings.Replace(string(table), "V_10,V_20,", "V_20,V_10,", 1)
	if err := os.WriteFile(filepath.Join(dir, "g.csv"), []byte(swapped), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := do(t, dir, "check", "p.yaml"); r.code != exitConfig ||
		!strings.Contains(r.stderr, "g.csv: column 0 (from 0) is V_20, which is coordinate 1 of the set") {
		t.Errorf("exit %d, %s", r.code, r.stderr)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitConfig, []string{"small.m"}, "grid.npy"},
		{exitUsage, []string{"small.m", "--loads", "2"}, "--loads is 2; expected 0 to 1"},
		{exitUsage, []string{"small.m", "-n", "0"}, "-n is 0"},
		{exitConfig, []string{"none.m", "-o", "x.npy"}, "none.m"},
	} {
		if r := do(t, dir, append([]string{"make", "grid"}, c.args...)...); r.code != c.code ||
			!strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
}

// From a mesh to a report: a level set is fitted, data drawn on it, a model
// trained, its distance taken on faces. Files of the set that change are refused.
func TestMeshFromRawToReport(t *testing.T) {
	dir := t.TempDir()
	var ply bytes.Buffer
	testkit.OK(t, ball.Mesh(3).Scaled([3]float64{1, 2, 3}, 100).WritePLY(&ply))
	write := func(name, text string) {
		t.Helper()
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	write("big.ply", ply.String())
	fit := []string{"make", "level-set", "big.ply", "-o", "s.npz", "--width", "16", "--layers", "2", "--steps", "200",
		"--batch", "256", "--rate", "0.01"}
	r := ok(t, dir, append(fit, "--json")...)
	v := wantJSON(t, r)
	report := v["report"].(map[string]any)
	if v["scale"].(float64) != 0.01 || !strings.Contains(r.stderr, "data must be too") ||
		report["inside"].(float64) != 1 || report["residual"].(map[string]any)["mean"].(float64) > 0.01 {
		t.Errorf("%v\n%s", v, r.stderr)
	}
	draw := []string{"make", "eigenfunction", "s.ply", "--k", "3", "--weights", "s.npz", "-n", "300", "-o", "x.npy"}
	if v := wantJSON(t, ok(t, dir, append(draw, "--json")...)); v["subdivided"] != 2. || v["vertices"] != 4098. {
		t.Errorf("%v", v)
	}
	x, err := arrayfile.ReadNPY(filepath.Join(dir, "x.npy"))
	if err != nil || x.Shape[0] != 300 || x.Shape[1] != 3 {
		t.Fatalf("%v, %v", x.Shape, err)
	}
	for i, c := range x.AsFloat64() {
		if math.Abs(c) > 1.1 {
			t.Fatalf("coordinate %d is %v", i, c)
		}
	}
	if r := do(t, dir, "make", "level-set", "big.ply", "-o", "big.npz", "--force"); r.code != 2 ||
		!strings.Contains(r.stderr, "over the one given") {
		t.Errorf("the mesh itself as output: exit %d, %s", r.code, r.stderr)
	}
	for _, args := range [][]string{fit, draw} {
		if r := do(t, dir, args...); r.code != 3 || !strings.Contains(r.stderr, "--force") {
			t.Errorf("landing %v: exit %d, %s", args, r.code, r.stderr)
		}
	}

	write("p.yaml", "name: p\ndata: {path: x.npy}\nset: {kind: level-set, weights: s.npz, mesh: s.ply}\nprocess: "+
		"{steps: 5, horizon: 1, sigma: {min: 0.2, max: 0.5}}\n")
	ok(t, dir, append([]string{"train", "p.yaml", "--out", "r", "--set", "train.evaluate_every=2"}, tiny...)...)
	v = wantJSON(t, ok(t, dir, "report", "r", "--json"))
	jsd := v["jsd"].(map[string]any)
	if jsd["metric"] != "Jensen–Shannon divergence" || !(jsd["full"].(float64) > jsd["floor"].(float64)) ||
		jsd["uniform"] == nil || v["failed"].(float64) != 0 ||
		v["violation"].(map[string]any)["worst"].(float64) > 1e-12 {
		t.Errorf("%v", v)
	}
	page, err := os.ReadFile(filepath.Join(dir, "r", "report.html"))
	if err != nil || !bytes.Contains(page, []byte("surface-data")) {
		t.Errorf("the page has no surface: %v", err)
	}
	testkit.OK(t, testkit.Err(os.Stat(filepath.Join(dir, "r", "figures", "surface.png"))))
	var moved bytes.Buffer
	testkit.OK(t, ball.Mesh(2).WritePLY(&moved))
	write("s.ply", moved.String()) // the run has its own
	ok(t, dir, "report", "r", "--text")
	write("r/set.mesh.ply", moved.String())
	if r := do(t, dir, "report", "r", "--text"); r.code != 3 ||
		!strings.Contains(r.stderr, "is not the set.mesh of this run") {
		t.Errorf("another mesh: exit %d, %s", r.code, r.stderr)
	}
}

// The scaled mesh never goes over the one given, by whatever path that is named, even with --force.
func TestMeshGivenIsKept(t *testing.T) {
	dir := t.TempDir()
	var ply bytes.Buffer
	testkit.OK(t, ball.Mesh(1).Scaled([3]float64{}, 100).WritePLY(&ply))
	big := filepath.Join(dir, "big.ply")
	testkit.OK(t, os.WriteFile(big, ply.Bytes(), 0o666))
	testkit.OK(t, os.Mkdir(filepath.Join(dir, "sub"), 0o777))
	if err := os.Symlink(big, filepath.Join(dir, "sub", "link.ply")); err != nil {
		t.Skip(err)
	}
	for _, c := range [][2]string{{big, "big.npz"}, {"big.ply", filepath.Join(dir, "big.npz")},
		{"sub/link.ply", "big.npz"}, {"big.ply", "sub/link.npz"}, {"sub/../big.ply", "./big.npz"}} {
		r := do(t, dir, "make", "level-set", c[0], "-o", c[1], "--force", "--steps", "1", "--batch",
			"128", "--width", "4",
			"--layers", "1")
		if r.code != 2 || !strings.Contains(r.stderr, "over the one given") {
			t.Errorf("%s to %s: exit %d, %s", c[0], c[1], r.code, r.stderr)
		}
		if now, err := os.ReadFile(big); err != nil || !bytes.Equal(now, ply.Bytes()) {
			t.Fatalf("%s to %s: the mesh given has changed", c[0], c[1])
		}
	}
}

func TestMeshFaults(t *testing.T) {
	dir := t.TempDir()
	m := ball.Mesh(1)
	files := map[string]string{}
	add := func(name string) {
		var b bytes.Buffer
		testkit.OK(t, m.WritePLY(&b))
		files[name] = b.String()
	}
	add("good.ply")
	m.Faces[0], m.Faces[1] = m.Faces[1], m.Faces[0]
	m.Vertices = append(m.Vertices, 9, 9, 9)
	add("flipped.ply")
	m = ball.Mesh(1)
	for f := 0; f < len(m.Faces); f += 3 {
		m.Faces[f], m.Faces[f+1] = m.Faces[f+1], m.Faces[f]
	}
	add("inside-out.ply")
	m = ball.Mesh(1)
	m.Faces = m.Faces[3:]
	add("hole.ply")
	files["cut.ply"] = files["good.ply"][:700]
	files["empty.obj"] = "v 0 0 0\n"
	files["net.npz"] = "no network"
	for name, text := range files {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	refused(t, dir)
	r := do(t, dir, "make", "level-set", "good.ply", "--rate", "1e300", "--steps", "10", "--batch", "128")
	if r.code != 5 ||
		!strings.Contains(r.stderr, "the fit diverged at step 2 of 10; a lower learning rate than 1e+300 may help") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	r = ok(t, dir, "make", "eigenfunction", "hole.ply", "--k", "2", "-n", "10")
	testkit.Contains(t, r.stderr, "warning: hole.ply: the mesh has holes: 3 edges", "no warning of the hole")
	// A bad fit gives a note with one line for each fault.
	r = ok(t, dir, "make", "level-set", "good.ply", "-o", "bad.npz", "--steps", "1", "--batch", "128", "--width", "2",
		"--layers", "1", "--rate", "1")
	if !strings.Contains(r.stderr, "warning: bad.npz: ") || !strings.Contains(r.stderr,
		"of the size away from the mesh on average; expected at most 0.002") {
		t.Errorf("a bad fit is not told:\n%s", r.stderr)
	}
	// A fault that is refused appears once, beside the other faults.
	for _, name := range []string{"flipped.ply", "inside-out.ply"} {
		r := do(t, dir, "make", "level-set", name)
		if n := strings.Count(r.stderr, "oriented against each other") +
			strings.Count(r.stderr, "normals point inwards"); r.code != 3 || n != 1 || !strings.Contains(r.stderr,
			"landing: "+name) {
			t.Errorf("%s: exit %d\n%s", name, r.code, r.stderr)
		}
	}
	if r := do(t, dir, "make", "level-set", "flipped.ply"); !strings.Contains(r.stderr,
		"warning: flipped.ply: 1 vertex belongs to no face") {
		t.Errorf("the unused vertex is not told:\n%s", r.stderr)
	}
}

// Every verb that uses the mesh of a level set tells its faults once, and what they do; check has them in its table.
func TestFaultsOfSetMesh(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, m *mesh.Mesh) {
		t.Helper()
		var b bytes.Buffer
		testkit.OK(t, m.WritePLY(&b))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o666))
	}
	m := ball.Mesh(3)
	write("s.ply", m)
	ok(t, dir, "make", "level-set", "s.ply", "-o", "s.npz", "--width", "16", "--layers", "2", "--steps", "300",
		"--batch", "256", "--rate", "0.01")
	ok(t, dir, "make", "eigenfunction", "s.ply", "--k", "3", "--weights", "s.npz", "-n", "300", "-o", "x.npy",
		"--subdivide", "0")
	m.Faces = m.Faces[3:]
	m.Faces[0], m.Faces[1] = m.Faces[1], m.Faces[0]
	write("bad.ply", m)
	yaml := "name: p\ndata: {path: x.npy}\nset: {kind: level-set, weights: s.npz, mesh: bad.ply}\n" +
		"process: {steps: 5, horizon: 1, sigma: {min: 0.2, max: 0.5}}\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(yaml), 0o666))
	want := []string{"the mesh has holes: ", "faces are oriented against each other along 3 edges"}
	told := func(r transcript, verb, mesh string) {
		t.Helper()
		for _, w := range want {
			if w = mesh + ": " + w; strings.Count(r.stderr, w) != 1 ||
				strings.Count(r.stderr, "warning: ") != len(want) {
				t.Errorf("%s: want %q once in\n%s", verb, w, r.stderr)
			}
		}
	}
	told(ok(t, dir, append([]string{"train", "p.yaml", "--out", "r", "--set", "train.evaluate_every=1"}, tiny...)...),
		"train", "bad.ply")
	kept := filepath.Join("r", "set.mesh.ply")
	told(ok(t, dir, "report", "r", "--text", "-n", "50"), "eval", kept)
	if r := ok(t, dir, "generate", "r", "-n", "10"); strings.Contains(r.stderr, "warning: ") {
		t.Errorf("generate repeats what training said: %s", r.stderr)
	}
	r := ok(t, dir, "check", "-q", "p.yaml")
	for _, w := range []string{"WARN  mesh                      the mesh has holes: ",
		"WARN  mesh                      faces are oriented against each other", "uniform points are missing"} {
		if strings.Count(r.stdout, w) != 1 || r.stderr != "" {
			t.Errorf("check: want %q once in\n%s%s", w, r.stdout, r.stderr)
		}
	}
}

// landing make so writes what its flags say, the same bytes each time, and never over a file.
func TestDataSO(t *testing.T) {
	dir := t.TempDir()
	flags := []string{"make", "so", "--size", "4", "--modes", "2", "-n", "30", "--seed", "5"}
	r := ok(t, dir, append(flags, "--json")...)
	if v := wantJSON(t, r); v["file"] != "so4-2.npy" || v["count"] != 30.0 {
		t.Errorf("got %v", v)
	}
	a, err := arrayfile.ReadNPY(filepath.Join(dir, "so4-2.npy"))
	if err != nil || len(a.Shape) != 3 || a.Shape[0] != 30 || a.Shape[1] != 4 || a.Shape[2] != 4 {
		t.Fatalf("%v, %v", a.Shape, err)
	}
	if r := ok(t, dir, append(flags, "-o", "b.npy", "--workers", "1")...); !strings.Contains(r.stdout,
		"30 matrices of SO(4) in 2 modes") {
		t.Errorf("got %q", r.stdout)
	}
	first, _ := os.ReadFile(filepath.Join(dir, "so4-2.npy"))
	second, _ := os.ReadFile(filepath.Join(dir, "b.npy"))
	if len(first) == 0 || !bytes.Equal(first, second) {
		t.Error("the same flags give other bytes")
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{exitConfig, flags, "so4-2.npy"},
		{exitUsage, []string{"make", "so", "--modes", "0"}, "--modes is 0; expected a number above 0"},
		{exitUsage, []string{"make", "so", "--sd", "-1"}, "--sd is -1"},
		{exitUsage, []string{"make", "so", "-o", "x.csv"}, "ends in .npy"},
		{exitUsage, []string{"make", "soo"}, `there is no verb "soo" under make`},
		{exitUsage, []string{"make", "so", "--size", "101"}, "--size is 101; expected 2 to 100 rows"},
	} {
		if r := do(t, dir, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, r.code, r.stderr)
		}
	}
}

// A run on SO(n) goes from the data to the table, which lists the worst of many
// constraints and the distance of the power traces with its parts, as --json does.
func TestTrainSO(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, "make", "so", "--size", "5", "--modes", "2", "-n", "40", "--output", "d.npy")
	ok(t, dir, append([]string{"train", "so10-3", "--set", "set.n=5", "--data", "d.npy", "--out", "r"}, tiny...)...)
	text := ok(t, dir, "report", "r", "--text").stdout
	if !strings.Contains(text, "15 constraints; the 8 worst") || strings.Count(text, "\n  gram[") != 8 ||
		strings.Count(text, "\n  tr X") != 4 {
		t.Errorf("got\n%s", text)
	}
	v := wantJSON(t, ok(t, dir, "report", "r", "--text", "--json"))
	jsd := v["jsd"].(map[string]any)
	if len(v["components"].([]any)) != 15 || v["wrong_component"] != 0.0 || len(jsd["parts"].([]any)) != 4 ||
		jsd["uniform"] == nil || jsd["floor"] == nil {
		t.Errorf("got %v", v)
	}
}
