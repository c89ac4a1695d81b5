package problem

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/levelset"
	"github.com/landing-diffusion/landing/learn/score"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every kind of set builds from a file, and every fault of its keys is named.
func TestZooSets(t *testing.T) {
	testkit.Cases(t, func(set string) string {
		p := testkit.Must(Load([]byte("set: {"+set+"}\nprior: empirical\nprocess: {method: OLLA, "+
			"terminal_projection: false}\n"), "f", "", nil))
		proc, err := p.Build()
		if err != nil {
			return err.Error()
		}
		return constraint.Name(proc.Set)
	})
}

// Variant paper of the SO(10) recipes carries the paper's hyper-parameters. They build, and land with ρ_k = ασ_k²Δt < 2
// at every step; the published rate of ULLA does not, and is refused with its ρ.
func TestSO10Recipes(t *testing.T) {
	for name, batch := range map[string]int{"so10-3": 128, "so10-5": 512} {
		data, origin, err := Source(name)
		testkit.OK(t, err)
		for variant, want := range map[string]struct {
			steps             int
			horizon, friction float64
			geometric         bool
			ρ                 float64
		}{
			"":         {50, 2.5, 10, true, 1.82},
			"implicit": {50, 2.5, 10, true, 0},
			"olla":     {100, 1, 10, false, 1.96},
			"ulla-p":   {50, 2.5, map[string]float64{"so10-3": 10, "so10-5": 5}[name], true, 0},
		} {
			p := testkit.Must(Load(data, origin, strings.TrimPrefix(variant+",paper", ","), nil))
			proc, err := p.Build()
			if err != nil {
				t.Fatalf("%s %s: %v", name, variant, err)
			}
			s := proc.Schedule
			if s.N != want.steps || s.T != want.horizon || s.SigmaMin != 0.2 || s.SigmaMax != 2 ||
				s.Geometric != want.geometric || proc.Friction != want.friction || p.Train.Batch != batch ||
				p.Train.Epochs != 2000 || p.Train.Refresh != 5 || !reflect.DeepEqual(p.Network, Network{Width: 1024,
				Layers: 5, Wavelength: 2, Output: "plain"}) {
				t.Errorf("%s %s: %+v", name, variant, p)
			}
			if ρ := proc.Landing.Rate * s.Tau(s.N-1); want.ρ > 0 && math.Abs(ρ-want.ρ) > 0.005 {
				t.Errorf("%s %s: ρ = %v, want %v", name, variant, ρ, want.ρ)
			}
			again, err := Load(p.Resolved(), "resolved", "", nil)
			if err != nil || string(again.Resolved()) != string(p.Resolved()) {
				t.Errorf("%s: the resolved form does not load to itself (%v)", name, err)
			}
		}
		p := testkit.Must(Load(data, origin, "", ParseSettings("process.landing.rate=15")))
		testkit.Refused(t, testkit.Err(p.Build()), "it is 2.74 at step k = 49", name)
	}
}

// Sets whose Jacobians no memory holds are refused; sparse ones count only what their groups of components touch.
func TestLargeSets(t *testing.T) {
	for text, want := range map[string]string{
		"{kind: orthogonal, n: 100}": "p.yaml:1: set: the first derivatives of O(100) at 64 points have 3.2e+09 " +
			"numbers; expected at most 2e+08",
		"{kind: simplex, dim: 5000}": "p.yaml:1: set: the first derivatives of ",
		"{kind: orthogonal, n: 40}":  "",
		"{kind: sphere, dim: 1000}":  "",
		"{kind: box, lower: [" + strings.Repeat("0, ", 4000) + "0], upper: [" + strings.Repeat("1, ", 4000) + "1]}": "",
	} {
		p, err := Load([]byte("set: "+text+"\nprior: empirical"), "p.yaml", "", nil)
		testkit.OK(t, err)
		if _, err = p.Build(); (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

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
