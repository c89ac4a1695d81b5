package tasks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// A run whose data is asked has it among the inputs; one whose folder tells all needs no data.
func TestNeedsData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "points.csv")
	testkit.OK(t, os.WriteFile(file, []byte(strings.Repeat("1,0,0\n0,1,0\n0,0,1\n0.6,0.8,0\n0,0.6,0.8\n", 8)), 0o666))
	on := []string{"data.kind=points", "data.path=" + file}
	runs := map[string]*experiment.Run{"uniform": trained(t, "demo", append(on, "prior=uniform")...),
		"empirical": trained(t, "demo", append(on, "prior=empirical")...)}
	for _, c := range []struct {
		prior string
		redo  []string
		keeps string // is removed from the folder, whose run no case after this one may use
		needs bool
	}{
		{"uniform", nil, "", false}, {"empirical", nil, "", false}, {"empirical", nil, run.EndsFile, true},
		{"uniform", []string{"prior=empirical"}, "", true}, {"uniform", []string{"prior=auto"}, "", true},
	} {
		r := runs[c.prior]
		if c.keeps != "" {
			testkit.OK(t, os.Remove(r.Folder.Path(c.keeps)))
		}
		l := testkit.Must(Generation(t.Context(), r, GenerateOptions{Count: 5, Settings: c.redo}))
		if got := l.Inputs["data.csv"]; (got != "") != c.needs {
			t.Errorf("%+v: data is %q", c, got)
		}
		if c.needs {
			continue
		}
		x := drawn(t, r, 5, 0, r.Problem.Seed)
		gone := file + ".gone"
		testkit.OK(t, os.Rename(file, gone))
		a := readRows(t, filepath.Join(makeParts(t, l, 1), "generate-0-5"))
		testkit.OK(t, os.Rename(gone, file))
		testkit.EqualSlices(t, a.Float64, x, "%+v: without data other samples are drawn", c)
	}
}
