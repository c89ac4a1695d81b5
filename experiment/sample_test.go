package experiment

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/domain"
	"github.com/landing-diffusion/landing/domain/molecule/files"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/learn/train"
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

// Samples that a network sends away count as failed: above generate.max_failed they are a
// *judge.FailedError that tells the first, below it samples beside it.
func TestSamplesThatBreakDown(t *testing.T) {
	e := begin(t)
	model := testkit.Must(e.model())
	p := model.Parameters()
	for i := range p {
		p[i] = float32(math.NaN())
	}
	broken := &Trained{Model: model}
	s, err := drawn(t, e, broken, 50)
	var failed *judge.FailedError
	if !errors.As(err, &failed) || failed.Broken != 50 || failed.Failed != 50 || s.Broken != 50 ||
		errors.As(err, new(*langevin.DivergedError)) || !strings.Contains(err.Error(),
		"50 of 50 samples failed, above the allowed share 0.01 (generate.max_failed): of 50 the simulation broke "+
			"down, "+
			"the first: backward simulation broke down at sample 0, step ") {
		t.Fatalf("%v", err)
	}
	for i, v := range s.X {
		if v-v != 0 {
			t.Fatalf("number %d of the samples is %v", i, v)
		}
	}
	q := *e.Loaded
	problem := *q.Problem
	problem.Generate.MaxFailed = 1
	q.Problem = &problem
	prior, err := e.Prior(t.Context(), nil)
	testkit.OK(t, err)
	if s, err = q.Generate(t.Context(), broken, prior, 50, 0, 1, nil); err != nil || s.Failed() != 50 ||
		len(s.Good()) > 0 {
		t.Errorf("all allowed to fail: %v, %d failed", err, s.Failed())
	}
	v, err := e.Evaluate(t.Context(), s, train.State{}, nil)
	if err != nil || v.Broken != 50 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A sample that a finisher refuses is drawn again by its number and another seed; one that stays refused is lost. What
// comes is the same in blocks, and without a finisher nothing changes.
func TestSamplesAreFinished(t *testing.T) {
	r, _, _ := begun(t, "epochs: 1")
	trained, prior := learned(t, r)
	raw := testkit.Must(r.Generate(t.Context(), trained, prior, 8, 10, 1, nil))
	of := *r.Domain
	r.Domain = &of
	of.Finish = func() domain.Finisher {
		return func(_ context.Context, x []float64, seed, number uint64) (out domain.Finished) {
			switch {
			case number == 12, number == 13 && seed == 1:
				out.Fault = "refused"
			case number == 14:
				out.Changed, out.Off = true, 0.5
				x[0], x[1], x[2] = 0, 0, 1
			case number == 15:
				x[0], x[1], x[2] = 0, 0, 2 // off the sphere
			}
			return out
		}
	}
	r.Problem.Generate.MaxFailed = 1
	s := testkit.Must(r.Generate(t.Context(), trained, prior, 8, 10, 1, nil))
	f := s.Finished
	if !slices.Equal(f.Replaced, []uint64{13}) || f.Repaired != 1 || f.Unfit != 2 || f.Fault != "refused" ||
		f.Off != 0.5 || s.Failed() != 2 || !s.Lost[2] || !s.Lost[5] {
		t.Errorf("%+v, lost %v", f, s.Lost)
	}
	for i := range 8 {
		one := testkit.Must(r.Generate(t.Context(), trained, prior, 1, 10+uint64(i), 1, nil)).X
		all, drawn := s.X[3*i:3*i+3], raw.X[3*i:3*i+3]
		if same := slices.Equal(all, drawn); !s.Lost[i] && (!slices.Equal(one, all) || same != (i != 3 && i != 4)) {
			t.Errorf("sample %d is %v alone, %v among others, %v as drawn", i, one, all, drawn)
		}
	}
	r.Problem.Generate.Repair = "none"
	if s = testkit.Must(r.Generate(t.Context(), trained, prior, 8, 10, 1, nil)); s.Finished != nil ||
		!slices.Equal(s.X, raw.X) {
		t.Error("generate.repair=none changes samples")
	}
}
