package main

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/landing-diffusion/landing/experiment"
	"github.com/landing-diffusion/landing/experiment/judge"
	"github.com/landing-diffusion/landing/judge/verdict"
	"github.com/landing-diffusion/landing/problem"
	"github.com/landing-diffusion/landing/tools/testkit"
)

// words splits a command as a shell does.
func words(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// parsed returns the verb of a command, whose flags and number of arguments it takes.
func parsed(t *testing.T, args []string) *cobra.Command {
	t.Helper()
	cmd, rest, err := (&app{}).root().Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil {
		t.Fatalf("landing %v: %v", args, err)
	}
	return cmd
}

// capCSV writes rows on a cap of the sphere: of height at least 0.2.
func capCSV(t *testing.T, path string) {
	t.Helper()
	var b strings.Builder
	for i := range 300 {
		z := 0.2 + 0.8*math.Mod(float64(i)*0.618, 1)
		r, a := math.Sqrt(1-z*z), 2.4*float64(i)
		fmt.Fprintf(&b, "%v,%v,%v\n", r*math.Cos(a), r*math.Sin(a), z)
	}
	testkit.OK(t, os.WriteFile(path, []byte(b.String()), 0o600))
}

// Every code has a remedy, in whatever state a run is, and the command runs: flags are the
// program's own, and what is set can be set there. Trainings for a time are not run, but taken up.
func TestRemediesRun(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "the rows.csv")
	capCSV(t, data)
	small := append(slices.Clone(tiny), "--set", "process.steps=10")
	file := filepath.Join(dir, "cap.yaml")
	text := "name: cap\ndata: {path: 'the rows.csv'}\nset: {kind: cap, axis: [0, 0, 1], height: 0.2}\n"
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
	train := func(name string, settings ...string) {
		ok(t, dir, append(append([]string{"train", "cap.yaml", "-q", "--out", name}, small...), settings...)...)
	}
	train("it's uniform", "--set", "prior=uniform")
	train("paths", "--set", "prior=empirical", "--set", "process.walls=paper", "--set", "process.repulsion=0")
	train("watched", "--set", "prior=uniform", "--set", "train.epochs=24", "--set", "train.evaluate_every=1", "--set",
		"train.anneal=0.5")
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed", "-q", "--out", "demo"}, small...)...)
	ok(t, dir, "train", "cap.yaml", "-q", "--out", "silent", "--for", "1h", "--set", "train.epochs=3",
		"--set=network.width=8", "--set", "prior=empirical", "--set", "process.steps=10")
	pool := testkit.Pool(t, 2)

	seen := map[string]bool{}
	for _, c := range []struct {
		run      string
		settings []string // of Redraw
	}{{"it's uniform", nil}, {"it's uniform", []string{"process.steps=5"}}, {"paths", nil}, {"watched", nil},
		{"demo", nil}, {"silent", nil}} {
		t.Chdir(dir)
		r := testkit.Must(experiment.Open(t.Context(), c.run, "", pool, nil))
		r = testkit.Must(r.Redraw(t.Context(), problem.ParseSettings(c.settings...)))
		last := testkit.Must(experiment.LastEpoch(r.Folder))
		for _, code := range verdict.All() {
			command := commandLine(experiment.Remedy(t.Context(), r, code, &judge.Evaluation{Epoch: last.Epoch}))
			if command == "" {
				t.Errorf("%s has no remedy for %s", c.run, code)
			}
			seen[command] = true
		}
	}
	// Rows that are kept to are learned no longer: held-out losses end a training that they did not, of one that they
	// did half of the epochs are trained. Paths that are too short become those that follow from the data, and what
	// was left to it follows again.
	of := func(name string) *experiment.Run {
		t.Helper()
		return testkit.Must(experiment.Open(t.Context(), name, "", pool, nil))
	}
	silent := of("silent")
	for name, want := range map[string]string{"paths": "train.stop=held_out_loss", "silent": "train.epochs=1"} {
		remedy := experiment.Remedy(t.Context(), of(name), verdict.Copies, &judge.Evaluation{})
		if got := words(t, commandLine(remedy)); got[len(got)-1] != want {
			t.Errorf("%s: %v, want %s", name, got, want)
		}
	}
	train("brief", "--set", "process.horizon=1e-6", "--set", "process.friction=9", "--set",
		"process.sigma={min: 0.1, max: 1}")
	longer := commandLine(experiment.Remedy(t.Context(), of("brief"), verdict.Overfit, &judge.Evaluation{}))
	args := words(t, longer)
	if !strings.HasPrefix(longer, "landing train brief/problem.yaml --data ") {
		t.Errorf("for longer paths: %s", longer)
	}
	ok(t, dir, append(args[1:], "--out", "longer")...)
	a, b := silent.Process, of("longer").Process
	steps := float64(b.Schedule.N) / float64(a.Schedule.N) // 10 were given to silent
	σ := b.Schedule.SigmaMax / a.Schedule.SigmaMax
	if math.Abs(σ*σ*b.Schedule.T-1) > 0.1 || math.Abs(b.Friction/a.Friction-1) > 1e-3 || steps < 5 {
		t.Errorf("%s: %+v, were %+v", longer, b, a)
	}
	verbs := map[string]int{}
	for command := range seen {
		args := words(t, command)
		if args[0] != "landing" {
			t.Fatalf("%s: not a command of this program", command)
		}
		args = args[1:]
		verb := parsed(t, args)
		verbs[verb.Name()]++
		if file := verb.Flags().Arg(0); verb.Name() == "train" && filepath.Ext(file) != ".yaml" && !resumes(file) {
			t.Errorf("%s: it trains anew", command)
			continue
		}
		if verb.Name() == "train" && verb.Flags().Changed("for") && resumes(verb.Flags().Arg(0)) { // takes its time
			r := testkit.Must(experiment.Open(t.Context(), verb.Flags().Arg(0), "", pool, nil))
			if _, x, err := r.Problem.Extend(problem.ParseSettings("train.max_seconds=60")); err != nil || !x.Longer {
				t.Errorf("%s: %v", command, err)
			}
			continue
		}
		doctor := verb.Name() == "check"
		if verb.Flags().Lookup("number") != nil && !verb.Flags().Changed("number") {
			args = append(args, "-n", "100")
		}
		if r := do(t, dir, append(args, "-q")...); r.code != exitOK && !(doctor && r.code == exitCheck) {
			t.Errorf("%s: exit %d\n%s%s", command, r.code, r.stdout, r.stderr)
		}
	}
	for _, verb := range []string{"train", "report", "check"} {
		if verbs[verb] == 0 {
			t.Errorf("no remedy is a landing %s: %v", verb, verbs)
		}
	}
}

// eval and report open with the verdict, in words and as codes, and go on to the same exit code.
func TestVerdictShows(t *testing.T) {
	dir := t.TempDir()
	demoRun(t, dir, "prior=uniform")
	told := ok(t, dir, "report", "r", "--text", "-n", "600").stdout
	if !strings.HasPrefix(told, "not good: ") || !strings.Contains(told, "1. fault start_law, 0.") ||
		!strings.Contains(told, "\n     landing report r --set prior=empirical\n") {
		t.Errorf("eval begins with\n%.600s", told)
	}
	v := wantJSON(t, ok(t, dir, "report", "r", "--text", "-n", "600", "--json"))["verdict"].(map[string]any)
	first := v["findings"].([]any)[0].(map[string]any)
	if v["grade"] != "not good" || v["false_alarms"] != verdict.Alarm || first["code"] != "start_law" ||
		first["remedy"].(map[string]any)["command"] != "landing report r --set prior=empirical" ||
		first["effect"].(float64) <= 0 {
		t.Errorf("as JSON: %v", v)
	}
	ok(t, dir, "report", "r", "-n", "600", "-q")
	page := testkit.Must(os.ReadFile(filepath.Join(dir, "r", "report.html")))
	at := strings.Index(string(page), `<section class="judged bad"`)
	if at < 0 || at > strings.Index(string(page), `class="facts"`) ||
		!strings.Contains(string(page), "landing report r --set prior=empirical") {
		t.Error("the page does not open with the verdict")
	}
}

// show --why has what was chosen with its reason, and what was given with its place.
func TestShowWhy(t *testing.T) {
	dir := t.TempDir()
	capCSV(t, filepath.Join(dir, "x.csv"))
	text := "data: {path: x.csv}\ndefaults: fixed\nset: {kind: cap, axis: [0, 0, 1], height: 0.2}\n" +
		"process:\n  walls: paper\n  sigma: {min: 0.125}\n"
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(text), 0o600))
	ok(t, dir, append([]string{"train", "p.yaml", "--out", "r"}, tiny...)...)
	told := ok(t, dir, "show", "r", "--why").stdout
	for _, want := range []string{"chosen\n  process.repulsion  0.", "  prior ", "given\n", "process.sigma.min",
		"0.125", "p.yaml:6", "train.epochs ", "  3 ", "--set\n", "data.path"} {
		if !strings.Contains(strings.ReplaceAll(told, "\n\n", "\n"), want) && !strings.Contains(squeezed(told), want) {
			t.Errorf("no %q in\n%s", want, told)
		}
	}
	v := wantJSON(t, ok(t, dir, "show", "r", "--why", "--json"))
	var keys []string
	for _, g := range v["given"].([]any) {
		g := g.(map[string]any)
		keys = append(keys, fmt.Sprint(g["key"], "=", g["value"], " ", g["from"]))
	}
	for _, want := range []string{"process.sigma.min=0.125 p.yaml:6", "process.walls=paper p.yaml:5",
		"train.epochs=3 --set", "data.path=x.csv p.yaml:1"} {
		if !slices.Contains(keys, want) {
			t.Errorf("no %q among %q", want, keys)
		}
	}
	if len(keys) != 8 { // path, defaults, walls, sigma.min, and four of tiny
		t.Errorf("given are %q", keys)
	}
	chosen := v["chosen"].([]any)[0].(map[string]any)
	if chosen["key"] != "process.repulsion" || chosen["reason"] == "" || chosen["value"].(float64) <= 0 {
		t.Errorf("chosen is %v", chosen)
	}
}

// squeezed is text without the spaces that align its columns.
func squeezed(s string) string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		out = append(out, indent+strings.Join(strings.Fields(line), "  "))
	}
	return strings.Join(out, "\n")
}
