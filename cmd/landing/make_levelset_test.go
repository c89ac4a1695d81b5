package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint/mesh"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/ball"
)

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
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, `there is no verb "fly" under make`, []string{"make", "fly"}},
		{2, "--batch is 100; expected a multiple of 64", []string{"make", "level-set", "good.ply", "--batch", "100"}},
		{2, `-o is "a.npy"`, []string{"make", "level-set", "good.ply", "-o", "a.npy"}},
		{2, "--k is 18; the mesh, cut 0 times, has 18 vertices",
			[]string{"make", "eigenfunction", "good.ply", "--k", "18", "--subdivide", "0"}},
		{2, "--k is 258; the mesh, cut 2 times, has 258 vertices", []string{"make", "eigenfunction", "good.ply", "--k",
			"258"}},
		{2, "--subdivide -2; expected an eigenfunction from 1 on",
			[]string{"make", "eigenfunction", "good.ply", "--subdivide", "-2"}},
		{2, "--subdivide is 99: spectrum: the number of faces, cut 9 times, is 8388608; expected at most 4000000",
			[]string{"make", "eigenfunction", "good.ply", "--subdivide", "99"}},
		{2, "--k 0", []string{"make", "eigenfunction", "good.ply", "--k", "0"}},
		{2, "--rate is 0; expected a number above 0", []string{"make", "level-set", "good.ply", "--rate", "0"}},
		{2, "--width is 5000; expected 1 to 1024", []string{"make", "level-set", "good.ply", "--width", "5000"}},
		{3, "good.ply: spectrum: the number of eigenfunctions is 1201; expected at most 980",
			[]string{"make", "eigenfunction", "good.ply", "--subdivide", "4", "--k", "1200"}},
		{5, "the fit diverged at step 2 of 10; a lower learning rate than 1e+300 may help",
			[]string{"make", "level-set", "good.ply", "--rate", "1e300", "--steps", "10", "--batch", "128",
				"--width", "4"}},
		{3, "nosuch.ply", []string{"make", "level-set", "nosuch.ply"}},
		{3, "the file is truncated: it ends in face", []string{"make", "level-set", "cut.ply"}},
		{3, "no faces", []string{"make", "eigenfunction", "empty.obj"}},
		{3, "faces are oriented against each other along 3 edges", []string{"make", "level-set", "flipped.ply"}},
		{3, "net.npz: expected an NPZ file", []string{"make", "eigenfunction", "good.ply", "--k", "2", "--weights",
			"net.npz"}},
	} {
		if r := do(t, dir, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("landing %v: exit %d, want %d with %q; got\n%s%s", c.args, r.code, c.code, c.want,
				r.stdout, r.stderr)
		}
	}
	r := ok(t, dir, "make", "eigenfunction", "hole.ply", "--k", "2", "-n", "10")
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
