package experiment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Check and training report columns of angles in R^d, with the command that turns them into circles. They report
// neither coordinates that take a part of a circle, nor coordinates of an equality.
func TestSeams(t *testing.T) {
	pool := testkit.Pool(t, 1)
	file := filepath.Join(t.TempDir(), "two angles.csv")
	for name, c := range map[string]struct {
		reach float64 // of the second column
		set   string
		want  string
	}{
		"two":  {179.8, "{kind: euclidean, dim: 2}", "x[0], x[1] take all angles of a circle, in degrees"},
		"one":  {120, "{kind: euclidean, dim: 2}", "x[0] takes all angles of a circle, in degrees"},
		"line": {179.8, `{dim: 2, equality: [{name: line, expr: "x[0] = x[1]"}]}`, ""},
	} {
		var rows strings.Builder
		for i := range 120 {
			u := 2*float64(i)/119 - 1
			fmt.Fprintf(&rows, "%v,%v\n", 179.8*u, c.reach*u)
		}
		testkit.OK(t, os.WriteFile(file, []byte(rows.String()), 0o666))
		text := fmt.Sprintf("data: {kind: points, path: %q}\nset: %s\nprocess: {steps: 5}\n", file, c.set)
		p := testkit.Must(problem.Load([]byte(text), "p.yaml", "", nil))
		r, err := Examine(t.Context(), p, pool, nil)
		if r == nil {
			t.Fatal(err)
		}
		told := warned(r, "angles")
		l := testkit.Must(Load(t.Context(), p, pool, nil))
		faults := strings.Join(l.Domain.Faults, "\n")
		if c.want == "" {
			if told != "" || strings.Contains(faults, "angles") {
				t.Errorf("%s: %q, %q", name, told, faults)
			}
			continue
		}
		command := fmt.Sprintf("landing init '%s' --angles %s --clean 'two angles-angles.csv' "+
			"-o 'two angles-angles.yaml'", file, map[string]string{"two": "0,1", "one": "0"}[name])
		if !strings.HasPrefix(told, c.want) || !strings.HasSuffix(told, command) || !strings.Contains(faults, told) {
			t.Errorf("%s: %q, %q", name, told, faults)
		}
	}
}
