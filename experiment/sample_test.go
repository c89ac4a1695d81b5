package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// sampled runs the chains of a problem.
func sampled(t *testing.T, text string, settings ...string) (*SampleReport, error) {
	t.Helper()
	p := testkit.Must(problem.Load([]byte(text), "chains.yaml", "", problem.ParseSettings(settings...)))
	pool := testkit.Pool(t, 2)
	return Sample(context.Background(), p, pool, nil)
}

const (
	thinEllipsoid = "name: e\nset: {kind: ellipsoid, axes: [1, 0.6, 0.2]}\n" +
		"sample: {chains: 16, burn: 200, draws: 500, thin: 4}\n"
	linearTorus = "name: t\nset: {kind: torus, major: 2, minor: 0.6}\n" +
		"potential: {kind: formula, expr: \"-1.5*x[0] - 0.5*x[1] + x[2]\"}\n" +
		"sample: {chains: 16, burn: 200, draws: 500, thin: 4}\n"
)

// At a step of 0.1 more than a hundredth of the projections on a thin ellipsoid fail, which biases the law: refused,
// but not of chmc, which checks its flights. The step that auto finds fails hardly ever, and is the same again.
func TestFailedProjectionsAreLimited(t *testing.T) {
	_, err := sampled(t, thinEllipsoid, "sample.step=0.1")
	if fault.KindOf(err) != fault.Check || !strings.Contains(err.Error(), "above sample.max_failed = 0.01") {
		t.Errorf("step 0.1: %v", err)
	}
	if _, err := sampled(t, thinEllipsoid, "sample.step=0.1", "sample.max_failed=0.05"); err != nil {
		t.Errorf("within the limit: %v", err)
	}
	if _, err := sampled(t, thinEllipsoid, "sample.step=0.1", "sample.method=chmc"); err != nil {
		t.Errorf("chmc: %v", err)
	}
	a, err := sampled(t, thinEllipsoid, "sample.max_rhat=1.5")
	if err != nil || a.FailedShare > 2e-3 || a.Step > 0.05 || a.Step < 0.005 {
		t.Errorf("auto: step %v, %v failed, %v", a.Step, a.FailedShare, err)
	}
	b, _ := sampled(t, thinEllipsoid, "sample.max_rhat=1.5", "sample.step=auto")
	if a.Step != b.Step || a.Coordinates[0] != b.Coordinates[0] {
		t.Errorf("auto gives %v and %v", a.Step, b.Step)
	}
}

// Chains that never move, or have not mixed, are an error with what to change.
func TestFrozenChains(t *testing.T) {
	if testing.Short() {
		t.Skip("chains of seconds")
	}
	for _, method := range []string{"splitting", "chmc", "ULLA"} {
		_, err := sampled(t, linearTorus, "sample.step=1e6", "sample.method="+method)
		if err == nil || !strings.Contains(err.Error(), "take ") {
			t.Errorf("%s with a step of 10⁶: %v", method, err)
		}
	}
	if _, err := sampled(t, linearTorus, "sample.step=0.001"); !unmixed(err) {
		t.Errorf("chains that have not mixed: %v", err)
	}
}

// unmixed reports whether an error is that of chains that have not mixed.
func unmixed(err error) bool {
	return err != nil && strings.Contains(err.Error(), "above sample.max_rhat = ")
}

// A potential that is stiff breaks no chain and makes no error: auto shortens the step to what its energy bears, and
// chmc gives the same law. On a circle with f = 200 x₁² x₁ has nearly variance 1/400; by quadrature over the angle.
func TestStiffPotential(t *testing.T) {
	const stiff = "name: c\nset: {kind: sphere, dim: 2}\npotential: {kind: formula, expr: \"200*x[1]^2\"}\n" +
		"sample: {chains: 32, burn: 300, draws: 500, thin: 3, max_rhat: 100}\n"
	sum, all := 0.0, 0.0
	for i := range 100_000 {
		s := math.Sin(2 * math.Pi * (float64(i) + 0.5) / 100_000)
		w := math.Exp(-200 * s * s)
		sum, all = sum+s*s*w, all+w
	}
	for _, method := range []string{"splitting", "chmc"} {
		r := testkit.Must(sampled(t, stiff, "sample.method="+method))
		// 16 000 draws, most of them independent: a standard error of 2 % at 4000 effective ones.
		v := float64(r.Coordinates[1].SD * r.Coordinates[1].SD)
		if math.Abs(v/(sum/all)-1) > 0.12 || r.Step > 0.2 {
			t.Errorf("%s: variance %v with step %v, want %v", method, v, r.Step, sum/all)
		}
	}
}

// Coordinates of a chain that drifts never mix; what the problem observes does, and then
// decides. On a set with bounds it is judged beside the coordinates.
func TestObservablesOfChains(t *testing.T) {
	const text = "name: c\nset: {kind: chain, dim: 2, bonds: [1, 1]}\nsample: {chains: 8, burn: 100, draws: 400, " +
		"thin: 5, step: 0.2}\npotential: {kind: quadratic, weight: [1e-6, 0, 0, 0, 0, 0]}\n"
	const angle = `observe: [{name: bend, expr: "atan2((x[2]-x[0])*(x[5]-x[3]) - (x[3]-x[1])*(x[4]-x[2]), ` +
		`(x[2]-x[0])*(x[4]-x[2]) + (x[3]-x[1])*(x[5]-x[3]))", circular: true}]` + "\n"
	if _, err := sampled(t, text); !unmixed(err) {
		t.Errorf("a chain that drifts: %v", err)
	}
	r := testkit.Must(sampled(t, text+angle))
	// f hardly matters, and the area of Σ is even in the angle: its sine has mean 0.
	if len(r.Observables) != 2 || r.Observables[0].Name != "cos bend" || r.Observables[1].Name != "sin bend" ||
		math.Abs(float64(r.Observables[1].Mean)) > 5*float64(r.Observables[1].Error) || r.Observables[1].SD < 0.5 {
		t.Errorf("observables %+v", r.Observables)
	}
	if _, err := sampled(t, text+angle, "sample.step=0.001"); !unmixed(err) ||
		!strings.Contains(err.Error(), `bend"`) {
		t.Errorf("an angle that has not mixed: %v", err)
	}
	if _, err := sampled(t, linearTorus+"observe: [{name: height, expr: \"0*x[2] + 1\"}]\n", "sample.step=0.001",
		"sample.max_rhat=1.05"); !unmixed(err) || !strings.Contains(err.Error(), "x[") {
		t.Errorf("coordinates of a set with bounds: %v", err)
	}
}

// Draws of a molecule are written to its files, and judged by internal coordinates where
// the problem observes nothing itself.
func TestDrawsOfMolecules(t *testing.T) {
	const text = "name: m\ndata: {kind: molecule}\nset: {kind: molecule, atoms: 4, distances: [{atoms: [0, 1], " +
		"value: 1.5}, {atoms: [1, 2], value: 1.4}, {atoms: [2, 3], value: 1.5}], angles: [{atoms: [0, 1, 2], range: " +
		"[100, 120]}, {atoms: [1, 2, 3], range: [100, 120]}]}\nsample: {chains: 8, burn: 300, draws: 300, thin: 10, " +
		"step: 0.1}\npotential: {kind: formula, expr: \"1e-6*x[0]^2\"}\n"
	r := testkit.Must(sampled(t, text))
	if len(r.Observables) < 2 {
		t.Errorf("observables %+v", r.Observables)
	}
	file := filepath.Join(t.TempDir(), "draws.sdf")
	testkit.OK(t, r.Write(file, false))
	frames, err := files.Read(file)
	if err != nil || frames.N != 8*300 || frames.Molecule.N() != 4 {
		t.Fatalf("%v", err)
	}
	for i, v := range frames.X {
		if math.Abs(v-r.draws.X[i]) > 1e-4 {
			t.Fatalf("number %d is %v in the file, %v in the draws", i, v, r.draws.X[i])
		}
	}
	p, err := problem.Load([]byte(text), "m.yaml", "", nil)
	if err != nil || !slices.Equal(DrawFiles(p), []string{".npy", ".pdb", ".xyz", ".sdf", ".dcd"}) {
		t.Errorf("files %v, %v", DrawFiles(p), err)
	}
}

// Chains in a small unit are judged as in any: what they draw is the same law, and moves.
func TestSampleInAnotherUnit(t *testing.T) {
	draw := func(unit float64) *SampleReport {
		r, err := sampled(t, fmt.Sprintf("name: t\nset: {kind: torus, major: %v, minor: %v}\n"+
			"sample: {chains: 8, burn: 50, draws: 200, thin: 2, max_rhat: 3}\n", 2*unit, unit/2))
		if err != nil {
			t.Fatalf("in a unit of %v: %v", 1/unit, err)
		}
		return r
	}
	large, small := draw(1), draw(0x1p-40)
	if small.Step != 0x1p-40*large.Step || math.Abs(small.FailedShare-large.FailedShare) > 1e-3 {
		t.Errorf("step %v and %v failed, want %v and %v", small.Step, small.FailedShare, 0x1p-40*large.Step,
			large.FailedShare)
	}
}
