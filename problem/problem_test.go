package problem

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/constraint"
	"github.com/landing-diffusion/landing/langevin"
	"github.com/landing-diffusion/landing/problem/sets"
	"github.com/landing-diffusion/landing/tools/testkit"
)

const good = `name: mine
data: {kind: points, path: x.csv}
set: {kind: torus, major: 2, minor: 0.5}
process:
  steps: 10
  sigma: {min: 0.1, max: 1}
`

func load(t *testing.T, text string, settings ...string) (*Problem, error) {
	t.Helper()
	p, err := Load([]byte(text), "mine.yaml", "", ParseSettings(settings...))
	if err != nil {
		return nil, err
	}
	_, err = p.Build()
	return p, err
}

func TestGoodProblem(t *testing.T) {
	p, err := load(t, good, "train.epochs=7", "train.learning_rate=1e-4", "process.landing={mode: explicit, rate: 3}")
	testkit.OK(t, err)
	if p.Train.Epochs != 7 || p.Process.Steps != 10 || p.Process.Landing.Rate != 3 || p.Train.Clip != 10 ||
		p.Train.LearningRate != 1e-4 {
		t.Errorf("got %+v", p)
	}
}

// Every fault of a file is one line with file, line, key, value and what was expected.
func TestFaults(t *testing.T) {
	testkit.Cases(t, func(input string) string {
		_, err := load(t, changed(good, input))
		var key *KeyError
		var syntax *SyntaxError
		if !errors.As(err, &key) && !errors.As(err, &syntax) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error of type %T: %v", input, err, err)
		}
		return fmt.Sprint(err)
	})
	testkit.Refused(t, testkit.Err(load(t, "name: "+strings.Repeat("[", 200))), "mine.yaml:1: expected at most")
}

// changed returns a file in which a part takes the place of another, as "part => other" says; or else another file.
func changed(file, input string) string {
	if part, other, ok := strings.Cut(input, " => "); ok {
		return strings.Replace(file, part, other, 1)
	}
	return input
}

func TestSettingFaults(t *testing.T) {
	testkit.Cases(t, func(setting string) string { return fmt.Sprint(testkit.Err(load(t, good, setting))) })
}

// A set of formulas loads, keeps the order of its definitions, and survives its resolved form.
func TestFormulas(t *testing.T) {
	p, err := load(t, `
prior: empirical
process: {terminal_projection: false}
data: {path: x.csv}
set:
  dim: 14
  let:
    c: x[0:7]
    s: x[7:14]
    b: 2
    a: b * 0.1
  equality:
    - {name: "unit[j]", for: j in 0..6, expr: "c[j]^2 + s[j]^2 - 1"}
  inequality:
    - name: floor
      expr: a - c[0]
`)
	testkit.OK(t, err)
	again, err := Load(p.Resolved(), "resolved", "", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, p.Resolved())
	}
	if !reflect.DeepEqual(again.Set, p.Set) {
		t.Errorf("the resolved form has %+v, want %+v", again.Set, p.Set)
	}
	proc := testkit.Must(again.Build())
	x := make([]float64, 14)
	x[0], x[7] = 0.5, 2
	if v := constraint.Values(proc.Set, x); v[0] != 3.25 || v[6] != -1 || v[7] != 0.2-0.5 {
		t.Errorf("values %v", v)
	}
}

// Variant paper of the recipes carries the paper's hyper-parameters, also over another method; all survive a round trip
// through their resolved form.
func TestRecipes(t *testing.T) {
	paper := map[string]struct {
		steps     int
		horizon   float64
		min, max  float64
		batchSame bool
	}{
		"paper":        {50, 2, 0.1, 2, true},
		"olla,paper":   {100, 4, 0.01, 1, true},
		"paper,ulla-p": {100, 2, 0.1, 2, true},
	}
	for _, name := range Recipes() {
		data, origin, err := Source(name)
		testkit.OK(t, err)
		if strings.HasPrefix(name, "so10") || strings.HasPrefix(name, "bunny") || strings.HasPrefix(name, "spot") ||
			name == "alanine" || name == "arm" {
			continue // TestSO10Recipes, TestMeshRecipes, TestAlanineRecipe, TestArmRecipe
		}
		for variant, want := range paper {
			if name == "demo" {
				if variant != "paper" {
					continue
				}
				variant = ""
			}
			p := testkit.Must(Load(data, origin, variant, nil))
			proc := testkit.Must(p.Build())
			batch := map[string]int{"demo": p.Train.Batch, "volcano": 128}[name]
			if batch == 0 {
				batch = 512
			}
			s := proc.Schedule
			if s.N != want.steps || s.T != want.horizon || s.SigmaMin != want.min || s.SigmaMax != want.max ||
				p.Train.Batch != batch {
				t.Errorf("%s %s: %+v, batch %d", name, variant, s, p.Train.Batch)
			}
			network := Network{Width: 512, Layers: 5, Wavelength: 2, OctavesOf: "point", Output: "plain"}
			if name != "demo" && (!reflect.DeepEqual(p.Network, network) || p.Train.Epochs != 20000 ||
				p.Train.Refresh != 1 || p.Train.TimesPerPath != 0) {
				t.Errorf("%s: %+v %+v", name, p.Network, p.Train)
			}
			again := testkit.Must(Load(p.Resolved(), "resolved", "", nil))
			testkit.Equal(t, string(again.Resolved()), string(p.Resolved()),
				"%s: the resolved form does not load to itself", name)
		}
	}
}

// The recipe of alanine has the paper's process and set; its variant paper also the paper's
// walls, on the paper's single inequality, and network and training.
func TestAlanineRecipe(t *testing.T) {
	data, origin, err := Source("alanine")
	testkit.OK(t, err)
	for variant, want := range map[string]struct {
		method     langevin.Method
		walls      langevin.Walls
		components string
	}{
		"":       {langevin.ULLA, langevin.ElasticWalls, "[φ ψ ≥ 130° ψ ≤ 170°]"},
		"paper":  {langevin.ULLA, langevin.PaperWalls, "[φ ψ]"},
		"olla":   {langevin.OLLA, langevin.ElasticWalls, "[φ ψ ≥ 130° ψ ≤ 170°]"},
		"ulla-p": {langevin.ULLAP, langevin.ElasticWalls, "[φ ψ ≥ 130° ψ ≤ 170°]"},
		"curved": {langevin.ULLA, langevin.ElasticWalls, "[φ ψ ≥ 130° ψ ≤ 170°]"},
		"guarded": {langevin.ULLA, langevin.ElasticWalls, "[φ angle ACE1:C–ALA2:N–ALA2:CA ≤ 165° " +
			"angle ALA2:N–ALA2:CA–ALA2:C ≤ 165° angle ALA2:CA–ALA2:C–NME3:N ≤ 165° ψ ≥ 130° ψ ≤ 170°]"},
	} {
		p := testkit.Must(Load(data, origin, variant, nil))
		proc := testkit.Must(p.Build())
		s := proc.Schedule
		if s != (langevin.Schedule{N: 100, T: 0.2, SigmaMin: 0.5, SigmaMax: 2}) || proc.Friction != 10 ||
			proc.Landing != (langevin.Landing{Explicit: true, Rate: 50}) || p.Train.Refresh != 10 ||
			(variant == "paper") != (p.Train.Batch == 1024 && p.Train.Epochs == 2000 && p.Train.Optimizer == "adam" &&
				p.Network.Width == 1024 && p.Network.Layers == 5) ||
			p.Network.Kind != "aligned" || p.Prior != "empirical" || proc.NoTerminal {
			t.Errorf("%q: %+v %+v %+v", variant, proc, p.Train, p.Network)
		}
		if proc.Method != want.method || proc.Walls != want.walls || proc.Curvature != (variant == "curved") ||
			(proc.Repulsion == 0.05) != (variant == "paper") || fmt.Sprint(constraint.Components(proc.Set)) !=
			want.components {
			t.Errorf("%q: %v with %v walls, ε = %v, on %v", variant, proc.Method, proc.Walls, proc.Repulsion,
				constraint.Components(proc.Set))
		}
		again, err := Load(p.Resolved(), "resolved", "", nil)
		if err != nil || string(again.Resolved()) != string(p.Resolved()) {
			t.Errorf("%q: the resolved form does not load to itself: %v", variant, err)
		}
	}
}

// The recipe of the arm has the paper's schedule on separate components; its variant paper also its friction, network
// and training, its walls and no terminal projection.
func TestArmRecipe(t *testing.T) {
	data, origin, err := Source("arm")
	testkit.OK(t, err)
	for variant, want := range map[string]struct {
		h, g     int
		paper    bool
		friction float64
	}{"": {84, 80, false, 5}, "paper": {84, 80, true, 1}} {
		p := testkit.Must(Load(data, origin, variant, nil))
		proc := testkit.Must(p.Build())
		if s := proc.Schedule; s != (langevin.Schedule{N: 100, T: 0.2, SigmaMin: 0.1, SigmaMax: 2}) ||
			proc.Friction != want.friction || proc.Landing != (langevin.Landing{Explicit: true, Rate: 200}) ||
			proc.Method != langevin.ULLA || p.Prior != "empirical" || proc.Set.Dim() != 140 {
			t.Errorf("%q: %+v", variant, proc)
		}
		if (variant == "paper") != (p.Train.Epochs == 10000 && p.Train.Batch == 160 && p.Train.Refresh == 50 &&
			p.Network.Kind == "mlp" && p.Network.Width == 1024 && p.Network.Layers == 5) {
			t.Errorf("%q: %+v %+v", variant, p.Train, p.Network)
		}
		if h, g := len(proc.Set.Equalities()), len(proc.Set.Inequalities()); h != want.h || g != want.g ||
			want.paper != (proc.Walls == langevin.PaperWalls && proc.Repulsion == 0.001 && proc.NoTerminal) {
			t.Errorf("%q: %d equalities, %d inequalities, %v walls, ε = %v", variant, h, g, proc.Walls, proc.Repulsion)
		}
		again, err := Load(p.Resolved(), "resolved", "", nil)
		if err != nil || string(again.Resolved()) != string(p.Resolved()) {
			t.Errorf("%q: the resolved form does not load to itself: %v", variant, err)
		}
	}
	for _, l := range []string{"20", "30", "40"} {
		p := testkit.Must(Load(data, origin, "", ParseSettings("set.waypoints="+l)))
		if proc, err := p.Build(); err != nil || fmt.Sprint(proc.Set.Dim()/14) != l {
			t.Errorf("L = %s: %v", l, err)
		}
	}
}

// Variants paper and fine change how a recipe learns, not what; generation may begin where
// forward paths end. Of the arm the paper's friction is another, and of it and alanine the walls.
func TestRecipesLearnTheSame(t *testing.T) {
	for _, name := range Recipes() {
		data, origin, err := Source(name)
		testkit.OK(t, err)
		names := testkit.Must(Variants(data, origin))
		for _, variant := range names {
			if variant != "paper" && variant != "fine" {
				continue
			}
			base := testkit.Must(Load(data, origin, "", nil))
			p := testkit.Must(Load(data, origin, variant, nil))
			if (p.Train.Optimizer == "adam") != (variant == "paper") || base.Train.Optimizer != "muon" ||
				reflect.DeepEqual(p.Train, base.Train) {
				t.Errorf("%s %s: %+v %+v", name, variant, p.Network, p.Train)
			}
			if name == "arm" {
				base.Process.Friction = p.Process.Friction
			}
			if variant == "paper" && (name == "arm" || name == "alanine") {
				base.Process.Walls, base.Process.Repulsion = p.Process.Walls, p.Process.Repulsion
				base.Process.TerminalProjection, base.Set = p.Process.TerminalProjection, p.Set
			}
			if !reflect.DeepEqual(p.Process, base.Process) || !reflect.DeepEqual(p.Set, base.Set) ||
				p.Prior != base.Prior && base.Prior != "empirical" || p.Convention != base.Convention {
				t.Errorf("%s %s is another problem: %+v", name, variant, p)
			}
		}
	}
}

func TestVariants(t *testing.T) {
	data, origin, _ := Source("volcano")
	names, err := Variants(data, origin)
	if err != nil || strings.Join(names, " ") != "fine olla paper rddpm ulla-p" {
		t.Errorf("variants %v, %v", names, err)
	}
	both, err := Load(data, origin, "olla,paper", nil)
	if err != nil || both.Process.Method != "OLLA" || both.Train.Optimizer != "adam" {
		t.Errorf("two variants: %+v, %v", both, err)
	}
	last, err := Load([]byte("variants: {a: {seed: 3, name: x}, b: {seed: 4}}"), "f", "a,b", nil)
	if err != nil || last.Seed != 4 || last.Name != "x" {
		t.Errorf("the last variant does not win: %+v, %v", last, err)
	}
	if _, err := Load(data, origin, "olla,", nil); err == nil {
		t.Error("an empty name is accepted")
	}
	testkit.Refused(t, testkit.Err(Load(data, origin, "nosuch", nil)), "one of fine, olla, paper, rddpm, ulla-p")
	testkit.Refused(t, testkit.Err(Load(data, origin, "olla,fast", nil)), `variant is "fast"; expected none: volcano `+
		"without a variant is what its variant fast was, and the paper's hyperparameters are its variant paper")
	testkit.Refused(t, testkit.Err(Load(data, "f.yaml", "fast", nil)), "one of fine, olla, paper, rddpm, ulla-p")
	testkit.Refused(t, testkit.Err(Load([]byte("variants: {a: {trian: {epochs: 3}}}"), "f", "a", nil)),
		`f:1: variants.a.trian: there is no such key`)
}

func TestSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.yaml")
	testkit.OK(t, os.WriteFile(file, []byte(good), 0o666))
	if data, _, err := Source(file); err != nil || string(data) != good {
		t.Errorf("%v", err)
	}
	if _, _, err := Source("nosuch"); err == nil || !strings.Contains(err.Error(), "neither a file nor one of the "+
		"recipes alanine, arm, bunny100, bunny50") {
		t.Errorf("got %v", err)
	}
}

// Paths leave rings of internal coordinates open unless walls are said or fixed. Methods that project each step keep
// to them, as chains do.
func TestWallsOfRings(t *testing.T) {
	ring := "set: {kind: molecule, template: ../examples/ring/ring.xyz, coordinates: internal, bonds: template}\n"
	for setting, want := range map[string]struct {
		walls  langevin.Walls
		walked int // components that paths keep to: 9 circles, and 2 ends of the range of a bond
	}{"seed=1": {langevin.LateWalls, 9}, "process.walls=late": {langevin.LateWalls, 9},
		"process.walls=elastic": {langevin.ElasticWalls, 11}, "defaults=fixed": {langevin.ElasticWalls, 11},
		"process.method=ULLA-P": {langevin.ElasticWalls, 11}, "process.walls=paper": {langevin.PaperWalls, 11},
		"process.terminal_projection=false": {langevin.ElasticWalls, 11}} {
		p := testkit.Must(Load([]byte(ring), "mine.yaml", "", ParseSettings(setting, "potential={kind: quadratic}")))
		proc := testkit.Must(p.Build())
		if n := len(constraint.Components(proc.Walked())); proc.Walls != want.walls || n != want.walked {
			t.Errorf("%s: %v walls, and paths keep to %d components", setting, proc.Walls, n)
		}
		c := testkit.Must(p.BuildChains())
		if n := len(constraint.Components(c.Process.Walked())); n != 11 {
			t.Errorf("%s: chains keep to %d components", setting, n)
		}
	}
}

func TestBuildChains(t *testing.T) {
	p := testkit.Must(load(t, good, "sample.step=0.05"))
	c, err := p.BuildChains()
	if err != nil || !c.Symmetric || c.Process.Schedule.Tau(0) != 0.05 {
		t.Errorf("%+v, %v", c, err)
	}
	p = testkit.Must(load(t, good, "prior=empirical", "sample.method=chmc", "sample.measure=level",
		"potential={kind: formula, expr: \"x[0]\"}"))
	if c, err := p.BuildChains(); err != nil || c.Leaps != 10 || c.Process.Potential == nil {
		t.Errorf("chmc: %+v, %v", c, err)
	}
	for key, want := range map[string]string{
		"sample.step=0": "sample.step is 0", "sample.chains=0": "sample.chains", "sample.burn=-1": "sample.burn",
		"sample.method=gibbs":                `sample.method is "gibbs"; expected splitting, chmc, ULLA`,
		"sample.leaps=-1":                    "sample.leaps is -1",
		"sample.max_failed=1.5":              "sample.max_failed is 1.5; expected a number in [0, 1]",
		"sample.max_rhat=-2":                 "sample.max_rhat",
		"sample.measure=area":                `sample.measure is "area"; expected one of surface, level`,
		"potential={kind: formula}":          "potential.expr:",
		"potential={kind: formula, expr: y}": `potential.expr: unknown name "y"`,
		"potential={kind: formula, expr: x}": "potential.expr: a list of numbers; expected one number",
	} {
		q := testkit.Must(Load([]byte(good), "mine.yaml", "", ParseSettings(key)))
		testkit.Refused(t, testkit.Err(q.BuildChains()), want, key)
	}
}

// No input makes Load panic, and what loads resolves to something that loads.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(good))
	for _, name := range Recipes() {
		data, _, _ := Source(name)
		f.Add(data)
	}
	f.Add([]byte("set: {dim: 2, let: {r: 1.5, s: 'norm(x)'}, equality: [{name: 'a[i]', for: 'i in 0..1', expr: 's " +
		"= r'}]}"))
	f.Add([]byte("a: {b: [1, {c: d}]}\n---\nx: 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Load(data, "fuzz", "", nil)
		if err != nil {
			return
		}
		if _, err := Load(p.Resolved(), "resolved", "", nil); err != nil {
			t.Errorf("resolved form does not load: %v\n%s", err, p.Resolved())
		}
	})
}

// docs/problem-file.md names every key.
func TestKeysAreDocumented(t *testing.T) {
	page := testkit.Must(os.ReadFile(filepath.Join("..", "docs", "problem-file.md")))
	var visit func(typ reflect.Type, prefix string)
	visit = func(typ reflect.Type, prefix string) {
		for name, f := range sets.Fields(typ) {
			if f.Type == reflect.TypeFor[sets.Set]() {
				for _, key := range sets.Keys() {
					long := strings.Contains(string(page), "`set."+key+"`")
					if !long && !strings.Contains(string(page), "`"+key+"`") {
						t.Errorf("docs/problem-file.md does not name set.%s", key)
					}
				}
			} else if f.Type.Kind() == reflect.Struct {
				visit(f.Type, prefix+name+".")
			} else if !strings.Contains(string(page), "`"+prefix+name+"`") {
				t.Errorf("docs/problem-file.md does not name %s%s", prefix, name)
			}
		}
	}
	visit(reflect.TypeFor[Problem](), "")
	code, word := regexp.MustCompile("`[^`]*`"), regexp.MustCompile(`\pL{2,}`)
	for _, k := range Keys() {
		if n := len(word.FindAllString(code.ReplaceAllString(k.Doc, ""), -1)); n > 25 {
			t.Errorf("docs/problem-file.md has %d words for %s; at most 25 fit a table", n, k.Name)
		}
	}
}

// auto stands for a number where the rules allow it, and nowhere else; the
// resolved file holds the word until it is chosen.
func TestAuto(t *testing.T) {
	p := testkit.Must(load(t, good, "process.landing={mode: explicit, rate: auto}", "process.repulsion=auto"))
	if !p.Process.Landing.Rate.IsAuto() || !p.Process.Repulsion.IsAuto() {
		t.Fatalf("got %+v", p.Process)
	}
	proc := testkit.Must(p.Build())
	// T = 2, N = 10, the last σ used is 0.91.
	if want := 1 / (0.91 * 0.91 * 0.2); math.Abs(proc.Landing.Rate-want) > 1e-12*want || proc.Repulsion != 0 {
		t.Errorf("α = %v, want %v; ε = %v", proc.Landing.Rate, want, proc.Repulsion)
	}
	again, err := Load(p.Resolved(), "config.yaml", "", nil)
	if err != nil || !again.Process.Landing.Rate.IsAuto() || !again.Process.Repulsion.IsAuto() {
		t.Errorf("the resolved file reads back as %+v, %v", again.Process, err)
	}
	p.Process.Landing.Rate, p.Process.Repulsion = 2, 0.25
	again, err = Load(p.Resolved(), "config.yaml", "", nil)
	if err != nil || again.Process.Landing.Rate != 2 || again.Process.Repulsion != 0.25 {
		t.Errorf("chosen numbers read back as %+v, %v", again.Process, err)
	}
	for setting, want := range map[string]string{
		"process.friction=auto":       "expected a finite number",
		"process.repulsion=automatic": "process.repulsion is automatic; expected a finite number, or auto",
		"process.repulsion=\"auto \"": "expected a finite number, or auto",
	} {
		testkit.Refused(t, testkit.Err(load(t, good, setting)), want, setting)
	}
}

// Paths and networks that memory cannot hold are refused before they are made.
func TestCheckPaths(t *testing.T) {
	p := testkit.Must(Load([]byte("set: {kind: sphere, dim: 1000}\nprocess: {steps: 999}"), "p.yaml", "", nil))
	proc, err := p.Build()
	testkit.OK(t, err)
	testkit.OK(t, p.CheckPaths(proc, 1000))
	var key *KeyError
	if err := p.CheckPaths(proc, 1001); !errors.As(err, &key) || key.Key != "process.steps" {
		t.Errorf("1001 rows: %v", err)
	}
	p = testkit.Must(Load([]byte("set: {kind: sphere, dim: 1000000}\nprocess: {steps: 1000}"), "p.yaml", "", nil))
	if _, err = p.Build(); !errors.As(err, &key) || key.Key != "process.steps" {
		t.Errorf("a path alone: %v", err)
	}
	p, err = Load([]byte("set: {kind: sphere, dim: 3}\nnetwork: {width: 1, layers: 900000000}"), "p.yaml", "", nil)
	testkit.OK(t, err)
	if _, err = p.Build(); !errors.As(err, &key) || key.Key != "network.layers" {
		t.Errorf("900 million layers: %v", err)
	}
}
