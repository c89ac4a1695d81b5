package paper

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/landing-diffusion/landing/internal/testkit"
	"github.com/landing-diffusion/landing/method/methods"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/sweep"
)

// targets are the numbers of the paper as they were taken from it by others, by place.
func targets(t *testing.T) map[[3]string]float64 {
	data, err := os.ReadFile(testkit.Shared(t, "paper/targets.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Table1 struct {
			Datasets []string
			Rows     map[string]struct {
				JSD  []float64
				AbsH []float64 `json:"abs_h"`
			}
		} `json:"table1_equality"`
		Table2   map[string]json.RawMessage               `json:"table2_seconds_on_gpu"`
		Table3   map[string]json.RawMessage               `json:"table3_mixed"`
		Overhead map[string]map[string]float64            `json:"projection_overhead_alanine_ms_per_sample"`
		Inertia  map[string]map[string]float64            `json:"olla_vs_ulla_alanine"`
		Terms    map[string]map[string]map[string]float64 `json:"correction_terms"`
		Terminal map[string]map[string]float64            `json:"terminal_projection_alanine"`
		Rates    struct {
			Alpha   map[string][]*float64 `json:"alpha_at_epsilon_0.05"`
			Epsilon map[string][]*float64 `json:"epsilon_at_alpha_50"`
		} `json:"alpha_epsilon_alanine_no_terminal_projection"`
	}
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	out := map[[3]string]float64{}
	set := func(exhibit, row, column string, v float64) { out[[3]string{exhibit, row, column}] = v }
	for row, of := range f.Table1.Rows {
		for i, v := range of.JSD {
			set("table1", row, f.Table1.Datasets[i], v)
		}
		set("table1", row, "|h| earth", of.AbsH[0])
		set("table1", row, "|h| mesh", of.AbsH[1])
	}
	for row, raw := range f.Table2 {
		var of struct{ Earth, Mesh []float64 }
		if json.Unmarshal(raw, &of) == nil && of.Earth != nil {
			set("table2", row, "earth train", of.Earth[0])
			set("table2", row, "earth simulation", of.Earth[1])
			set("table2", row, "mesh train", of.Mesh[0])
			set("table2", row, "mesh simulation", of.Mesh[1])
		}
	}
	or := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	for _, row := range tableMethods3 {
		var of struct {
			Robot    []float64
			Psi      *float64 `json:"alanine_psi"`
			RMSD     *float64 `json:"alanine_rmsd"`
			ArmH     *float64 `json:"rob_h"`
			ArmG     *float64 `json:"rob_g"`
			AlanineH *float64 `json:"ala_h"`
			AlanineG *float64 `json:"ala_g"`
		}
		if err := json.Unmarshal(f.Table3[row], &of); err != nil {
			t.Fatal(row, err)
		}
		for i, d := range []string{"140", "280", "420", "560"} {
			v := math.NaN()
			if of.Robot != nil {
				v = of.Robot[i]
			}
			set("table3", row, "arm "+d, v)
		}
		for column, v := range map[string]*float64{Psi: of.Psi, RMSD: of.RMSD, "arm Σh²": of.ArmH, "arm g⁺": of.ArmG,
			"alanine |h|": of.AlanineH, "alanine g⁺": of.AlanineG} {
			set("table3", row, column, or(v))
		}
	}
	for _, of := range []struct {
		exhibit string
		rows    map[string]map[string]float64
		columns map[string]string
	}{
		{"table4", f.Overhead, map[string]string{"inference": "ms", "projection": "of it projection",
			"overhead_percent": "share %", "failure_percent": "failed %"}},
		{"table5", f.Inertia, map[string]string{"jsd_psi": Psi, "jsd_rmsd": RMSD, "auc_eq": AreaH, "auc_ineq": AreaG}},
		{"table7", f.Terminal, map[string]string{"jsd_psi": Psi, "eq": AbsH, "ineq": GPlus}},
	} {
		for row, values := range of.rows {
			for key, column := range of.columns {
				v, ok := values[key]
				if !ok {
					t.Fatalf("%s, %s has no %s", of.exhibit, row, key)
				}
				set(of.exhibit, row, column, v)
			}
		}
	}
	for what, rows := range f.Terms {
		for on, values := range rows {
			for key, v := range values {
				set("table6", what+", "+on, map[string]string{"jsd": Distance, "jsd_psi": Distance, "eq": AbsH,
					"ineq": GPlus}[key], v)
			}
		}
	}
	for letter, rows := range map[string]map[string][]*float64{"α": f.Rates.Alpha, "ε": f.Rates.Epsilon} {
		for value, numbers := range rows {
			for i, column := range []string{Psi, RMSD, AbsH, GPlus} {
				set("table11", letter+" = "+value, column, or(numbers[i]))
			}
		}
	}
	return out
}

// What ships in the binary is what the paper prints: every number of the targets, and no other.
func TestPrintedNumbers(t *testing.T) {
	want := targets(t)
	for place, v := range want {
		p, ok := printed[place]
		if !ok || p.Value != v && !(math.IsNaN(p.Value) && math.IsNaN(v)) {
			t.Errorf("%v is %v here; the paper prints %v", place, p.Value, v)
		}
	}
	if len(printed) != len(want) {
		for place := range printed {
			if _, ok := want[place]; !ok {
				t.Errorf("%v is not in the targets", place)
			}
		}
	}
}

var valueAndError = regexp.MustCompile(`([0-9]\.[0-9]+)[}$]*\\text\{\\(?:tiny|scriptsize)\$\\pm\$\.([0-9]+)`)

// Standard errors are those that stand beside the value in the paper's rows, in their order.
func TestPrintedErrors(t *testing.T) {
	data, err := os.ReadFile(testkit.Shared(t, "paper/paper.tex"))
	if err != nil {
		t.Fatal(err)
	}
	tex := regexp.MustCompile(` +`).ReplaceAllString(string(data), " ")
	row := func(label, begins string) [][]string {
		_, rest, _ := strings.Cut(tex, `\label{`+label+`}`)
		table, _, _ := strings.Cut(rest, `\end{tabular}`)
		_, rest, ok := strings.Cut(table, begins+" &")
		if !ok {
			t.Fatalf("%s has no row %q", label, begins)
		}
		line, _, _ := strings.Cut(rest, `\\`)
		return valueAndError.FindAllStringSubmatch(line, -1)
	}
	checked := 0
	check := func(exhibit, name string, columns []string, got [][]string) {
		k := 0
		for _, column := range columns {
			p := printed[[3]string{exhibit, name, column}]
			if math.IsNaN(p.Value) {
				if !math.IsNaN(p.SE) {
					t.Errorf("%v: NaN with an error", p)
				}
				continue
			}
			if k >= len(got) {
				t.Fatalf("%s, %s: the paper has %d errors", exhibit, name, len(got))
			}
			value, _ := strconv.ParseFloat(got[k][1], 64)
			se, _ := strconv.ParseFloat("0."+got[k][2], 64)
			if p.Value != value || p.SE != se {
				t.Errorf("%v; the paper prints %v ± %v", p, value, se)
			}
			k++
			checked++
		}
		if k != len(got) {
			t.Errorf("%s, %s: %d errors here, %d in the paper", exhibit, name, k, len(got))
		}
	}
	printed := slices.DeleteFunc(slices.Clone(tableMethods), func(m string) bool { return slices.Contains(ours, m) })
	for _, m := range printed {
		check("table1", m, slices.Concat(earths, meshes), row("tab:unified_results", `\ `+m))
	}
	for _, m := range tableMethods3 {
		check("table3", m, []string{"arm 140", "arm 280", "arm 420", "arm 560", Psi, RMSD}, row("tab:mixed_constraints",
			`\ `+m))
	}
	for letter, values := range map[string][]string{"α": rates, "ε": repulsions} {
		for _, v := range values {
			tex := map[string]string{"α": `\alpha`, "ε": `\epsilon`}[letter] + "=" + v
			if letter == "α" && !strings.Contains(v, ".") {
				tex += ".0"
			}
			if letter == "ε" && (v == "1" || v == "5" || v == "10") {
				tex += ".0"
			}
			check("table11", letter+" = "+v, []string{Psi, RMSD},
				row("app:tab:effect-alpha-epsilon-dipeptide", "$"+tex+"$"))
		}
	}
	if want := 72 + 24 + 37; checked != want {
		t.Errorf("%d errors checked, want %d", checked, want)
	}
}

// Every number that the paper prints has its place in a table here, and every place a cell that there is and a
// figure that rows hold.
func TestEveryPlaceHasACell(t *testing.T) {
	places := map[[3]string]bool{}
	for _, x := range Exhibits {
		for _, e := range []*Exhibit{x, x.Beside} {
			if e == nil {
				continue
			}
			for _, entry := range e.Entries {
				places[[3]string{e.Name, entry.Row, entry.Column}] = true
				if !slices.Contains(e.Rows, entry.Row) || !slices.Contains(e.Columns, entry.Column) {
					t.Errorf("%s has no place %s, %s", e.Name, entry.Row, entry.Column)
				}
				if !slices.Contains(columns, entry.Figure) {
					t.Errorf("%s: rows have no figure %q", e.Name, entry.Figure)
				}
				if len(entry.Cells) == 0 {
					t.Errorf("%s, %s, %s: no cell", e.Name, entry.Row, entry.Column)
				}
				for _, c := range entry.Cells {
					if cells[c] == nil {
						t.Errorf("%s, %s, %s: there is no cell %q", e.Name, entry.Row, entry.Column, c)
					}
				}
			}
			for _, d := range e.Drawing {
				if cells[d.Cell] == nil {
					t.Errorf("%s draws of a cell %q", e.Name, d.Cell)
				}
			}
		}
	}
	for place := range printed {
		if !places[place] {
			t.Errorf("%v has no cell", place)
		}
	}
}

// The cells are those of the paper's settings: methods' N, and seeds.
func TestCells(t *testing.T) {
	for name, want := range map[string]string{
		"volcano/ULLA": "volcano fast  ULLA 3",
		"bunny100/RDDPM": "bunny100 olla-p,fast train.precision=bfloat16 train.paths=4000 train.times_per_path=10 " +
			"train.refresh=40 OLLA-P 0",
		"fire/RDDPM":   "fire rddpm,fast train.precision=bfloat16 OLLA-P 0",
		"arm40/ULLA":   "arm fast set.waypoints=40 ULLA 0",
		"alanine/OLLA": "alanine olla,guarded,fast train.precision=bfloat16 train.max_failed=0.05 OLLA 0",
		"flood/ULLA-P/N=150": "flood ulla-p,fast train.precision=bfloat16 process.steps=150 train.max_failed=1 " +
			"generate.max_failed=1 ULLA-P 0",
		"fire/Guided": "fire olla,fast train.precision=bfloat16 process.method=euclidean process.steps=50 guided 0",
		"spot50/RFM": "spot50 fast train.precision=bfloat16 process.method=flow process.steps=1000 train.window=0 " +
			"network.octaves_of=point network.output=plain train.refresh=40 flow 0",
		"fire/RFM": "fire fast train.precision=bfloat16 process.method=flow process.steps=1000 train.window=0 " +
			"network.octaves_of=point network.output=plain network.octaves=6 network.time_octaves=5 flow 0",
		"arm20/Projected":   "arm fast set.waypoints=20 process.method=euclidean projected 0",
		"alanine/Projected": "alanine olla,guarded,fast train.precision=bfloat16 process.method=euclidean projected 0",
	} {
		c := cells[name]
		if got := fmt.Sprintf("%s %s %s %s %d", c.Recipe, c.Variants, joined(c.Settings, nil), c.Method,
			c.Seeds); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if d := joined(cells["fire/Guided"].Draw, nil); d != "process.method=guided" {
		t.Errorf("fire/Guided is drawn by %q", d)
	}
	for name, c := range cells {
		if strings.ContainsAny(name, ", '\\$") { // --only lists names with commas between, and ends whole ones by $
			t.Errorf("a cell is called %q", name)
		}
		source, variants, err := c.source()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := problem.Load(source, c.Recipe, variants, problem.ParseSettings(c.Settings...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		drawn := p.Process.Method
		for _, s := range c.Draw {
			if m, ok := strings.CutPrefix(s, "process.method="); ok {
				drawn = m
			}
		}
		says, ok := methods.Of(c.Method)
		if got, known := methods.Of(drawn); !ok || !known || got.Name != says.Name {
			t.Errorf("%s is drawn by %s, and the catalogue says %s", name, drawn, c.Method)
		}
	}
}

// What cannot be run is refused before anything runs, with the cells that it holds for.
func TestRefusedCells(t *testing.T) {
	base := *cells["demo/ULLA/N=20"]
	for want, change := range map[string]func(c *Cell, by *Config){
		`demo/ULLA/N=20, seed 3: --set process.step=3: process.step`: func(c *Cell, _ *Config) {
			c.Settings = []string{"process.step=3"}
		},
		`demo/ULLA/N=20, seed 3: demo: variant is "quick"`: func(c *Cell, _ *Config) { c.Variants = "quick" },
		`seed 3: --set network.breadth=3: network.breadth`: func(_ *Cell, by *Config) {
			by.Settings = []string{"network.breadth=3"}
		},
		"": func(c *Cell, by *Config) {
			by.Settings, c.Draw = []string{"network.width=3"}, []string{"process.steps=12"}
		},
	} {
		c, by := base, Config{Out: t.TempDir(), Budget: time.Minute}
		change(&c, &by)
		p, err := by.Plan([]Due{{&c, 3}}, false)
		if want == "" {
			if err != nil || len(p.Cells) != 1 || p.Cells[0].Training != filepath.Base(by.Folder(Due{&c, 3})) {
				t.Errorf("%v, %+v", err, p)
			}
		} else if e := new(sweep.RefusedError); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestNamed(t *testing.T) {
	some, err := Named([]string{"figure-5", "overhead", "table1", "table4"})
	if err != nil || len(some) != 3 || some[0].Name != "table1" || some[1].Name != "table4" ||
		some[2].Name != "figure-5" {
		t.Errorf("got %v, %v", some, err)
	}
	if _, err := Named([]string{"table1", "table9"}); err == nil || !strings.Contains(err.Error(), `no "table9"`) {
		t.Errorf("table9: %v", err)
	}
	if _, err := Named([]string{""}); err == nil {
		t.Error("an empty name is taken for one without an alias")
	}
	all, err := Named([]string{"all"})
	if err != nil || len(all) != len(Exhibits)-1 {
		t.Errorf("all are %d, %v", len(all), err)
	}
}

// Every cell can be, with the paper's data: values, sets that methods serve, keys of generation.
func TestCellsCanBe(t *testing.T) {
	c := Config{Data: filepath.Dir(filepath.Dir(testkit.Shared(t, "data/earth/volcano.csv"))), Out: t.TempDir(),
		Budget: 5 * time.Minute, Processor: true}
	var all []Due
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		all = append(all, Due{cells[name], 1})
	}
	p, err := c.Plan(all, false)
	if err != nil {
		t.Error(err)
	}
	trainings, units := map[string]bool{}, map[string]bool{}
	for _, cell := range p.Cells {
		trainings[cell.Training] = true
		if cell.Unit == nil || units[cell.Name] {
			t.Errorf("%s has no unit of its own", cell)
		}
		units[cell.Name] = true
	}
	if len(trainings) < 90 || len(trainings) >= len(units) {
		t.Errorf("%d trainings of %d cells", len(trainings), len(units))
	}
}

// Alone, a recipe keeps its data and set, and nothing of how it learns.
func TestAlone(t *testing.T) {
	for _, recipe := range []string{"volcano", "bunny100", "so10-3", "alanine", "arm"} {
		whole, _, err := (&Training{Recipe: recipe}).source()
		if err != nil {
			t.Fatal(err)
		}
		text, variants, err := (&Training{Recipe: recipe, Variants: alone}).source()
		if err != nil || variants != "" {
			t.Fatalf("%s: variants %q, %v", recipe, variants, err)
		}
		p, err := problem.Load(text, recipe, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		full, err := problem.Load(whole, recipe, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := settled(t, p), settled(t, full); got != want {
			t.Errorf("%s alone has set and data\n%s\nexpected\n%s", recipe, got, want)
		}
		for _, key := range []string{"process.steps", "network.width", "train.epochs", "train.learning_rate", "prior"} {
			if !p.Left(key) {
				t.Errorf("%s alone still says %s", recipe, key)
			}
		}
		if full.Left("process.steps") {
			t.Errorf("%s leaves process.steps open: nothing was tested", recipe)
		}
	}
}

// settled writes a problem's title, data and set.
func settled(t *testing.T, p *problem.Problem) string {
	t.Helper()
	text, err := yaml.Marshal([]any{p.Title, p.Data, p.Set})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The cells of exhibits are those of each, once: table 2 tells of table 1's.
func TestCellsOf(t *testing.T) {
	named := func(names ...string) []string {
		e, err := Named(names)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, c := range CellsOf(e) {
			out = append(out, c.Name)
		}
		return out
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

// By data and set alone a training ends by held-out losses, and the long one with its budget.
func TestAloneEnds(t *testing.T) {
	for name, want := range map[string]string{"volcano/ULLA/auto": "", "volcano/ULLA/auto/long": "train.stop=epochs"} {
		c := cells[name]
		if c == nil || strings.Join(c.Settings, " ") != want {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
