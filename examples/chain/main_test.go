package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var small = size{chains: 150, samples: 200, epochs: 2, width: 16, workers: 2}

// The set built from Go and that of problem.yaml are one: names and values.
func TestOneSet(t *testing.T) {
	a := testkit.Must(chainSet())
	source := testkit.Must(os.ReadFile("problem.yaml"))
	p := testkit.Must(problem.Load(source, "problem.yaml", "", nil))
	process := testkit.Must(p.Build())
	b := process.Set
	names := constraint.Components(a)
	if !slices.Equal(names, constraint.Components(b)) || len(a.Equalities()) != len(b.Equalities()) {
		t.Fatalf("components %v, %v", names, constraint.Components(b))
	}
	x := make([]float64, 20*dim)
	keyed.New(1, keyed.Probe, 0).Normals(x, 0, 0)
	u, v := constraint.Values(a, x), constraint.Values(b, x)
	for i := range u {
		if math.Abs(u[i]-v[i]) > 1e-14 {
			t.Errorf("%s is %g and %g", names[i%len(names)], u[i], v[i])
		}
	}
}

// Beads that keep the clearance keep whole bonds out of the ball, and a bond between
// two beads at just that distance touches it.
func TestClearance(t *testing.T) {
	half := bond / 2
	if middle := math.Sqrt(clearance*clearance - half*half); math.Abs(middle-ball) > 1e-15 {
		t.Errorf("the middle of the lowest bond is at %g, want %g", middle, ball)
	}
}

// Demonstrations are feasible, some touch the ball, and chain i is a function of the seed and i.
func TestDemonstrations(t *testing.T) {
	set := testkit.Must(chainSet())
	x, failed, err := demonstrations(set, 200, 1)
	testkit.OK(t, err)
	if failed+len(x)/dim != 200 || failed > 10 {
		t.Errorf("%d of 200 chains failed, %d are there", failed, len(x)/dim)
	}
	trial.Feasible(t, set, x)
	if touching(x) == 0 || touching(x) > 0.2 {
		t.Errorf("a share %g of the beads touches the ball; some must, for the inequalities to be tried", touching(x))
	}
	some, lost, _ := demonstrations(set, 20, 1)
	if lost == 0 && !slices.Equal(some, x[:len(some)]) {
		t.Error("chain i depends on the others")
	}
}

// The program at small size: samples are feasible, none is lost, and the same run
// with other workers gives the same bytes.
func TestExample(t *testing.T) {
	a := testkit.Must(learn(context.Background(), io.Discard, small))
	other := small
	other.workers = 1
	b := testkit.Must(learn(context.Background(), io.Discard, other))
	if !slices.Equal(a.samples, b.samples) {
		t.Error("two runs differ")
	}
	if a.failed+len(a.samples)/dim != small.samples || a.failed > 0 {
		t.Errorf("%d samples and %d failed, of %d", len(a.samples)/dim, a.failed, small.samples)
	}
	set := testkit.Must(chainSet())
	trial.Feasible(t, set, a.samples)
	dir := t.TempDir()
	testkit.OK(t, a.save(dir))
	png, err := os.ReadFile(filepath.Join(dir, "picture.png"))
	if err != nil || !bytes.HasPrefix(png, []byte("\x89PNG")) {
		t.Errorf("no picture: %v", err)
	}
	// The data that the program leaves runs with its problem file too.
	trial.Run(t, "problem.yaml", filepath.Join(dir, "data.npy"))
}
