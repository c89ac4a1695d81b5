package compare

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/experiment/run"
	"github.com/landing-diffusion/landing/internal/fault"
	"github.com/landing-diffusion/landing/judge/metric"
	"github.com/landing-diffusion/landing/learn/method"
	"github.com/landing-diffusion/landing/learn/train"
	"github.com/landing-diffusion/landing/study/work"
	"github.com/landing-diffusion/landing/tools/testkit"
	_ "github.com/landing-diffusion/landing/tools/testkit/trained" // what is trained is small
)

var keys int // units so far

// entry is a row of a cell with a distance; of what is not given nothing is known.
func entry(problem, method string, seed uint64, data string, d float64) Entry {
	keys++
	e := Entry{Row: NoRow(method, Label{Problem: problem, Method: method, Seed: seed}, fmt.Sprint(keys), "1", ""),
		Cost: NoCost()}
	e.Row.Verdict = ""
	e.Row.Data = Data{Name: "rows.csv", SHA256: data, Points: 10, Dim: 2, HeldOut: heldOut, Split: 1}
	e.Row.Samples = 100
	e.Row.Distance = &Distance{Metric: "JSD", Score: metric.Score{Full: metric.Float(d), HeldOut: metric.Float(d + 1),
		Floor: metric.Floor{Mean: 0.05, SD: 0.01}, HeldOutFloor: 0.07}}
	return e
}

func compared(t *testing.T, against string, entries ...Entry) *Comparison {
	t.Helper()
	return testkit.Must(New(entries, against))
}

// A line is seeds of one method: its mean and standard error are those of the seeds' distances, and the test is that
// of the lines' distances. Numbers are by hand.
func TestLines(t *testing.T) {
	c := compared(t, "", entry("p", "A", 2, "x", 0.2), entry("p", "A", 1, "x", 0.1), entry("p", "A", 3, "x", 0.6),
		entry("p", "B", 1, "x", 0.9), entry("p", "B", 2, "x", 1.1), entry("p", "B", 3, "x", 1.0))
	if len(c.Groups) != 1 || len(c.Groups[0].Lines) != 2 || len(c.Notes)+len(c.Groups[0].Notes) != 0 {
		t.Fatalf("got %+v", c)
	}
	g := &c.Groups[0]
	a, b := &g.Lines[0], &g.Lines[1]
	near := func(got metric.Float, want float64) bool { return math.Abs(float64(got)-want) < 1e-14 }
	// mean of 0.1, 0.2, 0.6 is 0.3; squares 0.04 + 0.01 + 0.09 = 0.14, /2 = 0.07; SE √(0.07/3)
	if a.Name != "A" || a.Distance.N != 3 || !near(a.Distance.Mean, 0.3) || !near(a.Distance.SE, math.Sqrt(0.07/3)) {
		t.Errorf("A: %+v", a.Distance)
	}
	if a.Entries[0].Row.Seed != 1 || a.Entries[2].Row.Seed != 3 {
		t.Errorf("seeds %d … %d", a.Entries[0].Row.Seed, a.Entries[2].Row.Seed)
	}
	if g.Best != 0 || g.To != 0 || a.Test != nil || a.Verdict() != "" {
		t.Errorf("best %d, against %d", g.Best, g.To)
	}
	// 20 ways, the given one and its mirror are the most extreme
	if !near(b.Test.Difference, 0.7) || !near(b.Test.SE, math.Sqrt(0.07/3+0.01/3)) || !near(b.Test.PValue, 0.1) ||
		b.Test.Ways != 20 || b.Verdict() != "open: with so few seeds p is at least 0.1" {
		t.Errorf("B: %+v, %q", b.Test, b.Verdict())
	}
	var all []Entry
	for method, distances := range map[string][]float64{"A": {0.1, 0.2, 0.3, 0.15}, "B": {1, 2, 3, 1.5}, "C": {1.2},
		"D": {3.1, 3.2, 3.3, 3.15}, "E": {1, 2.2, 2.9, 1.4}} {
		for k, d := range distances {
			all = append(all, entry("p", method, uint64(k+1), "x", d))
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Row.Method, b.Row.Method) })
	c = compared(t, "B", all...)
	var said []string
	for i := range c.Groups[0].Lines {
		said = append(said, c.Groups[0].Lines[i].Verdict())
	}
	want := "better,,open: with so few seeds p is at least 0.2,worse,no difference seen"
	testkit.Equal(t, strings.Join(said, ","), want)
	testkit.Refused(t, testkit.Err(New([]Entry{entry("p", "A", 1, "x", 1)}, "Z")), "there are A")
}

// What cannot be compared stands apart and is said: other data, another split, other held-out rows, another distance.
func TestGroups(t *testing.T) {
	split, held, other := entry("p", "A", 1, "x", 1), entry("p", "A", 1, "x", 1), entry("p", "A", 1, "x", 1)
	split.Row.Data.Split = 2
	held.Row.Data.HeldOut = "test rows"
	other.Row.Distance.Metric = "divergence"
	c := compared(t, "", entry("p", "A", 1, "x", 1), entry("q", "A", 1, "y", 2), split, held, other,
		entry("p", "B", 1, "x", 3))
	if len(c.Groups) != 5 || len(c.Groups[0].Lines) != 2 || len(c.Notes) != 1 ||
		!strings.Contains(c.Notes[0], "5 groups") {
		t.Fatalf("%d groups, notes %q", len(c.Groups), c.Notes)
	}
	// samples of two numbers, versions of the program: said
	few := entry("p", "B", 1, "x", 3)
	few.Row.Samples, few.Row.Version = 7, "2"
	c = compared(t, "", entry("p", "A", 1, "x", 1), few)
	if notes := strings.Join(c.Groups[0].Notes, " "); !strings.Contains(notes, "other numbers of samples") ||
		!strings.Contains(notes, "several versions of the program: 1, 2") {
		t.Errorf("notes %q", notes)
	}
	// what failed belongs to its problem, and to its line
	broken := func(problem string) Entry {
		l := Label{Problem: problem, Method: "A", Seed: 2}
		return Entry{Row: NoRow("A-s2", l, "k", "1", "it broke"), Cost: NoCost()}
	}
	failed, alone := broken("p"), broken("z")
	alone.Row.Key = "other"
	c = compared(t, "", failed, entry("p", "A", 1, "x", 1), alone)
	l := c.Groups[0].Lines[0]
	if len(c.Groups) != 2 || len(l.Entries) != 2 || l.Failed != 1 || l.Distance.N != 1 || l.Distance.Mean != 1 ||
		c.Groups[1].Best != -1 {
		t.Errorf("got %+v", c.Groups)
	}
	// a unit that is in two folders counts once, and one that failed in one of them has not
	a := entry("p", "A", 1, "x", 1)
	lost := a
	lost.Row = NoRow("A", a.Row.Label, a.Row.Key, "1", "it broke")
	c = compared(t, "", a, a, lost)
	if l := c.Groups[0].Lines; len(l) != 1 || len(l[0].Entries) != 1 || l[0].Failed != 0 || len(c.Notes) != 1 {
		t.Errorf("got %+v, %q", l, c.Notes)
	}
	if l := compared(t, "", lost, a).Groups[0].Lines; len(l) != 1 || l[0].Failed != 0 || l[0].Distance.Mean != 1 {
		t.Errorf("got %+v", l)
	}
	// without a distance by histograms the energy distance stands in
	energy := entry("p", "A", 1, "x", 1)
	energy.Row.Distance = nil
	energy.Row.Energy = metric.TwoSample{Statistic: 0.3, Floor: metric.Floor{Mean: 0.1, SD: 0.02}, N: 10, M: 5}
	c = compared(t, "", energy)
	if g := c.Groups[0]; g.Metric != EnergyName || g.Lines[0].Distance.Mean != 0.3 ||
		!strings.Contains(g.legend()[0], EnergyName+" (validation") {
		t.Errorf("got %+v", g)
	}
	// two problems of the same rows are one group, whose lines say which; of other rows they are two
	c = compared(t, "", entry("p", "A", 1, "x", 1), entry("q", "A", 1, "x", 2), entry("r", "A", 1, "y", 2))
	if g := c.Groups[0]; len(c.Groups) != 2 || g.Title != "p, q" || g.Lines[0].Name != "p: A" ||
		g.Lines[1].Name != "q: A" || c.Groups[1].Lines[0].Name != "A" || !strings.Contains(c.Notes[0], "2 groups") {
		t.Errorf("got %+v, %q", c.Groups, c.Notes)
	}
}

// Runs without a name from a sweep get names from the keys in which they differ. Runs of one seed have lines of their
// own, and so have runs without known keys.
func TestNamesOfRuns(t *testing.T) {
	lone := func(name string, seed uint64, given map[string]string) Entry {
		e := entry("p", "ULLA", seed, "x", 1)
		e.Row.Key, e.Row.Name, e.Row.Config, e.given = "", name, name, given
		return e
	}
	c := compared(t, "", lone("r1", 1, map[string]string{"train.epochs": "5", "train.batch": "8"}),
		lone("r2", 2, map[string]string{"train.epochs": "5", "train.batch": "8"}),
		lone("r3", 1, map[string]string{"train.epochs": "5", "train.batch": "16"}),
		lone("r4", 1, map[string]string{"train.epochs": "5", "train.batch": "8"}),
		lone("r5", 1, map[string]string{"train.epochs": "5"}), lone("r6", 1, nil), lone("r7", 2, nil))
	var got []string
	for _, l := range c.Groups[0].Lines {
		got = append(got, l.Name+" of "+string(rune('0'+len(l.Entries))))
	}
	want := "ULLA, train.batch=8 of 2|ULLA, train.batch=16 of 1|ULLA, train.batch=8 (r4) of 1|ULLA of 1|" +
		"ULLA (r6) of 1|ULLA (r7) of 1"
	testkit.Equal(t, strings.Join(got, "|"), want, "got %q", got)
}

// Tables hold what the lines say, in each form; what is not known is a dash or empty, and hostile names are text.
func TestTables(t *testing.T) {
	evil := entry("p", "A|*<b>`\n", 1, "x", 0.25)
	evil.Row.Component = []Component{{"h|1", 1e-3, 1e-5}, {"h2", 2e-3, 1e-5}}
	evil.Row.Worst = 2e-3
	evil.Row.Network, evil.Row.Failed = 50, 3
	evil.Row.Copies = metric.Copies{Copied: 0.125, Repeated: 0.5}
	evil.Cost.Train, evil.Row.Distance.Law = 12, 0.0625
	failed := Entry{Row: NoRow("B-s2", Label{Problem: "p", Method: "B", Seed: 2}, "k", "1", "it broke\nin two lines"),
		Cost: NoCost()}
	c := compared(t, "", evil, entry("p", "B", 1, "x", 0.5), failed)
	c.Groups[0].Title = "<script>"
	forms := map[string]func(b *bytes.Buffer) error{
		"text": func(b *bytes.Buffer) error { return c.WriteText(b) },
		"md":   func(b *bytes.Buffer) error { return c.WriteMarkdown(b) },
		"csv":  func(b *bytes.Buffer) error { return c.WriteCSV(b) },
		"json": func(b *bytes.Buffer) error { return c.WriteJSON(b) },
		"html": func(b *bytes.Buffer) error { return c.WriteHTML(b, "<title>", []string{"landing compare"}) },
	}
	out := map[string]string{}
	for name, write := range forms {
		var b, again bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := write(&again); err != nil || again.String() != b.String() {
			t.Errorf("%s: a second time other bytes", name)
		}
		out[name] = b.String()
	}
	for name, want := range map[string][]string{
		"text": {"0.2500", "0.0500 ± 0.0100", "new draws", "0.0625", "12.5 % (50.0 %)", "3 of 100", "1 of 2",
			"seed 2 failed: it broke", "h2", "0.002 (1e-05)", "a seed each, no test", "Worst violation (mean)",
			"compared with"},
		"md": {`A\|\*&lt;b>' `, "| --- |", "0.2500", `h\|1`},
		"html": {"&lt;script&gt;", "&lt;title&gt;", "0.2500", "What it costs", "A|*&lt;b&gt;",
			"Samples: ", "Cost: ", "Remarks: ", "by constraint"},
	} {
		for _, w := range want {
			if !strings.Contains(out[name], w) {
				t.Errorf("%s has no %q:\n%s", name, w, out[name][max(0, len(out[name])-3000):])
			}
		}
	}
	if strings.Contains(out["html"], "<script>:") || strings.Contains(out["md"], "<b>") {
		t.Error("a name is markup")
	}
	rows, err := csv.NewReader(strings.NewReader(out["csv"])).ReadAll()
	if err != nil || len(rows) != 4 || rows[1][13] != "0.25" || rows[1][16] != "1.25" || rows[1][17] != "0.07" ||
		rows[1][18] != "0.0625" || rows[2][18] != "" || rows[1][35] != "12" || rows[2][35] != "" ||
		rows[3][len(rows[3])-1] != "it broke\nin two lines" {
		t.Errorf("%v, %q", err, rows)
	}
	var back Comparison
	if err := json.Unmarshal([]byte(out["json"]), &back); err != nil || back.Groups[0].Lines[0].Distance.Mean != 0.25 ||
		!back.Groups[0].Lines[1].Distance.SE.IsNaN() {
		t.Errorf("%v, %+v", err, back)
	}
}

// Pictures that a report wrote stand side by side; those that somebody else wrote are left out and named.
func TestPictures(t *testing.T) {
	dir := t.TempDir()
	svg := func(name, what string) {
		path := filepath.Join(dir, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
		testkit.OK(t, os.WriteFile(path, []byte(what), 0o666))
	}
	good := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0L9 9"/></svg>`
	svg("a/figures/map.svg", good)
	svg("a/figures/loss.svg", good)
	svg("a/figures/map-panels.svg", good)
	svg("b/figures/map.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`)
	a, b := entry("p", "A", 1, "x", 1), entry("p", "B", 1, "x", 2)
	a.Folder, b.Folder = filepath.Join(dir, "a"), filepath.Join(dir, "b")
	f := &run.Folder{Dir: a.Folder}
	for i, kind := range []string{"epoch", "evaluation", "epoch", "evaluation"} {
		told := map[string]float64{"seconds": float64(i + 1), "jsd": 1 / float64(i+1)}
		testkit.Must(f.AppendMetric(kind, i, told))
	}
	if x, y := a.Curve(); len(x) != 2 || x[0] != 2 || x[1] != 4 || y[0] != 0.5 || y[1] != 0.25 {
		t.Errorf("curve %v, %v", x, y)
	}
	var page bytes.Buffer
	testkit.OK(t, compared(t, "", a, b).WriteHTML(&page, "x", nil))
	html := page.String()
	for _, want := range []string{"map: A, seed 1", "Distance against seconds", "b/figures/map.svg is left out",
		`<figure class="row">`} {
		testkit.Contains(t, html, want)
	}
	if strings.Contains(html, "alert(1)") || strings.Contains(html, "loss: A") || strings.Contains(html, "map panels") {
		t.Error("a picture is there that should not be")
	}
}

// Of a sweep's folder the cells that have ended are read, and it is said how many have not.
func TestReadSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[odd")
	store := &work.Store{Dir: filepath.Join(dir, UnitsDir)}
	list := List{Name: "s"}
	for _, name := range []string{"done", "failed", "begun", "waiting", "skipped"} {
		l := Listed{Name: name, Label: Label{Problem: "p", Method: name, Seed: 1}}
		if name == "skipped" {
			l.Skipped = "for a reason"
		}
		list.Cells = append(list.Cells, l)
	}
	testkit.OK(t, os.MkdirAll(dir, 0o777))
	testkit.OK(t, (&run.Folder{Dir: dir}).WriteJSON(ListFile, list))
	var said []string
	r := &Reader{Say: func(s string) { said = append(said, s) }}
	testkit.Refused(t, testkit.Err(r.Read(t.Context(), []string{dir})), "without a finished cell")
	e := entry("p", "done", 1, "x", 0.5)
	e.Cost.Train = 7
	for name, end := range map[string]func(c *work.Claim) error{
		"done":   func(c *work.Claim) error { return c.Finish(e) },
		"failed": func(c *work.Claim) error { return c.Fail("it broke") },
		"begun":  func(c *work.Claim) error { c.Release(); return nil },
	} {
		u := &work.Unit{Name: name, Kind: "k", Task: json.RawMessage(`"` + name + `"`), Version: "1"}
		c, _, err := store.Claim(u, false, func() error { return nil })
		testkit.OK(t, err)
		testkit.OK(t, end(c))
	}
	said = nil
	got, err := r.Read(t.Context(), []string{dir})
	if err != nil || len(got) != 2 || got[0].Row.Name != "done" || got[0].Row.Distance.Full != 0.5 ||
		got[0].Cost.Train != 7 || got[0].Folder != filepath.Join(dir, RunsDir, "done") ||
		got[1].Row.Failure != "it broke" || got[1].Row.Method != "failed" {
		t.Errorf("%v, %+v", err, got)
	}
	if len(said) != 1 || !strings.Contains(said[0], "2 of 5 cells have not ended") {
		t.Errorf("said %q", said)
	}
	if _, err := r.Read(t.Context(), []string{dir, dir + "/."}); fault.KindOf(err) != fault.Run {
		t.Errorf("twice the same: %v", err)
	}
	path := filepath.Join(store.Dir, "done", "result.json")
	data := testkit.Must(os.ReadFile(path))
	testkit.OK(t, os.WriteFile(path, bytes.Replace(data, []byte("0.5"), []byte("0.4"), 1), 0o666))
	testkit.Refused(t, testkit.Err(r.Read(t.Context(), []string{dir})), "is damaged", "a result that was changed")
}

// A line's cells are sums, means or the worst of its seeds, whichever of them has it; a table of parts that no line
// has is none. Numbers are by hand.
func TestCellsOverSeeds(t *testing.T) {
	a, b := entry("p", "A", 1, "x", 0.1), entry("p", "A", 2, "x", 0.2)
	if got := compared(t, "", a, b).Groups[0].table(costs); got.Header != nil || got.Rows != nil {
		t.Errorf("of no costs there is a table %q %q", got.Header, got.Rows)
	}
	a.Row.Worst, b.Row.Worst = 3e-3, 1e-3
	a.Row.Failed, b.Row.Failed, b.Row.Samples = 2, 5, 200
	a.Row.Programs = &method.Programs{Iterations: 500, Failed: 1}
	b.Row.Programs = &method.Programs{Iterations: 1300, Failed: 4}
	a.Cost.Train, b.Cost.Train, a.Cost.Simulate, b.Cost.Simulate = 20, 40, 5, 7
	a.Cost.Trained = &train.Cost{Epochs: 1273, Seconds: 80} // an earlier version did not count it of b
	for k := range maxComponents + 2 {                      // the last of one seed and the first of the other are worst
		name := fmt.Sprintf("c%d", k)
		a.Row.Component = append(a.Row.Component, Component{name, metric.Float(k + 1), metric.Float(k) / 4})
		b.Row.Component = append(b.Row.Component, Component{name, metric.Float(14 - k), metric.Float(k) / 8})
	}
	g := &compared(t, "", a, b).Groups[0]
	for _, want := range []struct{ head, cell string }{{"worst violation", "0.003"}, {"failed", "7 of 300"},
		{"program steps (failed)", "6.0 (5)"}, {"training, s", "60"}, {"to these weights, s", "30"},
		{"simulation, s", "6"}} {
		found := slices.ContainsFunc([]part{quality, costs}, func(p part) bool {
			t := g.table(p)
			k := slices.Index(t.Header, want.head)
			return k >= 0 && t.Rows[0][k] == want.cell
		})
		if !found {
			t.Errorf("%s is not %s", want.head, want.cell)
		}
	}
	rows := g.violations().Rows
	var names []string
	for _, row := range rows {
		names = append(names, row[0])
	}
	if want := "c0 c13 c1 c12 c2 c11 c3 c10 c4 c9 c5 c8"; strings.Join(names, " ") != want ||
		rows[0][1] != "14 (0)" || rows[1][1] != "14 (3.2)" {
		t.Errorf("got %q, want %s", rows, want)
	}
}

// Distances have four decimals, small ones three digits; so have differences below 0.
func TestFixed(t *testing.T) {
	for v, want := range map[metric.Float]string{0.25: "0.2500", -0.25: "-0.2500", 2e-4: "2.00e-04", -2e-4: "-2.00e-04",
		0: "0.0000", metric.Float(math.Inf(1)): dash} {
		if got := fixed(v); got != want {
			t.Errorf("%v: %q, want %q", float64(v), got, want)
		}
	}
}

// A standard error has as many digits as what it is of.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		mean, se metric.Float
		want     string
	}{
		{0.4041, 0.000711, "0.4041 ± 0.0007"}, {0.4041, 0.0711, "0.4041 ± 0.0711"}, {0.4041, metric.NaN, "0.4041"},
		{0.00041, 0.000711, "4.10e-04 ± 7.11e-04"}, {metric.NaN, metric.NaN, "–"},
	} {
		testkit.Equal(t, withError(Stat{Mean: c.mean, SE: c.se}), c.want, "%v ± %v", c.mean, c.se)
	}
}

// Program steps are explained where a line has them.
func TestLegendOfPrograms(t *testing.T) {
	for _, has := range []bool{false, true} {
		e := entry("p", "A", 1, "x", 0.1)
		if has {
			e.Row.Programs = &method.Programs{Points: 3, Iterations: 6}
		}
		var b bytes.Buffer
		testkit.OK(t, compared(t, "", e).WriteText(&b))
		if got := strings.Contains(b.String(), "Program steps: of optimisation"); got != has {
			t.Errorf("%v: %s", has, b.String())
		}
	}
}
