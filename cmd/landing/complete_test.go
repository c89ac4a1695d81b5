package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/landing-diffusion/landing/tools/testkit"
)

// offers returns what the program offers for the last word of a command line, and cobra's directive.
func offers(t *testing.T, dir string, words ...string) (out []string, directive string) {
	t.Helper()
	r := ok(t, dir, append([]string{"__complete"}, words...)...)
	for line := range strings.Lines(r.stdout) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, ":"); ok {
			return out, rest
		}
		word, _, _ := strings.Cut(line, "\t")
		out = append(out, word)
	}
	t.Fatalf("%v: no directive in %q", words, r.stdout)
	return nil, ""
}

// Shells are offered verbs, recipes, files, runs, checkpoints, variants, keys and the words that keys may have.
func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	ok(t, dir, append([]string{"train", "demo", "--variant=fixed"}, tiny...)...)
	for _, name := range []string{"mine.yaml", "other.csv"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name),
			[]byte("set: {kind: sphere, dim: 3}\nvariants: {quick: {}}"), 0o666))
	}
	has := func(want []string, words ...string) {
		t.Helper()
		got, _ := offers(t, dir, words...)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%q: no %q in %q", words, w, got)
			}
		}
	}
	is := func(want []string, words ...string) {
		t.Helper()
		if got, _ := offers(t, dir, words...); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
	has([]string{"train", "ls", "export", "make"}, "")
	has([]string{"volcano", "mine.yaml"}, "train", "")
	is([]string{"volcano"}, "train", "vol")
	is([]string{"mine.yaml"}, "check", "mi")
	is(nil, "train", "volcano", "")
	is([]string{"runs/demo-001"}, "train", "runs/de")
	for _, verb := range []string{"generate", "report", "show", "compare", "distill", "serve", "export"} {
		is([]string{"runs/demo-001"}, verb, "")
		is([]string{"runs/demo-001"}, verb, "runs/de")
	}
	is([]string{"./runs/demo-001"}, "generate", "./runs/de")
	is([]string{filepath.Join(dir, "runs", "demo-001")}, "generate", filepath.Join(dir, "runs", "de"))
	is(nil, "compare", "runs/demo-001", "")
	got, _ := offers(t, dir, "generate", "runs/demo-001", "--checkpoint", "")
	if len(got) == 0 || len(got[0]) != 8 {
		t.Errorf("checkpoints %q", got)
	}
	has([]string{"olla"}, "train", "volcano", "--variant", "")
	is([]string{"quick"}, "train", "mine.yaml", "--variant", "")
	is([]string{"olla,paper"}, "train", "volcano", "--variant", "olla,pa")
	has([]string{"train.epochs=", "process.method=", "set.radius=", "network.options.pairs=",
		"process.options.corrections="}, "train", "volcano", "--set", "")
	is([]string{"train.clip=", "train.clock="}, "train", "volcano", "--set", "train.cl")
	is([]string{"train.optimizer=adam", "train.optimizer=muon"}, "train", "volcano", "--set", "train.optimizer=")
	is([]string{"process.curvature=true"}, "check", "volcano", "--set", "process.curvature=t")
	has([]string{"set.kind=torus"}, "train", "volcano", "--set", "set.kind=t")
	is([]string{"train.epochs=", "train.anneal=", "train.max_failed=", "train.checkpoint_every=",
		"train.evaluate_every=", "train.max_seconds="}, "train", "runs/demo-001", "--set", "tr")
	is(nil, "generate", "runs/demo-001", "--set", "train.")
	has([]string{"process.steps=", "prior="}, "generate", "runs/demo-001", "--set", "")
	has([]string{"name", "age"}, "ls", "--sort", "")
	has([]string{"text", "json"}, "train", "--progress", "")
	if got, directive := offers(t, dir, "train", "volcano", "--set", "train.epo"); directive != "6" || len(got) != 1 {
		t.Errorf("%q, directive %s; want no space behind =", got, directive)
	}
	if _, directive := offers(t, dir, "merge", "a", ""); directive != "16" {
		t.Errorf("merge: directive %s, want that of folders", directive)
	}
	if _, directive := offers(t, dir, "sweep", ""); directive != "8" {
		t.Errorf("sweep: directive %s, want that of extensions", directive)
	}
}

// The scripts that shells read are scripts of those shells, as far as these are here to say so.
func TestCompletionScripts(t *testing.T) {
	dir := t.TempDir()
	for shell, check := range map[string]string{"bash": "-n", "zsh": "-n", "fish": "--no-execute", "powershell": ""} {
		r := ok(t, dir, "completion", shell)
		if len(r.stdout) < 1000 || !strings.Contains(r.stdout, "__complete") {
			t.Errorf("%s: %d bytes", shell, len(r.stdout))
		}
		if _, err := exec.LookPath(shell); err != nil || check == "" {
			t.Logf("there is no %s here to read its script", shell)
			continue
		}
		file := filepath.Join(dir, shell)
		testkit.OK(t, os.WriteFile(file, []byte(r.stdout), 0o666))
		if out, err := exec.Command(shell, check, file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

// bashAsks completes words as bash does on a tab, with what bash-completion gives to scripts in its place.
const bashAsks = `source ./landing.bash
compopt() { :; }
_init_completion() { cur=${WORDS[-1]} prev=${WORDS[-2]} words=("${WORDS[@]}") cword=$((${#WORDS[@]} - 1)); }
while IFS=$'\t' read -ra WORDS; do
  COMPREPLY=() COMP_TYPE=9
  __start_landing
  (IFS='|'; echo "${COMPREPLY[*]}")
done
`

// A real bash offers what the program says: verbs, runs with blanks in their names too, words behind an equals sign
// without what stands before it, which bash keeps.
func TestBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	exe := testkit.Must(os.Executable())
	dir := t.TempDir()
	for _, name := range []string{"demo-001", "it is-001"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(dir, "runs", name), 0o777))
		testkit.OK(t, os.WriteFile(filepath.Join(dir, "runs", name, "manifest.json"), nil, 0o666))
	}
	for name, text := range map[string]string{"landing.bash": ok(t, dir, "completion", "bash").stdout,
		"asks.bash": bashAsks, "landing": "#!" + bash + "\nLANDING_TEST_MAIN=1 exec '" + exe + "' \"$@\"\n"} {
		testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777))
	}
	var lines, want []string
	for _, c := range [][2]string{{"gener", "generate"}, {"generate runs/", "runs/demo-001|runs/it is-001"},
		{"generate ./runs/d", "./runs/demo-001"}, {"generate runs/it", `runs/it\ is-001`},
		{"train volcano --set train.optimizer=", "adam|muon"}, {"ls --sort=a", "age"}, {"train volcano x", ""}} {
		lines = append(lines, strings.ReplaceAll("landing "+c[0], " ", "\t"))
		want = append(want, c[1])
	}
	ask := exec.Command(bash, "--norc", "asks.bash")
	ask.Dir, ask.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	ask.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, err := ask.CombinedOutput()
	if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
}
