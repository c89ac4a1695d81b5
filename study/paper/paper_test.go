package paper

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/study/sweep"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// targets are the numbers of the paper as they were taken from it by others, by place.
func targets(t *testing.T) map[[3]string]float64 {
	data := testkit.Must(os.ReadFile(testkit.Shared(t, "paper/targets.json")))
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
	testkit.OK(t, json.Unmarshal(data, &f))
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
	for _, row := range rowsOf("table3") {
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
		for column, v := range map[string]*float64{"ψ": of.Psi, "RMSD": of.RMSD, "arm Σh²": of.ArmH, "arm g⁺": of.ArmG,
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
		{"table5", f.Inertia, map[string]string{"jsd_psi": "ψ", "jsd_rmsd": "RMSD", "auc_eq": "area |h|",
			"auc_ineq": "area g⁺"}},
		{"table7", f.Terminal, map[string]string{"jsd_psi": "ψ", "eq": "|h|", "ineq": "g⁺"}},
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
				set("table6", what+", "+on, map[string]string{"jsd": "distance", "jsd_psi": "distance", "eq": "|h|",
					"ineq": "g⁺"}[key], v)
			}
		}
	}
	for letter, rows := range map[string]map[string][]*float64{"α": f.Rates.Alpha, "ε": f.Rates.Epsilon} {
		for value, numbers := range rows {
			for i, column := range []string{"ψ", "RMSD", "|h|", "g⁺"} {
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
	data := testkit.Must(os.ReadFile(testkit.Shared(t, "paper/paper.tex")))
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
	sets := []string{"volcano", "earthquake", "flood", "fire", "bunny50", "bunny100", "spot50", "spot100"}
	for _, m := range rowsOf("table1")[:9] { // the others are ours
		check("table1", m, sets, row("tab:unified_results", `\ `+m))
	}
	for _, m := range rowsOf("table3") {
		check("table3", m, []string{"arm 140", "arm 280", "arm 420", "arm 560", "ψ", "RMSD"},
			row("tab:mixed_constraints",
				`\ `+m))
	}
	for _, name := range rowsOf("table11") {
		letter, v, _ := strings.Cut(name, " = ")
		tex := map[string]string{"α": `\alpha`, "ε": `\epsilon`}[letter] + "=" + v
		if letter == "α" && !strings.Contains(v, ".") || letter == "ε" && (v == "1" || v == "5" || v == "10") {
			tex += ".0"
		}
		check("table11", name, []string{"ψ", "RMSD"}, row("app:tab:effect-alpha-epsilon-dipeptide", "$"+tex+"$"))
	}
	testkit.Equal(t, checked, 72+24+37)
}

// rowsOf are the names of an exhibit's rows.
func rowsOf(exhibit string) (names []string) {
	e, err := Named([]string{exhibit})
	if err != nil {
		panic(err)
	}
	for _, l := range e[0].Rows {
		names = append(names, l.Name)
	}
	return names
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
