package paper

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/judge/figure"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// printed.csv is the file whose numbers were held against the paper's, each one and no other, by tests of 3821ee82.
func TestPrintedNumbers(t *testing.T) {
	testkit.Equal(t, fmt.Sprintf("%x", sha256.Sum256(testkit.Must(os.ReadFile("printed.csv")))),
		"3685072712b52fc1221f1e1125577ddca16f35a860b31b283bc04dec6cb087cb")
	testkit.Equal(t, len(printed), 268)
}

// all are the cells of all exhibits, by name, each with one seed.
func all(t testing.TB) map[string]*sweep.Cell {
	t.Helper()
	wanted := testkit.Must(Wanted(Exhibits, nil, nil))
	out := map[string]*sweep.Cell{}
	for _, f := range testkit.Must(Files()) {
		for _, c := range testkit.Must(f.Cells(sweep.Options{Seeds: []uint64{1}})) {
			name := Name(c.Label)
			if !wanted(c) || out[name] != nil || strings.ContainsAny(name, ", '\\$") { // as --only has names
				t.Errorf("%s is in no exhibit, defined twice, or no name", name)
			}
			out[name] = c
		}
	}
	return out
}

// Every number that the paper prints has its place in a table here, and every place a cell that there is and a
// figure that rows can have.
func TestEveryPlaceHasACell(t *testing.T) {
	cells := all(t)
	figures := []string{"distance", "floor", "held-out distance", "held-out floor", "copies", "failed %", "failed",
		"training s",
		"simulation s", "|h|", "Σh²", "g⁺", "ψ", "RMSD", "area |h|", "area g⁺", "failed paths %", "ms",
		"of it projection", "share %", "‖∇s‖ at Δt", "‖∇s‖, median"}
	places, used := map[[3]string]bool{}, map[string]bool{}
	for _, x := range Exhibits {
		for _, e := range []*Exhibit{x, x.Beside} {
			if e == nil {
				continue
			}
			for _, l := range e.Rows {
				for _, c := range e.Columns {
					for _, entry := range l.entries(&c) {
						places[[3]string{e.Name, l.Name, c.Name}] = true
						if !slices.Contains(figures, entry.figure) || len(entry.cells) == 0 {
							t.Errorf("%s, %s, %s: figure %q of %q", e.Name, l.Name, c.Name, entry.figure, entry.cells)
						}
						for _, cell := range entry.cells {
							if used[cell] = true; cells[cell] == nil {
								t.Errorf("%s, %s, %s: there is no cell %q", e.Name, l.Name, c.Name, cell)
							}
						}
					}
				}
			}
		}
	}
	for place := range printed {
		if !places[place] {
			t.Errorf("%v has no cell", place)
		}
	}
	if len(used) != len(cells) || len(cells) != 214 {
		t.Errorf("%d of %d cells are used; expected 214", len(used), len(cells))
	}
}

func TestNamed(t *testing.T) {
	some, err := Named([]string{"figure-5", "overhead", "table1", "table4"})
	if err != nil || len(some) != 3 || some[0].Name != "table1" || some[1].Name != "table4" ||
		some[2].Name != "figure-5" {
		t.Errorf("got %v, %v", some, err)
	}
	testkit.Refused(t, testkit.Err(Named([]string{"table1", "table9"})), `no "table9"`, "table9")
	if _, err := Named([]string{""}); err == nil {
		t.Error("an empty name is taken for one without an alias")
	}
	all, err := Named([]string{"all"})
	if err != nil || len(all) != len(Exhibits)-1 {
		t.Errorf("all are %d, %v", len(all), err)
	}
}

// CellsOf returns each cell of the exhibits once: table 2 has cells of table 1.
func TestCellsOf(t *testing.T) {
	named := func(names ...string) []string {
		e := testkit.Must(Named(names))
		return CellsOf(e)
	}
	one := named("table1")
	if len(one) < 8*9 || !slices.Contains(one, "volcano/ULLA") || !slices.Contains(one, "spot100/RFM") {
		t.Errorf("table 1 has %v", one)
	}
	for i, name := range one {
		if slices.Contains(one[:i], name) {
			t.Errorf("%s is there twice", name)
		}
	}
	if both := named("table1", "table2"); !slices.Equal(both, one) {
		t.Errorf("table 2 adds %d cells", len(both)-len(one))
	}
}

// Marks at the edge of two standard errors of the difference.
func TestMarks(t *testing.T) {
	at := func(value, se float64) Printed { return Printed{Value: value, SE: se} }
	nan := math.NaN()
	for _, c := range []struct {
		of    Printed
		m, sd float64
		n     int
		want  Mark
	}{
		// five runs that scatter as the paper's: the difference has 0.003·√2 = 0.00424
		{at(0.100, 0.003), 0.0916, 0.003 * math.Sqrt(5), 5, NoMark},
		{at(0.100, 0.003), 0.0914, 0.003 * math.Sqrt(5), 5, Better},
		{at(0.100, 0.003), 0.1084, 0.003 * math.Sqrt(5), 5, NoMark},
		{at(0.100, 0.003), 0.1086, 0.003 * math.Sqrt(5), 5, Worse},
		// a single run: 0.002·√(1 + 5) = 0.0049
		{at(0.100, 0.002), 0.0903, nan, 1, NoMark},
		{at(0.100, 0.002), 0.0901, nan, 1, Better},
		// printed as ± .000: at least half a unit of the last digit, 0.0005·√6 = 0.00122
		{at(0.030, 0), 0.0276, nan, 1, NoMark},
		{at(0.030, 0), 0.0275, nan, 1, Better},
		{at(0.100, nan), 0.001, nan, 1, NoMark}, // no error printed
		{at(nan, nan), 0.001, nan, 1, NoMark},   // the paper's NaN
		{at(0.100, 0.002), nan, nan, 1, NoMark},
		{at(0.100, 0.002), 0, nan, 0, NoMark}, // not run
	} {
		testkit.Equal(t, c.of.compare(c.m, c.sd, c.n), c.want, "%v, ours %v ± %v of %d", c.of, c.m, c.sd, c.n)
	}
}

// row is a finished cell of the paper's sweeps.
func row(t testing.TB, cell string, budget float64, seed uint64, figures map[string]float64) compare.Entry {
	t.Helper()
	l := all(t)[cell].Label
	l.Seed, l.Budget = seed, sweep.Budget{Seconds: budget}.String()
	return compare.Entry{Row: compare.NoRow(cell, l, "", "", ""), Cost: compare.NoCost(), Figures: figures}
}

// A small table, letter by letter: means of seeds, the longest budget, a failure, marks, what was not run, what the
// paper has as NaN, means over cells that are all there.
func TestMarkdown(t *testing.T) {
	e := &Exhibit{Name: "table1", Title: "T", Says: "S.", Corner: "method", Marked: true, Cells: []string{"COL/ROW"},
		Figures: []string{"distance"}, Rows: []Line{{Name: "ULLA"}, {Name: "OLLA"}, {Name: "RFM"}},
		Columns: []Column{{Name: "volcano"}, {Name: "earthquake"}, {Name: "|h| earth",
			Cells: []string{"volcano/ROW", "earthquake/ROW"}, Figures: []string{"|h|"}}}}
	e.fill()
	own := row(t, "volcano/Guided", 0, 1, map[string]float64{"distance": 0.15, training: 41.2})
	failed := row(t, "earthquake/OLLA", 300, 1, nil)
	failed.Row.Failure = "its paths diverged,\nall of them"
	rows := []compare.Entry{
		row(t, "volcano/ULLA", 60, 4, map[string]float64{"distance": 0.3}), // shorter
		row(t, "volcano/ULLA", 900, 1, map[string]float64{"distance": 0.100, "|h|": 2e-16}),
		row(t, "volcano/ULLA", 900, 2, map[string]float64{"distance": 0.104, "|h|": 4e-16}),
		row(t, "volcano/ULLA", 900, 3, map[string]float64{"distance": 0.102, "|h|": 3e-16}),
		row(t, "earthquake/ULLA", 900, 1, map[string]float64{"distance": 0.120, "|h|": 1e-16}),
		row(t, "volcano/OLLA", 300, 1, map[string]float64{"distance": 0.128, "|h|": 0}),
		failed, own,
		row(t, "earthquake/RFM", 900, 1, map[string]float64{"distance": 0.070}), // too far apart to tell
		row(t, "earthquake/RFM", 900, 2, map[string]float64{"distance": 0.100}),
	}
	var b bytes.Buffer
	made := Tables([]*Exhibit{e}, rows)
	written := made[0].Written()
	testkit.OK(t, written.WriteMarkdown(&b))
	want := `## T
S.

| method | volcano | earthquake | \|h\| earth |
| --- | --- | --- | --- |
| ULLA | 0.1020 ± 0.0012 ✓ / 0.125 ± 0.005 | 0.1200 ✗ / 0.099 ± 0.002 | 2.0×10⁻¹⁶ / 2.1×10⁻⁹ |
| OLLA | 0.1280 / 0.128 ± 0.005 | failed / 0.096 ± 0.002 | failed / 3.9×10⁻⁹ |
| RFM | – / 0.116 ± 0.002 | 0.0850 ± 0.0150 / 0.089 ± 0.001 | – / 5.2×10⁻⁸ |

Training of each network: 300 s; 900 s.

OLLA: its paths diverged,; all of them
`
	testkit.Equal(t, b.String(), want)
	b.Reset()
	want = "ULLA\t0.1020 ± 0.0012 ✓ / 0.125"
	if err := written.WriteText(&b); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v:\n%s", err, b.String())
	}
	e.Rows = append(e.Rows, Line{Name: "Guided", Cell: "Guided", Instead: map[string]string{"|h|": ""}})
	note := "Training of each network: the recipe's own epochs, 41 s; 300 s; 900 s."
	testkit.Equal(t, Tables([]*Exhibit{e}, rows)[0].Notes[0], note)
	testkit.OK(t, testkit.Err(json.Marshal(made)))
}

// With no rows at all, no table has a number of ours or a mark.
func TestNothingRun(t *testing.T) {
	for _, e := range Exhibits {
		for _, table := range Tables([]*Exhibit{e}, nil) {
			for _, line := range table.Rows {
				for i, p := range line.Places {
					if len(p.Ours) > 0 || p.Mark != NoMark || !strings.HasPrefix(p.text(), notRun) && p.text() != "" {
						t.Errorf("%s, %s, %s: %q of no rows", e.Name, line.Name, table.Columns[i], p.text())
					}
				}
			}
		}
	}
}

// Figure 1 has shares of failed paths in percent beside its distances.
func TestFailuresByN(t *testing.T) {
	e := testkit.Must(Named([]string{"figure-1"}))
	rows := []compare.Entry{row(t, "flood/OLLA-P/N=20", 60, 1,
		map[string]float64{"distance": 0.2, "failed paths": 0.3})}
	if got := Tables(e, rows)[1].Rows[0].Places[0].text(); got != "30" {
		t.Errorf("a share of 0.3 is %s %%", got)
	}
}

func TestNumbers(t *testing.T) {
	at := func(v float64) Number { return Number{Mean: metric.Float(v), SE: metric.NaN} }
	for want, n := range map[string]Number{
		"0": at(0), "0.1235": at(0.12346), "4.1×10⁻³": at(0.0041), "12\u202f388": at(12388.2), "91.2": at(91.23),
		"0.0270 ± 0.0006": {Mean: 0.027, SE: 0.0006}, "×1.04": {Figure: copies, Mean: 1.0371, SE: metric.NaN},
		"floor 0.2323": {Figure: heldOutFloor, Mean: 0.23232, SE: metric.NaN},
	} {
		testkit.Equal(t, n.text(), want, "%v", n)
	}
	for want, n := range map[string]Number{
		"NaN": {Mean: metric.NaN, SE: metric.NaN}, "0": at(0), "0.0372": at(0.0372), "5.2×10⁻⁸": at(5.2e-8),
		"3.93×10⁻³": at(3.93e-3), "0.050 ± 0.002": {Mean: 0.05, SE: 0.002}, "12\u202f388": at(12388),
		"7.7": at(7.7), "20": at(20), "1.05": at(1.05), "0.030 ± 0.000": {Mean: 0.03},
	} {
		testkit.Equal(t, n.printed(), want, "%v is printed", n)
	}
}

// What is no file of rows is refused.
func TestRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.json")
	for want, text := range map[string]string{"it is no file of rows": "cell,recipe\n",
		"row 1 names no cell": `[{"cell": ""}]`, "has no numbers": `[{"row": {"problem": "flood"}}]`} {
		testkit.OK(t, os.WriteFile(file, []byte(text), 0o666))
		testkit.Refused(t, testkit.Err(ReadRows(file)), want)
	}
}

// A cell is wanted that an exhibit has and --only names, unless a row has its seed and at least its budget.
func TestWanted(t *testing.T) {
	cell := all(t)["volcano/ULLA"]
	rows := []compare.Entry{row(t, "volcano/ULLA", 300, 1, nil), row(t, "volcano/ULLA", 0, 2, nil)}
	table1 := testkit.Must(Named([]string{"table1"}))
	for _, at := range []struct {
		budget float64
		seed   uint64
		only   string
		want   bool
	}{{300, 1, "volcano", false}, {100, 1, "volcano", false}, {301, 1, "volcano", true}, {300, 2, "volcano", true},
		{0, 2, "volcano", false}, {0, 1, "volcano", true}, {301, 1, "volcano/ULLA$", true},
		{301, 1, "volcano/OLLA", false},
		{301, 1, "volcano/ULLA/split", false}} {
		of := *cell
		of.Label.Seed, of.Budget = at.seed, sweep.Budget{Seconds: at.budget}
		testkit.Equal(t, testkit.Must(Wanted(table1, []string{at.only}, rows))(&of), at.want, "%+v", at)
	}
	testkit.Refused(t, testkit.Err(Wanted(table1, []string{"arm10"}, nil)), `is called "arm10"`)
}

// Each figure is the one of its name, and what is not known is none.
func TestValue(t *testing.T) {
	r := compare.Entry{Row: compare.Row{Samples: 200, Failed: 5, Copies: metric.Copies{Ratio: 0.8},
		Distance: &compare.Distance{Score: metric.Score{Full: 0.1, HeldOut: 0.2,
			Floor: metric.Floor{Mean: 0.3, SD: 0.4}, HeldOutFloor: 0.5}}},
		Cost:    compare.Cost{Train: 11, Simulate: 12, Generate: 13},
		Figures: map[string]float64{"ψ": 0.6}}
	for name, want := range map[string]float64{"distance": 0.1, "held-out distance": 0.2, "floor": 0.3,
		heldOutFloor: 0.5, "ψ": 0.6, copies: 0.8, "failed": 0.025, training: 11, "simulation s": 12} {
		if got, ok := value(&r, name); !ok || math.Abs(got-want) > 1e-7 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	none := compare.Entry{Row: compare.NoRow("", compare.Label{}, "", "", ""), Cost: compare.NoCost()}
	for _, name := range []string{"distance", "floor", "held-out distance", heldOutFloor, "ψ", copies, "failed",
		training, "simulation s", "|h|"} {
		if got, ok := value(&none, name); ok {
			t.Errorf("%s is %v where nothing is known", name, got)
		}
	}
}

var update = flag.Bool("update", false,
	"write the tables of docs/paper.md and docs/history/paper-tables.md anew from docs/paper-rows.json")

// inPaper are the tables of docs/paper.md; all others are in docs/history/paper-tables.md.
var inPaper = []string{"table1", "table3"}

// The tables of both pages are made of the committed rows, letter by letter; each row is of a cell of the catalogue.
func TestDocs(t *testing.T) {
	const (
		docs   = "../../docs/"
		marker = "<!-- landing paper all --rows docs/paper-rows.json --show --markdown -->\n"
	)
	rows := testkit.Must(ReadRows(docs + "paper-rows.json"))
	cells := all(t)
	for _, r := range rows {
		if name := Name(r.Row.Label); cells[name] == nil {
			t.Errorf("the row of %s, seed %d, is of no cell: no table shows it", name, r.Row.Seed)
		}
	}
	pages := map[string]*strings.Builder{"paper.md": {}, "history/paper-tables.md": {}}
	for _, table := range Tables(testkit.Must(Named([]string{"all"})), rows) {
		b := pages["history/paper-tables.md"]
		if slices.Contains(inPaper, table.Exhibit) {
			b = pages["paper.md"]
		}
		b.WriteString("\n")
		w := table.Written()
		testkit.OK(t, w.WriteMarkdown(b))
		if *update && table.Exhibit == "table1" {
			file := testkit.Must(os.Create(docs + "images/paper.png"))
			testkit.OK(t, besidePaper(table).WritePNG(file, 560))
			testkit.OK(t, file.Close())
		}
	}
	for page, b := range pages {
		text := testkit.Must(os.ReadFile(docs + page))
		prose, written, ok := strings.Cut(string(text), marker)
		if !ok {
			t.Fatalf("%s has no line %s", page, marker)
		}
		if *update {
			testkit.OK(t, os.WriteFile(docs+page, []byte(prose+marker+b.String()), 0o666))
			continue
		}
		testkit.Equal(t, b.String(), written,
			"the tables of %s are not those of the rows: go test ./study/paper -run Docs -update writes them", page)
	}
}

// besidePaper draws distances of ours against the paper's, a point for each method and data set.
func besidePaper(t Table) *figure.Chart {
	var equal []float64
	for i := range 200 {
		equal = append(equal, float64(i)/1100, float64(i)/1100)
	}
	layers := []figure.PointLayer{{Name: "equal", Points: equal, Color: color.Gray{Y: 190}, Radius: 0.8},
		{Name: "ULLA", Radius: 4}, {Name: "OLLA, ULLA-P, RDDPM", Radius: 3}, {Name: "RFM", Radius: 3},
		{Name: "Euclidean, Guided, Projected, Lagrangian", Radius: 3}}
	for _, row := range t.Rows {
		l := &layers[4]
		switch row.Name {
		case "ULLA":
			l = &layers[1]
		case "OLLA", "ULLA-P", "RDDPM":
			l = &layers[2]
		case "RFM":
			l = &layers[3]
		}
		for i, p := range row.Places {
			if p.Paper != nil && len(p.Ours) == 1 && !strings.Contains(t.Columns[i], "|") {
				l.Points = append(l.Points, float64(p.Paper.Mean), float64(p.Ours[0].Mean))
			}
		}
	}
	return figure.Scatter(figure.ScatterOptions{Axes: []string{"distance in the paper", "distance here"}}, 2, layers...)
}
