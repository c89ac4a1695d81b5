package paper

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/study/compare"
	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/tools/testkit"
)

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
func row(t testing.TB, cell string, budget float64, seed uint64, figures map[string]float64) Row {
	t.Helper()
	c := all(t)[cell]
	l := c.Label
	l.Seed, l.Budget = seed, sweep.Budget{Seconds: budget}.String()
	return Row{Cell: cell, Definition: c.Definition(), Entry: compare.Entry{Row: compare.NoRow(cell, l, "", "", ""),
		Cost: compare.NoCost(), Figures: figures}}
}

// tables are those of an exhibit.
func tables(t *testing.T, e *Exhibit, rows []Row, set ...string) []Table {
	t.Helper()
	out := testkit.Must((&Config{Set: set}).Tables([]*Exhibit{e}, rows))
	return out[0]
}

// A small table, letter by letter: means of seeds, the longest budget, a failure, marks, what was not run, what the
// paper has as NaN, means over cells that are all there.
func TestMarkdown(t *testing.T) {
	e := &Exhibit{Name: "table1", Title: "T", Says: "S.", Corner: "method", Marked: true, Cells: []string{"COL/ROW"},
		Figures: []string{Distance}, Rows: []Line{{Name: "ULLA"}, {Name: "OLLA"}, {Name: "RFM"}},
		Columns: []Column{{Name: "volcano"}, {Name: "earthquake"}, {Name: "|h| earth",
			Cells: []string{"volcano/ROW", "earthquake/ROW"}, Figures: []string{AbsH}}}}
	e.fill()
	own := row(t, "volcano/Guided", 0, 1, map[string]float64{Distance: 0.15, Train: 41.2})
	failed := row(t, "earthquake/OLLA", 300, 1, nil)
	failed.Row.Failure = "its paths diverged,\nall of them"
	other := row(t, "volcano/RFM", 300, 1, map[string]float64{Distance: 0.001})
	other.Definition = "fast process.method=\"flow\" " + strings.TrimPrefix(strings.TrimSuffix(other.Definition, ";"),
		"fast process.method=\"flow\" ") + " network.width=8;"
	rows := []Row{
		row(t, "volcano/ULLA", 60, 4, map[string]float64{Distance: 0.3}), // shorter
		row(t, "volcano/ULLA", 900, 1, map[string]float64{Distance: 0.100, AbsH: 2e-16}),
		row(t, "volcano/ULLA", 900, 2, map[string]float64{Distance: 0.104, AbsH: 4e-16}),
		row(t, "volcano/ULLA", 900, 3, map[string]float64{Distance: 0.102, AbsH: 3e-16}),
		row(t, "earthquake/ULLA", 900, 1, map[string]float64{Distance: 0.120, AbsH: 1e-16}),
		row(t, "volcano/OLLA", 300, 1, map[string]float64{Distance: 0.128, AbsH: 0}),
		failed, other, own,
		row(t, "earthquake/RFM", 900, 1, map[string]float64{Distance: 0.070}), // too far apart to tell
		row(t, "earthquake/RFM", 900, 2, map[string]float64{Distance: 0.100}),
	}
	var b bytes.Buffer
	made := tables(t, e, rows)
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

OLLA, earthquake: its paths diverged,; all of them

OLLA, \|h\| earth: its paths diverged,; all of them
`
	testkit.Equal(t, b.String(), want)
	b.Reset()
	want = "ULLA    0.1020 ± 0.0012 ✓ / 0.125"
	if err := written.WriteText(&b, 0); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v:\n%s", err, b.String())
	}
	e.Rows = append(e.Rows, Line{Name: "Guided", Cell: "Guided", Instead: map[string]string{AbsH: ""}})
	note := "Training of each network: the recipe's own epochs, 41 s; 300 s; 900 s."
	testkit.Equal(t, tables(t, e, rows)[0].Notes[0], note)
	made = tables(t, e, rows, "network.width=8") // settings of one's own have rows of their own
	if p := made[0].Rows[2].Places[0]; len(p.Ours) != 1 || p.Ours[0].Mean != 0.001 || p.Mark != Better {
		t.Errorf("with another width: %+v", p)
	}
	if p := made[0].Rows[0].Places[0]; len(p.Ours) != 0 {
		t.Errorf("a row of other settings stands for the cell: %+v", p)
	}
	testkit.OK(t, testkit.Err(json.Marshal(made)))
}

// With no rows at all, no table has a number of ours or a mark.
func TestNothingRun(t *testing.T) {
	for _, e := range Exhibits {
		for _, table := range tables(t, e, nil) {
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
	rows := []Row{row(t, "flood/OLLA-P/N=20", 60, 1, map[string]float64{Distance: 0.2, FailedPaths: 0.3})}
	if got := tables(t, e[0], rows)[1].Rows[0].Places[0].text(); got != "30" {
		t.Errorf("a share of 0.3 is %s %%", got)
	}
}

func TestNumbers(t *testing.T) {
	at := func(v float64) Number { return Number{Mean: metric.Float(v), SE: metric.NaN} }
	for want, n := range map[string]Number{
		"0": at(0), "0.1235": at(0.12346), "4.1×10⁻³": at(0.0041), "12\u202f388": at(12388.2), "91.2": at(91.23),
		"0.0270 ± 0.0006": {Mean: 0.027, SE: 0.0006}, "×1.04": {Figure: Copies, Mean: 1.0371, SE: metric.NaN},
		"floor 0.2323": {Figure: HeldOutFloor, Mean: 0.23232, SE: metric.NaN},
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

// Rows are there again after writing, in an order of their own, and a second writing has the same bytes. A row takes
// the place of one of the same cell, budget and seed.
func TestRowsThereAndBack(t *testing.T) {
	failed := row(t, "flood/OLLA", 0, 2, nil)
	failed.Row.Failure, failed.Note = "of 5 \"paths\", none,\nis left", "beside other work"
	rows := []Row{failed, row(t, "alanine/ε=0.01", 600, 1, map[string]float64{Psi: 0.0381, RMSD: 1e-12}),
		row(t, "alanine/ULLA", 600, 2, map[string]float64{Distance: 0.25}),
		row(t, "alanine/ULLA", 600, 1, map[string]float64{AreaG: 6.2e-6})}
	file := filepath.Join(t.TempDir(), "rows.json")
	for _, r := range rows {
		testkit.OK(t, Keep(file, r))
	}
	data := testkit.Must(os.ReadFile(file))
	back, err := ReadRows(file)
	if err != nil || len(back) != 4 {
		t.Fatalf("%d rows, %v", len(back), err)
	}
	for i, want := range []Row{rows[3], rows[2], rows[1], rows[0]} {
		if back[i].Cell != want.Cell || back[i].Row.Seed != want.Row.Seed || back[i].Row.Failure != want.Row.Failure ||
			!reflect.DeepEqual(back[i].Figures, want.Figures) {
			t.Errorf("got %+v\nwant %+v", back[i], want)
		}
	}
	back[1].Figures = map[string]float64{Distance: 0.5}
	testkit.OK(t, Keep(file, back[1]))
	if again, err := ReadRows(file); err != nil || len(again) != 4 || again[1].Figures[Distance] != 0.5 {
		t.Errorf("a row is not replaced: %v", err)
	}
	testkit.OK(t, Keep(file, rows[2]))
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, data) {
		t.Errorf("%v: other bytes", err)
	}
	for want, text := range map[string]string{"it is no file of rows": "cell,recipe\n",
		"row 1 names no cell": `[{"cell": ""}]`, "has no numbers": `[{"cell": "flood/OLLA"}]`} {
		testkit.OK(t, os.WriteFile(file, []byte(text), 0o666))
		testkit.Refused(t, testkit.Err(ReadRows(file)), want)
	}
}

// Whatever a file of rows says, it is refused with its name, or read and written to the same bytes again and again.
func FuzzRows(f *testing.F) {
	file := filepath.Join(f.TempDir(), "rows.json")
	testkit.OK(f, WriteRows(file, []Row{row(f, "alanine/ULLA", 300, 1, map[string]float64{Distance: 0.1})}))
	f.Add(testkit.Must(os.ReadFile(file)))
	for _, s := range []string{"", "null", "[null]", "{}", `[{"cell": "a", "figures": {}}]`,
		`[{"cell": "a", "row": {"budget": "nans", "verdict": "good"}}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		testkit.OK(t, os.WriteFile(file, data, 0o666))
		rows, err := ReadRows(file)
		if err != nil {
			testkit.Equal(t, fault.KindOf(err), fault.Config)
			testkit.Contains(t, err.Error(), file)
			return
		}
		var first []byte
		for range 2 {
			testkit.OK(t, WriteRows(file, rows))
			again := testkit.Must(os.ReadFile(file))
			if first != nil && !bytes.Equal(again, first) {
				t.Fatal("other bytes")
			}
			first, rows = again, testkit.Must(ReadRows(file))
		}
	})
}

func TestDone(t *testing.T) {
	cell := all(t)["volcano/ULLA"]
	rows := []Row{row(t, "volcano/ULLA", 300, 1, nil), row(t, "volcano/ULLA", 0, 2, nil)}
	rows[0].Row.Failure = "x"
	for _, at := range []struct {
		budget float64
		seed   uint64
		retry  bool
		want   bool
	}{{300, 1, false, true}, {100, 1, false, true}, {301, 1, false, false}, {300, 2, false, false},
		{0, 2, false, true}, {0, 1, false, false}, {300, 1, true, false}} {
		c := Config{Budget: time.Duration(at.budget * float64(time.Second)), Retry: at.retry}
		of := *cell
		of.Label.Seed = at.seed
		testkit.Equal(t, c.done(&of, rows), at.want, "%+v", at)
	}
	rows[0].Definition = "fine;"
	if (&Config{Budget: time.Second}).done(cell, rows) {
		t.Error("a row of another definition of the cell counts")
	}
}

var update = flag.Bool("update", false, "write the tables of docs/paper.md anew from docs/paper-rows.json")

// marker ends what is written by hand in docs/paper.md.
const marker = "<!-- landing paper all --rows docs/paper-rows.json --show --markdown -->\n"

// The tables of docs/paper.md are made of the committed rows, letter by letter; the rows are as the program writes
// them, and each is of a cell of the catalogue.
func TestDocs(t *testing.T) {
	const page, file = "../../docs/paper.md", "../../docs/paper-rows.json"
	data := testkit.Must(os.ReadFile(file))
	rows := testkit.Must(ReadRows(file))
	again := filepath.Join(t.TempDir(), "rows.json")
	testkit.OK(t, WriteRows(again, rows))
	if wrote, err := os.ReadFile(again); err != nil || !bytes.Equal(wrote, data) {
		t.Errorf("%s is not as the program writes it: %v", file, err)
	}
	cells := all(t)
	for _, r := range rows {
		if c := cells[r.Cell]; c == nil || r.Definition != c.Definition() {
			t.Errorf("the row of %s, seed %d, is of no cell as the sweeps have it: no table shows it", r.Cell,
				r.Row.Seed)
		}
	}
	text := testkit.Must(os.ReadFile(page))
	prose, written, ok := strings.Cut(string(text), marker)
	if !ok {
		t.Fatalf("%s has no line %s", page, marker)
	}
	exhibits := testkit.Must(Named([]string{"all"}))
	var b strings.Builder
	for _, e := range exhibits {
		for _, table := range tables(t, e, rows) {
			b.WriteString("\n")
			w := table.Written()
			testkit.OK(t, w.WriteMarkdown(&b))
		}
	}
	if *update {
		testkit.OK(t, os.WriteFile(page, []byte(prose+marker+b.String()), 0o666))
		return
	}
	testkit.Equal(t, b.String(), written,
		"the tables of %s are not those of %s: go test ./study/paper -run Docs -update writes them", page, file)
}
