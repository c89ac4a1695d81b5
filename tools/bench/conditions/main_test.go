package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/arrayfile"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

// Of circles by radius samples and what retrieval finds are on their sets, and of the rows all
// but the one that is not; retrieval takes the row of the nearest radius, which shows in its angle.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	var csv strings.Builder
	var unseen []float64
	for i := range 60 {
		r, sin, cos := 1+float64(i)/60, math.Sin(float64(i)), math.Cos(float64(i))
		fmt.Fprintf(&csv, "%.17g,%.17g,%.17g\n", r*cos, r*sin, r)
		r += 0.007
		unseen = append(unseen, r*cos, r*sin, r)
	}
	unseen[3*7] += 1e-4 // row 7 is off its circle
	data, file := filepath.Join(dir, "data.csv"), filepath.Join(dir, "unseen.npy")
	var b bytes.Buffer
	testkit.OK(t, arrayfile.EncodeNPY(&b, arrayfile.Array{Shape: []int{60, 3}, Float64: unseen}))
	for path, text := range map[string]string{data: csv.String(), file: b.String()} {
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	problem := "name: circles\ncondition: {columns: [r]}\nset: {dim: 2, equality: [{name: r, expr: norm(x) = r}]}\n"
	r := job.New[*experiment.Run](t, experiment.Load, []byte(problem), "test.yaml", "data.path="+data, "train.epochs=2",
		"network.width=8", "network.layers=1", "process.steps=10")
	testkit.OK(t, r.Train(context.Background(), "", experiment.Observer{}))
	var out strings.Builder
	testkit.OK(t, compare(context.Background(), &out, r.Folder.Dir, file, 1))
	for _, want := range []string{"the rows themselves: 59 of 60", "samples: 60 of 60", "solver: 60 of 60"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q\n%s", want, &out)
		}
	}
	near := nearest(r.Loaded, r.Condition.Of(unseen))
	for i := range 60 {
		row, best := near[3*i:3*i+3], r.TrainRows[:3]
		for k := 3; k < len(r.TrainRows); k += 3 {
			if math.Abs(r.TrainRows[k+2]-row[2]) < math.Abs(best[2]-row[2]) {
				best = r.TrainRows[k : k+3]
			}
		}
		cross, along := row[0]*best[1]-row[1]*best[0], row[0]*best[0]+row[1]*best[1]
		if row[2] != unseen[3*i+2] || math.Abs(cross) > 1e-9 || along < 0 {
			t.Errorf("given %v: %v, from the row %v", unseen[3*i+2], row, best)
		}
	}
}
