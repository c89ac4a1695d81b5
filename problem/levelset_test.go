package problem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// files writes the network h(x) ≈ x_0² + x_1² + x_2² − 1, roughly, and an
// octahedron of the given size near its surface.
func files(t *testing.T) (weights, octahedron string) {
	t.Helper()
	dir := t.TempDir()
	n := &levelset.Network{MLP: score.NewMLP[float64]([]int{3, 6, 1}, 1), Beta: 10}
	copy(n.Weight(0), []float64{1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1})
	clear(n.Bias(0))
	copy(n.Weight(1), []float64{1, 1, 1, 1, 1, 1})
	n.Bias(1)[0] = -1.2
	weights, octahedron = filepath.Join(dir, "net.npz"), filepath.Join(dir, "octahedron.obj")
	f := testkit.Must(os.Create(weights))
	defer f.Close()
	testkit.OK(t, n.Write(f))
	obj := "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\nf 1 3 5\nf 3 2 5\nf 2 4 5\nf 4 1 5\nf 3 1 " +
		"6\nf 2 3 6\nf 4 2 6\nf 1 4 6\n"
	testkit.OK(t, os.WriteFile(octahedron, []byte(obj), 0o666))
	return weights, octahedron
}

// The four recipes on meshes carry the paper's hyper-parameters and survive a round trip through their resolved form.
func TestMeshRecipes(t *testing.T) {
	weights, octahedron := files(t)
	set := []string{"set.weights=" + weights, "set.mesh=" + octahedron}
	for name, want := range map[string]struct{ max, olla, horizon float64 }{
		"bunny50": {0.6, 0.07, 8}, "bunny100": {0.6, 0.07, 5}, "spot50": {0.5, 0.1, 5}, "spot100": {0.5, 0.1, 3},
	} {
		data, origin, err := Source(name)
		testkit.OK(t, err)
		for variant, v := range map[string]struct {
			method   langevin.Method
			schedule langevin.Schedule
		}{
			"": {langevin.ULLA, langevin.Schedule{N: 30, T: 3, SigmaMin: 0.2, SigmaMax: want.max}},
			"olla": {langevin.OLLA, langevin.Schedule{N: 100, T: want.horizon, SigmaMin: want.olla,
				SigmaMax: want.olla}},
			"ulla-p": {langevin.ULLAP, langevin.Schedule{N: 50, T: 3, SigmaMin: 0.2, SigmaMax: want.max}},
			"olla-p": {langevin.OLLAP, langevin.Schedule{N: 400, T: want.horizon, SigmaMin: want.olla,
				SigmaMax: want.olla}},
		} {
			p := testkit.Must(Load(data, origin, strings.TrimPrefix(variant+",paper", ","), ParseSettings(set...)))
			proc := testkit.Must(p.Build())
			if proc.Schedule != v.schedule || proc.Method != v.method || proc.Friction != 20 &&
				v.method.Underdamped() || v.method == langevin.ULLA && proc.Landing != (langevin.Landing{Explicit: true,
				Rate: 25}) || v.method == langevin.OLLA && proc.Landing.Explicit {
				t.Errorf("%s %s: %v %+v %+v", name, variant, proc.Method, proc.Schedule, proc.Landing)
			}
			if tr := p.Train; p.Network.Width != 256 || p.Network.Layers != 5 || p.Network.Octaves != 0 ||
				tr.Epochs != 2000 || tr.Batch != 2048 || tr.Refresh != 100 || tr.Plateau.Patience != 50 ||
				tr.Plateau.Factor != 0.6 {
				t.Errorf("%s %s: %+v %+v", name, variant, p.Network, tr)
			}
			if _, ok := proc.Set.(*levelset.Surface); !ok {
				t.Errorf("%s: the set is a %T", name, proc.Set)
			}
			again, err := Load(p.Resolved(), "resolved", "", nil)
			if err != nil || string(again.Resolved()) != string(p.Resolved()) {
				t.Errorf("%s: the resolved form does not load to itself: %v", name, err)
			}
		}
	}
}

func TestLevelSetFaults(t *testing.T) {
	weights, octahedron := files(t)
	far := filepath.Join(t.TempDir(), "far.obj")
	testkit.OK(t, os.WriteFile(far, []byte("v 9 0 0\nv 9 1 0\nv 9 0 1\nf 1 2 3\n"), 0o666))
	for _, c := range []struct{ set, prior, want string }{
		{"", "uniform", "set.weights is missing; expected an NPZ file"},
		{", weights: " + octahedron, "uniform", "p.yaml:1: set.weights: "},
		{", weights: nosuch.npz", "uniform", "set.weights: open nosuch.npz"},
		{", weights: " + weights + ", mesh: " + weights, "uniform", `the extension is ".npz"`},
		{", weights: " + weights + ", mesh: " + far, "uniform", "set.mesh: " + far +
			": the mesh is not near the level set"},
		{", weights: " + weights, "uniform", ""}, // by chains
		{", weights: " + weights, "empirical", ""},
		{", dim: 3", "uniform", "this key belongs to set.kind sphere"},
	} {
		p, err := Load([]byte("set: {kind: level-set"+c.set+"}\nprior: "+c.prior), "p.yaml", "", nil)
		testkit.OK(t, err)
		if _, err = p.Build(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}
