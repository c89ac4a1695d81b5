package sweep

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// Sweeps of the binary are sweeps, each of whose cells its set serves; each method has as many trainings of the same
// length, and where several draw from one network it is one training.
func TestShipped(t *testing.T) {
	if !slices.Contains(Shipped(), "rivals") || !slices.Contains(Shipped(), "rivals-demo") {
		t.Fatalf("there are %q", Shipped())
	}
	dir := t.TempDir() // a plan does not read rows
	for _, name := range []string{"volcano", "earthquake", "flood", "fire"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name+".csv"), []byte("0,0\n"), 0o666))
	}
	for _, name := range Shipped() {
		f, err := Read(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if strings.HasPrefix(name, "paper-") { // package paper tests them, which has their measures
			continue
		}
		p, err := f.Plan(Options{Dir: dir})
		if err != nil || f.Name != name || f.Title == "" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		trainings, cells, of := map[string]int{}, map[string]bool{}, map[string]bool{}
		for _, c := range p.Cells {
			cells[c.Label.Method+c.Label.Draw] = true
			if !of[c.Training] {
				of[c.Training] = true
				trainings[c.Label.Method]++
			}
			if c.Budget.Seconds == 0 || c.Budget != p.Cells[0].Budget {
				t.Errorf("%s: %s trains for %v", name, c, c.Budget)
			}
		}
		for method, n := range trainings {
			if want := 6 * len(f.Problems); n != want {
				t.Errorf("%s: %d trainings of %s, want %d", name, n, method, want)
			}
		}
		if len(trainings) != 6 || len(cells) != 5+7 {
			t.Errorf("%s: %d methods, %d ways to draw", name, len(trainings), len(cells))
		}
	}
	if _, err := Read("rival"); err == nil {
		t.Error("there is no sweep or file of that name")
	}
}
