package tray_test

import (
	"context"
	"os"
	"testing"

	"github.com/landing-diffusion/landing/base/parallel"
	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/domain/robot"
	"github.com/landing-diffusion/landing/domain/robot/plan"
	"github.com/landing-diffusion/landing/domain/robot/scene"
	"github.com/landing-diffusion/landing/domain/robot/urdf"
	"github.com/landing-diffusion/landing/domain/trajectory"
	"github.com/landing-diffusion/landing/examples/internal/trial"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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

// tray.urdf, which other programs check motions with, has the arm of problem.yaml to rounding, and its spheres.
func TestURDF(t *testing.T) {
	_, spec := load(t)
	arm, _, err := urdf.Read("tray.urdf", urdf.Options{Volume: true})
	testkit.OK(t, err)
	testkit.EqualSlices(t, arm.Spheres, spec.Volume, "spheres")
	for i, want := range spec.Arm.Joints {
		got := arm.Joints[i]
		for k, v := range want.Origin.R {
			testkit.Near(t, got.Origin.R[k], v, 1e-15, "joint %d: rotation", i)
		}
		if got.Origin.R = want.Origin.R; want.Kind == robot.Fixed {
			got.Axis = want.Axis
		}
		testkit.Equal(t, got, want, "joint %d is %v", i, got)
	}
	testkit.Equal(t, len(arm.Joints), len(spec.Arm.Joints), "joints")
}

// Planned motions of the problem file keep the line and the level, and the margin to the lamp between way points too.
func TestExample(t *testing.T) {
	set, spec := load(t)
	pool := parallel.New(2)
	defer pool.Close()
	planned := testkit.Must((&plan.Batch{Set: set, Spec: spec, Tip: spec.Tip(), Count: 2, Seed: 1}).Run(
		context.Background(), pool))
	trial.Feasible(t, set, planned.X)
	sc := &scene.Scene{Arm: spec.Arm, Bodies: spec.Volume, Obstacles: spec.Obstacles}
	check, x := sc.NewChecker(), planned.X
	for i := 0; i < len(x); i += planned.Dim {
		if room, _ := check.Path(
			x[i:i+planned.Dim], spec.Waypoints); room.Lower < spec.Margin-1e-4 {
			t.Errorf("motion %d has %.3g m between way points", i/planned.Dim, room.Upper)
		}
	}
}
