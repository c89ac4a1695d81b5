package paper

import (
	"fmt"
	"slices"
	"strings"
)

// An Exhibit is a table or a figure of the paper.
type Exhibit struct {
	Name    string // table1, figure-5
	Alias   string // a word for it: overhead
	Title   string
	Says    string // what its numbers are, and how ours are made where that is not as in the paper
	Corner  string // what rows are
	Rows    []string
	Columns []string
	Entries []Entry
	Marked  bool      // ours and the paper's are compared
	Beside  *Exhibit  // a table of ours to read with it, such as that of held-out distances
	Until   bool      // from which column on a row is 0 is told
	Extra   bool      // not the paper's: left out of "all"
	Drawing []Drawing // pictures of a figure
}

// An Entry is a place in an exhibit: which figure of which cells stands there. Of several cells it is the
// mean.
type Entry struct {
	Row, Column string
	Cells       []string
	Figure      string
	Times       float64 // factor; 0: 1
}

// A Drawing is a picture of a figure that a cell's report has, by its name there.
type Drawing struct {
	Cell    string
	Picture string // map-panels; trace-* for several
}

// Networks learn as the recipes' variants fast do, for as long as the budget says: set, metric, split and
// process are the paper's, and so are N, T, σ, γ and α.
const learn = "fast"

var (
	earths = []string{"volcano", "earthquake", "flood", "fire"}
	meshes = []string{"bunny50", "bunny100", "spot50", "spot100"}
)

// split names ULLA's network drawn with noise on both sides of the score's evaluation, which the paper does not have.
const split = "ULLA/split"

// fine names ULLA with that noise and as many steps as the paper has for OLLA: 100, where ULLA has 50 and 30.
const fine, fineSteps = "ULLA/fine", "100"

// auto and autoLong name ULLA where all but data and set follows from the rows: for as long as held-out losses say, and
// for all of the budget.
const auto, autoLong = "ULLA/auto", "ULLA/auto/long"

// ours are the rows of table 1 that the paper does not have.
var ours = []string{split, fine, auto, autoLong}

// tableMethods are the rows of table 1.
var tableMethods = append([]string{"RFM", "RDDPM", "Euclidean", "Projected", "Lagrangian", "Guided", "OLLA", "ULLA-P",
	"ULLA"}, ours...)

// products are the settings of a recipe's networks. The volcano's pass in float32, which derivatives by
// differences need (figure 5).
func products(recipe string) []string {
	if recipe == "volcano" || recipe == "demo" {
		return nil
	}
	return []string{"train.precision=bfloat16"}
}

// inTable returns the cell of table 1 of a recipe and a method.
func inTable(recipe, method string) Cell {
	c := Cell{Name: recipe + "/" + method, Method: method,
		Training: Training{Recipe: recipe, Variants: learn, Settings: products(recipe)}}
	mesh := slices.Contains(meshes, recipe)
	switch method {
	case "ULLA":
		c.Seeds = 3
	case split:
		c.Method, c.Seeds, c.Draw = "ULLA", 3, []string{"process.noise=split"}
	case fine:
		c.Method, c.Seeds, c.Draw = "ULLA", 3, []string{"process.noise=split"}
		c.Settings = append(slices.Clone(c.Settings), "process.steps="+fineSteps)
	case auto, autoLong:
		c.Method, c.Seeds, c.Variants, c.Settings = "ULLA", 3, alone, nil
		if method == autoLong {
			c.Settings = []string{"train.stop=epochs"}
		}
	case "OLLA":
		c.Variants = "olla," + learn
	case "ULLA-P":
		c.Variants = "ulla-p," + learn
		if mesh { // projected steps are dear on the level set of a network: its paths serve longer
			c.Settings = append(slices.Clone(c.Settings), "train.refresh=20")
		}
	case "RDDPM": // OLLA-P of 400 steps
		c.Method, c.Variants = "OLLA-P", "rddpm,"+learn
		if mesh { // likewise: few of the 40 000 rows have their turn at a time
			c.Variants = "olla-p," + learn
			c.Settings = append(slices.Clone(c.Settings), "train.paths=4000", "train.times_per_path=10",
				"train.refresh=40")
		}
	default:
		c = rival(method, c)
	}
	if method == "RDDPM" || method == "ULLA-P" {
		c.Jacobian = recipe == "volcano"
	}
	return c
}

// rival makes the cell of a Langevin process one of a method of the paper's tables that is none: of Riemannian
// flow matching, or of those that noise in the space around Σ, which take the schedule of the recipe's OLLA, where
// it has one, and the N of the paper.
func rival(method string, c Cell) Cell {
	var steps string
	switch {
	case method == "RFM":
		c.Method, steps = "flow", "1000"
	case slices.Contains(earths, c.Recipe):
		steps = "50"
	case slices.Contains(meshes, c.Recipe):
		steps = "30"
	}
	if method != "RFM" {
		c.Method = strings.ToLower(method)
		if c.Recipe != "arm" {
			c.Variants = "olla," + c.Variants
		}
	}
	trained := c.Method
	if method != "RFM" && method != "Euclidean" { // they draw from the network of Euclidean
		trained = "euclidean"
		c.Draw = []string{"process.method=" + c.Method}
	}
	c.Settings = append(slices.Clone(c.Settings), "process.method="+trained)
	if steps != "" {
		c.Settings = append(c.Settings, "process.steps="+steps)
	}
	if method == "RFM" { // targets without noise to average, of one size at all times, on paths from noise
		c.Settings = append(c.Settings, "train.window=0", "network.octaves_of=point", "network.output=plain")
		if slices.Contains(earths, c.Recipe) { // velocities turn sharply in x and in t where paths end in spots
			c.Settings = append(c.Settings, "network.octaves=6", "network.time_octaves=5")
		}
		if slices.Contains(meshes, c.Recipe) { // a path costs as much as thirty states through the network
			c.Settings = append(c.Settings, "train.refresh=40")
		}
	}
	return c
}

// arm is the cell of a method on motions of so many waypoints.
func arm(waypoints int, method string) Cell {
	c := Cell{Name: fmt.Sprintf("arm%d/%s", waypoints, method), Method: method, Training: Training{Recipe: "arm",
		Variants: learn}}
	if waypoints != 10 {
		c.Settings = []string{fmt.Sprintf("set.waypoints=%d", waypoints)}
	}
	if method != "ULLA" {
		c = rival(method, c)
	}
	return c
}

// alanine returns a cell of the alanine network that the ablations share, drawn by other keys.
func alanine(name, method string, draw ...string) Cell {
	return Cell{Name: "alanine/" + name, Method: method, Draw: draw, Diagnose: true,
		Training: Training{Recipe: "alanine", Variants: "guarded," + learn, Settings: products("alanine")}}
}

func paperWalls(ε string) []string {
	return []string{"process.walls=paper", "process.repulsion=" + ε}
}

const unprojected = "process.terminal_projection=false"

// Landing rates and repulsions of the paper's table 11.
var (
	rates      = []string{"0.1", "0.5", "1", "5", "10", "20", "50", "100", "200", "400"}
	repulsions = []string{"0.001", "0.005", "0.01", "0.05", "0.1", "0.5", "1", "5", "10"}
)

// lengths are the N of figure 1, at the T of each method.
var lengths = []int{20, 40, 60, 100, 150, 200}

var byLength = []string{"OLLA-P", "OLLA", "ULLA-P", "ULLA"}

func atLength(recipe, method string, n int) Cell {
	c := Cell{Name: fmt.Sprintf("%s/%s/N=%d", recipe, method, n), Method: method, Training: Training{Recipe: recipe,
		Settings: append(products(recipe), fmt.Sprintf("process.steps=%d", n), "train.max_failed=1",
			"generate.max_failed=1")}}
	if recipe == "demo" { // its variants are none: the processes of the earth recipes
		c.Settings = append(c.Settings, "process.method="+method)
		if strings.HasPrefix(method, "OLLA") {
			c.Settings = append(c.Settings, "process.horizon=4", "process.sigma.min=0.01", "process.sigma.max=1")
		}
		return c
	}
	c.Variants = map[string]string{"OLLA-P": "rddpm,", "OLLA": "olla,", "ULLA-P": "ulla-p,", "ULLA": ""}[method] + learn
	return c
}

// so10 returns the cell of a method on mixtures of so many modes.
func so10(modes, method string) Cell {
	c := Cell{Name: "so10-" + modes + "/" + method, Method: method, Training: Training{Recipe: "so10-" + modes,
		Variants: learn, Settings: products("so10")}}
	switch method {
	case "OLLA":
		c.Variants = "olla," + learn
	case "ULLA-P":
		c.Variants = "ulla-p," + learn
	case "RDDPM":
		c.Method, c.Variants = "OLLA-P", "rddpm,"+learn
	}
	return c
}

// Cells are all cells, by name.
var cells = func() map[string]*Cell {
	out := map[string]*Cell{}
	add := func(c Cell) {
		if out[c.Name] != nil {
			panic("paper: cell " + c.Name + " is defined twice")
		}
		out[c.Name] = &c
	}
	for _, recipe := range slices.Concat(earths, meshes) {
		for _, method := range tableMethods {
			add(inTable(recipe, method))
		}
	}
	for _, method := range tableMethods3 {
		for _, l := range []int{10, 20, 30, 40} {
			add(arm(l, method))
		}
		if method != "ULLA" {
			c := rival(method, alanine(method, ""))
			c.Diagnose = false
			add(c)
		}
	}
	add(alanine("ULLA", "ULLA"))
	olla := alanine("OLLA", "OLLA")
	olla.Variants = "olla," + olla.Variants
	olla.Settings = append(olla.Settings, "train.max_failed=0.05") // 1 % of paths are lost, at their last projection
	add(olla)
	walled := alanine("OLLA/paper-walls", "OLLA", paperWalls("0.05")...)
	walled.Training = olla.Training
	add(walled)
	add(alanine("ULLA/paper-walls", "ULLA", paperWalls("0.05")...))
	add(alanine("curved", "ULLA", "process.curvature=true"))
	add(alanine("curved/paper-walls", "ULLA", append(paperWalls("0.05"), "process.curvature=true")...))
	add(alanine("unprojected", "ULLA", unprojected))
	add(alanine("unprojected/paper-walls", "ULLA", append(paperWalls("0.05"), unprojected)...))
	curved := inTable("bunny100", "ULLA")
	curved.Name, curved.Draw, curved.Seeds = "bunny100/curved", []string{"process.curvature=true"}, 1
	curved.Diagnose = true
	add(curved)
	for _, α := range rates {
		add(alanine("α="+α, "ULLA", append(paperWalls("0.05"), unprojected, "process.landing.rate="+α)...))
	}
	for _, ε := range repulsions {
		add(alanine("ε="+ε, "ULLA", append(paperWalls(ε), unprojected)...))
	}
	timed := alanine("timed", "ULLA")
	timed.Timed, timed.Diagnose = []string{unprojected}, false
	add(timed)
	timed = alanine("timed-projected", "ULLA-P", "process.method=ULLA-P")
	timed.Timed, timed.Diagnose = []string{unprojected}, false
	add(timed)
	for _, method := range byLength {
		for _, n := range lengths {
			add(atLength("flood", method, n))
			add(atLength("demo", method, n))
		}
	}
	for _, method := range []string{"RDDPM", "OLLA", "ULLA-P", "ULLA"} {
		add(so10("3", method))
		add(so10("5", method))
	}
	return out
}()

// tableMethods3 are the rows of table 3.
var tableMethods3 = []string{"Euclidean", "Lagrangian", "Projected", "Guided", "ULLA"}

// Exhibits are the tables and figures, in the paper's order.
var Exhibits = []*Exhibit{table1(), table2(), table3(), table4(), table5(), table6(), table7(), table11(),
	figure1("figure-1", "flood"), figure2(), figure3(), figure4(), figure5(), figure6(), figure7(), figure8(),
	figure9(), demo()}

func table1() *Exhibit {
	e := &Exhibit{Name: "table1", Title: "Table 1: equality constraints", Corner: "method", Marked: true,
		Says: "Distance to all data, of as many samples as in docs/conventions.md: earth the square root of the " +
			"Jensen–Shannon divergence, surfaces the divergence. |h| is the mean over samples and sets. " + split +
			" is ULLA's networks, drawn with process.noise: split; " + fine + " has that and " + fineSteps +
			" steps, OLLA's, in place of 50 and 30; " + auto + " is ULLA with all but data and set " +
			"left open ([auto](auto.md)), and " + autoLong + " that with all of the budget, whatever held-out " +
			"losses say: these four are not the paper's. " + copies + " are draws from the training rows, which a " +
			"perfect memoriser makes. New draws of the law have about 0.174, 0.117, 0.132, 0.064 on catalogues, by " +
			"halves of the data, and 0.026, 0.026, 0.027, 0.027 on surfaces.",
		Rows:    append(slices.Clone(tableMethods), copies),
		Columns: slices.Concat(earths, meshes, []string{"|h| earth", "|h| mesh"})}
	held := &Exhibit{Name: "table1-held-out", Title: "Beside table 1: memorised or learned", Corner: "method",
		Rows: tableMethods,
		Says: "Distance to held-out rows; what draws from the training rows score there; the median distance of " +
			"samples to the nearest training row, over that of held-out rows. A distance to all data below " +
			"what the law's own draws score is of rows, not of the law; the second and third number tell.",
		Columns: slices.Concat(earths, meshes)}
	for _, m := range tableMethods {
		for _, set := range slices.Concat(earths, meshes) {
			cell := []string{set + "/" + m}
			e.Entries = append(e.Entries, Entry{Row: m, Column: set, Cells: cell, Figure: Distance})
			for _, of := range []string{HeldOut, HeldOutFloor, Copies} {
				held.Entries = append(held.Entries, Entry{Row: m, Column: set, Cells: cell, Figure: of})
			}
		}
		e.Entries = append(e.Entries, Entry{Row: m, Column: "|h| earth", Cells: named(earths, m), Figure: AbsH},
			Entry{Row: m, Column: "|h| mesh", Cells: named(meshes, m), Figure: AbsH})
	}
	for _, set := range slices.Concat(earths, meshes) {
		e.Entries = append(e.Entries,
			Entry{Row: copies, Column: set, Cells: named([]string{set}, "ULLA"), Figure: Floor})
	}
	e.Beside = held
	return e
}

// copies is the row of table 1 that has its floors.
const copies = "copies of rows"

// named are the cells of some sets and a method.
func named(sets []string, method string) []string {
	var out []string
	for _, s := range sets {
		out = append(out, s+"/"+method)
	}
	return out
}

func table2() *Exhibit {
	e := &Exhibit{Name: "table2", Title: "Table 2: seconds of training, and of them simulation", Corner: "method",
		Says: "Means over the four sets. Ours are those of the cells of table 1, whose training ends with its " +
			"budget: what it reached by then stands there. The paper's are of an L40S (earth) and an H100 (mesh).",
		Rows:    []string{"RFM", "RDDPM", "OLLA", "ULLA-P", "ULLA"},
		Columns: []string{"earth train", "earth simulation", "mesh train", "mesh simulation"}}
	for _, m := range e.Rows {
		for _, of := range []struct {
			name string
			sets []string
		}{{"earth", earths}, {"mesh", meshes}} {
			e.Entries = append(e.Entries,
				Entry{Row: m, Column: of.name + " train", Cells: named(of.sets, m), Figure: Train},
				Entry{Row: m, Column: of.name + " simulation", Cells: named(of.sets, m), Figure: Simulate})
		}
	}
	return e
}

func table3() *Exhibit {
	e := &Exhibit{Name: "table3", Title: "Table 3: equalities and inequalities", Corner: "method", Marked: true,
		Says: "Arm: square root of the divergence in the plane of the first two principal components, 320 samples, " +
			"by dimension 14 L; its h a sum of squares. Alanine: square roots of the divergences of ψ and RMSD, 8000 " +
			"samples.",
		Rows: tableMethods3, Columns: []string{"arm 140", "arm 280", "arm 420", "arm 560", Psi, RMSD, "arm Σh²",
			"arm g⁺", "alanine |h|", "alanine g⁺"}}
	for _, m := range e.Rows {
		var arms []string
		for i, d := range []string{"arm 140", "arm 280", "arm 420", "arm 560"} {
			arms = append(arms, fmt.Sprintf("arm%d/%s", 10*(i+1), m))
			e.Entries = append(e.Entries, Entry{Row: m, Column: d, Cells: arms[i:], Figure: Distance})
		}
		ala := []string{"alanine/" + m}
		e.Entries = append(e.Entries, Entry{Row: m, Column: Psi, Cells: ala, Figure: Psi},
			Entry{Row: m, Column: RMSD, Cells: ala, Figure: RMSD},
			Entry{Row: m, Column: "arm Σh²", Cells: arms, Figure: SquareH},
			Entry{Row: m, Column: "arm g⁺", Cells: arms, Figure: GPlus},
			Entry{Row: m, Column: "alanine |h|", Cells: ala, Figure: AbsH},
			Entry{Row: m, Column: "alanine g⁺", Cells: ala, Figure: GPlus})
	}
	return e
}

func table4() *Exhibit {
	e := &Exhibit{Name: "table4", Alias: "overhead", Title: "Table 4: what projections cost", Corner: "drawn by",
		Says: "Milliseconds a sample: ours of processor time of one core, the least of five rounds in turn with " +
			"landing alone, which projection is the difference to; the paper's of an H200.",
		Rows: []string{"ULLA", "ULLA-P"}, Columns: []string{"ms", "of it projection", "share %", "failed %"}}
	for i, cell := range []string{"alanine/timed", "alanine/timed-projected"} {
		e.Entries = append(e.Entries, of(e.Rows[i], cell, "ms", Milliseconds, "of it projection", Projection, "share %",
			Share)...)
		e.Entries = append(e.Entries, Entry{Row: e.Rows[i], Column: "failed %", Cells: []string{cell}, Figure: Failed,
			Times: 100})
	}
	return e
}

// alanineSays is what tables of one alanine network have in common.
const alanineSays = "One alanine network for all rows, trained between elastic walls; rows of the paper's walls are " +
	"drawn from it with ε = 0.05. New draws of the law itself have 0.035 in ψ and 0.037 in RMSD, ± 0.005."

// of makes the entries of a row, all of one cell: columns and figures in turn.
func of(row, cell string, columnsAndFigures ...string) []Entry {
	var out []Entry
	for i := 0; i < len(columnsAndFigures); i += 2 {
		out = append(out, Entry{Row: row, Column: columnsAndFigures[i], Cells: []string{cell},
			Figure: columnsAndFigures[i+1]})
	}
	return out
}

func table5() *Exhibit {
	e := &Exhibit{Name: "table5", Alias: "inertia", Title: "Table 5: OLLA and ULLA on alanine", Corner: "drawn by",
		Says: alanineSays + " OLLA has a network of its own. Areas are those under the means over samples of |h| and " +
			"g⁺ along backward paths.",
		Rows:    []string{"OLLA", "ULLA", "OLLA, elastic walls", "ULLA, elastic walls"},
		Columns: []string{Psi, RMSD, AreaH, AreaG, Failed}}
	for i, cell := range []string{"OLLA/paper-walls", "ULLA/paper-walls", "OLLA", "ULLA"} {
		e.Entries = append(e.Entries, of(e.Rows[i], "alanine/"+cell, Psi, Psi, RMSD, RMSD, AreaH, AreaH, AreaG, AreaG,
			Failed, Failed)...)
	}
	return e
}

func table6() *Exhibit {
	e := &Exhibit{Name: "table6", Alias: "curvature", Title: "Table 6: curvature terms", Corner: "set, terms",
		Says: alanineSays + " Its distance is that of ψ. Networks were trained without the terms.",
		Rows: []string{"bunny100, off", "bunny100, on", "alanine, off", "alanine, on", "alanine, off, elastic walls",
			"alanine, on, elastic walls"},
		Columns: []string{Distance, AbsH, GPlus}}
	for i, cell := range []string{"bunny100/ULLA", "bunny100/curved"} {
		e.Entries = append(e.Entries, of(e.Rows[i], cell, Distance, Distance, AbsH, AbsH)...)
	}
	for i, cell := range []string{"ULLA/paper-walls", "curved/paper-walls", "ULLA", "curved"} {
		e.Entries = append(e.Entries, of(e.Rows[2+i], "alanine/"+cell, Distance, Psi, AbsH, AbsH, GPlus, GPlus)...)
	}
	return e
}

func table7() *Exhibit {
	e := &Exhibit{Name: "table7", Alias: "terminal", Title: "Table 7: terminal projection, alanine",
		Corner: "projection", Says: alanineSays, Rows: []string{"off", "on", "off, elastic walls", "on, elastic walls"},
		Columns: []string{Psi, AbsH, GPlus}}
	for i, cell := range []string{"unprojected/paper-walls", "ULLA/paper-walls", "unprojected", "ULLA"} {
		e.Entries = append(e.Entries, of(e.Rows[i], "alanine/"+cell, Psi, Psi, AbsH, AbsH, GPlus, GPlus)...)
	}
	return e
}

func table11() *Exhibit {
	e := &Exhibit{Name: "table11", Alias: "rates", Title: "Table 11: landing rate α and repulsion ε, alanine",
		Says:    alanineSays + " No terminal projection; α at ε = 0.05, ε at α = 50.",
		Corner:  "drawn with",
		Marked:  true,
		Columns: []string{Psi, RMSD, AbsH, GPlus}}
	for _, of := range []struct {
		letter string
		values []string
	}{{"α", rates}, {"ε", repulsions}} {
		for _, v := range of.values {
			row := of.letter + " = " + v
			e.Rows = append(e.Rows, row)
			for _, f := range e.Columns {
				e.Entries = append(e.Entries, Entry{Row: row, Column: f,
					Cells: []string{"alanine/" + of.letter + "=" + v}, Figure: f})
			}
		}
	}
	return e
}

func figure1(name, recipe string) *Exhibit {
	e := &Exhibit{Name: name, Title: "Figure 1: N and the distance on flood", Corner: "method, N →",
		Says: "Distance to all data at N steps, T as in table 1. A picture in the paper: it prints no numbers.",
		Rows: byLength}
	failed := &Exhibit{Name: name + "-failed", Title: "Forward paths that lost a projection, %", Corner: "method, N →",
		Rows: byLength, Until: true, Says: "Of all that were drawn in training. Below some N projection fails: in " +
			"the paper OLLA-P's up to 150, ULLA-P's below 40."}
	for _, n := range lengths {
		column := fmt.Sprint(n)
		e.Columns, failed.Columns = append(e.Columns, column), append(failed.Columns, column)
		for _, m := range byLength {
			cell := []string{fmt.Sprintf("%s/%s/N=%d", recipe, m, n)}
			e.Entries = append(e.Entries, Entry{Row: m, Column: column, Cells: cell, Figure: Distance})
			failed.Entries = append(failed.Entries, Entry{Row: m, Column: column, Cells: cell, Figure: FailedPaths,
				Times: 100})
		}
	}
	e.Beside = failed
	return e
}

func demo() *Exhibit {
	e := figure1("demo", "demo")
	e.Extra = true
	e.Title = "As figure 1, on the week of earthquakes in the binary"
	e.Says = "Distance to all data at N steps. Needs no data; the paper has no such figure."
	return e
}

// pictures makes a figure of pictures of reports.
func pictures(name, title, says string, of ...Drawing) *Exhibit {
	e := &Exhibit{Name: name, Title: title, Says: says, Corner: "cell", Columns: []string{Distance, Floor, HeldOut},
		Drawing: of}
	for _, d := range of {
		if !slices.Contains(e.Rows, d.Cell) {
			e.Rows = append(e.Rows, d.Cell)
			for _, f := range e.Columns {
				e.Entries = append(e.Entries, Entry{Row: d.Cell, Column: f, Cells: []string{d.Cell}, Figure: f})
			}
		}
	}
	return e
}

// each is one picture of several cells.
func each(picture string, cells ...string) []Drawing {
	var out []Drawing
	for _, c := range cells {
		out = append(out, Drawing{Cell: c, Picture: picture})
	}
	return out
}

func figure2() *Exhibit {
	d := append(each("trace-*", "so10-5/RDDPM", "so10-5/OLLA", "so10-5/ULLA-P", "so10-5/ULLA"),
		each("psi", "alanine/ULLA")...)
	d = append(d, each("rmsd", "alanine/ULLA")...)
	return pictures("figure-2", "Figure 2: power traces on SO(10), five modes; ψ and RMSD of alanine",
		"Histograms of samples over those of all data.", d...)
}

func figure3() *Exhibit {
	return pictures("figure-3", "Figure 3: motions of the arm from above", "Of ULLA, ten waypoints.",
		each("above", "arm10/ULLA")...)
}

func figure4() *Exhibit {
	e := pictures("figure-4", "Figure 4: violations on the way, alanine",
		"Means over samples after each backward step.",
		each("steps", "alanine/ULLA/paper-walls", "alanine/OLLA/paper-walls", "alanine/ULLA", "alanine/OLLA")...)
	e.Columns, e.Entries = []string{AreaH, AreaG}, nil
	for _, row := range e.Rows {
		e.Entries = append(e.Entries, of(row, row, AreaH, AreaH, AreaG, AreaG)...)
	}
	return e
}

func figure5() *Exhibit {
	e := &Exhibit{Name: "figure-5", Alias: "jacobian", Title: "Figure 5: the score's Jacobian over time, volcano",
		Says: "Frobenius norm, root mean square over states of backward paths, at the last time and in the median " +
			"over times: in x of OLLA-P, in p of ULLA-P. The paper has a picture: OLLA-P blows up as t → 0, ULLA-P " +
			"does not.",
		Corner: "method", Rows: []string{"OLLA-P", "ULLA-P"}, Columns: []string{JacobianNear, JacobianMid}}
	e.Entries = append(of("OLLA-P", "volcano/RDDPM", JacobianNear, JacobianNear, JacobianMid, JacobianMid),
		of("ULLA-P", "volcano/ULLA-P", JacobianNear, JacobianNear, JacobianMid, JacobianMid)...)
	return e
}

func figure6() *Exhibit {
	return pictures("figure-6", "Figure 6: generated samples, volcano", "Data and samples.",
		each("map-panels", named2("volcano")...)...)
}

func figure7() *Exhibit {
	return pictures("figure-7", "Figure 7: generated samples, Spot the cow, 100th eigenfunction", "Data and samples.",
		each("surface", named2("spot100")...)...)
}

func figure8() *Exhibit {
	return pictures("figure-8", "Figure 8: power traces on SO(10), three modes", "Histograms of samples over those of "+
		"all data.", each("trace-*", named2("so10-3")...)...)
}

// named2 are a set's cells of the methods that the paper shows samples of.
func named2(set string) []string {
	return []string{set + "/RDDPM", set + "/OLLA", set + "/ULLA-P", set + "/ULLA"}
}

func figure9() *Exhibit {
	return pictures("figure-9", "Figure 9: the effect of ε, alanine", "ψ with the paper's walls at three ε.",
		each("psi", "alanine/ε=0.01", "alanine/ε=0.05", "alanine/ε=0.1")...)
}

// A NameError is a name of no exhibit.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("the paper has no %q here; expected all or some of %s", e.Name, strings.Join(Names(), ", "))
}

// Names are those of the exhibits.
func Names() []string {
	var out []string
	for _, e := range Exhibits {
		out = append(out, e.Name)
	}
	return out
}

// Named returns exhibits by names or aliases, in the paper's order and once each; "all" are those of the
// paper. The error is a *NameError.
func Named(names []string) ([]*Exhibit, error) {
	var out []*Exhibit
	for _, n := range names {
		known := n == "all"
		for _, e := range Exhibits {
			known = known || n == e.Name || n == e.Alias && n != ""
		}
		if !known {
			return nil, &NameError{n}
		}
	}
	for _, e := range Exhibits {
		if slices.Contains(names, e.Name) || e.Alias != "" && slices.Contains(names, e.Alias) ||
			!e.Extra && slices.Contains(names, "all") {
			out = append(out, e)
		}
	}
	return out, nil
}

// CellsOf returns the cells behind exhibits, once each, in the order of their places.
func CellsOf(exhibits []*Exhibit) []*Cell {
	var out []*Cell
	seen := map[string]bool{}
	add := func(names []string) {
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				out = append(out, cells[n])
			}
		}
	}
	for _, e := range exhibits {
		for _, entry := range e.Entries {
			add(entry.Cells)
		}
	}
	return out
}
