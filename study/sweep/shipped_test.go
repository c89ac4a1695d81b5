package sweep

import (
	"cmp"
	"fmt"
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
		for _, c := range testkit.Must(f.Cells(Options{Seeds: []uint64{1}})) {
			testkit.Keep(t, "%s of %s %v: %d samples, %d settings %q", c, c.Training, c.Budget, c.Samples, len(c.all()),
				c.Skipped)
		}
		if strings.HasPrefix(name, "paper-") {
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

// paperCells are the cells of the paper's sweeps by name, each with one seed.
func paperCells(t *testing.T) map[string]*Cell {
	out := map[string]*Cell{}
	for _, name := range Shipped() {
		if strings.HasPrefix(name, "paper-") {
			f := testkit.Must(Read(name))
			for _, c := range testkit.Must(f.Cells(Options{Seeds: []uint64{1}})) {
				key := c.Label.Problem + "/" + cmp.Or(c.Label.Draw, c.Label.Method)
				out[strings.TrimSuffix(key+"/"+c.Label.Settings, "/")] = c
			}
		}
	}
	return out
}

// definition says what a cell is made of, beside problem, budget and seed: the keys that differ from the problem's.
func definition(c *Cell) string {
	words := []string{c.variant}
	if c.alone {
		words[0] = "alone"
	}
	if c.method != "" {
		words = append(words, "process.method="+quoted(c.method))
	}
	for _, s := range c.settings {
		words = append(words, s.Text)
	}
	return strings.TrimSpace(fmt.Sprintf("%s; %s", strings.Join(words, " "), strings.Join(c.Draw, " ")))
}

// The cells are those of the paper's settings.
func TestCells(t *testing.T) {
	const wide, precise = "generate.max_failed=1", "train.precision=\"bfloat16\""
	const bunny = " set.weights=\"mesh/bunny_sdf.npz\" set.mesh=\"mesh/bunny.ply\""
	const spot = " set.weights=\"mesh/spot_sdf.npz\" set.mesh=\"mesh/spot.ply\""
	const center = " data.reference=\"alanine/dipeptide_center.npy\""
	cells := paperCells(t)
	for name, want := range map[string]string{
		"volcano/ULLA": wide + ";",
		"bunny100/RDDPM": "olla-p " + wide + bunny +
			" train.paths=4000 train.times_per_path=10 train.refresh=40 " + precise +
			";",
		"fire/RDDPM":         "rddpm " + wide + " " + precise + ";",
		"arm40/ULLA":         wide + " set.waypoints=40;",
		"alanine/OLLA":       "olla,guarded " + precise + " " + wide + center + " train.max_failed=0.05;",
		"flood/ULLA-P/N=150": "ulla-p " + precise + " " + wide + " train.max_failed=1 process.steps=150;",
		"fire/Guided": "olla process.method=\"euclidean\" " + wide + " process.steps=50 " + precise +
			"; process.method=\"guided\"",
		"spot50/RFM": "process.method=\"flow\" " + wide + spot + " process.steps=1000 train.window=0 " +
			"network.octaves_of=\"point\" network.output=\"plain\" train.refresh=40 " + precise + ";",
		"fire/RFM": "process.method=\"flow\" " + wide + " process.steps=1000 train.window=0 " +
			"network.octaves_of=\"point\" network.output=\"plain\" network.octaves=6 network.time_octaves=5 " +
			precise + ";",
		"volcano/ULLA/auto":      "alone " + wide + ";",
		"volcano/ULLA/auto/long": "alone " + wide + " train.stop=\"epochs\";",
		"alanine/timed":          "guarded " + precise + " " + wide + center + ";",
		"volcano/RDDPM":          "rddpm " + wide + ";",
	} {
		testkit.Equal(t, definition(cells[name]), want, "%s", name)
	}
	for name, want := range map[string]string{"volcano/RDDPM": "jacobian", "volcano/ULLA-P": "jacobian",
		"fire/RDDPM": "paper", "alanine/timed": "processor-time", "alanine/ULLA": "paper"} {
		testkit.Equal(t, cells[name].Measure, want, "%s is measured", name)
	}
}

// Every cell of the paper's sweeps can be, with the paper's data; cells of one training share it.
func TestPaperCellsCanBe(t *testing.T) {
	data := filepath.Dir(filepath.Dir(testkit.Shared(t, "data/earth/volcano.csv")))
	made := t.TempDir() // rows are not read
	for _, name := range []string{"so10-3.npy", "so10-5.npy"} {
		testkit.OK(t, os.WriteFile(filepath.Join(made, name), nil, 0o666))
	}
	trainings, units := map[string]bool{}, map[string]bool{}
	for _, name := range Shipped() {
		if !strings.HasPrefix(name, "paper-") {
			continue
		}
		o := Options{Dir: data, Seeds: []uint64{1}, Budgets: []Budget{{Seconds: 300}},
			Set: []string{"train.clock=processor"}}
		if name == "paper-so10" {
			o.Dir = made
		}
		p, err := testkit.Must(Read(name)).Plan(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range p.Cells {
			trainings[cell.Training] = true
			if cell.Unit == nil || units[name+cell.Name] {
				t.Errorf("%s has no unit of its own", cell)
			}
			units[name+cell.Name] = true
		}
	}
	if len(trainings) < 90 || len(trainings) >= len(units) {
		t.Errorf("%d trainings of %d cells", len(trainings), len(units))
	}
}
