package experiment

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/problem/check"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The doctor tells meshes of a robot's file, which its set leaves out; of the Panda in the
// binary, which has none, it says nothing.
func TestExamineTellsMeshes(t *testing.T) {
	urdf := testkit.Must(filepath.Abs("../domain/robot/urdf/testdata/panda.urdf"))
	pool := testkit.Pool(t, 1)
	for robot, meshes := range map[string]bool{"urdf: " + urdf + ", tip: panda_link8": true, "robot: panda": false} {
		text := "set: {kind: arm, " + robot + ", waypoints: 1}\nprocess: {steps: 5, horizon: 0.01}\n"
		p := testkit.Must(problem.Load([]byte(text), "p.yaml", "", nil))
		r, err := Examine(t.Context(), p, pool, nil)
		if r == nil {
			t.Fatal(err)
		}
		if len(r.Data) != 1 || !strings.Contains(r.Data[0], "7 joints turn, 0 slide; it reaches at most 0.9") {
			t.Errorf("%s: understood %q", robot, r.Data)
		}
		told := warned(r, "robot")
		if meshes != strings.Contains(told, "mesh") || !meshes && told != "" {
			t.Errorf("%s: %q", robot, told)
		}
	}
}

// warned returns the warnings of a check.
func warned(r *check.Report, name string) (told string) {
	for _, f := range r.Findings {
		if f.Check == name && f.Status == check.Warn {
			told += f.Message
		}
	}
	return told
}
