package export

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/onnx"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
	"github.com/landing-diffusion/landing/tools/testkit/onnxrun"
)

// An example is a problem whose network is exported.
type example struct {
	name, text string
	rows       func(k int) []float64 // row k of its data
	settings   []string
}

const (
	ball  = "name: ball\nset: {kind: sphere, dim: 3}\nprior: uniform\n"
	chain = "name: chain\nset: {kind: chain, bonds: [1.5, 1.5, 1.5]}\nprior: empirical\n" +
		"process: {steps: 6, horizon: 0.2, sigma: {min: 0.5, max: 1}}\n"
	butane = "name: butane\nset: {kind: molecule, template: t.pdb, distances: [{atoms: [0, 1], value: 1.5}]}\n" +
		"data: {kind: molecule}\nprior: empirical\nprocess: {steps: 6, horizon: 0.2, sigma: {min: 0.5, max: 1}}\n"
	ring = "name: ring\nset: {dim: 2, equality: [{name: r, expr: \"norm(x) - 1\"}]}\nprior: empirical\n" +
		"condition: {columns: [c], drop: 0.3}\n"
)

// examples have every network and every kind of reading, and a method of every kind.
var examples = []example{
	{"ULLA", ball, onBall, []string{"network.octaves_of=point", "network.octaves=3"}},
	{"ULLA start", ball, onBall, []string{"network.octaves_of=start", "network.octaves=3", "network.output=balanced"}},
	{"ULLA scales", ball, onBall, []string{"network.scales=[0.1, 0, 3]", "network.center=[0.1, 0, 0]"}},
	{"OLLA scales", ball, onBall, []string{"process.method=OLLA", "network.scales=[0.1, 0, 3]"}},
	{"OLLA", ball, onBall, []string{"process.method=OLLA", "network.output=scaled", "network.time_octaves=3"}},
	{"few-step", ball, onBall, []string{"process.method=few-ULLA", "network.octaves=2", "process.steps=20",
		"train.window=0", "network.output=plain"}},
	{"flow", ball, onBall, []string{"process.method=flow"}},
	{"euclidean", ball, onBall, []string{"process.method=euclidean", "prior=empirical"}},
	{"center", ball, onBall, []string{"network.center=[0.1,0.2,-0.3]", "network.unit=0.5", "network.time=share"}},
	{"condition", ring, onRing, []string{"network.octaves=2", "network.time_octaves=2"}},
	{"aligned", chain, chained, []string{"network.kind=aligned", "network.octaves=1"}},
	{"aligned pairs", chain, chained, []string{"network.kind=aligned", "network.options={pairs: 2}"}},
	{"aligned start", chain, chained, []string{"network.kind=aligned", "network.octaves=2",
		"network.octaves_of=start", "network.output=balanced"}},
	{"torsions", butane, bent, []string{"network.kind=aligned", "network.octaves=2", "network.octaves_of=start",
		"network.options={pairs: 2, torsions: 3}"}},
	{"torsions OLLA", butane, bent, []string{"network.kind=aligned", "network.options={torsions: 2}",
		"process.method=OLLA"}},
	{"temporal", chain, chained, []string{"network.kind=temporal", "network.octaves=2",
		"network.options={steps: 4, channels: 4, levels: 2, embedding: 8}"}},
	{"temporal start", chain, chained, []string{"network.kind=temporal", "network.octaves=2",
		"network.octaves_of=start", "network.time_octaves=2", "network.time=share", "network.unit=2",
		"network.options={steps: 3, channels: 3, levels: 2, blocks: 2, reach: 2, embedding: 8}"}},
	{"temporal condition", ring, onRing, []string{"network.kind=temporal", "network.octaves=2",
		"process.method=OLLA", "network.options={steps: 2, channels: 4, levels: 1, embedding: 8}"}},
}

// bent are five carbon atoms in a row, the first two 1.5 apart.
func bent(k int) []float64 {
	x := []float64{0, 0, 0, 1.5, 0, 0, 2, 1.4, 0, 3.5, 1.4, 0.3, 4, 2.8, 0.5}
	z := make([]float64, 15)
	keyed.OwnData.Stream(3, 0).Normals(z, uint64(k), 0)
	for j := range z {
		x[j] += 0.1 * z[j]
	}
	r := math.Hypot(math.Hypot(x[0]-x[3], x[1]-x[4]), x[2]-x[5])
	for j := range 3 {
		x[j] = x[3+j] + 1.5/r*(x[j]-x[3+j])
	}
	return x
}

// bonds writes what says which atoms are bonded.
func bonds(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	x := bent(0)
	for i := range 5 {
		fmt.Fprintf(&b, "ATOM  %5d  C%d  BUT A   1    %8.3f%8.3f%8.3f  1.00  0.00           C\n", i+1, i+1, x[3*i],
			x[3*i+1], x[3*i+2])
	}
	for i := range 4 {
		fmt.Fprintf(&b, "CONECT%5d%5d\n", i+1, i+2)
	}
	return write(t, dir, "t.pdb", []byte(b.String()+"END\n"))
}

func onBall(k int) []float64 {
	z := make([]float64, 3)
	keyed.OwnData.Stream(1, 0).Normals(z, uint64(k), 0)
	r := math.Sqrt(z[0]*z[0] + z[1]*z[1] + z[2]*z[2])
	return []float64{z[0] / r, z[1] / r, z[2] / r}
}

func onRing(k int) []float64 {
	s, c := math.Sincos(0.37 * float64(k))
	return []float64{c, s, 3 + c}
}

// chained are four atoms, each 1.5 from the one before.
func chained(k int) []float64 {
	z := make([]float64, 12)
	keyed.OwnData.Stream(2, 0).Normals(z, uint64(k), 0)
	for a := 3; a < 12; a += 3 {
		r := math.Sqrt(z[a]*z[a] + z[a+1]*z[a+1] + z[a+2]*z[a+2])
		for j := range 3 {
			z[a+j] = z[a-3+j] + 1.5*z[a+j]/r
		}
	}
	return z
}

// trained returns a network after an epoch.
func (e example) trained(t *testing.T, settings ...string) *Source {
	t.Helper()
	settings = slices.Concat([]string{"train.epochs=1", "network.width=16", "network.layers=2",
		"train.times_per_path=2", "process.steps=6", "train.precision=float32"}, e.settings, settings)
	dir, width := t.TempDir(), len(e.rows(0))
	path := filepath.Join(dir, "data.csv")
	var b strings.Builder
	b.WriteString("x0,x1,c")
	for j := 3; j < width; j++ {
		fmt.Fprintf(&b, ",x%d", j)
	}
	for k := range 60 {
		b.WriteString("\n" + strings.Trim(strings.ReplaceAll(fmt.Sprint(e.rows(k)), " ", ","), "[]"))
	}
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o600))
	if e.text == butane {
		var frames []float64
		for k := range 60 {
			frames = append(frames, e.rows(k)...)
		}
		npy(t, dir, "data", frames, 60, width/3, 3)
		path = filepath.Join(dir, "data.npy")
		settings = append(settings, "set.template="+bonds(t, dir))
	}
	settings = append(settings, "data.path="+path)
	r := job.New[*experiment.Run](t, experiment.Load, []byte(e.text), "test.yaml", settings...)
	testkit.OK(t, r.Train(context.Background(), "", experiment.Observer{}))
	n := testkit.Must(r.Trained(""))
	return &Source{Run: r, Trained: n}
}

// probes are n points and times at which a sampler would evaluate a network of s.
func probes(s *Source, n int) (x, p, t []float64) {
	draw := rand.New(rand.NewPCG(1, 2))
	d, times := s.Run.Process.Set.Dim(), experiment.Times(s.Run)
	for range n {
		row := s.Run.Data.X[draw.IntN(s.Run.Data.N)*d:]
		for j := range d {
			x = append(x, row[j]+0.1*draw.NormFloat64())
			p = append(p, draw.NormFloat64())
		}
		t = append(t, float64(1+draw.IntN(times.N))*times.Step)
	}
	if !s.Run.Method.Momentum() {
		p = nil
	}
	return x, p, t
}

// hidden reports whether probe i hides the condition, if the network was trained to work without it.
func hidden(s *Source, i int) bool { return s.Run.Problem.Condition.Drop > 0 && i%3 == 0 }

// own are the scores of landing itself, and the largest of them.
func own(s *Source, x, p, t []float64) (scores []float64, largest float64) {
	m := s.Trained.Model
	ws, d, row := m.Pack(false).NewWorkspace(1, false), m.Out(), make([]float32, m.In())
	scores = make([]float64, len(x))
	for i := range t {
		in := score.Input{X: x[i*d : (i+1)*d], T: t[i], Item: -1, Null: hidden(s, i)}
		if p != nil {
			in.P = p[i*d : (i+1)*d]
		}
		m.Row(row, in)
		for j, v := range ws.Forward(row, 1) {
			scores[i*d+j] = m.Gain(t[i]) * float64(v)
		}
	}
	for _, v := range scores {
		largest = max(largest, math.Abs(v))
	}
	return scores, largest
}

// hides are what the input hidden is at n probes.
func hides(s *Source, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		if hidden(s, i) {
			out[i] = 1
		}
	}
	return out
}

// python returns the Python of LANDING_PYTHON, which must have modules, or skips.
func python(t *testing.T, modules ...string) string {
	t.Helper()
	python := cmp.Or(os.Getenv("LANDING_PYTHON"), "python3")
	if out, err := exec.Command(python, "-c", "import "+strings.Join(modules, ", ")).CombinedOutput(); err != nil {
		t.Skipf("%s has no %s (%v: %.200s): set LANDING_PYTHON", python, strings.Join(modules, ", "), err, out)
	}
	return python
}

// write writes a file of a temporary folder.
func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	testkit.OK(t, os.WriteFile(path, data, 0o600))
	return path
}

func npy(t *testing.T, dir, name string, x []float64, shape ...int) {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Of(x, shape...)))
	write(t, dir, name+".npy", b.Bytes())
}

// agree fails unless scores are those of landing to a share of the largest, and tells by how much they differ.
func agree(t *testing.T, what string, got, want []float64, largest, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	worst := 0.0
	for i, v := range got {
		if d := math.Abs(v - want[i]); !(d <= worst) {
			worst = d
		}
	}
	if !(worst <= tolerance*largest) {
		t.Errorf("%s: scores differ by %.2g, the largest is %.2g", what, worst, largest)
	}
	t.Logf("%s: scores differ by %.2g of the largest, %.3g", what, worst/largest, largest)
}

// The graph of every network has the scores of landing, computed by an evaluator of this project; its ONNX model by
// ONNX Runtime, and its PyTorch module by PyTorch, where there are these.
func TestScores(t *testing.T) {
	const n = 40
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.trained(t)
			x, p, at := probes(s, n)
			want, largest := own(s, x, p, at)
			d := len(x) / n
			for _, narrow := range []bool{false, true} {
				s.Narrow = narrow
				g := testkit.Must(s.graph())
				metadata := fmt.Sprint(testkit.Must(s.properties()))
				for _, want := range []string{"landing.run " + s.Run.Config, "landing.method " + s.Run.Method.Name(),
					"license "} {
					testkit.Contains(t, metadata, want, "metadata")
				}
				in := map[string]*onnxrun.Tensor{}
				for _, port := range g.Inputs {
					in[port.Name] = &onnxrun.Tensor{Type: port.Type, Dims: []int{n, d},
						X: map[string][]float64{"x": x, "p": p, "t": at}[port.Name]}
					switch port.Name {
					case "hidden":
						in[port.Name].X = hides(s, n)
						fallthrough
					case "t":
						in[port.Name].Dims = []int{n}
					}
				}
				out := testkit.Must(onnxrun.Run(g, in))
				agree(t, fmt.Sprintf("%s, narrow %v", e.name, narrow), out["score"].X, want, largest, 1e-5)
			}
		})
	}
}

// runtimes computes the scores of exported files in a folder by a Python script, for all folders of its arguments.
const runtimes = `
import sys, os, numpy as np
for folder in sys.argv[2:]:
    a = {k: np.load(f"{folder}/{k}.npy") for k in ("x", "p", "t", "hidden") if os.path.exists(f"{folder}/{k}.npy")}
    if sys.argv[1] == "onnxruntime":
        import onnxruntime as ort, onnx
        onnx.checker.check_model(onnx.load(f"{folder}/score.onnx"), full_check=True)
        ort.set_default_logger_severity(3)
        s = ort.InferenceSession(f"{folder}/score.onnx", providers=["CPUExecutionProvider"])
        if all(i.name != "hidden" for i in s.get_inputs()): del a["hidden"]
        assert [i.shape[0] for i in s.get_inputs()] == ["n"] * len(a), s.get_inputs()
        score, = s.run(["score"], a)
        one, = s.run(["score"], {k: v[:1] for k, v in a.items()})
        assert np.abs(one - score[:1]).max() <= 1e-5 * np.abs(score).max()
    else:
        import torch
        sys.path.insert(0, folder + "/torch")
        sys.modules.pop("score", None)
        from score import Score
        net = Score(folder + "/torch")
        assert len(list(net.parameters())) > 1
        v = [torch.from_numpy(a[k]) for k in net.graph["inputs"]]
        score = net(*v)
        score.square().sum().backward()
        assert all(q.grad is not None for q in net.parameters())
        score = score.detach().numpy()
    np.save(f"{folder}/got.npy", score.astype(np.float64))
`

func TestRuntimes(t *testing.T) {
	for runtime, modules := range map[string][]string{"onnxruntime": {"onnxruntime", "onnx", "numpy"},
		"torch": {"torch", "numpy", "safetensors"}} {
		t.Run(runtime, func(t *testing.T) {
			python, script := python(t, modules...), write(t, t.TempDir(), "run.py", []byte(runtimes))
			type asked struct {
				dir, name string
				want      []float64
				largest   float64
			}
			var all []asked
			args := []string{script, runtime}
			for _, e := range examples {
				s, dir := e.trained(t), t.TempDir()
				x, p, at := probes(s, 40)
				d := s.Trained.Model.Out()
				npy(t, dir, "x", x, 40, d)
				npy(t, dir, "t", at, 40)
				npy(t, dir, "hidden", hides(s, 40), 40)
				if p != nil {
					npy(t, dir, "p", p, 40, d)
				}
				file := testkit.Must(s.ONNX())
				write(t, dir, "score.onnx", file)
				files := testkit.Must(s.Torch())
				testkit.OK(t, run.WriteFolder(filepath.Join(dir, "torch"), files))
				want, largest := own(s, x, p, at)
				all = append(all, asked{dir, e.name, want, largest})
				args = append(args, dir)
			}
			if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, a := range all {
				got := testkit.Must(arrayfile.ReadNPY(filepath.Join(a.dir, "got.npy")))
				agree(t, runtime+" "+a.name, got.AsFloat64(), a.want, a.largest,
					map[string]float64{"onnxruntime": 1e-5, "torch": 1e-6}[runtime])
			}
		})
	}
}

// Numbers of 8 bytes come before those of 4, each kind in the graph's order: an odd count of the latter would
// leave the others where readers that map the file cannot have them.
func TestWideNumbersFirst(t *testing.T) {
	g := &onnx.Graph{Tensors: []onnx.Tensor{{Name: "a", Shape: []int{1}, Float32: []float32{1}},
		{Name: "b", Shape: []int{1}, Int64: []int64{2}}, {Name: "c", Shape: []int{1}, Float32: []float32{3}},
		{Name: "d", Shape: []int{1}, Float64: []float64{4}}}}
	names := ""
	for _, n := range numbers(g) {
		names += n.Name
	}
	testkit.Equal(t, names, "bdac", "the order")
}
