// Package trained makes small runs that have been trained for a moment, for tests of what draws from runs. Where it is
// linked, empirical priors have a thousand ends, and the demo a fifth of its rows.
package trained

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/base/keyed"
	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/report"
	"github.com/landing-diffusion/landing/problem/settle"
	"github.com/landing-diffusion/landing/tools/testkit"
	"github.com/landing-diffusion/landing/tools/testkit/job"
)

func init() {
	experiment.PriorEnds, settle.MostPaths, report.PictureWidth = 1000, 300, 100
	job.DemoRows(5)
}

// Demo is the recipe of the data in the binary, with few steps.
const Demo = "name: demo\ntitle: A week of earthquakes\ndata: {kind: demo}\nset: {kind: sphere, dim: 3}\n" +
	"process: {steps: 12, horizon: 1}\nprior: empirical\n"

// disc has a condition: its radius r, and c, which turns a line on it.
const disc = `name: disc
condition: {columns: [r, c], drop: 0.2}
generate: {guidance: 0.5}
set:
  dim: 3
  let: {turn: "c - 1"}
  equality: [{name: line, expr: "x[0]*sin(turn) + x[1]*cos(turn) = 0.1*r"}]
  inequality: [{name: disc, expr: "norm(x) <= r"}]
process: {steps: 12, horizon: 1}
`

// Run trains a problem for two epochs with a small network and returns its folder.
func Run(t testing.TB, text string, settings ...string) string {
	t.Helper()
	settings = append([]string{"train.epochs=2", "network.width=8", "network.layers=1", "train.times_per_path=2"},
		settings...)
	r := job.New[*experiment.Run](t, experiment.Load, []byte(text), "test.yaml", settings...)
	if err := r.Train(t.Context(), "", experiment.Observer{}); err != nil {
		t.Fatal(err)
	}
	r.Folder.Unlock()
	return r.Folder.Dir
}

// Conditional returns the folder of a run with a condition (r, c), r from 1 to 2 and c from 0 to 2.
func Conditional(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("x0,x1,x2,r,c\n")
	u := make([]float64, 4)
	for i := range 150 {
		keyed.OwnData.Stream(1, 0).Uniforms(u, uint64(i), 0)
		r, c := 1+u[0], 2*u[1]
		at, high := r*(u[2]-0.5), 0.5*r*(u[3]-0.5)
		sin, cos := math.Sincos(c - 1)
		fmt.Fprintf(&b, "%.17g,%.17g,%.17g,%.17g,%.17g\n", at*cos+0.1*r*sin, -at*sin+0.1*r*cos, high, r, c)
	}
	path := filepath.Join(t.TempDir(), "disc.csv")
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o666))
	return Run(t, disc+"data: {path: "+path+"}\n")
}
