package conformation_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/constraint/geometry"
	"github.com/landing-diffusion/landing/domain/conformation"
	"github.com/landing-diffusion/landing/domain/molecule"
	"github.com/landing-diffusion/landing/tools/constrainttest"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/golden"
	"github.com/landing-diffusion/landing/tools/testkit/reference"
)

const (
	distance = conformation.Distance
	angle    = conformation.Angle
	dihedral = conformation.Dihedral
	volume   = conformation.Volume
	degree   = math.Pi / 180
)

var inf = math.Inf(1)

func on(k conformation.Kind, low, high float64, atoms ...int) conformation.Condition {
	return conformation.Condition{Coordinate: conformation.Coordinate{Kind: k, Atoms: atoms}, Low: low, High: high}
}

func set(t testing.TB, atoms int, spec conformation.Spec) *conformation.Set {
	t.Helper()
	spec.Molecule = molecule.Anonymous(atoms)
	return testkit.Must(conformation.New(spec))
}

// alanine is φ = −70° and ψ in [130°, 170°] on ten atoms.
func alanine(t testing.TB, max bool) *conformation.Set {
	return set(t, 10, conformation.Spec{Max: max, Conditions: []conformation.Condition{
		on(dihedral, -70*degree, -70*degree, 1, 3, 4, 6), on(dihedral, 130*degree, 170*degree, 3, 4, 6, 8)}})
}

func TestSuite(t *testing.T) {
	square := [][2]int{{0, 2}, {0, 3}, {1, 3}}
	for name, spec := range map[string]struct {
		atoms int
		conformation.Spec
	}{
		"distance": {2, conformation.Spec{Conditions: []conformation.Condition{on(distance, 1.5, 1.5, 0, 1)}}},
		"angle":    {3, conformation.Spec{Conditions: []conformation.Condition{on(angle, 1.9, 1.9, 0, 1, 2)}}},
		"dihedral": {4, conformation.Spec{Conditions: []conformation.Condition{on(dihedral, -1.2, -1.2, 0, 1, 2, 3)}}},
		"dihedral at π": {4, conformation.Spec{Conditions: []conformation.Condition{
			on(dihedral, math.Pi, math.Pi, 0, 1, 2, 3)}}},
		"dihedral at 0": {5, conformation.Spec{Conditions: []conformation.Condition{on(dihedral, 0, 0, 4, 1, 2, 3)}}},
		"volume":        {4, conformation.Spec{Conditions: []conformation.Condition{on(volume, 0.7, 0.7, 0, 1, 2, 3)}}},
		"flat": {4, conformation.Spec{Conditions: []conformation.Condition{on(volume, 0, 0, 0, 1, 2, 3),
			on(distance, 1, 1, 0, 1), on(distance, 1.2, 1.2, 0, 2), on(angle, 2, 2, 3, 0, 1)}}},
		"chain with windows": {4, conformation.Spec{
			Conditions: []conformation.Condition{on(distance, 1.5, 1.5, 0, 1), on(distance, 1.4, 1.4, 1, 2),
				on(distance, 1.3, 1.6, 2, 3), on(angle, 1.7, 2.1, 0, 1, 2), on(dihedral, 2.8, 3.5, 0, 1, 2, 3)},
			Apart: []conformation.Apart{{Pairs: square, Min: 1.2}}}},
		"one side": {4, conformation.Spec{Conditions: []conformation.Condition{on(angle, 1.5, math.Pi, 0, 1, 2),
			on(distance, 0, 2.5, 0, 3), on(volume, 0.3, inf, 3, 0, 1, 2)}}},
		"guards": {4, conformation.Spec{Conditions: []conformation.Condition{on(angle, -inf, 2.5, 0, 1, 2),
			on(angle, 1.2, inf, 1, 2, 3), on(distance, -inf, 2.5, 0, 3), on(distance, 1.5, inf, 0, 1)}}},
		"several windows": {4, conformation.Spec{Conditions: []conformation.Condition{{
			Coordinate: conformation.Coordinate{Kind: dihedral, Atoms: []int{0, 1, 2, 3}},
			Windows:    [][2]float64{{2.5, 3.5}, {-1, 0.2}, {0.9, 1.5}}},
			on(distance, 1.5, 1.5, 0, 1)}}},
		"nearest": {5, conformation.Spec{Conditions: []conformation.Condition{
			on(conformation.Nearest, -inf, 1.9, 0, 1, 2, 3), on(distance, 1.5, 1.5, 3, 4)}}},
		"same coordinate twice": {4, conformation.Spec{Conditions: []conformation.Condition{
			on(distance, 1.5, 1.5, 0, 1), on(distance, 1.5, 1.5, 1, 0), on(dihedral, 0.5, 0.5, 0, 1, 2, 3),
			on(dihedral, 0.5+2*math.Pi, 0.5+2*math.Pi, 3, 2, 1, 0)}}},
	} {
		t.Run(name, func(t *testing.T) {
			constrainttest.Run(t, set(t, spec.atoms, spec.Spec), constrainttest.Options{Points: 12})
		})
	}
}

// The paper's set in its own form: golden values, first derivatives, and paths with the reference's ridge.
func TestGoldenAlanine(t *testing.T) {
	g := golden.Read(t, "md_ops.npz")
	s := alanine(t, true)
	e := s.NewEvaluator(6)
	const n = 6
	for _, where := range []string{"on", "off"} {
		x := g["x_"+where].AsFloat64()
		v, jac := make([]float64, 2*n), make([]float64, 60*n)
		e.Jacobians(v, jac, x, n)
		for part, name := range []string{"h_", "g_"} {
			var values, rows []float64
			for i := range n {
				values = append(values, v[2*i+part])
				rows = append(rows, jac[(2*i+part)*30:(2*i+part+1)*30]...)
			}
			golden.Near(t, name, values, g[name+where].AsFloat64())
			golden.Near(t, "∇"+name, rows, g["jac_"+name+where].AsFloat64())
		}
		ridge := reference.NewRidge(s, 1e-6, 0.05)(n)
		testkit.OK(t, ridge.At(x, n))
		y := make([]float64, 30*n)
		ridge.Tangent(y, g["y"].AsFloat64())
		golden.Near(t, "Πy", y, g["tangent_"+where].AsFloat64())
		ridge.Landing(y)
		for j, v := range y {
			y[j] = x[j] - v
		}
		golden.Near(t, "implicit landing", y, g["implicit_"+where].AsFloat64())
	}
}

// dihedralOf puts the last of four atoms at a dihedral angle θ, with bonds of 1.5 and right angles.
func dihedralOf(θ float64) []float64 {
	sin, cos := math.Sincos(θ)
	return []float64{1.5, 0, 0, 0, 0, 0, 0, 0, 1.5, 1.5 * cos, 1.5 * sin, 1.5}
}

// A dihedral is compared on the circle: a window across ±180° holds on both sides of the cut, its gradients are those
// of one smooth function there, and its two inequalities are θ's distances from the walls.
func TestWindowAcrossTheCut(t *testing.T) {
	for _, c := range []struct{ low, high float64 }{{170, 200}, {-190, -160}, {530, 560}, {-30, 40}, {100, 380}} {
		s := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{
			on(dihedral, c.low*degree, c.high*degree, 0, 1, 2, 3)}})
		for deg := c.low - 35; deg <= c.high+35; deg += 2.5 {
			v := constraint.Values(s, dihedralOf(deg*degree))
			if want := (c.low - deg) * degree; math.Abs(v[0]-want) > 1e-13 && c.high-c.low < 270 {
				t.Errorf("[%v, %v] at %v: %v below, want %v", c.low, c.high, deg, v[0], want)
			}
			testkit.Equal(t, deg >= c.low && deg <= c.high, v[0] <= 1e-13 && v[1] <= 1e-13,
				"[%v, %v] at %v: g = %v", c.low, c.high, deg, v)
		}
	}
	s := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{on(dihedral, 3, 3, 0, 1, 2, 3)}})
	for _, θ := range []float64{3 - 1e-9, 3, 3.1, math.Pi, 3.2, 3.5, 0, -1e-12, 1e-12} {
		want := math.Remainder(θ-3, 2*math.Pi)
		if v := constraint.Values(s, dihedralOf(θ)); math.Abs(v[0]-want) > 1e-13 {
			t.Errorf("h at %v is %v, want %v", θ, v[0], want)
		}
	}
}

// The derivatives of a dihedral have no singularity at 0 and π: at right angles ∂θ/∂r₃ has length 1/1.5 everywhere.
func TestDihedralAtItsEnds(t *testing.T) {
	s := set(t, 4, conformation.Spec{Conditions: []conformation.Condition{on(dihedral, 1, 1, 0, 1, 2, 3)}})
	e, v, jac := s.NewEvaluator(1), make([]float64, 1), make([]float64, 12)
	for _, θ := range []float64{0, 1e-300, 1e-9, math.Pi / 2, math.Pi, -math.Pi, math.Pi - 1e-12} {
		e.Jacobians(v, jac, dihedralOf(θ), 1)
		testkit.Near(t, math.Sqrt(jac[9]*jac[9]+jac[10]*jac[10]+jac[11]*jac[11]), 1/1.5, 1e-15, "at %v", θ)
	}
}

// The paper's maximum of a window within (−π, π] is not on the circle, that of one across the cut is.
func TestMaxBeyondTheCut(t *testing.T) {
	for _, c := range []struct{ low, high, θ, want float64 }{
		{130, 170, -170, 300}, {130, 170, 175, 5}, {130, 170, 120, 10}, {150, 210, -140, 10}, {150, 210, -170, -20},
	} {
		s := set(t, 4, conformation.Spec{Max: true, Conditions: []conformation.Condition{
			on(dihedral, c.low*degree, c.high*degree, 0, 1, 2, 3)}})
		if v := constraint.Values(s, dihedralOf(c.θ*degree)); math.Abs(v[0]-c.want*degree) > 1e-13 {
			t.Errorf("[%v, %v] at %v: %v°, want %v°", c.low, c.high, c.θ, v[0]/degree, c.want)
		}
	}
}

// The maximum is the larger of the two smooth inequalities, with its derivatives, and of pairs that of the nearest.
func TestMax(t *testing.T) {
	spec := conformation.Spec{
		Conditions: []conformation.Condition{on(dihedral, 2.5, 3.5, 0, 1, 2, 3), on(distance, 1, 2, 0, 3)},
		Apart:      []conformation.Apart{{Pairs: [][2]int{{0, 2}, {1, 4}, {3, 4}, {0, 4}}, Min: 1.3}},
	}
	smooth := set(t, 5, spec)
	spec.Max = true
	s := set(t, 5, spec)
	testkit.Equal(t, fmt.Sprint(s.Inequalities()), "[dihedral 0–1–2–3 distance 0–3 nearest of 4 pairs ≥ 1.3 Å]",
		"components")
	const n, d = 50, 15
	x := make([]float64, n*d)
	keyed.New(1, keyed.Probe, 3).Normals(x, 0, 0)
	v8, j8, v3, j3 := make([]float64, n*8), make([]float64, n*8*d), make([]float64, n*3), make([]float64, n*3*d)
	smooth.NewEvaluator(n).Jacobians(v8, j8, x, n)
	s.NewEvaluator(n).Jacobians(v3, j3, x, n)
	chosen := map[int]int{}
	for i := range n {
		for a, parts := range [][]int{{0, 1}, {2, 3}, {4, 5, 6, 7}} {
			best := parts[0]
			for _, p := range parts {
				if v8[i*8+p] > v8[i*8+best] {
					best = p
				}
			}
			chosen[best]++
			if v3[i*3+a] != v8[i*8+best] {
				t.Fatalf("component %d of point %d: %v, want %v", a, i, v3[i*3+a], v8[i*8+best])
			}
			for j := range d {
				if j3[(i*3+a)*d+j] != j8[(i*8+best)*d+j] {
					t.Fatalf("component %d of point %d: derivative %d", a, i, j)
				}
			}
		}
	}
	if len(chosen) != 8 {
		t.Errorf("of 8 parts only %d were the largest somewhere", len(chosen))
	}
	packed := s.Capabilities().Support
	if len(packed[2]) != 15 || len(packed[0]) != 12 || len(packed[1]) != 6 {
		t.Errorf("support %v", packed)
	}
	constrainttest.Run(t, set(t, 4, conformation.Spec{Max: true, Conditions: []conformation.Condition{
		on(dihedral, 0.5, 2.5, 0, 1, 2, 3), on(distance, 1.2, 1.2, 0, 1)},
		Apart: []conformation.Apart{{Pairs: [][2]int{{0, 2}, {0, 3}, {1, 3}}, Min: 1.1}}}),
		constrainttest.Options{Points: 8})
}

// No internal coordinate changes under rotations and translations, so each gradient
// leaves them free: the components of Σ are those of a molecule, not of a place.
func TestGaugeIsFree(t *testing.T) {
	s := set(t, 5, conformation.Spec{
		Conditions: []conformation.Condition{on(distance, 1, 2, 0, 1), on(angle, 1, 1, 2, 0, 1),
			on(dihedral, 1, 2, 4, 1, 2, 3), on(volume, 0.1, inf, 0, 2, 3, 4)},
		Apart: []conformation.Apart{{Pairs: [][2]int{{0, 4}}, Min: 1}},
	})
	c, d := len(constraint.Components(s)), s.Dim()
	x, v, jac := make([]float64, d), make([]float64, c), make([]float64, c*d)
	keyed.New(1, keyed.Probe, 4).Normals(x, 0, 0)
	s.NewEvaluator(1).Jacobians(v, jac, x, 1)
	for a, name := range constraint.Components(s) {
		row := jac[a*d : (a+1)*d]
		var force, torque [3]float64
		for i := range 5 {
			g, r := row[3*i:3*i+3], x[3*i:3*i+3]
			for k := range 3 {
				force[k] += g[k]
				torque[k] += r[(k+1)%3]*g[(k+2)%3] - r[(k+2)%3]*g[(k+1)%3]
			}
		}
		for k := range 3 {
			if math.Abs(force[k]) > 1e-13 || math.Abs(torque[k]) > 1e-13 {
				t.Errorf("%s: force %v, torque %v", name, force, torque)
			}
		}
	}
}

// What cannot be is refused, with the coordinate and what to write.
func TestBadSpecs(t *testing.T) {
	for _, c := range []struct {
		condition conformation.Condition
		want      string
	}{
		{on(distance, 1, 1, 0, 9), "there is no atom 9: there are 5, from 0"},
		{on(distance, 1, 1, 0, -1), "there is no atom -1"},
		{on(distance, 1, 1, 2, 2), "atom 2 is there twice"},
		{on(angle, 1, 1, 0, 1), "2 atoms; expected the 3 of an angle"},
		{on(distance, 0, 0, 0, 1), "a distance of 0 Å"},
		{on(distance, 3, 2, 0, 1), "the range [3 Å, 2 Å] is empty"},
		{on(distance, 0, inf, 0, 1), "it asks for nothing"},
		{on(distance, math.NaN(), 1, 0, 1), "not a number"},
		{on(angle, math.Pi, math.Pi, 0, 1, 2), "within 1° of a straight line"},
		{on(angle, 1, math.Pi-0.01, 0, 1, 2), "within 1° of a straight line"},
		{on(angle, -1, 1, 0, 1, 2), "expected 0° to 180°"},
		{on(angle, -inf, 0, 0, 1, 2), "within 1° of a straight line"},
		{on(angle, math.Pi, inf, 0, 1, 2), "within 1° of a straight line"},
		{on(angle, 0, math.Pi, 0, 1, 2), "it asks for nothing"},
		{on(dihedral, 150*degree, -150*degree, 0, 1, 2, 3), "the range [150°, -150°] is empty"},
		{on(dihedral, -4, 4, 0, 1, 2, 3), "the whole circle"},
		{on(dihedral, inf, inf, 0, 1, 2, 3), "infinite"},
		{on(dihedral, -inf, 1, 0, 1, 2, 3), "a dihedral has a range of two ends"},
		{on(angle, -inf, inf, 0, 1, 2), "it asks for nothing"},
		{on(distance, 1.6, 1.6, 1, 0), "distance 1–0 is fixed at 1.6 Å, and at 1.5 Å elsewhere"},
		{on(distance, 1.6, 1.7, 1, 0), "distance 1–0 is fixed at 1.5 Å, outside of its range [1.6 Å, 1.7 Å]"},
	} {
		_, err := conformation.New(conformation.Spec{Molecule: molecule.Anonymous(5),
			Conditions: []conformation.Condition{on(distance, 1.5, 1.5, 0, 1), c.condition}})
		var e *conformation.Error
		if !errors.As(err, &e) || e.Condition != 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.condition, err, c.want)
		}
	}
	for _, v := range []float64{-170, 190, 185, 150, 140, 211} { // on the circle
		_, err := conformation.New(conformation.Spec{Molecule: molecule.Anonymous(5),
			Conditions: []conformation.Condition{on(dihedral, 150*degree, 210*degree, 0, 1, 2, 3),
				on(dihedral, v*degree, v*degree, 3, 2, 1, 0)}})
		var e *conformation.Error
		if inside := v != 140 && v != 211; inside != (err == nil) ||
			!inside && (!errors.As(err, &e) || e.Condition != 0) {
			t.Errorf("a dihedral of %v° in [150°, 210°]: %v", v, err)
		}
	}
	for _, a := range []conformation.Apart{{Min: 1}, {Pairs: [][2]int{{0, 1}}}, {Pairs: [][2]int{{1, 1}}, Min: 1},
		{Pairs: [][2]int{{0, 3}}, Min: 1}} {
		_, err := conformation.New(conformation.Spec{Molecule: molecule.Anonymous(3), Apart: []conformation.Apart{a}})
		var e *conformation.Error
		if !errors.As(err, &e) || e.Apart != 0 {
			t.Errorf("%v: %v", a, err)
		}
	}
}

// The error of a point without a dihedral names the dihedral's atoms.
func TestFault(t *testing.T) {
	m := &molecule.Molecule{Atoms: []molecule.Atom{{Name: "C"}, {Name: "N"}, {Name: "CA"}, {Name: "CB"}}}
	s := testkit.Must(conformation.New(conformation.Spec{Molecule: m,
		Conditions: []conformation.Condition{{Name: "φ", Low: 1, High: 2,
			Coordinate: conformation.Coordinate{Kind: dihedral, Atoms: []int{0, 1, 2, 3}}}, on(distance, 1, 1, 0, 1)}}))
	fault := s.Capabilities().Fault
	for _, c := range []struct {
		x    []float64
		want string
	}{
		{dihedralOf(1), ""},
		{[]float64{0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1, 0}, `constraint "φ ≥ 57.2958°": C, N and CA lie on a line`},
		{[]float64{0, 1, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0}, `constraint "φ ≥ 57.2958°": N, CA and CB lie on a line`},
		{[]float64{1, 0, 0, 1, 0, 0, 2, 1, 0, 3, 0, 0}, `constraint "distance C–N": C and N are at the same place`},
		{[]float64{0, 1, 0, 1, 0, math.NaN(), 2, 0, 0, 3, 0, 0}, `constraint "distance C–N": coordinate z of N is NaN`},
	} {
		got := ""
		if err := fault(c.x); err != nil {
			got = err.Error()
		}
		testkit.Equal(t, got, c.want, "%v", c.x)
	}
	if err := geometry.New(s, 1, 0).At([]float64{0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1, 0}, 1); err == nil {
		t.Error("geometry at a point without a dihedral")
	}
}

// known is a molecule of elements and bonds.
func known(elements string, bonds ...molecule.Bond) *molecule.Molecule {
	m := &molecule.Molecule{Bonds: bonds}
	for e := range strings.FieldsSeq(elements) {
		m.Atoms = append(m.Atoms, molecule.Atom{Element: e})
	}
	if err := m.SetBonds(bonds); err != nil {
		panic(err)
	}
	return m
}

var (
	// (S)-1-fluoro-2-methylpropanol.
	fluoro = known("C C C C F O H H H H H H H H H", molecule.Bond{0, 1}, molecule.Bond{1, 2}, molecule.Bond{1, 3},
		molecule.Bond{3, 4}, molecule.Bond{3, 5}, molecule.Bond{0, 6}, molecule.Bond{0, 7}, molecule.Bond{0, 8},
		molecule.Bond{1, 9}, molecule.Bond{2, 10}, molecule.Bond{2, 11}, molecule.Bond{2, 12}, molecule.Bond{3, 13},
		molecule.Bond{5, 14})
	fluoroX = []float64{-1.165, 1.075, 0.313, -0.274, 0.018, -0.339, -0.567, -1.357, 0.267, 1.202, 0.388, -0.208, 1.966,
		-0.539, -0.837, 1.640, 0.379, 1.132, -2.223, 0.834, 0.166, -0.983, 2.061, -0.128, -0.983, 1.147, 1.391, -0.516,
		-0.033, -1.407, -0.377, -1.373, 1.346, -1.614, -1.633, 0.108, 0.055, -2.128, -0.199, 1.419, 1.365, -0.652,
		2.419, -0.203, 1.105}
	// (1R,2s,3S)-1,3-dichloro-1,3-difluoropropan-2-ol: its own mirror image.
	meso = known("O C C F Cl C F Cl H H H H", molecule.Bond{0, 1}, molecule.Bond{1, 2}, molecule.Bond{2, 3},
		molecule.Bond{2, 4}, molecule.Bond{1, 5}, molecule.Bond{5, 6}, molecule.Bond{5, 7}, molecule.Bond{0, 8},
		molecule.Bond{1, 9}, molecule.Bond{2, 10}, molecule.Bond{5, 11})
	mesoX = []float64{0.495, -1.610, 0.089, -0.070, -0.347, -0.316, 1.022, 0.665, -0.657, 0.453, 1.887, -0.847, 1.869,
		0.214, -2.162, -0.997, 0.213, 0.770, -1.983, -0.708, 0.983, -0.171, 0.499, 2.320, -0.237, -2.155, 0.438, -0.686,
		-0.550, -1.201, 1.781, 0.745, 0.125, -1.476, 1.146, 0.458}
)

// Equivalent atoms get their names back whatever names they come with, and no real centre gets another hand.
func TestRelabel(t *testing.T) {
	mirror := func(x []float64) []float64 {
		for i := 0; i < len(x); i += 3 {
			x[i] = -x[i]
		}
		return x
	}
	swap := func(pairs ...int) func(x []float64) []float64 {
		return func(x []float64) []float64 {
			for k := 0; k < len(pairs); k += 2 {
				for c := range 3 {
					a, b := 3*pairs[k]+c, 3*pairs[k+1]+c
					x[a], x[b] = x[b], x[a]
				}
			}
			return x
		}
	}
	for _, c := range []struct {
		name    string
		m       *molecule.Molecule
		x       []float64
		change  func([]float64) []float64
		changed bool
		left    float64 // rad, Å³: violations that stay, at least; 0: none
	}{
		{"as it is", fluoro, fluoroX, swap(), false, 0},
		{"two hydrogens", fluoro, fluoroX, swap(6, 7), true, 0},
		{"turned hydrogens", fluoro, fluoroX, swap(6, 7, 7, 8), false, 0},
		{"methyls alone", fluoro, fluoroX, swap(0, 2, 6, 10, 7, 11, 8, 12), true, 0},
		{"methyls and hydrogens", fluoro, fluoroX, swap(0, 2, 6, 11, 7, 10, 8, 12), true, 0},
		{"the other hand", fluoro, fluoroX, mirror, true, 1},
		{"the other hand of a centre", fluoro, fluoroX, swap(4, 13), false, 1},
		{"centres in equivalent branches", meso, mesoX, mirror, false, 1},
		{"the other hand of a centre between centres", meso, mesoX, swap(0, 9), false, 1},
	} {
		conditions := testkit.Must(conformation.BondAngles(c.m, c.x))
		s := testkit.Must(conformation.New(conformation.Spec{Molecule: c.m, Template: c.x, Conditions: conditions}))
		x := c.change(slices.Clone(c.x))
		got, worst := s.NewRelabeller(c.m).Relabel(x), 0.0
		for _, k := range conditions {
			if k.Kind == dihedral {
				worst = max(worst, k.Excess(x))
			}
		}
		testkit.Equal(t, got, c.changed, "%s", c.name)
		if c.left == 0 && worst > 0.3 || worst < c.left {
			t.Errorf("%s: dihedrals are off by up to %v", c.name, worst)
		}
	}
	unknown := known("C C C", molecule.Bond{0, 1}, molecule.Bond{0, 2})
	testkit.Equal(t, fmt.Sprint(unknown.Exchanges()), "[]", "carbons whose hydrogens and bond orders are not known")
	testkit.Equal(t, fmt.Sprint(fluoro.Exchanges()), "[[[6 7]] [[6 8]] [[7 8]] [[0 2] [6 10] [7 11] [8 12]] [[10 11]] "+
		"[[10 12]] [[11 12]]]", "exchanges")
	if v := testkit.Must(conformation.New(conformation.Spec{Molecule: fluoro, Conditions: []conformation.Condition{
		on(distance, 1.1, 1.1, 0, 6)}})); len(v.NewRelabeller(fluoro)) > 0 {
		t.Error("a distance asks for no hand")
	}
}
