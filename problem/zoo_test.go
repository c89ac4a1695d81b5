package problem

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Every kind of set builds from a file, and every fault of its keys is named.
func TestZooSets(t *testing.T) {
	const rest = "prior: empirical\nprocess: {method: OLLA, terminal_projection: false}\n"
	for _, c := range []struct{ set, want string }{
		{"kind: curve, terms: [[1, 2, 0], [1, 0, 2], [-1, 0, 0]]", "plane curve"},
		{"kind: box, lower: [0, -1], upper: [1, 2.5]", "box in R^2"},
		{"kind: box, lower: [0]", "box in R^1"},
		{"kind: simplex, dim: 4", "simplex in R^4"},
		{"kind: cap, axis: [0, 0, 2], height: 0.5", "spherical cap in R^3"},
		{"kind: cap, axis: [0, 0, 2]", "spherical cap in R^3"},
		{"kind: orthogonal, n: 3", "O(3)"},
		{"kind: special_orthogonal, n: 10", "SO(10)"},
		{"kind: stiefel, n: 5, p: 2", "Stiefel manifold V(5, 2)"},
		{"kind: chain, bonds: [1, 1.5], angles: [1.9], anchored: true", "chain of 3 atoms in R^3"},
		{"kind: chain, dim: 2, bonds: [1, 1.5]", "chain of 3 atoms in R^2"},
		{"kind: redundant_axis", "z-axis with a redundant inequality"},

		{"kind: curve", "f:1: set.terms is missing; expected terms"},
		{"kind: curve, terms: [[1, 2]]", "f:1: set.terms is [1 2]; expected rows"},
		{"kind: curve, terms: [[1, 2, 0.5]]", "f:1: set.terms is [1 2 0.5]; expected powers that are whole numbers"},
		{"kind: curve, terms: [[1, -2, 0]]", "f:1: set.terms is [-2 0]; expected powers from 0"},
		{"kind: box", "f:1: set.lower is missing; expected a bound"},
		{"kind: box, lower: [0, 0], upper: [1]", "f:1: set.upper is [1]; expected 2 numbers"},
		{"kind: box, lower: [1], upper: [1]", "f:1: set.upper is [1]; expected upper[0] above lower[0] = 1"},
		{"kind: simplex, dim: 1", "f:1: set.dim is 1; expected a number in [2, 1000000]"},
		{"kind: simplex, dim: 3, n: 2", `f:1: set.n: this key belongs to set.kind orthogonal, special_orthogonal, ` +
			`stiefel; set.kind is "simplex"`},
		{"kind: cap, axis: [0, 0], height: 0.5", "f:1: set.axis is [0 0]; expected a direction"},
		{"kind: cap, axis: [0, 1], height: 1", "f:1: set.height is 1; expected a number in (-1, 1)"},
		{"kind: orthogonal", "f:1: set.n is missing; expected a number in [1, 100]"},
		{"kind: orthogonal, n: 3, p: 2", `f:1: set.p: this key belongs to set.kind stiefel; set.kind is "orthogonal"`},
		{"kind: stiefel, n: 3, p: 4", "f:1: set.p is 4; expected 1 to n = 3 columns"},
		{"kind: chain", "f:1: set.bonds is missing; expected a length for each bond"},
		{"kind: chain, bonds: [1, 1], angles: [4]", "f:1: set.angles is [4]; expected angles in (0, π)"},
		{"kind: chain, dim: 1, bonds: [1]", "f:1: set.dim is 1; expected a number in [2, 500000]"},
		{"kind: chain, dim: 900000, bonds: [1]", "f:1: set.dim is 900000; expected a number in [2, 500000]"},
		{"kind: redundant_axis, anchored: true", `f:1: set.anchored: this key belongs to set.kind chain`},
	} {
		p, err := Load([]byte("set: {"+c.set+"}\n"+rest), "f", "", nil)
		if err != nil {
			t.Errorf("%s: %v", c.set, err)
			continue
		}
		proc, err := p.Build()
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = constraint.Name(proc.Set)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n got  %s\n want %s", c.set, got, c.want)
		}
	}
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
