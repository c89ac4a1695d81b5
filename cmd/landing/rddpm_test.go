package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// The paper's RDDPM is a variant of the recipes on the earth and on SO(10): projected at each of 400 steps, which a
// short training takes without losing a path, and generation without losing a sample.
func TestRDDPM(t *testing.T) {
	if testing.Short() {
		t.Skip("windows are fitted to paths of 400 steps")
	}
	dir := t.TempDir()
	var csv strings.Builder
	csv.WriteString("latitude,longitude\n")
	for i := range 40 {
		fmt.Fprintf(&csv, "%.2f,%.2f\n", 50*math.Sin(float64(i)), 170*math.Sin(float64(3*i)))
	}
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "places.csv"), []byte(csv.String()), 0o666))
	ok(t, dir, "make", "so", "--modes", "3", "-n", "12", "-o", "so.npy")
	for _, name := range []string{"volcano", "earthquake", "flood", "fire", "so10-3", "so10-5"} {
		data, origin, err := problem.Source(name)
		testkit.OK(t, err)
		p := testkit.Must(problem.Load(data, origin, "rddpm", nil))
		proc := testkit.Must(p.Build())
		if s := proc.Schedule; proc.Method != langevin.OLLAP || s.N != 400 || s.Geometric {
			t.Errorf("%s: %v, %+v", name, proc.Method, s)
		}
	}
	small := []string{"--set", "train.epochs=1", "--set", "network.width=8", "--set", "network.layers=1", "--set",
		"train.times_per_path=2"}
	for _, c := range []struct{ recipe, variant, data string }{
		{"volcano", "rddpm", "places.csv"}, {"volcano", "rddpm,paper", "places.csv"}, {"so10-3", "rddpm", "so.npy"},
	} {
		out := c.recipe + "-" + c.variant
		args := append([]string{"train", c.recipe, "--variant", c.variant, "--data", c.data, "--out", out, "--set",
			"train.max_failed=0"}, small...)
		ok(t, dir, args...)
		v := wantJSON(t, ok(t, dir, "generate", out, "-n", "20", "-o", out+".npy", "--json"))
		if v["failed"].(float64) != 0 || !(v["violation"].(map[string]any)["worst"].(float64) < 1e-12) {
			t.Errorf("%s: %v", out, v)
		}
	}
}
