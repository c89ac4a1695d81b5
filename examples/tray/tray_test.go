package tray_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/robot/urdf"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

var update = flag.Bool("update", false, "write tray.urdf anew")

// load reads the problem file's set and what it was made of.
func load(t *testing.T) (*trajectory.Set, trajectory.Spec) {
	t.Helper()
	source := testkit.Must(os.ReadFile("problem.yaml"))
	p := testkit.Must(problem.Load(source, "problem.yaml", "", nil))
	proc := testkit.Must(p.Assemble())
	set, ok := constraint.As[*trajectory.Set](proc.Set)
	if !ok {
		t.Fatalf("%s is no set of motions", constraint.Name(proc.Set))
	}
	return set, set.Spec()
}

// tray.urdf, which other programs check motions with, is the problem file's arm and its spheres.
// With -update it is written anew.
func TestURDF(t *testing.T) {
	_, spec := load(t)
	arm := *spec.Arm
	arm.Name, arm.Spheres = "tray", spec.Volume
	var want bytes.Buffer
	testkit.OK(t, urdf.Write(&want, &arm))
	if *update {
		testkit.OK(t, os.WriteFile("tray.urdf", want.Bytes(), 0o644))
	}
	if got, err := os.ReadFile("tray.urdf"); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("tray.urdf is not the arm of problem.yaml (%v)", err)
	}
}

// Planned motions of the problem file keep the line and the level, and the margin to the lamp between way points too.
func TestExample(t *testing.T) {
	set, spec := load(t)
	pool := parallel.New(2)
	defer pool.Close()
	planned := testkit.Must((&plan.Batch{Set: set, Spec: spec, Tip: spec.Tip(), Count: 2, Seed: 1}).Run(
		context.Background(), pool))
	trial.Feasible(t, set, planned.X)
	sc := &scene.Scene{Arm: spec.Arm, Bodies: spec.Volume}
	for _, o := range spec.Obstacles {
		sc.Obstacles = append(sc.Obstacles, *o.(*scene.Obstacle))
	}
	check, x := sc.NewChecker(), planned.X
	for i := 0; i < len(x); i += planned.Dim {
		if room, _ := check.Path(
			x[i:i+planned.Dim], spec.Waypoints, scene.SweptOptions{}); room.Lower < spec.Margin-1e-4 {
			t.Errorf("motion %d has %.3g m between way points", i/planned.Dim, room.Upper)
		}
	}
}
