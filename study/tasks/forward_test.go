package tasks

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/domain/dataset"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// Forward paths in parts are those of one call at any cut, whether the rows of data are more or fewer, and their ends
// are those that the run folder keeps.
func TestForward(t *testing.T) {
	r := trained(t, "demo", "prior=empirical")
	kept := testkit.Must(arrayfile.ReadNPY(r.Folder.Path(run.EndsFile)))
	for _, c := range []struct {
		n    uint64
		step int
		is   []float64
	}{
		{uint64(kept.Shape[0]), -1, kept.Float64}, {25, -1, nil}, {25, 7, nil},
	} {
		l := testkit.Must(Forward(r, ForwardOptions{Count: c.n, Step: c.step}))
		dir := t.TempDir()
		one, many := filepath.Join(dir, "one.npy"), filepath.Join(dir, "many.npy")
		testkit.Must(Once(t.Context(), l, one, MergeOptions{Pool: r.Pool}))
		testkit.Must(join2(t, many, makeParts(t, l, 3), r.Pool))
		a := testkit.Must(os.ReadFile(one))
		if b, err := os.ReadFile(many); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%d paths: parts are not the bytes of one call, %v", c.n, err)
		}
		if got, err := arrayfile.ReadNPY(many); err != nil || c.is != nil && !slices.Equal(got.Float64, c.is) {
			t.Errorf("the ends of %d paths are not those that the run keeps, %v", c.n, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
			t.Errorf("left %v, %v", entries, err)
		}
	}
	zero := testkit.Must(Forward(r, ForwardOptions{Count: 25}))
	data := filepath.Join(t.TempDir(), "x.npy")
	testkit.Must(Once(t.Context(), zero, data, MergeOptions{Pool: r.Pool}))
	x, err := arrayfile.ReadNPY(data)
	have := len(r.TrainRows) / 3
	for i := range 25 {
		row := i * have / 25
		if err != nil || !slices.Equal(x.Float64[3*i:3*i+3], r.TrainRows[3*row:3*row+3]) {
			t.Fatalf("state 0 of path %d is not row %d, %v", i, row, err)
		}
	}
	for want, o := range map[string]ForwardOptions{"0 paths; expected 1": {}, "state 21; expected 0 to 20": {Count: 1,
		Step: 21}, "state -2": {Count: 1, Step: -2}} {
		testkit.Refused(t, testkit.Err(Forward(r, o)), want)
	}
	if flow, err := Forward(trained(t, "demo", "process.method=flow", "train.window=0",
		"network.output=plain", "network.octaves_of=point"), ForwardOptions{Count: 1}); err == nil ||
		!strings.Contains(err.Error(), "process.method") {
		t.Errorf("a flow: %v, %v", flow, err)
	}
}

// Rotations in parts are those of one call.
func TestRotations(t *testing.T) {
	mix := dataset.RotationMixture{N: 4, Modes: 3, SD: 0.2, Count: 37, Seed: 5}
	want, _, err := mix.Generate(t.Context())
	testkit.OK(t, err)
	l := testkit.Must(Rotations(mix, 37))
	out := filepath.Join(t.TempDir(), "x.npy")
	testkit.Must(join2(t, out, makeParts(t, l, 5), nil))
	a, err := arrayfile.ReadNPY(out)
	if err != nil || !slices.Equal(a.Shape, []int{37, 4, 4}) || !slices.Equal(a.Float64, want.X) {
		t.Errorf("shape %v, %v", a.Shape, err)
	}
	if _, err := Rotations(dataset.RotationMixture{N: 1000}, 1); err == nil {
		t.Error("SO(1000) is taken")
	}
}

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
