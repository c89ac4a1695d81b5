package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	ok(t, dir, append([]string{"train", "demo"}, tiny...)...)
	for _, name := range []string{"mine.yaml", "other.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("set: {kind: sphere, dim: 3}\nvariants: {quick: {}}"),
			0o666); err != nil {
			t.Fatal(err)
		}
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
	has([]string{"train", "ls", "schema", "data"}, "")
	has([]string{"volcano", "mine.yaml"}, "train", "")
	is([]string{"volcano"}, "train", "vol")
	is([]string{"mine.yaml"}, "check", "mi")
	is(nil, "train", "volcano", "")
	for _, verb := range []string{"resume", "generate", "eval", "report", "show", "compare", "distill", "serve",
		"export", "score"} {
		is([]string{"runs/demo-001"}, verb, "")
		is([]string{"runs/demo-001"}, verb, "runs/de")
	}
	is(nil, "compare", "runs/demo-001", "")
	got, _ := offers(t, dir, "generate", "runs/demo-001", "--checkpoint", "")
	if len(got) == 0 || len(got[0]) != 8 {
		t.Errorf("checkpoints %q", got)
	}
	has([]string{"olla"}, "train", "volcano", "--variant", "")
	is([]string{"quick"}, "train", "mine.yaml", "--variant", "")
	is([]string{"olla,fast"}, "train", "volcano", "--variant", "olla,fa")
	has([]string{"train.epochs=", "process.method=", "set.radius=", "network.options.pairs=",
		"process.options.corrections="}, "train", "volcano", "--set", "")
	is([]string{"train.clip=", "train.clock="}, "train", "volcano", "--set", "train.cl")
	is([]string{"train.optimizer=adam", "train.optimizer=muon"}, "train", "volcano", "--set", "train.optimizer=")
	is([]string{"process.curvature=true"}, "check", "volcano", "--set", "process.curvature=t")
	has([]string{"set.kind=torus"}, "train", "volcano", "--set", "set.kind=t")
	is([]string{"train.epochs=", "train.anneal=", "train.max_failed=", "train.checkpoint_every=",
		"train.evaluate_every=", "train.max_seconds="}, "resume", "runs/demo-001", "--set", "tr")
	is(nil, "generate", "runs/demo-001", "--set", "train.")
	has([]string{"process.steps=", "prior="}, "generate", "runs/demo-001", "--set", "")
	is([]string{"so"}, "schema", "data", "s")
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
		if err := os.WriteFile(file, []byte(r.stdout), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(shell, check, file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}
