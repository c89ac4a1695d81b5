package problem

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot/urdf"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// folder writes files and makes their folder the working one.
func folder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		testkit.OK(t, os.WriteFile(name, []byte(text), 0o644))
	}
}

func built(t *testing.T, set string) (constraint.Set, *Problem, error) {
	t.Helper()
	p, err := Load([]byte("data: {path: d.npy}\nset: "+set), "p.yaml", "", nil)
	if err != nil {
		return nil, nil, err
	}
	proc, err := p.Build()
	if err != nil {
		return nil, nil, err
	}
	return proc.Set, p, nil
}

// Constants from files, sparse loops and names of coordinates have the values that the same formulas have by hand.
func TestFormulasFromFiles(t *testing.T) {
	folder(t, map[string]string{"cov.csv": "a,b,c\n4,1,0\n1,9,2\n0,2,16\n", "mean.csv": "0.1\n0.2\n0.3\n",
		"edges.csv": "0,1\n1,2\n2,0\n"})
	edges := testkit.Must(os.Create("edges.npy"))
	testkit.OK(t, arrayfile.EncodeNPY(edges, arrayfile.Array{Int64: []int64{0, 1, 1, 2, 2, 0}, Shape: []int{3, 2}}))
	testkit.OK(t, edges.Close())
	set, p, err := built(t, `
  names: [u, v, w]
  let: {C: {file: cov.csv}, m: {file: mean.csv}, E: {file: edges.npy}, L: [[0, 2], [2, 1]], k: [1, 2]}
  equality:
    - {name: budget, expr: u + v + w = 1}
    - {name: risk, expr: "dot(x, C*x) - dot(m, x)"}
    - {name: "edge[i,j]", for: "(i, j) in E", expr: "x[i]*x[j] - 1"}
    - {name: listed, expr: "sum((i, j) in L, x[i] - 2*x[j]) + sum(i in k, C[i][0]*x[i])"}
    - {name: "number[e]", for: "e in 0..len(E)-1", expr: "x[E[e][0]] - e"}`)
	testkit.OK(t, err)
	u, v, w := 0.5, -1.25, 3.0
	x := []float64{u, v, w}
	want := []float64{u + v + w - 1, 4*u*u + 9*v*v + 16*w*w + 2*u*v + 4*v*w - 0.1*u - 0.2*v - 0.3*w, u*v - 1, v*w - 1,
		w*u - 1, (u - 2*w) + (w - 2*v) + v, u, v - 1, w - 2}
	for i, got := range constraint.Values(set, x) {
		testkit.Near(t, got, want[i], 1e-12, "%s", constraint.Components(set)[i])
	}
	testkit.Equal(t, strings.Join(set.Equalities()[2:5], " "), "edge[0,1] edge[1,2] edge[2,0]", "names")
	testkit.Equal(t, fmt.Sprint(set.Capabilities().Support[3]), "[1 2]", "the support of an edge")
	testkit.Equal(t, fmt.Sprint(p.Set.Coordinates()), "[u v w]", "coordinates")
	// The files are the problem's, and another path can take their place: a run keeps copies.
	testkit.Equal(t, p.Files()["set.let.E"], "edges.npy", "the file of E")
	p.SetFile("set.let.E", "edges.csv")
	again := testkit.Must(Load(p.Resolved(), "again", "", nil))
	testkit.Equal(t, again.Files()["set.let.E"], "edges.csv", "after another path and a round trip the file of E")
	testkit.OK(t, testkit.Err(again.Build()))
}

// Faults of files, loops and names say where they are.
func TestFaultsOfFormulasFromFiles(t *testing.T) {
	folder(t, map[string]string{"ok.csv": "0,1\n1,2\n", "ragged.csv": "0,1\n1\n", "nan.csv": "0,1\n1,nan\n",
		"half.csv": "0,1\n0.5,1\n", "minus.csv": "0,1\n1,-1\n", "far.csv": "0,1\n1,3\n", "b.bin": "1",
		"word.csv": "0,1\n1,b\n", "empty.csv": ""})
	for name, a := range map[string]arrayfile.Array{"cube.npy": arrayfile.Of(make([]float64, 8), 2, 2, 2),
		"inf.npy":   arrayfile.Of([]float64{0, 1, 2, math.Inf(1)}, 2, 2),
		"large.npy": arrayfile.Of(make([]float64, 1<<18+1), 1<<18+1)} {
		f := testkit.Must(os.Create(name))
		testkit.OK(t, arrayfile.EncodeNPY(f, a))
		testkit.OK(t, f.Close())
	}
	testkit.Cases(t, func(set string) string {
		_, _, err := built(t, set)
		return fmt.Sprint(err)
	})
}

// fk and fk_rotation are the robot's own kinematics, at joints by name or by definition.
func TestForwardKinematicsInFormulas(t *testing.T) {
	panda := testkit.Must(filepath.Abs("../domain/robot/urdf/testdata/panda.urdf"))
	arm, _, err := urdf.Read(panda, urdf.Options{Tip: "panda_link8"})
	testkit.OK(t, err)
	const tip = "panda_link8"
	set, p, err := built(t, fmt.Sprintf(`
  urdf: %q
  tip: panda_link8
  equality:
    - {name: p, expr: "fk(%s)"}
    - {name: r, expr: "flat(fk_rotation('%[2]s'))"}`, panda, tip))
	testkit.OK(t, err)
	q := make([]float64, arm.Moving())
	for j := range q {
		q[j] = 0.3*float64(j) - 0.7
	}
	testkit.Equal(t, set.Dim(), len(q), "dimension")
	testkit.Equal(t, len(p.Set.Coordinates()), len(q), "names of joints")
	k := arm.NewKinematics()
	x := make([]float64, arm.Dim())
	arm.Coordinates(x, q)
	k.At(x)
	pose := k.Pose(len(arm.Joints) - 1)
	for i, want := range append(pose.P[:], pose.R[:]...) {
		testkit.Near(t, constraint.Values(set, q)[i], want, 1e-12, "number %d of the pose", i)
	}
	for expr, want := range map[string]string{"fk(hand_of_god)": "no link", "fk(1)": "no link \"\"; the links of"} {
		_, _, err := built(t, fmt.Sprintf("{urdf: %q, tip: panda_link8, equality: [{name: p, expr: %q}]}", panda, expr))
		testkit.Refused(t, err, want, expr)
	}
	_, _, err = built(t, fmt.Sprintf("{urdf: %q, tip: %s, dim: 3, equality: [{name: p, expr: fk(%[2]s)}]}", panda, tip))
	testkit.Refused(t, err, "has no value; expected a coordinate or definition", "joints without values")
}

// The examples of the page build, and power flow is that of complex numbers.
func TestExamplesOfFormulas(t *testing.T) {
	page := string(testkit.Must(os.ReadFile("../docs/formulas.md")))
	files := map[string]string{"covariance.csv": "0.1,0,0.02\n0,0.04,0\n0.02,0,0.09\n", "edges.csv": "from,to\n",
		"arm.urdf": `<robot name="two"><link name="base"/><link name="fore"/><link name="hand"/>
<joint name="elbow" type="continuous"><parent link="base"/><child link="fore"/><axis xyz="0 0 1"/></joint>
<joint name="wrist" type="prismatic"><parent link="fore"/><child link="hand"/><origin xyz="0.5 0 0"/><axis xyz="1 0 0"/>
<limit lower="0" upper="2" effort="1" velocity="1"/></joint></robot>`}
	const n = 9
	var y [n][n]complex128
	for i := range n {
		if i < 8 {
			files["edges.csv"] += fmt.Sprintf("%d,%d\n", i, (i+3)%8)
		}
		for j := range n {
			y[i][j] = complex(math.Sin(float64(3*i+5*j*j)), math.Cos(float64(i*j)))
			sep := map[bool]string{true: "\n", false: ","}[j == n-1]
			files["G.csv"] += fmt.Sprint(real(y[i][j]), sep)
			files["B.csv"] += fmt.Sprint(imag(y[i][j]), sep)
		}
	}
	folder(t, files)
	var flow constraint.Set
	for k, part := range strings.Split(page, "```yaml\nset:")[1:] {
		set, _, err := built(t, strings.SplitN(part, "```", 2)[0])
		if err != nil {
			t.Fatalf("example %d: %v", k, err)
		}
		if strings.Contains(part, "G.csv") {
			flow = set
		}
	}
	x := make([]float64, 4*n)
	for k := range x {
		x[k] = math.Sin(float64(k * k))
	}
	got := constraint.Values(flow, x)
	for i := range n {
		v, current := complex(x[i], x[n+i]), 0i
		for j := range n {
			current += y[i][j] * complex(x[j], x[n+j])
		}
		s := v*complex(real(current), -imag(current)) - complex(x[2*n+i], x[3*n+i])
		testkit.Near(t, got[i], real(s), 1e-12, "active power of bus %d", i)
		testkit.Near(t, got[n+i], imag(s), 1e-12, "reactive power of bus %d", i)
	}
}

// Of points that are steps of a sequence the defaults are those of the recipe
// arm; keys that are written stay, and where the MLP's are, or its name, all do. A run folder's
// problem, which has every key, is what it was.
func TestSequence(t *testing.T) {
	const arm = "name: x\nset: {kind: arm, robot: panda, waypoints: 4}\n"
	load := func(text, variant string, settings ...string) *Problem {
		t.Helper()
		p := testkit.Must(Load([]byte(text), "", variant, ParseSettings(settings...)))
		testkit.Must(p.Build())
		return p
	}
	recipe, _, err := Source("arm")
	testkit.OK(t, err)
	kind := "data.kind=trajectory"
	p, fast := load(arm, "", kind), load(string(recipe), "")
	want := fast.Train
	want.Plateau = p.Train.Plateau // which anneal leaves no time for
	if p.Train != want || p.Process.Steps != 100 || p.Process.Horizon != fast.Process.Horizon ||
		p.Process.Friction != fast.Process.Friction || p.Process.Sigma != fast.Process.Sigma ||
		p.Network.Kind != "temporal" || p.Network.TimeOctaves != fast.Network.TimeOctaves ||
		p.Network.Output != fast.Network.Output {
		t.Errorf("%+v\n%+v\n%+v", p.Process, p.Network, p.Train)
	}
	if c := p.Chosen(); len(c) != 14 || c[0].Key != "network.kind" || c[0].Value != "temporal" || c[0].Reason == "" {
		t.Errorf("chosen: %+v", c)
	}
	again := load(string(p.Resolved()), "")
	if string(again.Resolved()) != string(p.Resolved()) || again.Chosen() != nil {
		t.Errorf("the resolved form is another problem: %s", again.Resolved())
	}
	if q := load(arm, "", kind, "train.epochs=7", "process.steps=9", "train.optimizer=adam"); q.Train.Epochs != 7 ||
		q.Process.Steps != 9 || q.Train.TimesPerPath != 9 || q.Train.Optimizer != "adam" || q.Train.Window != 0.1 ||
		len(q.Chosen()) != 11 {
		t.Errorf("%+v %+v", q.Train, q.Chosen())
	}
	if q := load(arm, "", kind, "network={kind: temporal, options: {channels: 8}}"); q.Train.Optimizer != "muon" ||
		len(q.Chosen()) != 13 {
		t.Errorf("%+v", q.Chosen())
	}
	old := Defaults()
	for _, setting := range []string{"network.width=64", "network.layers=2", "network.kind=mlp"} {
		if q := load(arm, "", kind, setting); q.Train != old.Train || q.Process.Steps != 50 || q.Chosen() != nil ||
			q.Network.Kind == "temporal" {
			t.Errorf("%s: %+v %+v", setting, q.Train, q.Chosen())
		}
	}
	one, ball := "set: {kind: arm, robot: panda, waypoints: 1}", "set: {kind: sphere, dim: 3}"
	for _, q := range []*Problem{load(one, "", kind), load(ball, "")} {
		if q.Chosen() != nil || q.Network.Kind != "" {
			t.Errorf("%+v", q.Chosen())
		}
	}
}
